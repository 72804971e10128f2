// The graph around the query: the region, its cut edges, and the candidates.

import { boundText, brief, clamp, css, hatching, mix, plural, smooth, viridis, writeOver } from "../shared/core.js";
import { Graph } from "../shared/graph.js";
import { legendKey, lineKey, Ramp } from "../shared/legend.js";

const JOIN_SHARE = 0.4; // of the animation of an added node, until it is there; then a flash fades
const NAME_ROOM = 56; // px between nodes from which on all names are shown
const LABEL_ROOM = 23; // px between nodes from which on the bound of every candidate is shown
const BOUNDS_SHOWN = [3, 60]; // numbers of bounds without and with that room
const WIDTHS = 5; // of edges outside the region
const LEVELS = 5; // of influence on the query

export class RegionGraph extends Graph {
  unitRange = [0.27, 2.2, 13];

  constructor(app) {
    super(app);
    const key = (kind, words, title) => legendKey(`gv-region-key gv-region-${kind}`, words, title);
    this.ramp = new Ramp("candidate: bound if added ", "Bound if this neighbour is added to the region");
    this.plainKey = key("rim", "candidate", "Neighbour of the region");
    this.noneKey = key("vacuous", "candidate: vacuous bound", "The bound stays vacuous if this neighbour is added to the region");
    this.feltKey = key("felt", "outside (darker: more influence on the query)", "Upper bound on the influence of a variable on the query");
    this.element = this.card("gv-region-graph", "Graph", "region", { keys: [
      key("query", "query", "The variable whose marginal is computed"), key("inside", "in the region", "Only these variables are used"),
      lineKey("cut edges", "wrong", { style: "dashed", title: "Edges that leave the region: dropped, or replaced by a field" }),
      this.ramp.element, this.plainKey, this.noneKey, this.feltKey] });
  }

  setGraph(graph) {
    const neighbours = graph.names.map(() => []);
    for (const [i, j] of graph.edges) {
      neighbours[i].push(j);
      neighbours[j].push(i);
    }
    const strengths = new Map(graph.edges.map((pair, e) => [pair, graph.norms[e]]));
    this.graph = { ...graph, neighbours, strengths, largest: Math.max(1e-12, ...graph.norms) };
    this.fit(graph.positions, { isGiven: graph.given });
  }

  // ------------------------------------------------------------------------------------ pointing

  choose(i) {
    if (i < 0) return;
    this.leave();
    this.app.ask(i);
  }

  /** By keyboard: the next or previous variable, first the query; Enter queries it. */
  turn(step) {
    if (this.hover < 0 && this.app.log) this.hover = this.app.log.region.query;
    super.turn(step);
  }

  enter() {
    if (this.hover >= 0) this.app.ask(this.hover);
  }

  fact(i) {
    const { log, shown } = this.app;
    const { candidates, bounds } = log.steps[shown];
    const place = candidates.indexOf(i);
    if (i === log.region.query) return "query";
    if (log.has(i, shown)) return `in the region since step ${log.joined[i]}`;
    if (place < 0) return "outside the region · click or press Enter to query";
    if (!log.region.asksAll) return "candidate; this rule does not compute its bound";
    return bounds[place] === null ? "candidate; the bound stays vacuous if added" : `candidate; bound if added: ${boundText(bounds[place])}`;
  }

  // ------------------------------------------------------------------------------------- drawing

  scene(palette) {
    const { log, shown, part } = this.app;
    const { unit, graph } = this;
    const { added, boundary } = log.steps[shown];
    const { query } = log.region;
    const entry = shown === 0 ? 1 : smooth(clamp(part / JOIN_SHARE, 0, 1));
    const inside = log.steps.slice(0, shown + 1).map((step) => step.added);
    const [inner, others] = [true, false].map((isInner) => graph.edges.filter(([i, j]) => (log.has(i, shown) && log.has(j, shown)) === isInner));
    const fresh = (i, j) => entry < 1 && (i === added || j === added);
    // The region as one body: wide round bands along its inner edges.
    const wide = Math.min(this.spacing * 0.92, 6.5 * unit, 54 * this.app.type);
    const body = mix(palette.background, palette.objective, palette.dark ? 0.34 : 0.2);
    const band = { line: body, width: wide, cap: "round" };
    const left = shown === 0 ? 0 : 1 - part;
    return [
      { ...band, edges: inner.filter(([i, j]) => !fresh(i, j)) },
      { ...band, edges: log.from[added] < 0 ? [] : [[log.from[added], added]], grow: entry, origin: 0 },
      { nodes: inside, size: (i) => (wide / 2) * (i === added ? entry : 1), fill: body },
      this.outerEdges(palette, others),
      { edges: inner, line: palette.text, alpha: 0.75, width: clamp(unit * 0.28, 1.4, 3) },
      { edges: boundary.flatMap((i) => graph.neighbours[i].filter((j) => !log.has(j, shown)).map((j) => [i, j])),
        line: palette.wrong, width: clamp(unit * 0.26, 1.3, 2.6), dash: [3, 3.5] },
      this.outerNodes(palette),
      left > 0 && { nodes: [added], size: unit * (1.4 + 1.8 * (1 - left)) + 4, fill: palette.step, alpha: 0.6 * left },
      { nodes: inside.slice(1), size: (i) => unit * (i === added ? entry : 1), fill: palette.text },
      shown > 0 && { nodes: [added], size: unit + 2.5, line: palette.rim, width: 2.2 },
      { nodes: [query], shape: "star", size: Math.max(unit * 1.85, 7), fill: palette.step, line: palette.text, width: 2.2 },
      this.candidates(palette),
      this.names(),
      this.hover >= 0 && { nodes: [this.hover], size: unit + 3, line: palette.text, width: 2 },
    ];
  }

