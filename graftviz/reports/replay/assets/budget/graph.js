// The graph under a bound: newest edge, widest clique, edges of the previous run.

import { clamp, h, integer, mix, plural, smooth } from "../shared/core.js";
import { Graph, lit, WHOLE_PLANE } from "../shared/graph.js";
import { legendKey, lineKey } from "../shared/legend.js";

const BUDGET_NAME_ROOM = 42; // px between nodes from which on all names are shown

/** Base of the graph and the junction tree, which fill the same plane; `item` names what the nodes are. */
export class BudgetPlane extends Graph {
  stretch = Infinity;

  constructor(app, item, title, name, keys) {
    super(app);
    this.item = item;
    this.count = h("span", { class: "gv-count" });
    this.element = this.card(`gv-budget-${name.split("-").at(-1)}`, title, name, { above: h("header", {}, h("h3", {}, title), this.count), keys });
  }

  /** Highlight what is pointed at in the other drawing, too. */
  pointed(i) {
    this.app.pointTo(i < 0 ? null : { [this.item]: i });
  }
}

export class BudgetGraph extends BudgetPlane {
  constructor(app) {
    super(app, "node", "Graph", "graph", [legendKey("gv-line gv-line-step", "new"), legendKey("gv-budget-lit", "widest clique")]);
    this.ghostKey = lineKey("previous run", "muted", { style: "dotted" });
    this.legend.append(this.ghostKey);
  }

  fact(node) {
    const { log, shown } = this.app;
    const degree = log.steps.slice(1, shown + 1).filter(({ edge }) => edge.includes(node)).length;
    return `${plural(degree, "neighbour")} · in ${plural(log.holders(node, shown).length, "clique")}`;
  }

  scene(palette) {
    const { log, shown, hover, ghost } = this.app;
    const { unit } = this;
    const clique = this.app.litClique();
    const step = log.steps[shown];
    const own = log.steps.slice(1, shown + 1).map(({ edge }) => edge);
    const isOwn = new Set(own.map(String));
    const strong = new Set(step.cliques[step.lit].length > 1 || hover ? clique : []);
    const colour = hover ? palette.primary : palette.region;
    const newest = { edges: own.slice(-1), grow: smooth(this.app.part), width: 2.4, cap: "round" };
    const disc = { line: palette.background, width: 2 };
    const nodes = [...log.graph.names.keys()];
    return [
      { edges: (ghost?.edges ?? []).filter((pair) => !isOwn.has(String(pair))), line: palette.muted, alpha: 0.75, width: 1.6, dash: [1.6, 5] },
      // The clique: bands between all its variables, edges and fill-in alike.
      { edges: clique.flatMap((i, k) => clique.slice(k + 1).map((j) => [i, j])),
        line: mix(palette.background, colour, palette.dark ? 0.32 : 0.2), width: 2.9 * unit, cap: "round" },
      { edges: own.slice(0, -1), line: palette.text, alpha: 0.7, width: clamp(unit * 0.28, 1.3, 2.6) },
      lit(palette, newest, 6.1), { ...newest, line: palette.text, alpha: 0.9 },
      { ...disc, nodes: nodes.filter((i) => !strong.has(i)), size: 0.9 * unit, fill: palette.plain },
      { ...disc, nodes: [...strong], size: 1.15 * unit, fill: colour },
      { names: [...clique, ...(this.spacing >= BUDGET_NAME_ROOM ? nodes : [])], always: step.edge ?? [], size: 11.5 },
    ];
  }

  describe() {
    const { log, shown, ghost } = this.app;
    const step = log.steps[shown];
    if (this.places !== log.graph.positions) this.fit(log.graph.positions, { box: WHOLE_PLANE });
    this.ghostKey.hidden = !ghost;
    this.count.textContent = `${plural(shown, "edge")} of ${integer(log.pairs)} pairs`;
    const widest = step.cliques[step.lit].map((i) => log.name(i)).join(", ");
    this.describeAs(`Graph of ${plural(log.n, "variable")} with ${plural(shown, "edge")}. Widest clique: ${widest}.`);
  }
}
