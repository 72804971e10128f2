// Bound and actual error against the size of the region, for all expansion rules.

import { boundText, brief, chance, clamp, css, drawGrid, h, Surface, writeOver } from "../shared/core.js";
import { RACER_MARKS, racerSample } from "../shared/marks.js";
import { saveButton } from "../shared/save_picture.js";

const CURVE_FLOOR = 1e-7; // errors below are rounding

export class RegionCurves {
  constructor(app) {
    this.app = app;
    this.keys = h("div", { class: "gv-legend gv-region-rules", role: "group", "aria-label": "Expansion rules" });
    this.errorName = h("span");
    this.holder = h("div", { class: "gv-chart gv-region-curve" });
    this.note = h("p", { class: "gv-muted gv-answer-note" });
    this.element = h("section", { class: "gv-card gv-region-curves", "aria-label": "Bound and error against size" },
      h("header", {}, h("h3", {}, "Comparison of expansion rules"),
        h("span", { class: "gv-count" }, h("i", { class: "gv-line gv-region-solid", "aria-hidden": "true" }), " bound ", h("i", { class: "gv-line gv-region-dotted", "aria-hidden": "true" }), this.errorName), saveButton(app, "rules")),
      this.keys, this.holder, this.note);
    this.surface = new Surface(this.holder, () => app.resized());
    const { canvas } = this.surface;
    canvas.setAttribute("role", "img");
    canvas.addEventListener("click", (event) => this.seek(event));
  }

  destroy() {
    this.surface.destroy();
  }

  /** All rules; until they have been compared, only the chosen one. */
  get rules() {
    const { rules, log } = this.app;
    if (rules) return rules;
    const { rule } = log.region;
    return [{ ...rule, chosen: true, bounds: log.steps.map((step) => step.bound), errors: null }];
  }

  setRules() {
    this.keys.replaceChildren(...this.rules.map((rule) => h("button", {
      type: "button", class: "gv-key", "aria-pressed": String(rule.chosen), title: rule.chosen ? "Current rule" : "Use this rule",
      click: () => { if (!rule.chosen) this.app.chooseRule(rule.key); },
    }, racerSample(rule.index), rule.name)));
  }

