// Objective, recall and precision, held-out NLPL as stacked small charts with one common axis.

import { Choice, clamp, css, drawGrid, h, integer, lerp, lineSample, remembered, Surface, ticks } from "../shared/core.js";
import { saveButton } from "../shared/save_picture.js";

const CHARTS = [
  { title: "Objective", unit: "nats per row", series: [["objective", "objective"]] },
  { title: "Recall and precision", series: [["recall", "recall"], ["precision", "precision"]], unit: "of true edges found · of found edges true", range: [0, 1] },
  { title: "NLPL on held-out rows", unit: "nats per row", series: [["nlpl", "nlpl"]] },
];
const AXIS_TEXT = { steps: "steps", edges: "active edges", seconds: "engine seconds" };

export class CurvesPanel {
  constructor(app) {
    this.app = app;
    this.hover = null; // a step
    this.axis = remembered.get("axis", "steps");
    this.choice = new Choice("Horizontal axis", [
      ["steps", "steps"], ["edges", "edges"], ["seconds", "seconds", "Engine seconds"],
    ], this.axis, (value) => {
      this.axis = value;
      remembered.set("axis", value);
      this.domains.clear();
      app.wake();
    });
    this.domains = new Map(); // eased axis ranges, by name
    this.body = h("div", { class: "gv-curves-body" });
    this.ghostName = h("span");
    this.ghostKey = h("span", { class: "gv-key", hidden: true }, lineSample("ghost"), this.ghostName);
    this.element = h("section", { class: "gv-card gv-curves", "aria-label": "Curves" },
      h("header", {}, h("h3", {}, "Curves"), this.choice.element, saveButton(app, "curves")), this.body, this.ghostKey);
    this.charts = [];
  }

  destroy() {
    for (const chart of this.charts) chart.surface.destroy();
  }

  setRun(log, ghost) {
    this.ghost = ghost;
    this.ghostKey.hidden = !ghost;
    const known = { objective: true, recall: log.truth !== null, nlpl: log.header.rows.test > 0 };
    const wanted = CHARTS.filter(({ series }) => known[series[0][0]]);
    this.hover = null;
    if (wanted.length === this.charts.length && wanted.every((chart, k) => chart === this.charts[k].about)) return;
    this.destroy();
    this.domains.clear();
    this.body.replaceChildren();
    this.body.dataset.charts = wanted.length;
    this.charts = wanted.map((about, k) => this.buildChart(about, k === wanted.length - 1));
  }

  buildChart(about, last) {
    const values = about.series.map(([name, colour]) => {
      const value = h("b");
      const before = h("span", { class: "gv-before" });
      const label = about.series.length > 1 ? `${name} ` : "";
      return { name, value, before, node: h("span", { class: "gv-key" }, lineSample(colour), label, value, before) };
    });
    const holder = h("div", { class: last ? "gv-chart gv-curve gv-curve-last" : "gv-chart gv-curve" });
    const title = about.series.length > 1 ? null : h("span", { class: "gv-curve-title", title: about.unit }, about.title);
    const element = h("div", {}, h("div", { class: "gv-readout" }, title, values.map((v) => v.node)), holder);
    this.body.append(element);
    const surface = new Surface(holder, () => this.app.resized());
    surface.canvas.setAttribute("role", "img");
    const read = (event) => this.stepAt(event.clientX - surface.canvas.getBoundingClientRect().left, surface);
    holder.addEventListener("pointermove", (event) => this.point(read(event)));
    holder.addEventListener("pointerleave", () => this.point(null));
    holder.addEventListener("click", (event) => {
      const t = read(event);
      if (t !== null) this.app.seek(t);
    });
    return { about, surface, values, last };
  }

  // --------------------------------------------------------------------------------------- axes

  /** Eased range of an axis, so that new records widen it smoothly; the first range is taken at once. */
  range(name, low, high) {
    let range = this.domains.get(name);
    if (!range || this.app.still) {
      range = { low, high };
      this.domains.set(name, range);
    }
    range.to = [low, high];
    return range;
  }

