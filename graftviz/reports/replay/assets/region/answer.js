// The estimate from the region with its bound as error bar, beside exact inference and BP.

import { boundText, brief, clamp, css, h, hatching, isolated, lerp, plural, replaceChildren, shorten, smooth, ticks } from "../shared/core.js";
import { Chart } from "../shared/chart.js";
import { drawMark } from "../shared/marks.js";

const ANSWER_ROWS = ["local", "exact", "bp"];

export class RegionAnswer extends Chart {
  constructor(app) {
    super(app, "gv-answer-chart");
    this.question = h("h3", { dir: "auto" });
    this.choice = h("select", { "aria-label": "State", change: () => app.chooseState(Number(this.choice.value)) });
    this.numbers = {};
    this.names = {};
    const cells = ANSWER_ROWS.map((key, row) => {
      this.numbers[key] = h("span");
      this.names[key] = h("span", { class: "gv-muted" });
      return h("div", { class: "gv-answer-row", style: `grid-row:${row + 1}` }, this.names[key], this.numbers[key]);
    });
    this.verdict = h("p", { class: "gv-answer-verdict" });
    this.note = h("p", { class: "gv-small" });
    this.card("gv-answer", "Estimate", "answer", [this.question, this.choice],
      h("div", { class: "gv-answer-rows" }, cells, this.holder), this.verdict, this.note);
  }

  setRegion(log) {
    const { labels } = log.region;
    this.choice.replaceChildren(...labels.map((label, k) => h("option", { value: k }, shorten(label, 24))));
    this.choice.hidden = labels.length < 2;
  }

  /** The chosen state, which saved pictures show as text. */
  legend() {
    return [[null, `State: ${this.app.log.region.labels[this.app.state]}`]];
  }

  /** Probabilities of the chosen state, from the best region up to a step, and its bound (null: vacuous). */
  facts(k = this.app.shown) {
    const { log, state, whole } = this.app;
    const size = log.steps[k].best + 1;
    const step = log.steps[size - 1];
    const exact = whole?.exact?.[state] ?? null;
    const error = exact === null ? null : Math.abs(step.marginal[state] - exact);
    return { step, size, local: step.marginal[state], bound: step.certified ? step.bound : null, exact, bp: whole?.bp?.[state] ?? null, error };
  }

  /** Range of the axis: all values and the error bar; 0 … 1 while the bound is vacuous. */
  range(k) {
    const { local, bound, exact, bp } = this.facts(k);
    if (bound === null) return [0, 1];
    const seen = [local - bound, local + bound, exact ?? local, bp ?? local];
    const [low, high] = [Math.max(0, Math.min(...seen)), Math.min(1, Math.max(...seen))];
    const margin = Math.max(0.12 * (high - low), 1e-7);
    return [Math.max(0, low - margin), Math.min(1, high + margin)];
  }

  paint(context, palette) {
    const { shown, part } = this.app;
    const { local, bound, exact, bp } = this.facts();
    const before = this.range(Math.max(0, shown - 1));
    const [low, high] = this.range(shown).map((end, k) => lerp(before[k], end, smooth(part)));
    this.axes([10, 10, 0, 20], [low, high], [0, 1]);
    const { left, right, bottom } = this.plot;
    const row = bottom / ANSWER_ROWS.length;
    const at = (p) => clamp(this.x(p), left, right);
    const values = ticks(low, high, (right - left) / (78 * this.app.type));
    for (const tick of values) this.line([[at(tick), 0], [at(tick), bottom]], css(palette.hairline), 1);
    this.below(values, "", (tick) => String(Number(tick.toPrecision(8))));
    /** Fill a part of the first row, in px. */
    const fill = (style, from, to, above, below) => {
      context.fillStyle = style;
      context.fillRect(from, row * above, to - from, row * (below - above));
    };
    if (bound === null) fill(hatching(context, css(palette.muted), { apart: 7 }), left, right, 0.2, 0.8);
    else {
      const ends = [local - bound, local + bound].map(at);
      fill(css(palette.objective, 0.13), ...ends, 0, ANSWER_ROWS.length);
      fill(css(palette.objective, palette.dark ? 0.5 : 0.38), ...ends, 0.24, 0.76);
      for (const end of ends) fill(css(palette.objective), end - 1.3, end + 1.3, 0.16, 0.84);
    }
    if (exact !== null) this.line([[at(exact), 0], [at(exact), bottom]], css(palette.right), 1.4, [2, 3]);
    const marks = [[3, local, palette.objective], [0, exact, palette.right], [1, bp, palette.precision]];
    marks.forEach(([mark, p, colour], k) => p !== null && drawMark(context, mark, at(p), row * (k + 0.5), colour, palette.background));
  }

  describe() {
    const { log, state, whole } = this.app;
    const { labels, query } = log.region;
    const { step, size, local, bound, exact, bp, error } = this.facts();
    this.choice.value = String(state);
    replaceChildren(this.question, "Probability of ", isolated(shorten(log.name(query), 28)), " = ", labels.length > 1 ? null : isolated(labels[0]));
    const none = step.bound === null ? "no guarantee" : `± ${boundText(step.bound)}: no guarantee`;
    const promise = bound === null ? h("span", { class: "gv-region-none" }, none) : ` ± ${boundText(bound)}`;
    replaceChildren(this.numbers.local, h("b", {}, probability(local, bound)), promise);
    this.names.local.textContent = `from ${plural(size, "node")}, in ${duration(log.region.seconds)}`;
    for (const [key, value, name] of [["exact", exact, "exact"], ["bp", bp, "BP"]]) {
      this.names[key].textContent = `${name}, whole graph${value === null ? "" : `, in ${duration(whole[`${key}Seconds`])}`}`;
      replaceChildren(this.numbers[key], value === null ? (whole?.done ? "unknown" : "…") : h("b", {}, probability(value, bound)));
    }
    this.verdict.textContent = error === null ? (whole?.done ? "" : "Running exact inference on the whole graph…") : this.judge(bound, error);
    this.note.textContent = whole ? [whole.exactNote, whole.bpNote].filter(Boolean).join(" ") : "";
    const guarantee = bound === null ? "without a guarantee" : `plus or minus ${boundText(bound)}`;
    this.describeAs(`Probability of ${labels[state]}: from the region ${probability(local, bound)} ${guarantee}, `
      + `exact ${probability(exact, bound)}, belief propagation ${probability(bp, bound)}.`);
  }

  judge(bound, error) {
    const actual = `Actual error ${error < 1e-9 ? "below 10⁻⁹" : brief(error)}`;
    if (bound === null) return `${actual}; no bound was certified.`;
    if (bound === 0) return "Exact.";
    if (error < 1e-9) return `${actual} (bound ${boundText(bound)}).`;
    const times = bound / error;
    return `${actual} (bound ${boundText(bound)}, ${times < 10 ? times.toFixed(1) : Math.round(times).toLocaleString("en")} times larger).`;
  }
}

/** A duration in milliseconds or seconds. */
const duration = (seconds) => (seconds < 0.0995 ? `${Number((1000 * seconds).toPrecision(2))}\u00a0ms` : `${Number(seconds.toPrecision(2))}\u00a0s`);

/** A probability with as many digits as its bound justifies. */
function probability(p, bound) {
  if (p === null || p === undefined) return "unknown";
  const digits = bound === null || bound <= 0 ? 4 : clamp(1 - Math.floor(Math.log10(bound)), 3, 8);
  return p.toFixed(digits);
}
