// The graph of a finished model, of the nodes that the server selects; here they are numbered in the order drawn.

import { pairWords, shorten, viridis } from "../shared/core.js";
import { boxOf, Graph } from "../shared/graph.js";
import { turned } from "../shared/keys.js";
import { legendKey, lineKey, Ramp } from "../shared/legend.js";

const INSPECT_FEW = 45; // up to this many nodes, all names are shown where they find room
const INSPECT_STYLES = { common: ["plain"], lost: ["leaving", { style: "dashed" }], gained: ["arriving", { style: "dotted" }] };
const INSPECT_CROWD = { edges: 300, near: 40, thin: 150 }; // edges from which on they are paler, or thinner

export class InspectGraph extends Graph {
  near = 6;
  isSideways = true;
  unitRange = [0.3, 3, 15];

  constructor(app) {
    super(app);
    this.element = this.card("gv-inspect-graph", "Graph", "graph");
  }

  show(data) {
    const isOther = this.data?.token !== data.token;
    this.data = data;
    this.number = new Map(data.nodes.map((i, k) => [i, k]));
    this.ends = data.edges.map(([i, j]) => [this.number.get(i), this.number.get(j)]);
    this.byDegree = [...data.nodes.keys()].sort((a, b) => data.degrees[b] - data.degrees[a] || a - b);
    const { selected } = data;
    this.chosen = selected && { ...selected, i: this.number.get(selected.i), j: this.number.get(selected.j) };
    this.most = Math.max(1, ...data.degrees);
    this.stretch = data.stretch;
    if (isOther) this.fit(data.places);
    else [this.places, this.box] = [data.places, boxOf(data.places)];
    this.describeAs(data.alt);
    const { low, high, styles } = data.legend;
    const ramp = new Ramp();
    ramp.set(low, high);
    this.legend.replaceChildren(ramp.element,
      ...styles.map(([style, words]) => lineKey(words, ...INSPECT_STYLES[style])),
      ...(data.region.length ? [legendKey("gv-inspect-region", "in the region")] : []));
  }

  sizeOf(k) {
    return this.unit * (0.45 + 0.55 * Math.sqrt(this.data.degrees[k] / this.most));
  }

  name(k) {
    return this.data.names[k];
  }

  // ------------------------------------------------------------------------- pointer and keyboard

  pairs() {
    return this.data ? this.ends : [];
  }

  fact(k) {
    const { degrees, tips } = this.data;
    return `degree ${degrees[k]}${tips[k] ? ` · ${tips[k]}` : ""}`;
  }

  wordsForPair(pair) {
    return pairWords(pair.map((k) => this.name(k)));
  }

  /** Report a click: on a node, on a pair, or on nothing. */
  pick(node, pair = null) {
    const { token, nodes } = this.data;
    this.app.callbacks.picked({ token, ...(node >= 0 ? { node: nodes[node] } : pair ? { edge: pair.map((k) => nodes[k]) } : {}) });
  }

  find(k) {
    super.find(k);
    this.pick(k);
  }

  choose(k, x, y) {
    this.pick(k, k < 0 ? this.pairAt(x, y) : null);
  }

  leave() {
    if (this.data) this.pick(-1);
  }

  /** By keyboard: the next or previous node by degree. */
  turn(step) {
    if (!this.data) return;
    const now = this.chosen ? this.byDegree.indexOf(this.chosen.i) : -1;
    const k = this.byDegree[turned(now, step, this.byDegree.length)];
    this.pick(k);
    this.say(this.wordsFor(k));
  }

  turnEdge(step) {
    const pair = this.nextPair(step, this.ends, this.chosen);
    if (!pair) return;
    this.pick(-1, pair);
    this.say(this.wordsForPair(pair));
  }

  // ------------------------------------------------------------------------------------- drawing

  scene(palette) {
    const { nodes, values, observed, region } = this.data;
    const { chosen } = this;
    const isObserved = (k) => observed[nodes[k]] !== undefined;
    const marked = chosen ? [chosen.i, chosen.j].filter((k) => k !== undefined) : [];
    const inRegion = region.flatMap((i) => this.number.get(i) ?? []);
    const wider = (extra, inner = 0) => (k) => this.sizeOf(k) + extra + (inRegion.includes(k) ? inner : 0);
    return [
      this.edges(palette),
      this.byDegree.toReversed().map((k) => ({ nodes: [k], shape: isObserved(k) ? "square" : "disc", size: wider(0),
        fill: isObserved(k) ? palette.text : viridis(values[k]), line: palette.text })),
      { nodes: inRegion, size: wider(4), line: palette.region, width: 2.5, dash: [4, 3] },
      { nodes: marked, size: wider(5, 3), line: palette.text, width: 3.5 },
      { nodes: [this.hover].filter((k) => k >= 0 && !marked.includes(k)), size: wider(4), line: palette.text, width: 2 },
      this.namesOf(marked, this.byDegree.filter(isObserved)),
    ];
  }

  edges(palette) {
    const { chosen, pair: hovered, ends } = this;
    const node = chosen?.j === undefined ? chosen?.i : undefined;
    const isNear = (pair) => node === undefined || pair.includes(node);
    // Dense edges are paler, because they would hide hubs and small nodes.
    const isCrowded = ends.length > INSPECT_CROWD.edges || (node !== undefined && ends.filter(isNear).length > INSPECT_CROWD.near);
    const thickest = ends.length > INSPECT_CROWD.thin ? 2.2 : 4;
    const styles = { common: [node === undefined ? palette.plain : palette.text, []], lost: [palette.leaving, [8, 5]], gained: [palette.arriving, [2, 4]] };
    return ends.map((pair, e) => {
      const [,, strength, style] = this.data.edges[e];
      const [line, dash] = styles[style];
      const width = 0.9 + thickest * strength;
      const isChosen = chosen?.j !== undefined && pair.includes(chosen.i) && pair.includes(chosen.j);
      return [
        (isChosen || pair === hovered) && { edges: [pair], line: palette.text, alpha: isChosen ? 0.45 : 0.2, width: width + 7 },
        { edges: [pair], line: style === "common" && !isNear(pair) ? palette.plain : line, dash, width, alpha: !isNear(pair) ? 0.25 : isCrowded ? 0.6 : 1 }];
    });
  }

  /** Names of the selected node, of observed nodes and neighbours, then of nodes by degree. */
  namesOf(marked, observed) {
    const { nodes, observed: states } = this.data;
    const near = this.chosen?.j === undefined && this.chosen ? this.ends.filter((pair) => pair.includes(this.chosen.i)).flat() : [];
    const budget = nodes.length <= INSPECT_FEW ? nodes.length : Math.round(10 * this.camera.zoom ** 2);
    return { size: 13, longest: 36, isApart: true, spots: (k, half) => this.beside(k, half, marked.includes(k) ? 10 : 4),
      text: (k) => shorten(this.name(k), 22) + (states[nodes[k]] === undefined ? "" : ` = ${shorten(states[nodes[k]], 12)}`),
      names: [...near.slice(0, 30), ...this.byDegree.slice(0, budget)], always: [this.hover, ...marked, ...observed.slice(0, 40)].filter((k) => k >= 0) };
  }
}