  advance(seconds) {
    const f = 1 - Math.exp(-7 * seconds);
    for (const range of this.domains.values()) {
      const [low, high] = range.to;
      const near = Math.abs(range.low - low) + Math.abs(range.high - high) < 0.002 * Math.abs(high - low);
      range.low = near ? low : lerp(range.low, low, f);
      range.high = near ? high : lerp(range.high, high, f);
    }
  }

  get moving() {
    return [...this.domains.values()].some((r) => r.low !== r.to[0] || r.high !== r.to[1]);
  }

  /** Whether the curves of both runs measure the same: objectives and their penalties may differ, all else does not. */
  comparable(name) {
    return name !== "objective" || this.difference() === null;
  }

  /** How the objective of the other run differs, in words; null if it does not. */
  difference() {
    const [own, other] = [this.app.log.header, this.ghost.header];
    const differs = (key) => key in own && key in other && String(own[key]) !== String(other[key]);
    if (differs("objective")) return `another objective (${other.objective})`;
    return differs("penalty") ? "another penalty" : null;
  }

  logs(name) {
    return this.ghost && this.comparable(name) ? [this.ghost, this.app.log] : [this.app.log];
  }

  horizontal() {
    let high = 0;
    for (const log of this.logs()) {
      high = Math.max(high, log.abscissa(this.axis, log.ready));
      if (this.axis === "steps" && log.last !== null) high = Math.max(high, log.last);
    }
    return this.range(`x ${this.axis}`, 0, high || 1);
  }

  vertical(about) {
    if (about.range) return this.range(about.title, about.range[0], about.range[1]);
    let [low, high] = [Infinity, -Infinity];
    for (const [name] of about.series) {
      for (const log of this.logs(name)) {
        for (let t = 0; t <= log.ready; t++) {
          const y = log.curve(name, t);
          if (y === null) continue;
          low = Math.min(low, y);
          high = Math.max(high, y);
        }
      }
    }
    if (low > high) [low, high] = [0, 1];
    const margin = (high - low) * 0.08 || Math.abs(high) * 0.01 || 1;
    return this.range(about.title, low - margin, high + margin);
  }

  frame(surface, last) {
    const { type } = this.app;
    return { left: 48 * type, right: surface.width - 14, top: 7, bottom: surface.height - (last ? 20 * type : 6) };
  }

  // ------------------------------------------------------------------------------------ drawing

  draw() {
    const { log } = this.app;
    if (!log) return;
    const across = this.horizontal();
    for (const chart of this.charts) {
      const context = chart.surface.begin();
      if (context) this.drawChart(context, chart, across);
    }
  }

  drawChart(context, { about, surface, last }, across) {
    const { palette, log, p } = this.app;
    const plot = this.frame(surface, last);
    const up = this.vertical(about);
    const x = (v) => plot.left + ((plot.right - plot.left) * (v - across.low)) / (across.high - across.low);
    const y = (v) => plot.bottom - ((plot.bottom - plot.top) * (v - up.low)) / (up.high - up.low);
    this.drawAxes(context, palette, plot, x, y, across, up, last);
    if (log.branchStep !== null && log.ready >= log.branchStep) {
      this.vertically(context, plot, x(log.abscissa(this.axis, log.branchStep)), css(palette.muted, 0.8), [2, 3]);
    }
    for (const [name, colour] of about.series) {
      const ink = colour === "nlpl" ? palette.text : palette[colour];
      if (this.ghost && this.comparable(name)) this.trace(context, this.ghost, name, 0, this.ghost.ready, x, y, css(ink, 0.8), 1.4, [5, 4]);
      this.trace(context, log, name, Math.floor(p), log.ready, x, y, css(ink, 0.28), 1.5, []);
      const end = this.trace(context, log, name, 0, p, x, y, css(ink), 2.2, name === "precision" ? [6, 3] : []);
      if (end) {
        context.beginPath();
        context.arc(end[0], end[1], 3.6, 0, 7);
        context.fillStyle = css(ink);
        context.fill();
      }
    }
    const at = this.between(log, p);
    this.vertically(context, plot, x(at), css(palette.text, 0.55), []);
    if (this.hover !== null) this.vertically(context, plot, x(log.abscissa(this.axis, this.hover)), css(palette.text, 0.5), [3, 3]);
  }

