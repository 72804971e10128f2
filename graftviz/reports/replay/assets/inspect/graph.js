// The graph of a finished model, of the nodes that the server selects; here they are numbered in the order drawn.

import { clamp, h, mix, pairWords, shorten, viridis } from "../shared/core.js";
import { boxOf, Graph } from "../shared/graph.js";
import { turned } from "../shared/keys.js";
import { legendKey, lineKey, Ramp } from "../shared/legend.js";

const INSPECT_FEW = 45; // up to this many nodes, all names are shown where they find room
const INSPECT_STYLES = { common: ["plain"], lost: ["leaving", { style: "dashed" }], gained: ["arriving", { style: "dotted" }] };
const INSPECT_CROWD = { edges: 300, near: 40, thin: 150 }; // edges from which on they are paler, or thinner
const INSPECT_MANY = 400; // nodes or edges from which on those of one look are drawn at once
const INSPECT_LEVELS = 32; // of the colours of many nodes, and of the widths of many edges

/** The colour of a group of nodes, for the legend; those beyond the colours are grey. */
function inspectGroupSample(k) {
  return h("i", { class: "gv-inspect-group", style: `background: var(--gv-racer-${k}, var(--gv-muted))`, "aria-hidden": "true" });
}

export class InspectGraph extends Graph {
  near = 6;
  isSideways = true;
  constructor(app) {
    super(app);
    this.element = this.card("gv-inspect-graph", "Graph", "graph");
  }

  show(data) {
    const isOther = this.data?.token !== data.token;
    this.data = data;
    this.number = new Map(data.nodes.map((i, k) => [i, k]));
    this.ends = data.edges.map(([i, j]) => [this.number.get(i), this.number.get(j)]);
    this.numbers = new Map(this.ends.map((pair, e) => [pair, e]));
    this.byDegree = [...data.nodes.keys()].sort((a, b) => data.degrees[b] - data.degrees[a] || a - b);
    const { selected } = data;
    this.chosen = selected && { ...selected, i: this.number.get(selected.i), j: this.number.get(selected.j) };
    this.rising = this.byDegree.toReversed();
    this.unitRange = [0.3, clamp(130 / Math.sqrt(data.nodes.length), 1.3, 3), 15];
    this.most = Math.max(1, ...data.degrees);
    this.stretch = data.stretch;
    if (isOther) this.fit(data.places);
    else [this.places, this.box] = [data.places, boxOf(data.places)];
    this.describeAs(data.alt);
    const { low, high, groups, styles } = data.legend;
    const ramp = new Ramp();
    ramp.set(low, high);
    const colours = groups.map(([k, words]) => legendKey(inspectGroupSample(k), words));
    this.legend.replaceChildren(...(groups.length ? colours : [ramp.element]),
      ...styles.map(([style, words]) => lineKey(words, ...INSPECT_STYLES[style])),
      ...(data.region.length ? [legendKey("gv-inspect-region", "in the region")] : []));
  }

