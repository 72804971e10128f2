// The reservoir at the moment of choice: sorted scores, μ, τ_α, max, and what became of each edge.

import { Choice, clamp, css, drawGrid, format, h, integer, isolated, lerp, percent, plural, remembered, replaceChildren, shorten, smooth, Surface, ticks } from "../shared/core.js";
import { attachKeys, turned } from "../shared/keys.js";
import { saveButton } from "../shared/save_picture.js";

export class ReservoirPanel {
  constructor(app) {
    this.app = app;
    this.hover = -1;
    this.top = 0; // upper end of the score axis, eased
    this.fit = remembered.get("reservoirFit", "run");
    this.size = h("span", { class: "gv-count" });
    this.choice = new Choice("Score axis", [
      ["run", "run", "One score axis for the whole run, so that heights can be compared between steps"],
      ["step", "step", "Scale the score axis to the shown step"],
    ], this.fit, (value) => {
      this.fit = value;
      remembered.set("reservoirFit", value);
      app.wake();
    });
    this.chart = h("div", { class: "gv-chart gv-reservoir-chart" });
    this.tip = h("div", { class: "gv-tip", hidden: true });
    this.chart.append(this.tip);
    this.key = h("div", { class: "gv-legend" },
      h("span", { class: "gv-key" }, h("i", { class: "gv-mark gv-mark-taken" }), "activated ", (this.taken = h("b"))),
      h("span", { class: "gv-key", title: "Above τ, but shares a variable with an edge activated in the same step" },
        h("i", { class: "gv-mark gv-mark-skipped" }), "skipped ", (this.skipped = h("b"))),
      (this.replaced = this.listKey("replaced")), (this.dropped = this.listKey("dropped")),
      (this.noise = h("span", { class: "gv-key", hidden: true, title: "Every score must also exceed κ times its own sampling noise, which differs between pairs and is not drawn" })));
    this.none = h("p", { class: "gv-muted", hidden: true },
      "This learner has no reservoir.");
    this.bar = h("div", { class: "gv-stack", "aria-hidden": "true" });
    this.sizes = h("div", { class: "gv-legend gv-sizes" });
    this.work = h("p", { class: "gv-work" });
    this.picture = h("div", {}, this.chart, this.key);
    this.element = h("section", { class: "gv-card gv-reservoir", "aria-label": "Reservoir" },
      h("header", {}, h("h3", {}, "Reservoir"), this.size, this.choice.element, saveButton(app, "reservoir")),
      this.none, this.picture, this.bar, this.sizes, this.work);
    this.surface = new Surface(this.chart, () => app.resized());
    attachKeys(this.surface.canvas, this);
    this.surface.canvas.addEventListener("blur", () => this.leave());
    this.chart.addEventListener("pointermove", (event) => this.point(event));
    this.chart.addEventListener("pointerleave", () => this.leave());
  }

  destroy() {
    this.surface.destroy();
  }

  listKey(text) {
    const number = h("b");
    const list = h("span", { class: "gv-pop", role: "tooltip" });
    const node = h("button", { type: "button", class: "gv-key gv-has-pop" }, `${text} `, number, list);
    node.number = number;
    node.list = list;
    return node;
  }

  setRun() {
    this.top = 0;
    this.leave();
  }

  // ------------------------------------------------------------------------------------- words

  describe() {
    const { log, shown } = this.app;
    const record = log.record(shown);
    const view = record && record.reservoir;
    const without = log.ready > 0 && !log.records[Math.max(shown, 1)].reservoir;
    this.none.hidden = !without;
    this.picture.hidden = without;
    this.choice.element.hidden = without;
    this.size.textContent = view ? `${integer(view.edges.length)} of ${integer(view.capacity)} places` : "";
    this.taken.textContent = view ? integer(view.taken.length) : "–";
    this.skipped.textContent = view ? integer(view.skipped.length) : "–";
    const limit = log.limitAt(shown);
    const { significance } = limit;
    this.noise.hidden = !significance;
    this.noise.textContent = `κ\u00a0=\u00a0${Number(significance ?? 0)} × own noise`;
    this.fillList(this.replaced, record ? record.replaced : [], "Displaced from the full reservoir by a better pair");
    this.fillList(this.dropped, record ? record.dropped : [], `No longer above ${limit.symbol} after the previous refit`);
    this.describeSizes(record, view);
    this.surface.canvas.setAttribute("aria-label", view
      ? `Reservoir of ${view.edges.length} edges; mean score ${format(view.mean)}, threshold τ ${format(view.tau)}, maximum ${format(view.max)}; ${view.taken.length} activated, ${view.skipped.length} skipped as adjacent.`
      : "No reservoir at this step.");
    this.leave();
  }

