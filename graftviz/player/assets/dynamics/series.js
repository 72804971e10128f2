// One series over the held-out rows: observed values, predictions, and their band.

import { clamp, css, drawGrid, format, h, integer, isolated, percent, plural, shorten, Surface, ticks } from "../shared/core.js";
import { saveButton } from "../shared/save_picture.js";

export class DynamicsSeries {
  constructor(app) {
    this.app = app;
    this.title = h("h3", { dir: "auto" });
    this.readout = h("span", { class: "gv-count gv-dynamics-readout", dir: "auto" });
    this.holder = h("div", { class: "gv-chart gv-dynamics-window" });
    this.words = h("p", { class: "gv-muted" });
    const key = (sample, text) => h("span", { class: "gv-key" }, h("i", { class: sample, "aria-hidden": "true" }), text);
    this.keys = h("div", { class: "gv-legend" }, key("gv-line gv-dynamics-seen", "observed"), key("gv-line gv-dynamics-said", "prediction"), key("gv-dynamics-band", "±2 residual standard deviations"));
    this.element = h("section", { class: "gv-card gv-dynamics-series", "aria-label": "Prediction" },
      h("header", {}, this.title, this.readout, saveButton(app, "prediction")), this.holder, this.keys, this.words);
    this.surface = new Surface(this.holder, () => app.resized());
    const { canvas } = this.surface;
    canvas.setAttribute("role", "img");
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => this.pointTo(null));
    this.at = null;
  }

  destroy() {
    this.surface.destroy();
  }

  /** The series to draw; null until its row and the system are learned. */
  get series() {
    const { series, chosen, log, shown } = this.app;
    if (!series || series.problem || (chosen !== null && series.node !== chosen)) return null;
    const isKnown = series.horizon === 1 ? log.rowOf(series.node, shown) : log.finished && shown === log.ready;
    return isKnown ? series : null;
  }

  plot() {
    const { width, height } = this.surface;
    const { type } = this.app;
    return { left: 52 * type, right: width - 8, top: 8, bottom: height - 20 * type };
  }

  draw() {
    const context = this.surface.begin();
    if (!context || !this.app.log) return;
    const { palette, type } = this.app;
    const { series } = this;
    context.font = `${11.5 * type}px ${palette.font}`;
    if (!series) {
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillStyle = css(palette.muted);
      context.fillText(this.waiting(), this.surface.width / 2, this.surface.height / 2);
      return;
    }
    const plot = this.plot();
    const { seen, predicted, band } = series;
    const [low, high] = this.range(series);
    const x = (t) => plot.left + ((plot.right - plot.left) * t) / Math.max(seen.length - 1, 1);
    const y = (value) => plot.bottom - ((plot.bottom - plot.top) * (value - low)) / (high - low || 1);
    drawGrid(context, palette, plot, ticks(low, high, 4), y, (value) => format(value).replace("-", "−").replace(/\.0+$/, ""), (at) => clamp(at, 8, plot.bottom));
    this.drawTimes(context, palette, series, x, plot);
    context.save();
    context.beginPath();
    context.rect(plot.left, plot.top - 4, plot.right - plot.left, plot.bottom - plot.top + 8);
    context.clip();
    context.beginPath();
    predicted.forEach((value, t) => context.lineTo(x(t), y(value + band)));
    for (let t = predicted.length - 1; t >= 0; t--) context.lineTo(x(t), y(predicted[t] - band));
    context.fillStyle = css(palette.objective, palette.dark ? 0.3 : 0.18);
    context.fill();
    this.line(context, predicted, x, y, css(palette.objective), 1.8, [6, 3]);
    this.line(context, seen, x, y, css(palette.text, 0.9), 1.5, []);
    context.restore();
    if (this.at !== null && this.at < seen.length) this.drawMark(context, palette, series, x(this.at), y, plot);
  }

  line(context, values, x, y, colour, width, dash) {
    context.beginPath();
    values.forEach((value, t) => context.lineTo(x(t), y(value)));
    context.setLineDash(dash);
    context.lineJoin = "round";
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
  }

  drawMark(context, palette, series, at, y, plot) {
    context.strokeStyle = css(palette.faint);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(at, plot.top);
    context.lineTo(at, plot.bottom);
    context.stroke();
    for (const [value, colour] of [[series.predicted[this.at], palette.objective], [series.seen[this.at], palette.text]]) {
      context.beginPath();
      context.arc(at, y(value), 3.5, 0, 7);
      context.fillStyle = css(colour);
      context.fill();
    }
  }

  drawTimes(context, palette, series, x, plot) {
    context.textBaseline = "alphabetic";
    context.fillStyle = css(palette.muted);
    const { length } = series.seen;
    const count = clamp(Math.floor((plot.right - plot.left) / (110 * this.app.type)), 2, 8);
    for (let k = 0; k < count; k++) {
      const t = Math.round((k * (length - 1)) / (count - 1));
      context.textAlign = k === 0 ? "left" : k === count - 1 ? "right" : "center";
      context.fillText(this.moment(series, t), x(t), this.surface.height - 4);
    }
  }

  moment(series, t) {
    return series.times.length ? shorten(series.times[t], 16) : `row ${integer(series.first + t)}`;
  }

  /** Range of the axis: extreme predictions must not flatten the observed values. */
  range({ seen, predicted, band }) {
    const [a, b] = [Math.min(...seen), Math.max(...seen)];
    const span = b - a || 1;
    return [Math.max(Math.min(a, ...predicted.map((v) => v - band)), a - 0.6 * span), Math.min(Math.max(b, ...predicted.map((v) => v + band)), b + 0.6 * span)];
  }

  waiting() {
    const { series, log, chosen } = this.app;
    if (series?.problem) return series.problem;
    if (chosen !== null && series && series.node !== chosen) return "Predicting…";
    return log.finished ? "Shown once its row is learned." : "Shown once all rows are learned.";
  }

  point(event) {
    const { series } = this;
    if (!series) return;
    const plot = this.plot();
    const box = this.surface.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - plot.left) / (plot.right - plot.left);
    this.pointTo(clamp(Math.round(share * (series.seen.length - 1)), 0, series.seen.length - 1));
  }

  pointTo(at) {
    if (at === this.at) return;
    this.at = at;
    this.describeMoment();
    this.app.wake();
  }

  describeMoment() {
    const { series } = this;
    if (!series || this.at === null || this.at >= series.seen.length) {
      this.readout.textContent = series ? `${plural(series.seen.length, "held-out value")}, ${series.horizon === 1 ? "one step" : `${series.horizon} steps`} ahead` : "";
      return;
    }
    const [seen, said] = [series.seen[this.at], series.predicted[this.at]];
    const text = (value) => format(value).replace("-", "−");
    this.readout.textContent = `${this.moment(series, this.at)}: ${text(seen)}, predicted ${text(said)} ± ${text(series.band)}`;
  }

  describe() {
    const { log, series: given, chosen } = this.app;
    const { series } = this;
    const node = chosen ?? given?.node ?? null;
    this.title.replaceChildren(...(node === null ? ["Prediction"] : ["Prediction of ", isolated(shorten(log.name(node), 40))]));
    if (series && this.at !== null && this.at >= series.seen.length) this.at = null;
    this.describeMoment();
    this.words.textContent = series
      ? `Band: ±2 residual standard deviations of the training rows; it contains ${percent(series.inside, 1)} of the held-out values. `
        + `PredError of all series ${series.horizon === 1 ? "one step" : `${series.horizon} steps`} ahead: ${format(series.error)}.` : "";
    this.surface.canvas.setAttribute("aria-label", series
      ? `${log.name(series.node)}: ${plural(series.seen.length, "held-out value")} and predictions, ${percent(series.inside, 1)} within the band.` : this.waiting());
  }
}
