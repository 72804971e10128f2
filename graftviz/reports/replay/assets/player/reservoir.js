// The reservoir when edges are chosen: sorted scores, μ, τ_α, max, and which edges were activated or skipped.
// Dragging τ shows what another α would choose.

import { Chart } from "../shared/chart.js";
import { Choice, clamp, counted, css, Eased, fill, format, h, integer, lerp, pairWords, percent, replaceChildren, smooth, textParts, ticks, tickText } from "../shared/core.js";
import { attachKeys, turned } from "../shared/keys.js";
import { legendKey } from "../shared/legend.js";
import { Tip } from "../shared/tip.js";
import { Threshold } from "./threshold.js";

const RANKS = [1, 10, 50, 100, 200, 500, 1000, 5000];
const [PLAIN, TAKEN, SKIPPED] = [0, 1, 2];
const FATES = ["", ` · ${TEXT.reservoir.is_taken}`, ` · ${TEXT.reservoir.is_skipped}`];

export class ReservoirPanel extends Chart {
  constructor(app) {
    super(app, "gv-reservoir-chart");
    this.hover = -1;
    this.top = new Eased(app, 6, ([goal]) => 0.002 * goal); // upper end of the score axis
    this.size = h("span", { class: "gv-count" });
    this.choice = new Choice(TEXT.reservoir.axis, [
      ["run", TEXT.reservoir.run, TEXT.reservoir.run_title],
      ["step", TEXT.reservoir.step, TEXT.reservoir.step_title],
    ], "run", () => app.wake(), "reservoirFit");
    this.key = h("div", { class: "gv-legend" },
      legendKey("gv-mark gv-mark-taken", [`${TEXT.reservoir.taken} `, (this.taken = h("b"))]),
      legendKey("gv-mark gv-mark-skipped", [`${TEXT.reservoir.skipped} `, (this.skipped = h("b"))], TEXT.reservoir.skipped_title),
      (this.replaced = this.listKey(TEXT.reservoir.replaced)), (this.dropped = this.listKey(TEXT.reservoir.dropped)),
      (this.noise = legendKey(null, null, TEXT.reservoir.noise_title)));
    this.none = h("p", { class: "gv-muted", hidden: true }, TEXT.reservoir.without);
    this.bar = h("div", { class: "gv-stack", "aria-hidden": "true" });
    this.sizes = h("div", { class: "gv-legend gv-sizes" });
    this.work = h("p", { class: "gv-small gv-work" });
    this.picture = h("div", {}, this.holder, this.key);
    this.card("gv-reservoir", TEXT.reservoir.title, "reservoir", [h("h3", {}, TEXT.reservoir.title), this.size, this.choice.element],
      this.none, this.picture, this.bar, this.sizes, this.work);
    this.tip = new Tip(this.holder);
    this.threshold = new Threshold(this);
    attachKeys(this.canvas, this);
    this.on("pointermove", (x, y) => this.pointTo(this.bars?.findIndex((bar) => x >= bar.left && x < bar.right) ?? -1, x, y));
    this.on("pointerleave blur", () => this.leave());
  }

  listKey(text) {
    const [number, list] = [h("b"), h("span", { class: "gv-pop", role: "tooltip" })];
    return Object.assign(h("button", { type: "button", class: "gv-key gv-has-pop" }, `${text} `, number, list), { number, list });
  }

  setRun() {
    this.top.values = null;
    this.threshold.end();
    this.leave();
  }

  /** What another threshold would choose at the shown step, as pairs; null unless one is tried. */
  get trial() {
    const { trial } = this.threshold;
    const view = trial && this.viewAt(this.app.shown);
    return view ? { taken: trial.taken.map((k) => view.edges[k]), skipped: trial.skipped.map((k) => view.edges[k]) } : null;
  }

  /** The choice that is drawn: the one of the step, or of the threshold that is tried. */
  choiceOf(view) {
    return this.threshold.trial ?? view;
  }

  /** The reservoir of step t, if it has one. */
  viewAt(t) {
    return this.app.log.record(t)?.reservoir ?? null;
  }

  // ------------------------------------------------------------------------------------- words

  describe() {
    const { log, shown } = this.app;
    const record = log.record(shown);
    const view = this.viewAt(shown);
    const next = Math.max(shown, 1); // the step of required edges has no reservoir, but the next may
    const isWithout = log.ready > 0 && !this.viewAt(next) && !this.viewAt(next + 1);
    this.none.hidden = !isWithout;
    this.picture.hidden = this.choice.element.hidden = isWithout;
    this.threshold.follow(view);
    this.size.textContent = view ? fill(TEXT.reservoir.places, { count: integer(view.edges.length), capacity: integer(view.capacity) }) : "";
    this.count();
    const { symbol, significance } = log.limitAt(shown);
    this.noise.hidden = !significance;
    this.noise.textContent = fill(TEXT.reservoir.noise, { kappa: `κ\u00a0=\u00a0${Number(significance ?? 0)}` });
    this.fillList(this.replaced, record?.replaced ?? [], TEXT.reservoir.replaced_title);
    this.fillList(this.dropped, record?.dropped ?? [], fill(TEXT.reservoir.dropped_title, { symbol }));
    this.describeSizes(record, view);
    this.describeAs(view
      ? fill(TEXT.reservoir.described, { count: view.edges.length, mean: format(view.mean), tau: format(view.tau),
        max: format(view.max), taken: view.taken.length, skipped: view.skipped.length })
      : TEXT.reservoir.none);
    this.leave();
  }

