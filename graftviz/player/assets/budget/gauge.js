// The complexity R of the model and its bound τ, now and step by step.

import { clamp, css, format, h, integer, lerp, mix, plural, replaceChildren, Surface, ticks } from "../shared/core.js";
import { saveButton } from "../shared/save_picture.js";

export class BudgetGauge {
  constructor(app) {
    this.app = app;
    this.title = h("h3");
    this.now = h("span", { class: "gv-budget-now" });
    this.facts = h("dl", { class: "gv-budget-facts" });
    this.ghostLine = h("p", { class: "gv-muted gv-budget-before", hidden: true });
    this.holder = h("div", { class: "gv-chart gv-budget-gauge" });
    this.course = h("div", { class: "gv-chart gv-budget-course" });
    this.element = h("section", { class: "gv-card gv-budget", "aria-label": "Complexity and bound" },
      h("div", { class: "gv-budget-side" }, h("header", {}, this.title, this.now, saveButton(app, "budget")), this.holder, this.facts, this.ghostLine),
      h("div", { class: "gv-budget-history" }, h("h4", {}, "By step: τ dashed, share of pairs excluded by τ shaded"), this.course));
    this.gauge = new Surface(this.holder, () => app.resized());
    this.chart = new Surface(this.course, () => app.resized());
    for (const { canvas } of [this.gauge, this.chart]) canvas.setAttribute("role", "img");
    this.level = 0;
    this.chart.canvas.addEventListener("pointerdown", (event) => this.scrub(event));
    this.chart.canvas.addEventListener("pointermove", (event) => { if (event.buttons & 1) this.scrub(event); });
  }

  destroy() {
    this.gauge.destroy();
    this.chart.destroy();
  }

  /** A value as a share of τ; 0 if it is unknown. */
  share(value) {
    return (value ?? 0) / this.app.log.run.tau;
  }

  get target() {
    const { log, shown } = this.app;
    return clamp(this.share(log.steps[shown].value), 0, 1.1);
  }

  get moving() {
    return this.app.log !== null && !this.app.still && Math.abs(this.level - this.target) > 1e-3;
  }

  advance(seconds) {
    this.level = this.app.still ? this.target : lerp(this.level, this.target, 1 - Math.exp(-10 * seconds));
    if (Math.abs(this.level - this.target) < 1e-3) this.level = this.target;
  }

  draw() {
    if (!this.app.log) return;
    this.drawGauge();
    this.drawCourse();
  }

