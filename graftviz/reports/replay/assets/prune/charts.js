// Charts of forced pruning: contributions of edges, parameters, and the three runs side by side.

import { Chart, paddedRange, wholeTicks } from "../shared/chart.js";
import { brief, clamp, css, format, h, integer, lerp, listed, plural, smooth, ticks, tickText } from "../shared/core.js";
import { attachKeys, turned } from "../shared/keys.js";
import { drawMark, RACER_DASHES } from "../shared/marks.js";
import { RacerTable } from "../shared/racer_table.js";
import { acceptance, pairKey } from "./log.js";

const PRUNE_LISTED = 3; // removed or added pairs that are named

/** Contribution of every edge, smallest first: the k removed edges, and beside them the k added ones. */
export class PruneRanking extends Chart {
  constructor(app) {
    super(app, "gv-prune-bars");
    this.count = h("span", { class: "gv-count" });
    this.bars = [];
    this.card("gv-prune-ranking", "Edge contributions", "ranking", [h("h3", {}, "Edge contributions"), this.count], this.holder);
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
    this.write("edges in the model", left, bottom + 9 * type, { align: "left" });
    if (entering >= 0) this.write("added", right, bottom + 9 * type, { align: "right" });
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
    const { log, shown, runs, pointed, pointedWorth } = this.app;
    const record = log.at(shown);
    const list = (pairs, worth) => listed(pairs.map(([i, j], k) => `${runs.pair(i, j)} ${format(worth[k])}`), PRUNE_LISTED, " · ");
    this.count.textContent = pointed ? `${runs.pair(...pointed)}: ${format(pointedWorth)}` : "nats per row, √ scale";
    const [removed, added] = record?.kind === "exchange" ? [list(record.removed, record.contributions), list(record.added, record.gains)] : [null, null];
    const ranked = record ? `${plural(record.rank.length, "edge")} by contribution.` : "No ranking in this step.";
    this.describeAs(removed === null ? ranked : `${ranked} Removed: ${removed}. Added: ${added}.`);
  }
}

/** Parameters: untied values above, the K centres they are tied to below. */
export class PruneStrip extends Chart {
  constructor(app) {
    super(app, "gv-prune-strip");
    this.count = h("span", { class: "gv-count" });
    this.card("gv-prune-tying", "Tied parameters", "parameters", [h("h3", {}, "Tied parameters"), this.count], this.holder);
  }

  paint(context, palette) {
    const { type, shown, part, log } = this.app;
    const record = log.at(shown);
    if (!record || record.values.length === 0) return this.message("no parameters yet");
    const { values, which, centres, parameters } = record;
    const [low, high] = [Math.min(values[0], ...centres), Math.max(values.at(-1), ...centres)];
    this.axes([14, 14 * type, 12 * type, 40], [low, high], [0, 1]);
    const { x, plot: { top, bottom } } = this;
    for (const value of ticks(low, high, 6)) {
      this.line([[x(value), top], [x(value), bottom + 4]], css(palette.hairline), 1);
      this.write(tickText(value), x(value), this.height - 9 * type);
    }
    const fall = smooth(clamp(part * 1.4 - 0.2, 0, 1));
    const tick = 6 * type;
    const isTied = centres.length < parameters;
    const colours = [palette.objective, palette.precision];
    values.forEach((value, k) => {
      const colour = colours[which[k] % 2];
      const at = x(value);
      this.line([[at, top - tick], [at, top + tick]], css(colour, 0.85), 1.3);
      if (isTied) this.line([[at, top + tick], [lerp(at, x(centres[which[k]]), fall), lerp(top + tick, bottom, fall)]], css(colour, 0.34), 1.3);
    });
    if (isTied) this.drawCentres(context, palette, record, fall, colours);
    return undefined;
  }

  /** A disc per centre, its area the number of parameters, with its value where there is room. */
  drawCentres(context, palette, { centres, sizes }, fall, colours) {
    const { type } = this.app;
    const { bottom } = this.plot;
    const most = Math.max(...sizes, 1);
    context.globalAlpha = fall;
    centres.forEach((centre, k) => {
      this.dot(this.x(centre), bottom, (2.5 + 5 * Math.sqrt(sizes[k] / most)) * type, css(colours[k % 2]), css(palette.background), 1.5);
    });
    context.font = this.app.font(11, "600");
    let free = -Infinity;
    for (const centre of centres) {
      const text = tickText(Number(centre.toFixed(2)));
      const half = context.measureText(text).width / 2;
      const at = clamp(this.x(centre), half + 1, this.width - half - 1);
      if (at - half < free + 4) continue;
      this.write(text, at, bottom + 16 * type, { colour: palette.text });
      free = at + half;
    }
    context.globalAlpha = 1;
  }