  /** Write how many edges are activated, and skipped. */
  count() {
    const view = this.viewAt(this.app.shown);
    const choice = view && this.choiceOf(view);
    this.taken.textContent = integer(choice?.taken.length);
    this.skipped.textContent = integer(choice?.skipped.length);
  }

  pairWords(pair, longest) {
    return pairWords(pair.map((i) => this.app.log.name(i)), longest);
  }

  fillList(key, pairs, explanation) {
    key.number.textContent = integer(pairs.length);
    key.disabled = pairs.length === 0;
    const names = pairs.slice(0, 12).map((pair) => h("span", {}, this.pairWords(pair, 24)));
    const more = pairs.length > 12 ? h("span", {}, fill(TEXT.reservoir.more, { count: pairs.length - 12 })) : null;
    replaceChildren(key.list, h("em", {}, explanation), names, more);
  }

  /** Write the numbers of pairs by state, as one bar, and the share of pair tables counted so far. */
  describeSizes(record, view) {
    const { possible } = this.app.log.header;
    this.bar.hidden = this.sizes.hidden = this.app.log.last === 0;
    const held = view ? view.edges.length - view.taken.length : 0;
    const parts = record
      ? [["active", record.edges], ["reservoir", held], ["queue", record.queue], ["frozen", record.frozen], ["unseen", record.unseen]]
      : [["unseen", possible]];
    const sum = () => parts.reduce((total, [, size]) => total + size, 0);
    // Learners without a queue do not report the states of inactive pairs.
    if (possible > sum()) parts.push(["inactive", possible - sum()]);
    const total = sum() || 1;
    replaceChildren(this.bar, parts.map(([name, size]) => {
      const piece = h("i", { class: `gv-part-${name}` });
      piece.style.flexGrow = String(size / total);
      return piece;
    }));
    replaceChildren(this.sizes, parts.filter(([name, size]) => size > 0 || name !== "reservoir").map(([name, size]) =>
      legendKey(`gv-mark gv-part-${name}`, [`${TEXT.reservoir.parts[name]} `, h("b", {}, integer(size))])));
    if (!record) {
      this.work.textContent = counted(possible, TEXT.reservoir.possible);
      return;
    }
    const isBounded = record.test_limit !== null && record.tests <= record.test_limit;
    const tests = counted(record.tests, TEXT.reservoir[isBounded ? "tests_of" : "tests"], { limit: integer(record.test_limit), total: integer(record.tests_total) });
    replaceChildren(this.work, `${tests} `, textParts(TEXT.reservoir.tables[possible === 1 ? 0 : 1], { share: h("b", {}, percent(record.tables, possible)), n: integer(possible) }));
  }

  // ----------------------------------------------------------------------------------- drawing

  /** Whether the scores of the step fill the chart, as they do while a threshold is tried. */
  get isOfStep() {
    return this.choice.value === "step" || this.threshold.trial !== null;
  }

  /** Upper end of the axis: the largest score so far, or that of the shown step. */
  goal() {
    const { log, shown } = this.app;
    const view = (log.record(shown) || log.record(1))?.reservoir;
    const top = this.isOfStep && view ? view.max : log.scoreTop;
    return Math.max(top, (log.limitAt(shown).value ?? 0) * 1.5, 1e-12) * 1.12;
  }

  advance(seconds) {
    this.top.advance([this.goal()], seconds);
  }

  get moving() {
    return this.top.moving;
  }