  seek(event) {
    const { app } = this;
    if (!app.log || !this.plot) return;
    const box = this.surface.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - this.plot.left) / (this.plot.right - this.plot.left);
    app.seek(Math.round(clamp(share, 0, 1) * (this.sizes - 1)));
  }

  draw() {
    const context = this.surface.begin();
    const { app } = this;
    const { palette, type, log } = app;
    if (!context || !log) return;
    const { width, height } = this.surface;
    const strip = 19 * type; // for vacuous bounds
    const plot = { left: 48 * type, right: width - 12, top: strip + 4, bottom: height - 34 * type };
    this.plot = plot;
    const { rules } = this;
    this.sizes = Math.max(2, ...rules.map((rule) => rule.bounds.length));
    const seen = rules.flatMap((rule) => [...rule.bounds, ...(rule.errors || [])]).filter((v) => v !== null && v > CURVE_FLOOR);
    const least = Math.min(...seen, log.region.tolerance, 0.1);
    const bottom = Math.max(Math.floor(Math.log10(least) - 0.1), Math.log10(CURVE_FLOOR));
    const x = (size) => plot.left + ((plot.right - plot.left) * (size - 1)) / (this.sizes - 1);
    const y = (value) => plot.top + ((plot.bottom - plot.top) * -Math.log10(clamp(value, 10 ** bottom, 1))) / -bottom;
    context.font = `${11.5 * type}px ${palette.font}`;
    const marks = Array.from({ length: -bottom + 1 }, (_, k) => 10 ** -k).filter((_, k) => -bottom < 5 || k % 2 === 0);
    drawGrid(context, palette, plot, marks, y, (v) => (v < 0.001 ? brief(v) : String(v)), (at) => clamp(at, plot.top + 2, plot.bottom - 2));
    this.drawStrip(context, palette, plot, strip);
    this.drawAxis(context, palette, plot, x);
    for (const rule of [...rules.filter((r) => !r.chosen), ...rules.filter((r) => r.chosen)]) this.drawRule(context, palette, rule, x, y, strip);
    this.drawTolerance(context, palette, plot, y(log.region.tolerance));
    const now = x(app.shown + 1);
    context.beginPath();
    context.moveTo(now, 0);
    context.lineTo(now, plot.bottom);
    context.lineWidth = 1.2;
    context.strokeStyle = css(palette.text, 0.6);
    context.stroke();
  }

  drawStrip(context, palette, plot, strip) {
    const { type } = this.app;
    context.save();
    context.beginPath();
    context.rect(plot.left, 0, plot.right - plot.left, strip);
    context.clip();
    context.fillStyle = css(palette.muted, 0.1);
    context.fillRect(plot.left, 0, plot.right - plot.left, strip);
    context.beginPath();
    for (let d = plot.left - strip; d < plot.right; d += 7) {
      context.moveTo(d, strip);
      context.lineTo(d + strip, 0);
    }
    context.lineWidth = 1;
    context.strokeStyle = css(palette.muted, 0.35);
    context.stroke();
    context.restore();
    const text = "vacuous bound";
    context.font = `${11 * type}px ${palette.font}`;
    context.textAlign = "right";
    context.textBaseline = "middle";
    writeOver(context, palette, text, plot.right - 6, strip / 2, palette.muted);
    context.font = `${11.5 * type}px ${palette.font}`;
  }

  drawAxis(context, palette, plot, x) {
    const { type } = this.app;
    context.fillStyle = css(palette.muted);
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const every = [1, 2, 5, 10].find((step) => this.sizes / step <= 10) || 20;
    for (let size = 1; size <= this.sizes; size++) {
      if (size !== 1 && size % every !== 0) continue;
      context.fillText(String(size), x(size), plot.bottom + 15 * type);
    }
    context.textAlign = "right";
    context.fillText("nodes in the region", plot.right, plot.bottom + 30 * type);
  }

  drawTolerance(context, palette, plot, at) {
    context.beginPath();
    context.moveTo(plot.left, at);
    context.lineTo(plot.right, at);
    context.lineWidth = 1.4;
    context.setLineDash([6, 4]);
    context.strokeStyle = css(palette.rim);
    context.stroke();
    context.setLineDash([]);
    context.textAlign = "left";
    context.textBaseline = "bottom";
    writeOver(context, palette, "tolerance", plot.left + 6, at - 2, palette.muted);
  }

  drawRule(context, palette, rule, x, y, strip) {
    const colour = palette.racers[rule.index];
    const strength = rule.chosen ? 1 : 0.62;
    const trace = (values, dash, width) => {
      context.beginPath();
      let pen = false;
      values.forEach((value, k) => {
        if (value === null) { pen = false; return; }
        if (pen) context.lineTo(x(k + 1), y(value));
        else context.moveTo(x(k + 1), y(value));
        pen = true;
      });
      context.lineWidth = width;
      context.lineJoin = "round";
      context.setLineDash(dash);
      context.strokeStyle = css(colour, strength);
      context.stroke();
      context.setLineDash([]);
    };
    trace(rule.bounds, [], rule.chosen ? 2.8 : 1.7);
    if (rule.errors) trace(rule.errors, [1.5, 3.5], rule.chosen ? 2.4 : 1.6);
    const every = Math.ceil(rule.bounds.length / 16);
    rule.bounds.forEach((bound, k) => {
      if (k % every === 0 || k === rule.bounds.length - 1) this.mark(context, palette, rule, x(k + 1), bound === null ? strip * (0.25 + 0.17 * rule.index) : y(bound), colour, bound === null);
    });
    if (rule.chosen) this.ringBest(context, palette, rule, x, y);
  }

  /** A ring around the smallest bound of the chosen rule: larger is not always better. */
  ringBest(context, palette, rule, x, y) {
    const known = rule.bounds.filter((bound) => bound !== null);
    if (known.length === 0) return;
    const best = rule.bounds.lastIndexOf(Math.min(...known));
    if (best === rule.bounds.length - 1) return;
    context.beginPath();
    context.arc(x(best + 1), y(rule.bounds[best]), 8, 0, 7);
    context.lineWidth = 1.8;
    context.strokeStyle = css(palette.text);
    context.stroke();
  }

  mark(context, palette, rule, x, y, colour, hollow) {
    context.save();
    context.translate(x, y);
    const scale = rule.chosen ? 0.72 : 0.5;
    context.scale(scale, scale);
    const shape = new Path2D(RACER_MARKS[rule.index]);
    context.fillStyle = hollow ? css(palette.background) : css(colour);
    context.fill(shape);
    context.lineWidth = hollow ? 2.2 : 1.4;
    context.strokeStyle = hollow ? css(colour) : css(palette.background);
    context.stroke(shape);
    context.restore();
  }

  describe() {
    const { shown, rules, whole, log } = this.app;
    for (const [k, rule] of this.rules.entries()) this.keys.children[k]?.setAttribute("aria-pressed", String(rule.chosen));
    // The bound holds for every state, so its curve is compared with the largest error.
    this.errorName.textContent = log.region.labels.length > 2 ? " largest actual error of a state" : " actual error";
    const unknown = whole && whole.done && rules && rules.every((rule) => rule.errors === null);
    this.note.textContent = unknown ? "The actual errors are unknown." : rules ? "" : "Comparing the rules…";
    this.note.hidden = this.note.textContent === "";
    const texts = this.rules.map((rule) => {
      const bound = rule.bounds[shown];
      const error = rule.errors ? `, actual error ${chance(rule.errors[shown])}` : "";
      return `${rule.name}: ${bound === undefined ? "ended before" : bound === null ? "vacuous" : `bound ${boundText(bound)}`}${error}`;
    });
    this.surface.canvas.setAttribute("aria-label", `With ${shown + 1} of at most ${log.region.size} nodes: ${texts.join("; ")}`);
  }
}
