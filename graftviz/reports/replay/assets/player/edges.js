// Edges of the growing graph: active, new, removed and missing ones, and their stability.

import { clamp, fill, lerp } from "../shared/core.js";
import { lit } from "../shared/graph.js";
import { lineBorder } from "../shared/legend.js";

const DOTS = 4000; // drawn for all missing edges together
const FAINTEST = 0.1; // opacity of an edge that no subsample found
const SURE_LEVELS = 7;
const ACTIVE = 0.82; // opacity of an edge
const ASIDE = 0.16; // opacity of an edge that does not touch the selection
const MISSING = 0.75; // opacity of a missing edge
const HAZE = 0.3; // opacity of missing edges that are too many for dotted lines
const GONE = 0.75; // opacity of an edge that was removed in the shown step
const WIDTH_LEVELS = 2.5; // per px
const MISSING_INK = 0.08; // largest share of the picture that missing edges may cover
const CHOSEN = 3; // least width of the edge that is inspected, in px
const FEW_FRESH = 12; // new edges of a step; more have a narrower light
const EDGE_KINDS = ["plain", "right", "wrong"];
export const MISSING_LINE = { style: "dotted" };

export class EdgeLayer {
  constructor(view) {
    this.view = view;
    this.fresh = [];
  }

  setRun(log) {
    this.log = log;
    this.pairs = [];
    this.kinds = [];
  }

  pair(e) {
    return (this.pairs[e] ??= [this.log.sources[e], this.log.targets[e]]);
  }

  /** True edges not found yet. Dots take time to draw: many long lines have fewer dots, or are thin lines. */
  missing(palette) {
    const { at, now, region } = this.view;
    const edges = this.view.strongest(this.log.missingAt(now.t), { width: 0.8, share: MISSING_INK, words: (some, all) => fill(TEXT.graph.some_missing, { some, all }) });
    const length = edges.reduce((sum, [i, j]) => sum + Math.abs(at[i][0] - at[j][0]) + Math.abs(at[i][1] - at[j][1]), 0);
    const period = Math.max(5, length / DOTS);
    const haze = period > 10;
    this.missingSample.style = lineBorder("muted", haze ? { width: 1 } : MISSING_LINE);
    const look = haze ? { alpha: HAZE, width: 0.8 } : { alpha: MISSING, width: 1.6, dash: [1.6, period - 1.6] };
    return { edges, line: palette.muted, ...look, alpha: look.alpha * (1 - 0.6 * region.light) };
  }

  kindOf(e) {
    return (this.kinds[e] ??= { true: "right", false: "wrong", null: "plain" }[this.log.isTrue(this.log.sources[e], this.log.targets[e])]);
  }

  width(e) {
    const { now, then, part } = this.view;
    const share = (snapshot) => (snapshot.norms[e] ?? 0) / (snapshot.topNorm || 1);
    const strength = lerp(share(then), share(now), part);
    return this.baseWidth * (0.45 + 1.75 * Math.sqrt(strength));
  }

  get baseWidth() {
    return clamp(10 / Math.sqrt(this.log.n) + 0.45, 0.5, 2.1) * this.view.camera.zoom ** 0.35;
  }

  /** Level of an edge's stability; the highest one where it is unknown or not shown. */
  sureness(e) {
    const { log } = this;
    if (!this.view.show.stability || !log.stability || !log.stability.of) return SURE_LEVELS;
    return Math.round((SURE_LEVELS * log.timesFound(...this.pair(e))) / log.stability.of);
  }

  opacity(level) {
    return FAINTEST + (1 - FAINTEST) * (level / SURE_LEVELS) ** 1.5;
  }

  /** Layers of the edges at a moment `p` between step `before` and the shown one. */
  layers(palette, p, before) {
    const { log, view } = this;
    const { now, show, region, app: { selection, reservoir } } = view;
    const tried = reservoir.trial;
    const way = new Set(this.path?.edges.map(([i, j]) => log.key(i, j)));
    const gone = [];
    const steady = [];
    this.fresh = [];
    for (let e = 0; e < log.made[now.t]; e++) {
      if (show[this.kindOf(e)] === false) continue;
      // Removed in the shown step, or by the final fit: fading, and marked while the step is shown.
      const isDropped = log.isDropped(e, now.t);
      if (isDropped || (log.died[e] >= before && log.died[e] <= now.t)) gone.push(e);
      if (isDropped || log.died[e] <= now.t) continue;
      // While another threshold is tried, the picture is that of before the choice, with the edges it would activate.
      if (tried && log.born[e] === now.t) continue;
      // Highlighted while it appears or gets a feature and while that step is shown, fading with the next one.
      if (log.grewAt(e, now.t) >= before) this.fresh.push(e);
      if (log.born[e] <= before) steady.push(e);
    }
    const isNear = (e) => region.holds(e) ?? (!selection || this.touches(e, selection) || way.has(log.key(...this.pair(e))));
    const level = (e) => Math.round(this.width(e) * WIDTH_LEVELS);
    // Edges of one look are drawn at once.
    const look = (e) => (((64 * EDGE_KINDS.indexOf(this.kindOf(e)) + Math.min(level(e), 63)) * 2 + isNear(e)) * 2 + log.isPartial(e, now.t)) * (SURE_LEVELS + 1) + this.sureness(e);
    const looks = Map.groupBy(this.inSight(steady, isNear), look);
    const steadies = [...looks.values()].sort(([a], [b]) => isNear(a) - isNear(b)).map((edges) => {
      const [e] = edges;
      return this.look(palette, edges, level(e) / WIDTH_LEVELS, (isNear(e) ? ACTIVE : ASIDE) * this.opacity(this.sureness(e)));
    });
    return [steadies, gone.map((e) => this.leaving(palette, e, p, before)), this.fresh.map((e) => this.arriving(palette, e, p, before)),
      this.lightPath(palette), tried && this.trial(palette, tried), this.chosen(palette)];
  }