  fillList(key, pairs, explanation) {
    const { log } = this.app;
    key.number.textContent = integer(pairs.length);
    key.disabled = pairs.length === 0;
    const names = pairs.slice(0, 12).map(([i, j]) =>
      h("span", {}, isolated(shorten(log.name(i), 24)), " – ", isolated(shorten(log.name(j), 24))));
    const more = pairs.length > 12 ? h("span", {}, `and ${pairs.length - 12} more`) : null;
    replaceChildren(key.list, h("em", {}, explanation), names, more);
  }

  /** Where all pairs are, as one bar; and how much of the work an exhaustive search would do. */
  describeSizes(record, view) {
    const { possible } = this.app.log.header;
    this.bar.hidden = this.sizes.hidden = this.app.log.last === 0;
    const held = view ? view.edges.length - view.taken.length : 0;
    const parts = record
      ? [["active", record.edges], ["reservoir", held], ["queue", record.queue], ["frozen", record.frozen], ["unseen", record.unseen]]
      : [["unseen", possible]];
    // Learners without a queue have no place but this for pairs that are not active.
    const rest = possible - parts.reduce((sum, [, size]) => sum + size, 0);
    if (rest > 0) parts.push(["inactive", rest]);
    const total = parts.reduce((sum, [, size]) => sum + size, 0) || 1;
    replaceChildren(this.bar, parts.map(([name, size]) => {
      const piece = h("i", { class: `gv-part-${name}` });
      piece.style.flexGrow = String(size / total);
      return piece;
    }));
    replaceChildren(this.sizes, parts.filter(([name, size]) => size > 0 || name !== "reservoir").map(([name, size]) =>
      h("span", { class: "gv-key" }, h("i", { class: `gv-mark gv-part-${name}` }), `${name} `, h("b", {}, integer(size)))));
    if (!record) {
      this.work.textContent = `${plural(possible, "pair")} possible.`;
      return;
    }
    const bounded = record.test_limit !== null && record.tests <= record.test_limit;
    const limit = bounded ? ` of at most ${integer(record.test_limit)}` : "";
    replaceChildren(this.work,
      `${plural(record.tests, "test")}${limit} in this step, ${integer(record.tests_total)} so far. Counted `,
      h("b", {}, percent(record.tables, possible)), ` of ${plural(possible, "pair table")}.`);
  }

  // ----------------------------------------------------------------------------------- drawing

  /** Upper end the axis should have: the largest score known, or that of the shown step. */
  goal() {
    const { log, shown } = this.app;
    const record = log.record(shown) || log.record(1);
    const view = record && record.reservoir;
    const top = this.fit === "step" && view ? view.max : log.scoreTop;
    return Math.max(top, (log.limitAt(shown).value ?? 0) * 1.5, 1e-12) * 1.12;
  }

  advance(seconds) {
    if (!this.app.log) return;
    const goal = this.goal();
    if (this.top === 0 || this.app.still) this.top = goal;
    this.top += (goal - this.top) * (1 - Math.exp(-6 * seconds));
    if (Math.abs(goal - this.top) < 0.002 * goal) this.top = goal;
  }

  get moving() {
    return this.app.log !== null && this.top !== this.goal();
  }