  describe() {
    const record = this.app.log.at(this.app.shown);
    const isTied = record && record.centres.length < record.parameters;
    this.count.textContent = !record ? "" : plural(record.parameters, "parameter")
      + (isTied ? ` → K = ${plural(record.centres.length, "value")}` : ", not tied");
    this.describeAs(!record ? "No parameters yet." : [this.count.textContent, isTied
      ? record.centres.map((centre, k) => `${format(centre)} (${record.sizes[k]})`).join(", ") : ""].filter(Boolean).join(": "));
  }
}

/** Pseudo-likelihood by exchange under all three rules, with their numbers of draws and acceptances. */
export class PruneCurves extends Chart {
  constructor(app) {
    super(app, "gv-prune-curve");
    this.table = new RacerTable("rule", ["PLL", "best (step)", "accepted", "fallbacks"]);
    this.card("gv-prune-curves", "Pseudo-likelihood by exchange", "rules",
      [h("h3", {}, "Three deletion rules"), h("span", { class: "gv-count" }, "training PLL, nats per row")], this.holder, this.table.table);
    this.on("click", (x) => app.seek(Math.round(this.valueAt(x))));
  }

  setRuns(runs) {
    this.table.setRows(runs.tracks, (track) => { if (track !== this.app.log) this.app.callbacks.heuristic(track.heuristic); });
  }

  paint(context, palette) {
    const { runs: { tracks }, log, shown } = this.app;
    const steps = Math.max(2, ...tracks.map((track) => track.ready));
    const [low, high] = paddedRange(tracks.flatMap(({ records }) => records.map(({ after }) => after)));
    this.axes([50, 12, 10, 32], [1, steps], [low, high]);
    this.grid(ticks(low, high, 4));
    this.below(wholeTicks(1, steps, 10), "step", (t) => (t === 1 ? "start" : String(t)));
    if (shown > 0) this.upright(clamp(shown, 1, steps));
    for (const track of [...tracks].sort((a, b) => (a === log) - (b === log))) this.drawTrack(context, palette, track, track === log);
  }

  drawTrack(context, palette, track, isChosen) {
    const colour = palette.racers[track.index];
    const place = ({ t, after }) => [this.x(t), this.y(after)];
    // Later steps are drawn pale.
    for (const [until, alpha] of [[track.ready, 0.28], [this.app.shown, isChosen ? 1 : 0.8]]) {
      this.line(track.records.slice(0, until).map(place), css(colour, alpha), isChosen ? 3.2 : 1.8, RACER_DASHES[track.index]);
    }
    const shown = track.at(this.app.shown);
    if (!shown) return;
    this.dot(...place(track.at(shown.sum.bestStep)), isChosen ? 9 : 7, null, css(isChosen ? palette.text : colour), 1.8);
    drawMark(context, track.index, ...place(shown), colour, palette.background);
  }

  describe() {
    const { log, shown } = this.app;
    for (const { track, button, cells, row } of this.table.rows) {
      row.classList.toggle("gv-chosen", track === log);
      button.setAttribute("aria-pressed", String(track === log));
      const record = track.at(shown);
      const { tries, accepted, fallbacks, exchanges, bestStep } = record?.sum ?? {};
      const texts = [
        record ? format(record.after) : track.trouble || (track.ready === 0 ? "learning…" : "–"),
        record ? `${format(record.best)} (${bestStep})` : "–",
        tries ? acceptance(accepted, tries) : "–",
        tries ? `${integer(fallbacks)} of ${integer(exchanges)}` : "–",
      ];
      cells.forEach((cell, k) => { cell.textContent = texts[k]; });
      cells[2].title = tries ? `${integer(accepted)} of ${plural(tries, "drawn subset")} so far` : "No draws";
      cells[3].classList.toggle("gv-prune-warned", Boolean(fallbacks));
    }
    this.describeAs(this.table.rows.map(({ track, cells: [pll, best, accepted] }) => (
      `${track.title}: ${pll.textContent}, best ${best.textContent}, accepted ${accepted.textContent}`)).join("; "));
  }
}
