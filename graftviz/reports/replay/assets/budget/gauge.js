// The complexity R of the model and its bound τ, now and step by step.

import { Chart, stairs, wholeTicks } from "../shared/chart.js";
import { clamp, css, format, h, integer, lerp, mix, plural, replaceChildren, smooth } from "../shared/core.js";
import { saveButton } from "../shared/save_picture.js";

/** A value as a share of τ; 0 if it is unknown. */
const shareOf = (value, { run }) => (value ?? 0) / run.tau;

class Gauge extends Chart {
  constructor(app) {
    super(app, "gv-budget-gauge");
  }

  paint(context, palette) {
    const { log, shown, part } = this.app;
    const { tau, whole } = log.run;
    const [before, now] = [log.steps[Math.max(0, shown - 1)], log.steps[shown]].map(({ value }) => shareOf(value, log));
    const level = clamp(lerp(before, now, smooth(part)), 0, 1.1);
    const [left, width, top, height] = [2, this.width - 28, 4, 20];
    context.beginPath();
    context.roundRect(left, top, width, height, 6);
    context.fillStyle = css(mix(palette.background, palette.text, 0.1));
    context.fill();
    const isFull = level > 0.999;
    context.save();
    context.clip();
    context.beginPath();
    context.rect(left, top, width * level, height);
    context.fillStyle = css(isFull ? palette.wrong : palette.region, palette.dark ? 0.85 : 0.8);
    context.fill();
    // Stripes mark a value at the bound, besides the colour.
    if (isFull) this.hatch(css(palette.background, 0.35), 9, 2);
    context.restore();
    context.fillStyle = css(palette.background);
    for (let k = 1; whole && k < tau; k++) context.fillRect(left + (width * k) / tau - 1, top, 2, height);
    context.fillStyle = css(palette.text);
    context.fillRect(left + width - 1.5, top - 4, 3, height + 8);
    context.font = this.app.font(12.5, "600");
    this.write("τ", left + width + 12, top + height / 2, { colour: palette.text });
  }
}

class Course extends Chart {
  constructor(app) {
    super(app, "gv-budget-course");
    this.on("pointerdown pointermove", (x, _, { buttons }) => { if (buttons & 1) app.seek(Math.round(this.valueAt(x))); });
  }

  paint(context, palette) {
    const { log, shown, ghost } = this.app;
    const { steps, ready, pairs } = log;
    const before = ghost?.course ?? [];
    const last = Math.max(log.last ?? Math.max(12, ready), before.length - 1, 1);
    const top = Math.max(1.08, ...before.map((value) => shareOf(value, log) * 1.05));
    this.axes([8, 8, 10, 20], [0, last], [0, top]);
    const course = (values) => stairs(values.map((value, k) => [this.x(k), this.y(clamp(shareOf(value, log), 0, top))]));
    const values = steps.slice(0, ready + 1).map(({ value }) => value);
    // Share of inactive pairs that exceed τ.
    const shares = values.map((_, k) => [this.x(k), this.y(steps[k].infeasible / Math.max(1, pairs - k))]);
    this.path([[this.x(0), this.y(0)], ...shares, [this.x(ready), this.y(0)]]);
    context.fillStyle = css(palette.wrong, 0.16);
    context.fill();
    this.line(course(before), css(palette.muted, 0.7), 2, [5, 4]);
    this.line(course(values), css(palette.region, 0.45), 2.4);
    this.line(course(values.slice(0, shown + 1)), css(palette.region), 3.2);
    this.level(1, css(palette.text), 1.6, [6, 4]);
    this.dot(...course(values)[2 * shown], 5.5, css(palette.step), css(palette.text));
    this.below(wholeTicks(0, last, (this.plot.right - this.plot.left) / 90), "", (k) => (k === 0 ? "step 0" : String(k)));
  }
}

export class BudgetGauge {
  constructor(app) {
    this.app = app;
    this.title = h("h3");
    this.now = h("span", { class: "gv-budget-now" });
    this.facts = h("dl", { class: "gv-budget-facts" });
    this.ghostLine = h("p", { class: "gv-small gv-budget-before", hidden: true });
    this.parts = [(this.gauge = new Gauge(app)), (this.course = new Course(app))];
    this.element = h("section", { class: "gv-card gv-budget", "aria-label": "Complexity and bound" },
      h("div", { class: "gv-budget-side" }, h("header", {}, this.title, this.now, saveButton(app, "budget")), this.gauge.holder, this.facts, this.ghostLine),
      h("div", { class: "gv-budget-history" }, h("h4", {}, "By step: τ dashed, share of pairs excluded by τ shaded"), this.course.holder));
  }

  describe() {
    const { log, shown, ghost } = this.app;
    const { valueText, infeasible, norm, nll } = log.steps[shown];
    const { measure, tauText } = log.run;
    this.title.textContent = measure[0].toUpperCase() + measure.slice(1);
    replaceChildren(this.now, h("b", {}, valueText), ` (limit τ = ${tauText})`);
    const fact = (term, value, title) => h("div", { title }, h("dt", {}, term), h("dd", {}, value));
    replaceChildren(this.facts,
      fact("pairs excluded by τ", `${integer(infeasible)} of ${integer(log.pairs - shown)}`,
        "Inactive pairs found to exceed τ; the others were not tested, fit, or have zero gradient"),
      fact("‖∇ₑℓ‖", format(norm), "Gradient norm of the newest edge"),
      fact("held-out NLL", nll?.toFixed(3) ?? "–", "Negative log-likelihood of held-out rows, nats per row"));
    this.ghostLine.hidden = !ghost;
    this.ghostLine.textContent = ghost?.words ?? "";
    this.gauge.describeAs(`${measure}: ${valueText}, limit ${tauText}.`);
    this.course.describeAs(`${measure} over ${plural(log.ready, "step")}, limit ${tauText}.`);
  }
}