  sizeOf(k) {
    const { degrees, nodes } = this.data;
    // Of many small discs even hubs would be dots.
    if (nodes.length > INSPECT_MANY) return Math.min(this.unit * (0.6 + 0.4 * Math.sqrt(degrees[k])), this.unit + 8);
    return this.unit * (0.45 + 0.55 * Math.sqrt(degrees[k] / this.most));
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
    const { nodes, values, groups, observed, region } = this.data;
    const { chosen } = this;
    const isObserved = (k) => observed[nodes[k]] !== undefined;
    const marked = chosen ? [chosen.i, chosen.j].filter((k) => k !== undefined) : [];
    const inRegion = region.flatMap((i) => this.number.get(i) ?? []);
    const isInRegion = new Set(inRegion);
    const wider = (extra, inner = 0) => (k) => this.sizeOf(k) + extra + (isInRegion.has(k) ? inner : 0);
    const isOne = nodes.length <= INSPECT_MANY;
    const shade = (k) => (isOne ? values[k] : Math.round(values[k] * INSPECT_LEVELS) / INSPECT_LEVELS);
    // Outlines of small discs would hide their colours.
    const isOutlined = this.unit > 2.2;
    const inGroup = (k) => palette.racers[groups[k]] ?? palette.muted;
    const fill = (k) => (isObserved(k) ? palette.text : groups.length ? inGroup(k) : isOutlined || !palette.dark ? viridis(shade(k)) : mix(viridis(shade(k)), palette.text, 0.3));
    const looks = isOne ? this.rising.map((k) => [k]) : [...Map.groupBy(this.rising.filter((k) => this.isInSight(k)), (k) => (isObserved(k) ? 2 : groups.length ? groups[k] : shade(k))).values()];
    return [
      this.edges(palette),
      looks.map((alike) => ({ nodes: alike, shape: isObserved(alike[0]) ? "square" : "disc", size: wider(0), fill: fill(alike[0]),
        line: isOutlined && palette.text })),
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
    // Dense edges are paler, because they would hide hubs and small nodes; few edges at the selected node are not.
    const isCrowded = node === undefined ? ends.length > INSPECT_CROWD.edges : ends.filter(isNear).length > INSPECT_CROWD.near;
    const thickest = ends.length > INSPECT_CROWD.thin ? 2.2 : 4;
    const styles = { common: [node === undefined ? palette.plain : palette.text, []], lost: [palette.leaving, [8, 5]], gained: [palette.arriving, [2, 4]] };
    const strength = (e) => this.data.edges[e][2];
    const isMany = ends.length > INSPECT_MANY;
    const least = isMany ? clamp(25 / Math.sqrt(ends.length), 0.4, 0.9) : 0.9; // px
    const thinnest = (e) => (isMany && node !== undefined && isNear(ends[e]) ? 1.5 : 0);
    const width = (e) => Math.max(thinnest(e), least + Math.min(thickest, 4 * least) * (isMany ? Math.round(strength(e) * INSPECT_LEVELS) / INSPECT_LEVELS : strength(e)));
    const drawn = this.strongest(ends, { strength, width: 2 * least, keeps: (pair) => node !== undefined && isNear(pair),
      words: (some, all) => `the ${some} strongest of ${all} edges` }).map((pair) => this.numbers.get(pair));
    const style = (e) => this.data.edges[e][3];
    const look = (e) => (isMany ? `${style(e)} ${isNear(ends[e])} ${width(e)}` : e);
    const isChosen = (pair) => chosen?.j !== undefined && pair.includes(chosen.i) && pair.includes(chosen.j);
    const marked = drawn.filter((e) => isChosen(ends[e]) || ends[e] === hovered).map((e) => (
      { edges: [ends[e]], line: palette.text, alpha: isChosen(ends[e]) ? 0.45 : 0.2, width: width(e) + 7 }));
    const farFirst = node === undefined ? drawn : drawn.toSorted((a, b) => isNear(ends[a]) - isNear(ends[b]));
    return [marked, [...Map.groupBy(farFirst, look).values()].map((alike) => {
      const [e] = alike;
      const [line, dash] = styles[style(e)];
      const isFar = !isNear(ends[e]);
      return { edges: alike.map((one) => ends[one]), line: style(e) === "common" && isFar ? palette.plain : line, dash, width: width(e), alpha: isFar ? 0.25 : isCrowded ? 0.6 : 1 };
    })];
  }

  /** Names of the selected node, of observed nodes and neighbours, then of nodes by degree. */
  namesOf(marked, observed) {
    const { nodes, observed: states } = this.data;
    const near = this.chosen?.j === undefined && this.chosen ? this.ends.filter((pair) => pair.includes(this.chosen.i)).flat() : [];
    const isFew = nodes.length <= INSPECT_MANY;
    const budget = nodes.length <= INSPECT_FEW ? nodes.length : isFew ? Math.round(10 * this.camera.zoom ** 2) : nodes.length;
    return { size: isFew ? 13 : 12, longest: isFew ? 36 : 20, isApart: isFew, spots: (k, half) => this.beside(k, half, marked.includes(k) ? 10 : 4),
      text: (k) => shorten(this.name(k), 22) + (states[nodes[k]] === undefined ? "" : ` = ${shorten(states[nodes[k]], 12)}`),
      names: [...near.slice(0, 30), ...this.byDegree.slice(0, budget)], always: [this.hover, ...marked, ...observed.slice(0, 40)].filter((k) => k >= 0) };
  }
}
