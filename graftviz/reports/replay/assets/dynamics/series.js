// One series over the held-out rows: observed values, predictions, and their band.

import { Chart } from "../shared/chart.js";
import { clamp, css, format, h, integer, isolated, percent, plural, shorten, ticks } from "../shared/core.js";
import { attachKeys, turned } from "../shared/keys.js";
import { legendKey, lineKey } from "../shared/legend.js";

export class DynamicsSeries extends Chart {
  constructor(app) {
    super(app, "gv-dynamics-window");
    this.title = h("h3", { dir: "auto" });
    this.readout = h("span", { class: "gv-count", dir: "auto" });
    this.words = h("p", { class: "gv-small" });
    const keys = [lineKey("observed", "text", { width: 2 }), lineKey("prediction", "objective", { style: "dashed" }),
      legendKey("gv-dynamics-band", "±2 residual standard deviations")];
    this.card("gv-dynamics-series", "Prediction", "prediction", [this.title, this.readout], this.holder,
      h("div", { class: "gv-legend" }, keys), this.words);
    this.at = null;
    attachKeys(this.canvas, this);
    this.on("pointermove", (x) => { if (this.series) this.pointTo(Math.round(this.valueAt(x))); });
    this.on("pointerleave blur", () => this.leave());
  }

  /** The series to draw; null until its row and the system are learned. */
  get series() {
    const { series, chosen, log, shown } = this.app;
    if (!series || series.problem || (chosen !== null && series.node !== chosen)) return null;
    const isKnown = series.horizon === 1 ? log.rowOf(series.node, shown) : log.finished && shown === log.ready;
    return isKnown ? series : null;
  }

  paint(context, palette) {
    const { series } = this;
    if (!series) return this.message(this.waiting());
    const { seen, predicted, band } = series;
    const [low, high] = this.range(series);
    this.axes([52, 8, 8, 20], [0, Math.max(seen.length - 1, 1)], [low, high]);
    const { left, right, top, bottom } = this.plot;
    this.grid(ticks(low, high, 4));
    const count = clamp(Math.floor((right - left) / (110 * this.app.type)), 2, 8);
    const moments = Array.from({ length: count }, (_, k) => Math.round((k * (seen.length - 1)) / (count - 1)));
    this.below(moments, "", (t) => this.moment(series, t));
    const points = (values, shift = 0) => values.map((value, t) => [this.x(t), this.y(value + shift)]);
    context.save();
    context.beginPath();
    context.rect(left, top - 4, right - left, bottom - top + 8);
    context.clip();
    this.path([...points(predicted, band), ...points(predicted, -band).reverse()]);
    context.fillStyle = css(palette.objective, palette.dark ? 0.3 : 0.18);
    context.fill();
    this.line(points(predicted), css(palette.objective), 1.8, [6, 3]);
    this.line(points(seen), css(palette.text, 0.9), 1.5);
    context.restore();
    if (this.at === null || this.at >= seen.length) return undefined;
    this.upright(this.at, 0.5);
    for (const [values, colour] of [[predicted, palette.objective], [seen, palette.text]]) this.dot(...points(values)[this.at], 3.5, css(colour));
    return undefined;
  }

  moment(series, t) {
    return series.times.length ? shorten(series.times[t], 16) : `row ${integer(series.first + t)}`;
  }

  /** Range of the axis: extreme predictions must not flatten the observed values. */
  range({ seen, predicted, band }) {
    const [a, b] = [Math.min(...seen), Math.max(...seen)];
    const room = 0.6 * (b - a || 1);
    return [clamp(Math.min(...predicted) - band, a - room, a), clamp(Math.max(...predicted) + band, b, b + room)];
  }

  waiting() {
    const { series, log, chosen } = this.app;
    if (series?.problem) return series.problem;
    if (chosen !== null && series && series.node !== chosen) return "Predicting…";
    return log.finished ? "Shown once its row is learned." : "Shown once all rows are learned.";
  }

  /** By keyboard: the next or previous point in time. */
  turn(step) {
    if (!this.series) return;
    this.pointTo(turned(this.at ?? -1, step, this.series.seen.length));
    this.app.say(this.readout.textContent);
  }

  leave() {
    this.pointTo(null);
  }

  pointTo(at) {
    if (at === this.at) return;
    this.at = at;
    this.describeMoment();
    this.app.wake();
  }

  describeMoment() {
    const { series, at } = this;
    const all = () => `${plural(series.seen.length, "held-out value")}, ${this.ahead(series)}`;
    const one = () => `${this.moment(series, at)}: ${format(series.seen[at])}, predicted ${format(series.predicted[at])} ± ${format(series.band)}`;
    this.readout.textContent = !series ? "" : at === null || at >= series.seen.length ? all() : one();
  }

  ahead({ horizon }) {
    return `${horizon === 1 ? "one step" : `${horizon} steps`} ahead`;
  }

  describe() {
    const { log, chosen } = this.app;
    const { series } = this;
    const node = chosen ?? this.app.series?.node ?? null;
    this.title.replaceChildren(...(node === null ? ["Prediction"] : ["Prediction of ", isolated(shorten(log.name(node), 40))]));
    if (series && this.at >= series.seen.length) this.at = null;
    this.describeMoment();
    this.words.textContent = series
      ? `Band: ±2 residual standard deviations of the training rows; it contains ${percent(series.inside, 1)} of the held-out values. `
        + `PredError of all series ${this.ahead(series)}: ${format(series.error)}.` : "";
    const text = () => `${log.name(series.node)}: ${plural(series.seen.length, "held-out value")} and predictions, ${percent(series.inside, 1)} within the band.`;
    this.describeAs(series ? text() : this.waiting());
  }
}
