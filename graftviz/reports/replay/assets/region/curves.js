// Bound and actual error against the size of the region, for all expansion rules.

import { Chart, wholeTicks } from "../shared/chart.js";
import { boundText, brief, clamp, css, h } from "../shared/core.js";
import { lineKey } from "../shared/legend.js";
import { drawMark, racerSample } from "../shared/marks.js";

const CURVE_FLOOR = 1e-7; // errors below are rounding

export class RegionCurves extends Chart {
  constructor(app) {
    super(app, "gv-region-curve");
    this.keys = h("div", { class: "gv-legend gv-region-rules", role: "group", "aria-label": "Expansion rules" });
    this.errorName = h("span");
    this.note = h("p", { class: "gv-small" });
    this.card("gv-region-curves", "Bound and error against size", "rules",
      [h("h3", {}, "Comparison of expansion rules")], this.keys, this.holder, this.note);
    this.lines = [lineKey("bound", "muted"), lineKey(this.errorName, "muted", { style: "dotted" })];
    this.on("click", (x) => app.seek(Math.round(this.valueAt(x)) - 1));
  }

  /** All rules; until they have been compared, only the chosen one. */
  get rules() {
    const { rules, log } = this.app;
    return rules ?? [{ ...log.region.rule, chosen: true, bounds: log.steps.map((step) => step.bound), errors: null }];
  }

  setRules() {
    this.keys.replaceChildren(...this.rules.map((rule) => h("button", {
      type: "button", class: "gv-key", "aria-pressed": String(rule.chosen), title: rule.chosen ? "Current rule" : "Use this rule",
      click: () => { if (!rule.chosen) this.app.chooseRule(rule.key); },
    }, racerSample(rule.index), rule.name)), ...this.lines);
  }

  paint(context, palette) {
    const { rules, app } = this;
    const { tolerance } = app.log.region;
    const strip = 19 * app.type; // for vacuous bounds
    const sizes = Math.max(2, ...rules.map((rule) => rule.bounds.length));
    const values = rules.flatMap((rule) => [...rule.bounds, ...(rule.errors ?? [])]).filter((v) => v !== null && v > CURVE_FLOOR);
    const least = Math.max(Math.floor(Math.log10(Math.min(...values, tolerance, 0.1)) - 0.1), Math.log10(CURVE_FLOOR));
    this.axes([48, 12, strip + 4, 34], [1, sizes], [least, 0]);
    const { y } = this;
    this.y = (value) => y(Math.log10(clamp(value, 10 ** least, 1)));
    this.grid(Array.from({ length: -least + 1 }, (_, k) => 10 ** -k).filter((_, k) => -least < 5 || k % 2 === 0));
    this.drawStrip(context, palette, strip);
    this.below(wholeTicks(1, sizes, 10), "nodes in the region");
    for (const rule of [...rules].sort((a, b) => a.chosen - b.chosen)) this.drawRule(context, palette, rule, strip);
    this.level(tolerance, css(palette.rim), 1.4, [6, 4]);
    this.write("tolerance", this.plot.left + 6, this.y(tolerance) - 2, { align: "left", base: "bottom", rim: palette });
    this.plot.top = 0;
    this.upright(app.shown + 1);
  }

  drawStrip(context, palette, strip) {
    const { left, right } = this.plot;
    context.beginPath();
    context.rect(left, 0, right - left, strip);
    context.fillStyle = css(palette.muted, 0.1);
    context.fill();
    this.hatch(css(palette.muted, 0.35), 7);
    this.write("vacuous bound", right - 6, strip / 2, { align: "right", rim: palette });
  }

  drawRule(context, palette, { index, chosen, bounds, errors }, strip) {
    const colour = palette.racers[index];
    const trace = (values, width, dash) => this.line(
      values.map((value, k) => (value === null ? null : [this.x(k + 1), this.y(value)])), css(colour, chosen ? 1 : 0.62), width, dash);
    trace(bounds, chosen ? 2.8 : 1.7);
    if (errors) trace(errors, chosen ? 2.4 : 1.6, [1.5, 3.5]);
    const every = Math.ceil(bounds.length / 16);
    bounds.forEach((bound, k) => {
      if (k % every !== 0 && k !== bounds.length - 1) return;
      const [fill, rim] = bound === null ? [palette.background, colour] : [colour, palette.background];
      drawMark(context, index, this.x(k + 1), bound === null ? strip * (0.25 + 0.17 * index) : this.y(bound), fill, rim, chosen ? 0.72 : 0.5);
    });
    // A ring around the smallest bound of the chosen rule: larger is not always better.
    const best = bounds.lastIndexOf(Math.min(...bounds.filter((bound) => bound !== null)));
    if (chosen && best >= 0 && best < bounds.length - 1) this.dot(this.x(best + 1), this.y(bounds[best]), 8, null, css(palette.text), 1.8);
  }

  describe() {
    const { shown, rules, whole, log } = this.app;
    for (const [k, rule] of this.rules.entries()) this.keys.children[k]?.setAttribute("aria-pressed", String(rule.chosen));
    // The bound holds for every state, so its curve is compared with the largest error.
    this.errorName.textContent = log.region.labels.length > 2 ? "largest actual error of a state" : "actual error";
    const isUnknown = whole?.done && rules?.every((rule) => rule.errors === null);
    this.note.textContent = isUnknown ? "The actual errors are unknown." : rules ? "" : "Comparing the rules…";
    this.note.hidden = this.note.textContent === "";
    const texts = this.rules.map(({ name, bounds, errors }) => {
      const bound = bounds[shown];
      const error = errors ? `, actual error ${brief(errors[shown])}` : "";
      return `${name}: ${bound === undefined ? "ended before" : bound === null ? "vacuous" : `bound ${boundText(bound)}`}${error}`;
    });
    this.describeAs(`With ${shown + 1} of at most ${log.region.size} nodes: ${texts.join("; ")}`);
  }
}
