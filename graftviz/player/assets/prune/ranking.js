// Contribution of every edge, smallest first: the k removed edges, and beside them the k added ones.

import { brief, clamp, css, drawGrid, format, h, plural, smooth, Surface } from "../shared/core.js";
import { attachKeys, turned } from "../shared/keys.js";
import { saveButton } from "../shared/save_picture.js";
import { pairKey } from "./log.js";

const PRUNE_LISTED = 3; // removed or added pairs that are named

export class PruneRanking {
  constructor(app) {
    this.app = app;
    this.count = h("span", { class: "gv-count" });
    this.holder = h("div", { class: "gv-chart gv-prune-bars" });
    this.out = h("p", { class: "gv-prune-out", dir: "auto" });
    this.into = h("p", { class: "gv-prune-in", dir: "auto" });
    this.element = h("section", { class: "gv-card gv-prune-ranking", "aria-label": "Edge contributions" },
      h("header", {}, h("h3", {}, "Edge contributions"), this.count, saveButton(app, "ranking")), this.holder, this.out, this.into);
    this.surface = new Surface(this.holder, () => app.resized());
    const { canvas } = this.surface;
    attachKeys(canvas, this);
    canvas.addEventListener("pointermove", (event) => this.point(event));
    for (const type of ["pointerleave", "blur"]) canvas.addEventListener(type, () => this.leave());
  }

  destroy() {
    this.surface.destroy();
  }

  /** Bars of the shown step: {i, j, worth, kind}; added pairs come last. */
  bars() {
    const { log, shown } = this.app;
    const record = log.at(shown);
    if (!record) return [];
    const entering = record.added.map(([i, j], k) => ({ i, j, worth: record.gains[k], kind: "arriving" }));
    if (record.kind !== "exchange") return record.rank.map(([i, j, worth]) => ({ i, j, worth, kind: "plain" }));
    const gone = new Set(record.removed.map(([i, j]) => pairKey(i, j)));
    return [...record.rank.map(([i, j, worth]) => ({ i, j, worth, kind: gone.has(pairKey(i, j)) ? "leaving" : "plain" })), ...entering];
  }

  draw() {
    const context = this.surface.begin();
    const { app } = this;
    if (!context || !app.log) return;
    const { palette, type, part } = app;
    const { width, height } = this.surface;
    const bars = this.bars();
    this.shownBars = bars;
    context.font = `${11.5 * type}px ${palette.font}`;
    const plot = { left: 44 * type, right: width - 4, top: 8, bottom: height - 18 * type };
    this.plot = plot;
    const most = Math.max(1e-9, ...bars.map(({ worth }) => worth ?? 0));
    // On a linear scale the small bars, which matter, would be invisible.
    const y = (worth) => plot.bottom - (plot.bottom - plot.top) * Math.sqrt(clamp(worth, 0, most) / most);
    if (bars.length) drawGrid(context, palette, plot, [0, most / 16, most / 4, most], y, (value) => (value ? brief(value) : "0"), (at) => clamp(at, plot.top + 4, plot.bottom));
    const entering = bars.findIndex(({ kind }) => kind === "arriving");
    const gap = entering >= 0 ? 16 * type : 0; // between the edges of the model and the added ones
    const step = (plot.right - plot.left - gap) / Math.max(bars.length, 12);
    this.x = (k) => plot.left + k * step + (entering >= 0 && k >= entering ? gap : 0);
    this.step = step;
    const { leaving, arriving } = palette;
    const colours = { leaving: css(leaving), arriving: css(arriving), plain: css(palette.plain, 0.65) };
    const wide = Math.max(step - (step > 4 ? 2 : 0.4), 0.8);
    bars.forEach(({ kind, worth, i, j }, k) => {
      const grown = kind === "arriving" ? smooth(clamp(part * 1.6 - 0.6, 0, 1)) : 1;
      const top = Math.min(y((worth ?? 0) * grown), plot.bottom - 2);
      context.fillStyle = colours[kind];
      context.fillRect(this.x(k), top, wide, plot.bottom - top);
      if (kind === "leaving") this.mark(context, this.x(k) + wide / 2, top - 7 * type, colours.leaving, false);
      if (kind === "arriving") this.mark(context, this.x(k) + wide / 2, top - 7 * type, colours.arriving, true);
      if ((app.pointed && pairKey(...app.pointed) === pairKey(i, j)) || i === app.node || j === app.node) {
        context.lineWidth = 2;
        context.strokeStyle = css(palette.primary);
        context.strokeRect(this.x(k) - 1, top - 1, wide + 2, plot.bottom - top + 2);
      }
    });
    this.drawWords(context, palette, plot, bars, entering);
  }

