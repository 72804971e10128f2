// The graph: edges of the tree drawn double, removed ones red and dashed, added ones green and wide.

import { clamp, format, h, integer, lerp, listed, plural, shorten, smooth } from "../shared/core.js";
import { Graph } from "../shared/graph.js";
import { lineKey } from "../shared/legend.js";
import { degreesOf } from "../shared/tracks_log.js";
import { pairKey } from "./log.js";

const PRUNE_GONE = 0.5; // opacity of a removed edge, while its exchange is shown
const PRUNE_NAMED = 40; // up to this many variables, all names are shown
const PRUNE_OWN = 6; // edges of the selected variable that are listed

export class PruneGraph extends Graph {
  unitRange = [0.16, 2.4, 6];

  constructor(app) {
    super(app);
    this.chosen = h("p", { class: "gv-prune-chosen", dir: "auto", hidden: true });
    this.element = this.card("gv-prune-graph", "Graph", "graph", { below: this.chosen, keys: [
      lineKey("Chow–Liu tree", "text", { style: "double", width: 6 }), lineKey("other edge", "plain", { width: 2 }),
      lineKey("removed", "leaving", { style: "dashed" }), lineKey("added", "arriving", { width: 6 })] });
  }

  /** Edges at the shown step: of the tree, others, those that leave, those that arrive. */
  groups() {
    const { log, shown, runs } = this.app;
    const groups = { tree: [], other: [], leaving: [], arriving: [] };
    log.pairs.forEach((pair, e) => {
      const [born, died] = [log.born[e], log.died[e]];
      if (born > shown || died < shown) return;
      const kind = died === shown ? "leaving" : born === shown && shown > 0 ? "arriving" : runs.tree.has(pairKey(...pair)) ? "tree" : "other";
      groups[kind].push(pair);
    });
    return groups;
  }

  scene(palette) {
    const { app, unit } = this;
    const { runs, part, node, pointed, type } = app;
    const thick = clamp(9 / Math.sqrt(runs.n) + 0.5, 0.8, 2.6) * type;
    const { tree, other, leaving, arriving } = this.groups();
    const [going, coming] = [clamp(part * 1.6, 0, 1), smooth(clamp(part * 1.6 - 0.6, 0, 1))];
    const degrees = degreesOf([...tree, ...other, ...arriving], runs.n);
    const marked = [tree, other, leaving, arriving].flat().filter((pair) => pair.includes(node));
    const chosen = [this.hover, node].filter((i) => i >= 0);
    const disc = { fill: palette.text, size: (i) => unit * (0.85 + 0.12 * Math.sqrt(degrees[i])), width: 1.5 };
    const nodes = [...degrees.keys()];
    const ofTree = (edges) => edges.filter(([i, j]) => runs.tree.has(pairKey(i, j)));
    const cross = { crosses: leaving, arm: 3 + 1.6 * thick, cap: "round" };
    return [
      { edges: marked, line: palette.primary, alpha: 0.45, width: 2.4 * thick + 6 },
      { edges: other, line: palette.plain, alpha: 0.75, width: 1.1 * thick },
      tree.map((pair) => [{ edges: [pair], line: palette.text, alpha: 0.9, width: 2.4 * thick + 1.2 },
        { edges: [pair], line: palette.background, width: 1.1 * thick }]),
      // Removed: fading, dashed, and crossed through; faint as long as the exchange is shown.
      { edges: leaving, line: palette.leaving, alpha: lerp(1, PRUNE_GONE, going), width: lerp(3.2, 1.9, going) * thick, dash: [7, 5] },
      { ...cross, line: palette.background, width: 5.5 }, { ...cross, line: palette.leaving, width: 2.6 },
      // Added: growing from its middle, then wide; of the tree, it is drawn double at once.
      coming > 0 && { edges: arriving, grow: coming, line: palette.arriving, width: 2.6 * thick + 1.6 },
      coming > 0 && { edges: ofTree(arriving), grow: coming, line: palette.background, width: thick },
      pointed && { edges: [pointed], line: palette.primary, width: thick + 3, dash: [2, 4] },
      { ...disc, nodes: nodes.filter((i) => !chosen.includes(i)), line: palette.background }, { ...disc, nodes: chosen, line: palette.primary },
      { names: [node, ...(pointed ?? []), ...(runs.n <= PRUNE_NAMED ? nodes.sort((a, b) => degrees[b] - degrees[a]) : [])].filter((i) => i >= 0),
        always: this.hover < 0 ? [] : [this.hover], longest: 16 },
    ];
  }

  // --------------------------------------------------------------------------- pointer and words

  pointTo(i) {
    super.pointTo(i, ...(this.at[i] ?? []));
  }

  choose(i) {
    this.pointTo(i);
    this.app.chooseNode(i);
  }

  enter() {
    if (this.hover >= 0) this.app.chooseNode(this.hover);
  }

  leave() {
    this.pointTo(-1);
    this.app.chooseNode(-1);
  }

  fact(i) {
    const { log, shown } = this.app;
    return plural(log.pairsAt(shown).filter((pair) => pair.includes(i)).length, "edge");
  }

  /** The edges of the selected variable, those that contribute most first. */
  describeNode() {
    const { node, log, shown } = this.app;
    this.chosen.hidden = node < 0;
    if (node < 0) return;
    const own = (log.at(shown)?.rank ?? []).filter(([i, j]) => i === node || j === node).sort((a, b) => b[2] - a[2]);
    const names = listed(own.map(([i, j, worth]) => `${shorten(this.name(i === node ? j : i), 24)} ${format(worth)}`), PRUNE_OWN, " · ");
    this.chosen.textContent = `${shorten(this.name(node), 40)}: ${own.length ? `contributions of its edges in nats per row: ${names}` : "no edges ranked"}`;
  }

  describe() {
    const { app, canvas } = this;
    const { log, shown, runs } = app;
    this.describeNode();
    const { tree, leaving, arriving } = this.groups();
    const inTree = tree.length + arriving.filter(([i, j]) => runs.tree.has(pairKey(i, j))).length;
    const keys = (pairs) => pairs.map(([i, j]) => pairKey(i, j)).join(" ");
    [canvas.dataset.leaving, canvas.dataset.arriving] = [keys(leaving), keys(arriving)];
    this.describeAs(`${plural(runs.n, "variable")}, ${plural(log.edgesAt(shown), "edge")}, `
      + `${plural(inTree, "of them", "of them")} in the Chow–Liu tree; ${integer(leaving.length)} removed (red), ${integer(arriving.length)} added (green)`);
  }
}
