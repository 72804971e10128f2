// Objective, recall and precision, held-out NLPL as stacked small charts with one common axis.

import { Chart, paddedRange } from "../shared/chart.js";
import { Choice, clamp, css, Eased, fill, h, integer, lerp, setParts, ticks } from "../shared/core.js";
import { legendKey, lineKey, lineSample } from "../shared/legend.js";
import { saveButton } from "../shared/save_picture.js";

const CHARTS = [
  { title: TEXT.curves.objective, unit: TEXT.curves.nats, series: [["objective", "objective"]] },
  { title: TEXT.curves.recall_and_precision, series: [["recall", "right"], ["precision", "precision", { style: "dashed" }]],
    unit: TEXT.curves.shares, range: [0, 1] },
  { title: TEXT.curves.nlpl, unit: TEXT.curves.nats, series: [["nlpl", "text"]] },
];

class CurveChart extends Chart {
  constructor(panel, about, isLast) {
    super(panel.app, isLast ? "gv-curve gv-curve-last" : "gv-curve");
    Object.assign(this, { panel, about, isLast });
    this.up = new Eased(this.app, 7);
    const { series, title, unit } = about;
    this.values = series.map(([name, colour, look]) => {
      const [value, before] = [h("b"), h("span", { class: "gv-before" })];
      const label = series.length > 1 ? `${TEXT.curves.series[name]} ` : "";
      return { name, value, before, node: legendKey(lineSample(colour, look), [label, value, before]) };
    });
    const heading = series.length > 1 ? null : h("span", { class: "gv-curve-title", title: unit }, title);
    this.element = h("div", {}, h("div", { class: "gv-readout" }, heading, this.values.map(({ node }) => node)), this.holder);
    this.on("pointermove", (x) => panel.point(this.stepAt(x)));
    this.on("pointerleave", () => panel.point(null));
    this.on("click", (x) => this.app.seek(this.stepAt(x)));
  }

  /** The range of the values widens smoothly with new records. */
  advance(seconds) {
    const { range, series } = this.about;
    const values = (log, name) => Array.from({ length: log.ready + 1 }, (_, t) => log.curve(name, t));
    const all = () => series.flatMap(([name]) => this.panel.logs(name).flatMap((log) => values(log, name)));
    this.up.advance(range ?? paddedRange(all()), seconds);
  }

  get moving() {
    return this.up.moving;
  }

  paint(context, palette) {
    const { panel, about, isLast } = this;
    const { log, moment } = this.app;
    const [across, up] = [panel.across.values, this.up.values];
    this.axes([48, 14, 7, isLast ? 20 : 6], across, up);
    this.grid(ticks(...up, 3));
    if (isLast) this.below(ticks(...across, 5).filter((v) => panel.axis === "seconds" || Number.isInteger(v)), TEXT.curves.axes[panel.axis]);
    if (log.branchStep !== null && log.ready >= log.branchStep) this.upright(log.abscissa(panel.axis, log.branchStep), 0.55, [2, 3]);
    for (const [name, colour, look] of about.series) {
      const ink = palette[colour];
      if (panel.isCompared(name)) this.line(this.points(panel.ghost, name, 0, panel.ghost.ready), css(ink, 0.8), 1.4, [5, 4]);
      this.line(this.points(log, name, Math.floor(moment), log.ready), css(ink, 0.28), 1.5);
      const passed = this.points(log, name, 0, moment);
      this.line(passed, css(ink), 2.2, look ? [6, 3] : []);
      if (passed.length) this.dot(...passed.at(-1), 3.6, css(ink));
    }
    this.upright(this.between(log, moment));
    if (panel.hover !== null) this.upright(log.abscissa(panel.axis, panel.hover), 0.5, [3, 3]);
  }

  /** Abscissa at a playhead between two steps. */
  between(log, p) {
    const t = clamp(Math.floor(p), 0, log.ready);
    return lerp(log.abscissa(this.panel.axis, t), log.abscissa(this.panel.axis, Math.min(t + 1, log.ready)), p - t);
  }

  /** Points of a curve from step `from` to a playhead `to`, which may be between two steps. */
  points(log, name, from, to) {
    const whole = clamp(Math.floor(to + 1e-9), 0, log.ready);
    const points = [];
    for (let t = from; t <= whole; t++) points.push([log.abscissa(this.panel.axis, t), log.curve(name, t)]);
    const [a, b] = [whole, Math.min(whole + 1, log.ready)].map((t) => log.curve(name, t));
    if (to > whole && a !== null && b !== null) points.push([this.between(log, to), lerp(a, b, to - whole)]);
    return points.filter(([, value]) => value !== null).map(([x, y]) => [this.x(x), this.y(y)]);
  }

  stepAt(x) {
    const { log } = this.app;
    const place = this.valueAt(x);
    const gap = (t) => Math.abs(log.abscissa(this.panel.axis, t) - place);
    let best = 0;
    for (let t = 1; t <= log.ready; t++) if (gap(t) < gap(best)) best = t;
    return best;
  }