  drawGauge() {
    const context = this.gauge.begin();
    if (!context) return;
    const { palette, log, type } = this.app;
    const { tau, whole } = log.run;
    const { width } = this.gauge;
    const [left, right, top, bottom] = [2, width - 26, 4, 24];
    const x = (share) => left + (right - left) * share;
    context.beginPath();
    context.roundRect(left, top, right - left, bottom - top, 6);
    context.fillStyle = css(mix(palette.background, palette.text, 0.1));
    context.fill();
    const full = this.level > 0.999;
    context.save();
    context.clip();
    context.fillStyle = css(full ? palette.wrong : palette.region, palette.dark ? 0.85 : 0.8);
    context.fillRect(left, top, (right - left) * this.level, bottom - top);
    if (full) this.hatch(context, palette, left, right, top, bottom);
    context.restore();
    if (whole) {
      for (let k = 1; k < tau; k++) {
        context.fillStyle = css(palette.background);
        context.fillRect(x(k / tau) - 1, top, 2, bottom - top);
      }
    }
    context.fillStyle = css(palette.text);
    context.fillRect(x(1) - 1.5, top - 4, 3, bottom - top + 8);
    context.font = `600 ${12.5 * type}px ${palette.font}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText("τ", x(1) + 7, (top + bottom) / 2);
  }

  /** Stripes mark a value at the bound, besides the colour. */
  hatch(context, palette, left, right, top, bottom) {
    context.beginPath();
    for (let x = left - 20; x < right; x += 9) {
      context.moveTo(x, bottom);
      context.lineTo(x + bottom - top, top);
    }
    context.lineWidth = 2;
    context.strokeStyle = css(palette.background, 0.35);
    context.stroke();
  }

  plot() {
    const { width, height } = this.chart;
    return { left: 8, right: width - 8, top: 10, bottom: height - 20 * this.app.type };
  }

  get span() {
    const { log, ghost } = this.app;
    return Math.max(log.last ?? Math.max(12, log.ready), ghost ? ghost.course.length - 1 : 0, 1);
  }

  drawCourse() {
    const context = this.chart.begin();
    if (!context) return;
    const { palette, log, shown, ghost, type } = this.app;
    const plot = this.plot();
    const x = (k) => lerp(plot.left, plot.right, k / this.span);
    const top = Math.max(1.08, ghost ? Math.max(...ghost.course.map((v) => this.share(v))) * 1.05 : 0);
    const y = (value) => lerp(plot.bottom, plot.top, clamp(this.share(value), 0, top) / top);
    const stairs = (values) => {
      context.beginPath();
      values.forEach((value, k) => {
        if (k > 0) context.lineTo(x(k), y(values[k - 1]));
        context.lineTo(x(k), y(value));
      });
    };
    // Share of inactive pairs that exceed τ.
    context.beginPath();
    context.moveTo(x(0), plot.bottom);
    for (let k = 0; k <= log.ready; k++) context.lineTo(x(k), lerp(plot.bottom, plot.top, log.steps[k].infeasible / Math.max(1, log.pairs - k) / top));
    context.lineTo(x(log.ready), plot.bottom);
    context.fillStyle = css(palette.wrong, 0.16);
    context.fill();
    if (ghost) {
      stairs(ghost.course);
      context.lineWidth = 2;
      context.setLineDash([5, 4]);
      context.strokeStyle = css(palette.muted, 0.7);
      context.stroke();
      context.setLineDash([]);
    }
    stairs(log.steps.slice(0, log.ready + 1).map(({ value }) => value));
    context.lineWidth = 2.4;
    context.strokeStyle = css(palette.region, 0.45);
    context.stroke();
    stairs(log.steps.slice(0, shown + 1).map(({ value }) => value));
    context.strokeStyle = css(palette.region);
    context.lineWidth = 3.2;
    context.stroke();
    context.beginPath();
    context.moveTo(plot.left, y(log.run.tau));
    context.lineTo(plot.right, y(log.run.tau));
    context.setLineDash([6, 4]);
    context.lineWidth = 1.6;
    context.strokeStyle = css(palette.text);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.arc(x(shown), y(log.steps[shown].value), 5.5, 0, 7);
    context.fillStyle = css(palette.step);
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = css(palette.text);
    context.stroke();
    context.font = `${11.5 * type}px ${palette.font}`;
    context.fillStyle = css(palette.muted);
    context.textBaseline = "top";
    for (const tick of ticks(0, this.span, (plot.right - plot.left) / 90)) {
      if (!Number.isInteger(tick)) continue;
      context.textAlign = tick === 0 ? "left" : tick >= this.span * 0.97 ? "right" : "center";
      context.fillText(tick === 0 ? "step 0" : String(tick), x(tick), plot.bottom + 5);
    }
  }

  scrub(event) {
    if (!this.app.log) return;
    const box = this.chart.canvas.getBoundingClientRect();
    const plot = this.plot();
    const share = clamp((event.clientX - box.left - plot.left) / Math.max(1, plot.right - plot.left), 0, 1);
    this.app.seek(Math.round(share * this.span));
  }

  describe() {
    const { log, shown, ghost } = this.app;
    const step = log.steps[shown];
    const { measure, tauText } = log.run;
    this.title.textContent = measure[0].toUpperCase() + measure.slice(1);
    replaceChildren(this.now, h("b", {}, step.told), ` (limit τ = ${tauText})`);
    const left = log.pairs - shown;
    const fact = (term, value, title) => h("div", { title }, h("dt", {}, term), h("dd", {}, value));
    replaceChildren(this.facts,
      fact("pairs excluded by τ", `${integer(step.infeasible)} of ${integer(left)}`, "Inactive pairs found to exceed τ; the others were not tested, fit, or have zero gradient"),
      fact("‖∇ₑℓ‖", step.norm === null ? "–" : format(step.norm), "Gradient norm of the newest edge"),
      fact("held-out NLL", step.nll === null ? "–" : step.nll.toFixed(3), "Negative log-likelihood of held-out rows, nats per row"));
    this.ghostLine.hidden = !ghost;
    if (ghost) this.ghostLine.textContent = ghost.words;
    this.gauge.canvas.setAttribute("aria-label", `${measure}: ${step.told}, limit ${tauText}.`);
    this.chart.canvas.setAttribute("aria-label", `${measure} over ${plural(log.ready, "step")}, limit ${tauText}.`);
  }
}
