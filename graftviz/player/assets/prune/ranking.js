// Contribution of every edge, smallest first: the k removed edges, and beside them the k added ones.

import { Chart } from "../shared/chart.js";
import { brief, clamp, css, format, h, plural, smooth } from "../shared/core.js";
import { attachKeys, turned } from "../shared/keys.js";
import { pairKey } from "./log.js";

const PRUNE_LISTED = 3; // removed or added pairs that are named

export class PruneRanking extends Chart {
  constructor(app) {
    super(app, "gv-prune-bars");
    this.count = h("span", { class: "gv-count" });
    this.out = h("p", { class: "gv-prune-out", dir: "auto" });
    this.into = h("p", { class: "gv-prune-in", dir: "auto" });
    this.bars = [];
    this.card("gv-prune-ranking", "Edge contributions", "ranking", [h("h3", {}, "Edge contributions"), this.count], this.out, this.into);
    attachKeys(this.canvas, this);
    this.on("pointermove", (x) => this.point(this.bars.findIndex(({ left }) => x >= left && x < left + this.step)));
    this.on("pointerleave blur", () => this.leave());
  }

  /** Bars of the shown step: {i, j, worth, kind}; added pairs come last. */
  ranked() {
    const record = this.app.log.at(this.app.shown);
    if (!record) return [];
    const isExchange = record.kind === "exchange";
    const gone = new Set(isExchange ? record.removed.map(([i, j]) => pairKey(i, j)) : []);
    const bars = record.rank.map(([i, j, worth]) => ({ i, j, worth, kind: gone.has(pairKey(i, j)) ? "leaving" : "plain" }));
    if (isExchange) record.added.forEach(([i, j], k) => bars.push({ i, j, worth: record.gains[k], kind: "arriving" }));
    return bars;
  }

  isPointed({ i, j }) {
    const { pointed } = this.app;
    return pointed !== null && pairKey(...pointed) === pairKey(i, j);
  }

  paint(context, palette) {
    const { app } = this;
    const { type } = app;
    const bars = this.bars = this.ranked();
    if (bars.length === 0) return this.message("no ranking in this step");
    const most = Math.max(1e-9, ...bars.map(({ worth }) => worth ?? 0));
    this.axes([44, 4, 8, 18], [0, 1], [0, 1]);
    const { y, plot: { left, right, bottom } } = this;
    // On a linear scale the small bars, which matter, would be invisible.
    this.y = (worth) => y(Math.sqrt(clamp(worth, 0, most) / most));
    this.grid([0, most / 16, most / 4, most], brief);
    const entering = bars.findIndex(({ kind }) => kind === "arriving");
    const gap = entering >= 0 ? 16 * type : 0; // between the edges of the model and the added ones
    this.step = (right - left - gap) / Math.max(bars.length, 12);
    const width = Math.max(this.step - (this.step > 4 ? 2 : 0.4), 0.8);
    const { leaving, arriving } = palette;
    const colours = { leaving: css(leaving), arriving: css(arriving), plain: css(palette.plain, 0.65) };
    bars.forEach((bar, k) => {
      const { kind, worth, i, j } = bar;
      const grown = kind === "arriving" ? smooth(clamp(app.part * 1.6 - 0.6, 0, 1)) : 1;
      const top = Math.min(this.y((worth ?? 0) * grown), bottom - 2);
      bar.left = left + k * this.step + (kind === "arriving" ? gap : 0);
      context.fillStyle = colours[kind];
      context.fillRect(bar.left, top, width, bottom - top);
      if (kind !== "plain") this.mark(bar.left + width / 2, top - 7 * type, colours[kind], kind === "arriving");
      if (!this.isPointed(bar) && i !== app.node && j !== app.node) return;
      context.beginPath();
      context.rect(bar.left - 1, top - 1, width + 2, bottom - top + 2);
      this.stroke(css(palette.primary), 2);
    });
    context.fillStyle = css(palette.muted);
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.fillText("edges in the model", left, bottom + 14 * type);
    context.textAlign = "right";
    if (entering >= 0) context.fillText("added", right, bottom + 14 * type);
    return undefined;
  }

  /** A cross over removed edges, a plus over added ones. */
  mark(x, y, colour, isPlus) {
    const lines = isPlus ? [[4, 0], [0, 4]] : [[3.2, 3.2], [3.2, -3.2]];
    for (const [dx, dy] of lines) this.line([[x - dx, y - dy], [x + dx, y + dy]], colour, 2);
  }

  /** By keyboard: the next or previous bar. */
  turn(step) {
    if (!this.bars.length) return;
    this.point(turned(this.bars.findIndex((bar) => this.isPointed(bar)), step, this.bars.length));
    this.app.say(this.count.textContent);
  }

  leave() {
    this.app.pointTo(null);
  }

  point(k) {
    const bar = this.bars[k];
    this.app.pointTo(bar ? [bar.i, bar.j] : null, bar?.worth);
  }

  describe() {
    const { log, shown, all, pointed, pointedWorth } = this.app;
    const record = log.at(shown);
    const list = (pairs, worth) => pairs.slice(0, PRUNE_LISTED).map(([i, j], k) => `${all.pair(i, j)} ${format(worth[k])}`).join(" · ")
      + (pairs.length > PRUNE_LISTED ? ` · and ${pairs.length - PRUNE_LISTED} more` : "");
    this.count.textContent = pointed ? `${all.pair(...pointed)}: ${format(pointedWorth)}` : "nats per row, square-root scale";
    const [removed, added] = record?.kind === "exchange" ? [list(record.removed, record.contributions), list(record.added, record.gains)] : [null, null];
    this.out.textContent = removed === null ? "" : `× removed: ${removed || "none"}`;
    this.into.textContent = added === null ? "" : `+ added: ${added || "none"}`;
    const ranked = record ? `${plural(record.rank.length, "edge")} by contribution.` : "No ranking in this step.";
    this.describeAs(removed === null ? ranked : `${ranked} Removed: ${removed}. Added: ${added}.`);
  }
}