  /** The path that explains the selected edge, as {edges, isTrue}; null without one. */
  get path() {
    const { app } = this.view;
    const found = app.selection && app.questions.find();
    const why = app.selection?.j !== undefined && app.questionKind(app.selection) === "edge" ? found?.answer.why : null;
    return why ? { third: why.third, isTrue: why.known, edges: why.path.slice(1).map((j, k) => [why.path[k], j]) } : null;
  }

  /** Edges of that path: true ones in their colour, dotted where they are not active. */
  lightPath(palette) {
    const { path } = this;
    if (!path) return [];
    const [active, missing] = [[], []];
    for (const pair of path.edges) (this.log.edgeAt(...pair, this.view.now.t) >= 0 ? active : missing).push(pair);
    const line = palette[path.isTrue ? "right" : "plain"];
    return [{ edges: path.edges, line, alpha: 0.25, width: 13, cap: "round" }, { edges: active, line, width: 5 }, { edges: missing, line, width: 4, dash: [2, 5] }];
  }

  /** Edges that another threshold would activate, and those it would skip as they share a variable with one. */
  trial(palette, { taken, skipped }) {
    return [{ edges: skipped, line: palette.muted, width: 3, dash: [7, 5] }, lit(palette, { edges: taken, width: 6 })];
  }

  /** The edges that are drawn of steady ones: in sight, and not too weak; those of a selection in any case. */
  inSight(edges, isNear) {
    const { now, app: { selection } } = this.view;
    const pairs = edges.map((e) => this.pair(e));
    const number = new Map(pairs.map((pair, k) => [pair, edges[k]]));
    const width = this.baseWidth * (0.45 + 1.75 * 0.7);
    return this.view.strongest(pairs, { strength: (k) => (now.norms[edges[k]] ?? 0) / (now.topNorm || 1), width,
      keeps: (pair) => selection !== null && isNear(number.get(pair)), words: (some, all) => fill(TEXT.graph.strongest, { some, all }) }).map((pair) => number.get(pair));
  }

  /** Edges of one look, all partial or none: false ones are dashed, of partial ones every gap holds a dot. */
  look(palette, edges, width, alpha) {
    const kind = this.kindOf(edges[0]);
    const dash = 6 + 2 * width;
    const gap = kind === "wrong" ? 3 + 1.5 * width : 2 + 0.7 * width;
    const isPartial = this.log.isPartial(edges[0], this.view.now.t);
    return { edges: edges.map((e) => this.pair(e)), line: palette[kind], alpha, width: Math.max(width, 0.5),
      dash: isPartial ? [dash, gap, 1.2 + 0.3 * width, gap] : kind === "wrong" ? [dash, gap] : [] };
  }

  get lightShare() {
    return clamp(FEW_FRESH / (this.fresh.length || 1), 0.3, 1);
  }

  arriving(palette, e, p, before) {
    const { part } = this.view;
    const isNew = this.log.born[e] > before;
    const since = this.log.grewAt(e, this.view.now.t);
    const light = since > before ? part : 1 - clamp(p - since, 0, 1);
    const glow = lit(palette, { edges: [this.pair(e)], width: this.width(e) + (4 + 4 * light) * this.lightShare, alpha: light });
    return [glow, (isNew || light > 0.5) && this.look(palette, [e], this.width(e), isNew ? part : 1)];
  }

  /** Layers of a removed edge: the edge, fading, then dashes with a cross. */
  leaving(palette, e, p, before) {
    const { log } = this;
    const { now, part } = this.view;
    const isDropped = log.isDropped(e, now.t);
    const isLeaving = !isDropped && log.died[e] > before;
    const mark = (isLeaving ? part : 1) * (isDropped ? 1 : 1 - clamp(p - log.died[e], 0, 1));
    const edges = [this.pair(e)];
    return [
      isLeaving && part < 1 && this.look(palette, [e], this.width(e), ACTIVE * (1 - part)),
      mark > 0 && { edges, line: palette.muted, alpha: GONE * mark, width: 1.6, dash: [3, 5] },
      mark > 0 && { crosses: edges, arm: 5, line: palette.text, alpha: 0.9 * mark, width: 2.4 },
    ];
  }

  touches(e, { kind, i, j }) {
    const pair = this.pair(e);
    return pair.includes(i) && (kind === "node" || pair.includes(j));
  }

  /** The pair being inspected, and the one under the pointer: an edge has a rim, and its own colour. */
  chosen(palette) {
    const { app, pair, now } = this.view;
    const { selection } = app;
    return [selection?.j === undefined ? null : [[selection.i, selection.j], 1], pair && [pair, 0.6]].map((found) => {
      if (!found) return null;
      const [[i, j], alpha] = found;
      const e = this.log.edgeAt(i, j, now.t);
      const edges = [[i, j]];
      if (e < 0) return { edges, line: palette.text, alpha, width: 2, dash: [2, 5] };
      const width = Math.max(this.width(e), CHOSEN);
      return [{ edges, line: palette.text, alpha, width: width + 5 }, { edges, line: palette.background, width: width + 2 },
        this.look(palette, [e], width, 1)];
    });
  }
}