  paint(context, palette) {
    const { part, shown, type } = this.app;
    this.bars = null;
    if (this.picture.hidden) return;
    const view = this.viewAt(shown);
    const { capacity } = view ?? this.viewAt(1) ?? { capacity: 1 };
    const [top] = this.top.values;
    this.axes([46, 88 * type, 8, 20], [0, capacity], [0, top]);
    const { left, right } = this.plot;
    const { y } = this;
    // The first scores of a run are many times the last ones: on its axis heights are square roots, so that all can be read.
    this.y = (score) => y(this.isOfStep ? clamp(score, 0, top) : Math.sqrt(clamp(score, 0, top) * top));
    // Edges are chosen from the best ranks, which are drawn wider than the others.
    const power = capacity <= 50 ? 1 : 0.62;
    this.x = (rank) => left + (right - left) * (Math.min(rank, capacity) / capacity) ** power;
    this.grid(ticks(0, top, 3));
    this.below(RANKS.filter((rank) => rank <= capacity).map((rank) => rank - 0.5), "", (at) => (at < 1 ? TEXT.reservoir.best : String(at + 0.5)));
    this.threshold.place(view);
    if (!view) return;
    const past = (part < 1 && this.viewAt(shown - 1)) || view;
    const f = smooth(clamp(part * 2, 0, 1));
    const heights = view.scores.map((score, rank) => this.y(lerp(past.scores[rank] ?? 0, score, f)));
    const [mean, before, max] = ["mean", "tau", "max"].map((name) => lerp(past[name], view[name], f));
    const tried = this.threshold.trial;
    const tau = tried?.tau ?? before;
    context.fillStyle = css(palette.text, palette.dark ? 0.12 : 0.07);
    context.fillRect(left, this.y(max), right - left, Math.max(this.y(tau) - this.y(max), 1));
    this.drawBars(context, palette, view, heights);
    const { symbol, value: limit } = this.app.log.limitAt(shown);
    // Lines may be in motion; the numbers beside them are those of the step.
    this.drawLevels(context, palette, [
      ["max", max, format(view.max), [], 1.4], ["τ", tau, format(tried?.tau ?? view.tau), [7, 3], 2], ["μ", mean, format(view.mean), [2, 3], 1.6],
      [symbol, limit, tickText(limit), [1, 3], 1.2],
    ].filter(([, value]) => value !== null && value !== undefined));
    if (this.y(tau) - this.y(max) <= 15) return;
    context.font = this.app.font(12, "italic");
    context.textAlign = "right";
    context.fillStyle = css(palette.muted);
    context.fillText(TEXT.reservoir.interval, right - 5, this.y(max) + 9);
  }

  drawBars(context, palette, view, heights) {
    const base = this.y(0);
    const fate = new Array(view.edges.length).fill(PLAIN);
    const { taken, skipped } = this.choiceOf(view);
    for (const k of taken) fate[k] = TAKEN;
    for (const k of skipped) fate[k] = SKIPPED;
    this.view = view;
    this.bars = fate.map((kind, k) => ({ left: this.x(k), right: this.x(k + 1), top: heights[k], fate: kind }));
    const outline = (kind, inset) => {
      context.beginPath();
      for (const { left, right, top, fate: own } of this.bars) {
        const gap = inset ?? (right - left > 4 ? 1 : right - left > 2 ? 0.5 : 0);
        if (own === kind) context.rect(left + gap / 2, top, Math.max(right - left - gap, 0.6), base - top);
      }
    };
    for (const [kind, colour] of [[PLAIN, css(palette.plain, 0.8)], [SKIPPED, css(palette.background)], [TAKEN, css(palette.step)]]) {
      outline(kind);
      context.fillStyle = colour;
      context.fill();
      if (kind === SKIPPED) {
        this.hatch(css(palette.muted, 0.9), 5, 1.4);
        outline(kind, 1);
        this.stroke(css(palette.muted, 0.9), 1);
      }
      // Narrow bars have no outline, which would cover them.
      if (kind === TAKEN && this.bars[0]?.right - this.bars[0]?.left > 9) this.stroke(css(palette.rim), 1);
    }
    const pointed = this.bars[this.hover];
    if (!pointed) return;
    context.beginPath();
    context.rect(pointed.left, pointed.top, Math.max(pointed.right - pointed.left, 1), base - pointed.top);
    this.stroke(css(palette.text), 1.5);
  }

  drawLevels(context, palette, levels) {
    const { right, bottom } = this.plot;
    const row = 14 * this.app.type;
    // Labels are at least one line apart and in order: moved down from the top, then up from below.
    const places = levels.map(([, value]) => this.y(value));
    for (let k = 1; k < places.length; k++) places[k] = Math.max(places[k], places[k - 1] + row);
    for (let k = places.length - 1; k >= 0; k--) places[k] = Math.min(places[k], bottom + 3 - (places.length - 1 - k) * row);
    context.textAlign = "left";
    context.textBaseline = "middle";
    levels.forEach(([name, value, text, dash, width], k) => {
      this.level(value, css(palette.text, 0.85), width, dash);
      this.line([[right + 2, this.y(value)], [right + 8, places[k]]], css(palette.faint), 1);
      context.font = this.app.font(12, "600");
      context.fillStyle = css(palette.text);
      context.fillText(name, right + 11, places[k]);
      const after = right + 16 + context.measureText(name).width;
      context.font = this.app.font(12);
      context.fillText(text, after, places[k]);
    });
  }

  // -------------------------------------------------------------------------------------- hover

  /** By keyboard: the next or the previous candidate. */
  turn(step) {
    if (!this.bars?.length) return;
    const k = turned(this.hover, step, this.bars.length);
    this.pointTo(k, this.bars[k].left, this.height / 2);
    this.app.say(this.tip.element.textContent);
  }

  pointTo(k, x, y) {
    if (k !== this.hover) this.app.wake();
    this.hover = k;
    if (k < 0) return this.tip.hide();
    const fact = ` · ${fill(TEXT.reservoir.fact, { place: k + 1, score: format(this.view.scores[k]) })}${FATES[this.bars[k].fate]}`;
    return this.tip.show(x, y, h("b", {}, this.pairWords(this.view.edges[k], 30)), fact);
  }

  leave() {
    this.pointTo(-1);
  }
}