  /** Edges in a few widths, each drawn at once: stroking thousands of lines one by one is slow. */
  outerEdges(palette, edges) {
    const { strengths, largest } = this.graph;
    const level = (pair) => Math.min(WIDTHS - 1, Math.floor((WIDTHS * strengths.get(pair)) / largest));
    return Array.from({ length: WIDTHS }, (_, g) => (
      { edges: edges.filter((pair) => level(pair) === g), line: palette.muted, alpha: 0.13 + 0.09 * g, width: 0.6 + 0.35 * g }));
  }

  /** Nodes outside the region: darker with more influence on the query. */
  outerNodes(palette) {
    const { log, shown } = this.app;
    const { influence } = log.region;
    const level = (i) => (influence ? Math.round((LEVELS * influence[i]) / 255) : 2);
    const outside = [...log.graph.names.keys()].filter((i) => !log.has(i, shown));
    return Array.from({ length: LEVELS + 1 }, (_, g) => ({ nodes: outside.filter((i) => level(i) === g),
      size: this.unit * (influence ? 0.5 + 0.07 * g : 0.62), fill: mix(palette.background, palette.text, influence ? 0.16 + 0.09 * g : 0.32) }));
  }

  /** Candidates in the colour of their bounds; the bounds as numbers: all where there is room, else the smallest. */
  candidates(palette) {
    const { log, shown } = this.app;
    const { candidates, bounds } = log.steps[shown];
    const order = [...bounds.keys()].filter((m) => bounds[m] !== null).sort((a, b) => bounds[a] - bounds[b]);
    const stripes = () => hatching(this.context, css(palette.muted), { ground: css(palette.background) });
    const vacuous = log.region.asksAll ? stripes() : palette.background;
    const size = clamp(this.unit * 1.35, 10, 14 * this.app.type);
    const most = BOUNDS_SHOWN[Number(this.spacing >= LABEL_ROOM)];
    return (context) => {
      candidates.forEach((i, m) => this.paint(context, { nodes: [i], size: this.unit * 0.95, line: palette.text, width: m === order[0] ? 2.6 : 1.1,
        fill: bounds[m] === null ? vacuous : viridis(0.06 + 0.94 * log.promise(bounds[m])) }));
      context.textAlign = "center";
      context.textBaseline = "middle";
      for (const m of order.slice(0, most).reverse()) {
        const [x, y] = this.at[candidates[m]];
        context.font = `${m === order[0] ? 700 : 500} ${size}px ${palette.font}`;
        writeOver(context, palette, boundText(bounds[m]), x, y + this.unit + size * 0.62);
      }
    };
  }

  /** All names where there is room; else, in graphs without given positions, the query and the newest node. */
  names() {
    const { log, shown, type } = this.app;
    const { query } = log.region;
    const all = this.spacing >= NAME_ROOM * type;
    if (!all && this.graph.given) return undefined;
    const names = all ? [...log.graph.names.keys()] : [query, log.steps[shown].added];
    const above = (i, half, high) => [[this.at[i][0], this.at[i][1] - this.unit * (i === query ? 1.9 : 1) - 4 - high / 2]];
    return { names: [], always: names, spots: above };
  }

  describe() {
    const { log, shown } = this.app;
    const step = log.steps[shown];
    const some = step.bounds.some((b) => b !== null);
    this.ramp.element.hidden = !log.steps.some(({ bounds }) => bounds.some((b) => b !== null));
    this.plainKey.hidden = log.region.asksAll;
    this.feltKey.hidden = !log.region.influence;
    this.noneKey.hidden = !log.region.asksAll || !log.steps.some(({ bounds }) => bounds.some((b) => b === null));
    this.ramp.set(brief(log.most), brief(log.least));
    const left = `${plural(step.candidates.length, "candidate")}${some || !step.candidates.length ? "" : ", all with vacuous bounds"}`;
    this.describeAs(`Graph of ${plural(log.n, "variable")}; ${shown + 1} of them in the region around ${log.name(log.region.query)}; ${left}. ${step.words}`);
  }
}