  draw() {
    if (this.picture.hidden) return;
    const context = this.surface.begin();
    if (!context) return;
    const { log, p, palette, shown, type } = this.app;
    const { width, height } = this.surface;
    const record = log.record(shown);
    const view = record && record.reservoir;
    const plot = { left: 46 * type, right: width - 88 * type, top: 8, bottom: height - 20 * type };
    const capacity = view ? view.capacity : log.ready && log.records[1].reservoir ? log.records[1].reservoir.capacity : 1;
    // The best ranks decide, so they get more room than the long tail.
    const power = capacity <= 50 ? 1 : 0.62;
    const x = (rank) => plot.left + (plot.right - plot.left) * (Math.min(rank, capacity) / capacity) ** power;
    const y = (score) => plot.bottom - (plot.bottom - plot.top) * clamp(score / this.top, 0, 1);
    this.axes(context, palette, plot, x, y, capacity);
    this.plot = plot;
    this.bars = null;
    if (!view) return;
    const earlier = log.record(shown - 1);
    const past = earlier && earlier.reservoir && p < shown ? earlier.reservoir : view;
    const f = smooth(clamp((p - shown + 1) * 2, 0, 1));
    const score = (rank) => lerp(past.scores[rank] ?? 0, view.scores[rank], f);
    const level = { mean: lerp(past.mean, view.mean, f), tau: lerp(past.tau, view.tau, f), max: lerp(past.max, view.max, f) };
    context.fillStyle = css(palette.text, palette.dark ? 0.12 : 0.07);
    context.fillRect(plot.left, y(level.max), plot.right - plot.left, Math.max(y(level.tau) - y(level.max), 1));
    this.drawBars(context, palette, view, x, y, score);
    this.drawLevels(context, palette, plot, y, level, view);
  }

  axes(context, palette, plot, x, y, capacity) {
    context.font = this.app.font(11.5);
    drawGrid(context, palette, plot, ticks(0, this.top, 3), y, format);
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    context.fillStyle = css(palette.muted);
    const ranks = [1, 10, 50, 100, 200, 500, 1000, 5000].filter((rank) => rank <= capacity);
    let free = plot.left - 20;
    for (const rank of ranks) {
      const at = (x(rank - 1) + x(rank)) / 2;
      if (at < free) continue;
      context.fillText(rank === 1 ? "best" : String(rank), clamp(at, plot.left + 10, plot.right - 10), plot.bottom + 15 * this.app.type);
      free = at + 40;
    }
  }

  drawBars(context, palette, view, x, y, score) {
    const fate = new Array(view.edges.length).fill(0);
    for (const k of view.taken) fate[k] = 1;
    for (const k of view.skipped) fate[k] = 2;
    const base = y(0);
    const styles = [css(palette.plain, 0.8), css(palette.step), css(palette.background)];
    this.bars = view.edges.map((_, k) => ({ left: x(k), right: x(k + 1), fate: fate[k] }));
    this.view = view;
    for (const kind of [0, 2, 1]) {
      context.beginPath();
      this.bars.forEach(({ left, right }, k) => {
        if (fate[k] !== kind) return;
        const gap = right - left > 4 ? 1 : right - left > 2 ? 0.5 : 0;
        const top = y(score(k));
        context.rect(left + gap / 2, top, Math.max(right - left - gap, 0.6), base - top);
      });
      context.fillStyle = styles[kind];
      context.fill();
      if (kind === 2) this.hatch(context, palette, score, y, base);
      // Outlines help wide bars; round narrow ones they would be all there is to see.
      if (kind === 1 && this.bars[0].right - this.bars[0].left > 9) {
        context.lineWidth = 1;
        context.strokeStyle = css(palette.rim);
        context.stroke();
      }
    }
    if (this.hover >= 0 && this.bars[this.hover]) {
      const { left, right } = this.bars[this.hover];
      context.strokeStyle = css(palette.text);
      context.lineWidth = 1.5;
      context.strokeRect(left, y(score(this.hover)), Math.max(right - left, 1), base - y(score(this.hover)));
    }
  }

  /** Slanted lines inside the bars that were passed over. */
  hatch(context, palette, score, y, base) {
    context.save();
    context.clip();
    context.beginPath();
    const skipped = this.bars.filter((bar) => bar.fate === 2);
    if (skipped.length) {
      const left = skipped[0].left;
      const right = skipped[skipped.length - 1].right;
      for (let s = left - (base - y(this.top)); s < right; s += 5) {
        context.moveTo(s, base);
        context.lineTo(s + base, 0);
      }
    }
    context.lineWidth = 1.4;
    context.strokeStyle = css(palette.muted, 0.9);
    context.stroke();
    context.restore();
    context.beginPath();
    this.bars.forEach(({ left, right, fate }, k) => {
      if (fate === 2) context.rect(left + 0.5, y(score(k)), Math.max(right - left - 1, 0.5), base - y(score(k)));
    });
    context.lineWidth = 1;
    context.strokeStyle = css(palette.muted, 0.9);
    context.stroke();
  }