  describe() {
    const { log } = this.app;
    const t = this.panel.described;
    const words = this.values.map(({ name, value, before }) => {
      const number = readout(log.curve(name, Math.min(t, log.ready)));
      const old = this.panel.isCompared(name) ? this.panel.ghostValue(name, t) : null;
      value.textContent = number;
      before.textContent = old === null ? "" : ` ${fill(TEXT.curves.was, { value: readout(old) })}`;
      return `${TEXT.curves.series[name]} ${number}`;
    });
    this.describeAs(fill(TEXT.curves.described, { title: this.about.title, step: t, values: words.join(", ") }));
  }
}

export class CurvesPanel {
  constructor(app) {
    this.app = app;
    this.hover = null; // a step
    this.choice = new Choice(TEXT.curves.axis, [
      ["steps", TEXT.curves.steps], ["edges", TEXT.curves.edges], ["seconds", TEXT.curves.seconds, TEXT.curves.seconds_title],
    ], "steps", () => {
      this.across.values = null;
      app.wake();
    }, "axis");
    this.across = new Eased(app, 7); // range of the common axis
    this.body = h("div", { class: "gv-curves-body" });
    this.ghostName = h("span");
    this.ghostKey = lineKey(this.ghostName, "muted", { style: "dashed", width: 2 });
    this.element = h("section", { class: "gv-card gv-curves", "aria-label": TEXT.curves.title },
      h("header", {}, h("h3", {}, TEXT.curves.title), this.choice.element, saveButton(app, "curves")), this.body, this.ghostKey);
    this.parts = []; // the charts
  }

  get axis() {
    return this.choice.value;
  }

  setRun(log, ghost) {
    this.ghost = ghost;
    this.ghostKey.hidden = !ghost;
    this.hover = null;
    const isMeasured = { objective: true, recall: log.truth !== null, nlpl: log.header.rows.test > 0 };
    const wanted = CHARTS.filter(({ series }) => isMeasured[series[0][0]]);
    if (wanted.length === this.parts.length && wanted.every((about, k) => about === this.parts[k].about)) return;
    this.across.values = null;
    this.body.dataset.charts = wanted.length;
    setParts(this, this.body, wanted.map((about, k) => new CurveChart(this, about, k === wanted.length - 1)));
  }

  // --------------------------------------------------------------------------------------- axes

  /** Ranges widen smoothly with new records. */
  advance(seconds) {
    this.across.advance(this.horizontal(), seconds);
  }

  get moving() {
    return this.across.moving;
  }

  logs(name) {
    return this.isCompared(name) ? [this.ghost, this.app.log] : [this.app.log];
  }

  horizontal() {
    const ends = this.logs().map((log) => Math.max(log.abscissa(this.axis, log.ready), this.axis === "steps" ? log.last ?? 0 : 0));
    return [0, Math.max(...ends) || 1];
  }

  // --------------------------------------------------------------------------------- the ghost

  /** Whether the other run measures the same: objectives and their penalties may differ, all else does not. */
  isCompared(name) {
    return Boolean(this.ghost) && (name !== "objective" || this.difference() === null);
  }

  /** How the objective of the other run differs, in words; null if it does not. */
  difference() {
    const [own, other] = [this.app.log.header, this.ghost.header];
    const differs = (key) => key in own && key in other && String(own[key]) !== String(other[key]);
    if (differs("objective")) return fill(TEXT.curves.other_objective, { objective: other.objective });
    if (own.rows.train !== other.rows.train) return TEXT.curves.other_rows;
    return differs("penalty") ? TEXT.curves.other_penalty : null;
  }

  /** The cost at which both runs are compared. */
  get measure() {
    return this.axis === "seconds" ? "seconds" : "edges";
  }

  /** Whether the end of this run is compared with the end of the other. */
  isAtEnds(t) {
    const { log } = this.app;
    return log.finished && t >= log.last && this.ghost.finished;
  }

  /**
   * The value of the other run to compare step t with: at its end for the last step, else with as many
   * edges (or seconds). Runs of different lengths do different things in equal steps.
   */
  ghostValue(name, t) {
    const [ghost, log] = [this.ghost, this.app.log];
    if (this.isAtEnds(t)) return ghost.curve(name, ghost.ready);
    const axis = this.measure;
    const place = log.abscissa(axis, Math.min(t, log.ready));
    let s = 0;
    while (s < ghost.ready && ghost.abscissa(axis, s + 1) <= place) s++;
    return s === ghost.ready && axis === "edges" && ghost.abscissa(axis, s) < place ? null : ghost.curve(name, s);
  }

  // -------------------------------------------------------------------------------------- hover

  /** The step whose values are written. */
  get described() {
    return this.hover ?? this.app.shown;
  }

  point(t) {
    if (t === this.hover) return;
    this.hover = t;
    for (const panel of [this, ...this.parts]) panel.describe();
    this.app.wake();
  }

  describe() {
    if (!this.ghost) return;
    const at = this.isAtEnds(this.described) ? TEXT.curves.at_end : TEXT.curves[`at_${this.measure}`];
    this.ghostName.textContent = [`${this.app.log.header.ghost || TEXT.curves.previous}, ${at}`, this.difference()].filter(Boolean).join("; ");
  }
}

const readout = (x) => (x === null ? "–" : Math.abs(x) >= 1000 ? integer(x) : x.toFixed(Math.abs(x) >= 100 ? 2 : 3));