  /** A cross over removed edges, a plus over added ones. */
  mark(context, x, y, colour, isPlus) {
    const arm = isPlus ? 4 : 3.2;
    context.beginPath();
    for (const [dx, dy] of isPlus ? [[arm, 0], [0, arm]] : [[arm, arm], [arm, -arm]]) {
      context.moveTo(x - dx, y - dy);
      context.lineTo(x + dx, y + dy);
    }
    context.lineWidth = 2;
    context.strokeStyle = colour;
    context.stroke();
  }

  drawWords(context, palette, plot, bars, entering) {
    const { type } = this.app;
    context.fillStyle = css(palette.muted);
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    const low = plot.bottom + 14 * type;
    if (bars.length === 0) {
      context.textAlign = "center";
      context.fillText("no ranking in this step", (plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2);
      return;
    }
    context.fillText("edges in the model", plot.left, low);
    if (entering < 0) return;
    context.textAlign = "right";
    context.fillText("added", plot.right, low);
  }

  /** By keyboard: the next or previous bar. */
  turn(step) {
    const { app, shownBars: bars } = this;
    if (!bars?.length) return;
    const { i, j, worth } = bars[turned(app.pointed ? bars.findIndex((bar) => pairKey(bar.i, bar.j) === pairKey(...app.pointed)) : -1, step, bars.length)];
    app.pointTo([i, j], worth);
    app.say(this.count.textContent);
  }

  leave() {
    this.app.pointTo(null);
  }

  point(event) {
    if (!this.shownBars?.length) return;
    const x = event.clientX - this.surface.canvas.getBoundingClientRect().left;
    const k = this.shownBars.findIndex((_, index) => x >= this.x(index) && x < this.x(index) + this.step);
    this.app.pointTo(k < 0 ? null : [this.shownBars[k].i, this.shownBars[k].j], this.shownBars[k]?.worth);
  }

  describe() {
    const { app } = this;
    const { log, shown, all } = app;
    const record = log.at(shown);
    const isExchange = record?.kind === "exchange";
    const list = (pairs, worth) => pairs.slice(0, PRUNE_LISTED).map(([i, j], k) => `${all.pair(i, j)} ${format(worth[k])}`).join(" · ")
      + (pairs.length > PRUNE_LISTED ? ` · and ${pairs.length - PRUNE_LISTED} more` : "");
    const hover = app.pointed ? `${all.pair(...app.pointed)}: ${format(app.pointedWorth)}` : "";
    this.count.textContent = hover || "nats per row, square-root scale";
    this.out.textContent = isExchange ? `× removed: ${list(record.removed, record.contributions) || "none"}` : "";
    this.into.textContent = isExchange ? `+ added: ${list(record.added, record.gains) || "none"}` : "";
    const ranked = record ? `${plural(record.rank.length, "edge")} by contribution.` : "No ranking in this step.";
    this.surface.canvas.setAttribute("aria-label", isExchange
      ? `${ranked} Removed: ${list(record.removed, record.contributions)}. Added: ${list(record.added, record.gains)}.` : ranked);
  }
}