  /** Lines where `level` is on its way; the numbers beside them are those of the step. */
  drawLevels(context, palette, plot, y, level, view) {
    const { symbol, value: limit } = this.app.log.limitAt(this.app.shown);
    const row = 14 * this.app.type;
    const lines = [
      ["max", level.max, view.max, [], 1.4], ["τ", level.tau, view.tau, [7, 3], 2],
      ["μ", level.mean, view.mean, [2, 3], 1.6], [symbol, limit, limit, [1, 3], 1.2],
    ].filter(([, value]) => value !== null && value !== undefined);
    context.textAlign = "left";
    context.textBaseline = "middle";
    // Labels keep their order and a line's distance, pushed down from the top, then up from below.
    const places = lines.map(([, value]) => y(value));
    for (let k = 1; k < places.length; k++) places[k] = Math.max(places[k], places[k - 1] + row);
    const floor = plot.bottom + 3;
    for (let k = places.length - 1; k >= 0; k--) places[k] = Math.min(places[k], floor - (places.length - 1 - k) * row);
    lines.forEach(([name, value, number, dash, weight], k) => {
      const at = y(value);
      context.setLineDash(dash);
      context.lineWidth = weight;
      context.strokeStyle = css(palette.text, 0.85);
      context.beginPath();
      context.moveTo(plot.left, at);
      context.lineTo(plot.right, at);
      context.stroke();
      context.setLineDash([]);
      context.lineWidth = 1;
      context.strokeStyle = css(palette.faint);
      context.beginPath();
      context.moveTo(plot.right + 2, at);
      context.lineTo(plot.right + 8, places[k]);
      context.stroke();
      context.font = this.app.font(12, "600");
      context.fillStyle = css(palette.text);
      context.fillText(name, plot.right + 11, places[k]);
      const after = plot.right + 16 + context.measureText(name).width;
      context.font = this.app.font(12);
      context.fillText(format(number), after, places[k]);
    });
    const height = y(level.tau) - y(level.max);
    if (height > 15) {
      context.font = this.app.font(12, "italic");
      context.textAlign = "right";
      context.fillStyle = css(palette.muted);
      context.fillText("interval I", plot.right - 5, y(level.max) + 9);
    }
  }

  // -------------------------------------------------------------------------------------- hover

  point(event) {
    const { left, top } = this.surface.canvas.getBoundingClientRect();
    const x = event.clientX - left;
    this.pointTo(this.bars ? this.bars.findIndex((bar) => x >= bar.left && x < bar.right) : -1, x, event.clientY - top);
  }

  /** By keyboard: the next or the last candidate. */
  turn(step) {
    if (!this.bars?.length) return;
    const k = turned(this.hover, step, this.bars.length);
    this.pointTo(k, this.bars[k].left, this.surface.height / 2);
    this.app.say(this.tip.textContent);
  }

  pointTo(k, x, y) {
    if (k !== this.hover) {
      this.hover = k;
      this.app.wake();
    }
    if (k < 0) {
      this.leave();
      return;
    }
    const { log } = this.app;
    const [i, j] = this.view.edges[k];
    const fate = ["", " · activated", " · touches an activated one"][this.bars[k].fate];
    replaceChildren(this.tip, h("b", {}, isolated(shorten(log.name(i), 30)), " – ", isolated(shorten(log.name(j), 30))),
      ` · place ${k + 1} · score ${format(this.view.scores[k])}${fate}`);
    this.tip.hidden = false;
    this.tip.style.left = `${clamp(x + 12, 2, Math.max(2, this.surface.width - this.tip.offsetWidth - 2))}px`;
    this.tip.style.top = `${Math.max(y - this.tip.offsetHeight - 8, 0)}px`;
  }

  leave() {
    this.tip.hidden = true;
    if (this.hover >= 0) {
      this.hover = -1;
      this.app.wake();
    }
  }
}