  drawAxes(context, palette, plot, x, y, across, up, last) {
    context.font = this.app.font(11.5);
    const inside = (at) => clamp(at, plot.top + 2, plot.bottom - 2);
    drawGrid(context, palette, plot, ticks(up.low, up.high, 3), y, axisText, inside);
    if (!last) return;
    context.textBaseline = "alphabetic";
    context.fillStyle = css(palette.muted);
    const text = AXIS_TEXT[this.axis];
    const room = plot.right - context.measureText(text).width - 12;
    context.textAlign = "right";
    context.fillText(text, plot.right, plot.bottom + 15 * this.app.type);
    context.textAlign = "center";
    for (const value of ticks(across.low, across.high, 5)) {
      if (this.axis !== "seconds" && value !== Math.round(value)) continue;
      if (x(value) + 14 < room) context.fillText(axisText(value), x(value), plot.bottom + 15 * this.app.type);
    }
  }

  vertically(context, plot, at, colour, dash) {
    context.beginPath();
    context.moveTo(at, plot.top);
    context.lineTo(at, plot.bottom);
    context.lineWidth = 1;
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
  }

  /** Abscissa at a playhead between two steps. */
  between(log, p) {
    const t = clamp(Math.floor(p), 0, log.ready);
    const next = Math.min(t + 1, log.ready);
    return lerp(log.abscissa(this.axis, t), log.abscissa(this.axis, next), p - t);
  }

  /** Draw one curve from step `from` to the playhead `to`; return its last point. */
  trace(context, log, name, from, to, x, y, colour, width, dash) {
    context.beginPath();
    let pen = null;
    const go = (px, py) => {
      if (pen) context.lineTo(px, py);
      else context.moveTo(px, py);
      pen = [px, py];
    };
    const whole = Math.min(Math.floor(to + 1e-9), log.ready);
    for (let t = from; t <= whole; t++) {
      const value = log.curve(name, t);
      if (value !== null) go(x(log.abscissa(this.axis, t)), y(value));
    }
    const part = to - whole;
    if (part > 1e-6 && whole + 1 <= log.ready) {
      const a = log.curve(name, whole);
      const b = log.curve(name, whole + 1);
      if (a !== null && b !== null) go(x(this.between(log, to)), y(lerp(a, b, part)));
    }
    context.lineJoin = "round";
    context.lineWidth = width;
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
    return pen;
  }

  // -------------------------------------------------------------------------------------- hover

  stepAt(px, surface) {
    const { log } = this.app;
    if (!log) return null;
    const plot = this.frame(surface, false);
    const { low, high } = this.horizontal();
    const wanted = low + ((high - low) * (px - plot.left)) / (plot.right - plot.left);
    let best = null;
    let gap = Infinity;
    for (let t = 0; t <= log.ready; t++) {
      const distance = Math.abs(log.abscissa(this.axis, t) - wanted);
      if (distance < gap) [best, gap] = [t, distance];
    }
    return best;
  }

  point(t) {
    if (t === this.hover) return;
    this.hover = t;
    this.describe();
    this.app.wake();
  }

  describe() {
    const { log, shown } = this.app;
    const t = this.hover === null ? shown : this.hover;
    if (this.ghost) {
      const at = this.isAtEnds(t) ? "at its end" : `at as many ${this.measure}`;
      const name = log.header.beside || "previous run";
      this.ghostName.textContent = [`${name}, ${at}`, this.difference()].filter(Boolean).join("; ");
    }
    for (const { about, surface, values } of this.charts) {
      const said = [];
      for (const { name, value, before } of values) {
        const number = log.curve(name, Math.min(t, log.ready));
        const old = this.ghost && this.comparable(name) ? this.ghostValue(name, t) : null;
        value.textContent = readout(number);
        before.textContent = old === null ? "" : ` was ${readout(old)}`;
        said.push(`${name} ${readout(number)}`);
      }
      surface.canvas.setAttribute("aria-label", `${about.title} at step ${t}: ${said.join(", ")}`);
    }
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
}

const axisText = (x) => (Math.abs(x) >= 1000 ? integer(x) : String(Number(x.toPrecision(4))));
const readout = (x) => (x === null ? "–" : Math.abs(x) >= 1000 ? integer(x) : x.toFixed(Math.abs(x) >= 100 ? 2 : 3));
