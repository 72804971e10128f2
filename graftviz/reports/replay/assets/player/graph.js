// The growing graph: places and looks of the nodes, the selection, and the legend.

import { clamp, counted, Eased, fill, format, h, integer, lerp, mix, pairWords, remembered, replaceChildren, smooth, viridis } from "../shared/core.js";
import { boxOf, gapOf, Graph, NAME_TRIES, WHOLE_PLANE } from "../shared/graph.js";
import { turned } from "../shared/keys.js";
import { legendKey, lineSample, Ramp } from "../shared/legend.js";
import { EdgeLayer, MISSING_LINE } from "./edges.js";
import { RegionLayer } from "./region_layer.js";

const GLIDE_RATE = 12; // 1/s: how fast nodes close in on their places
const COLOUR_LEVELS = 32;
const LEAST_LIMIT = 32; // end of the colour scale of degrees, unless a run has a larger one
const FEW = 40; // up to this many nodes, all names are shown
const NAMED_LONGER = 2.5; // added to the degrees of nodes whose names are shown, so that names do not flicker

export class GraphView extends Graph {
  near = 7;
  limit = LEAST_LIMIT;

  constructor(app) {
    super(app);
    this.show = { right: true, wrong: true, missing: true, stability: true, ...remembered.get("show", {}) };
    this.world = new Eased(app, GLIDE_RATE, () => 2); // places of the nodes: x0, y0, x1, y1, …
    this.edges = new EdgeLayer(this);
    this.region = new RegionLayer(this);
    this.parts = [this.region];
    this.element = this.card("", TEXT.graph.title, "graph", { below: app.region.caption });
  }

  // -------------------------------------------------------------------------------- a new run

  setRun(log, ghost) {
    this.log = log;
    if (!ghost) this.world.values = null;
    this.radius = new Float32Array(log.n);
    this.byDegree = Array.from({ length: log.n }, (_, i) => i);
    this.named.clear();
    this.edges.setRun(log);
    this.region.clear(log.n);
    [this.hover, this.pair, this.places] = [-1, null, []];
    // Given places keep their shape; a growing layout fills a square, and its nodes may crowd.
    const given = log.header.positions?.length ? log.header.positions : null;
    [this.box, this.gap, this.stretch] = given ? [boxOf(given), gapOf(given), 1] : [WHOLE_PLANE, Infinity, 1.5];
    this.buildLegend();
  }

  /** Nodes glide to their places, which may change with every record and run. */
  advance(seconds) {
    this.world.advance(this.log.positions(this.app.moment), seconds);
  }

  get moving() {
    return this.world.moving;
  }

  project() {
    const { log, app: { shown, part }, world: { values } } = this;
    const { width, height } = this;
    const margin = clamp(Math.min(width, height) * 0.06, 16, 40);
    this.margins = [margin, margin];
    this.places = Array.from({ length: log.n }, (_, i) => [values[2 * i], values[2 * i + 1]]);
    super.project();
    this.before = part < 1 ? shown - 1 : shown;
    this.now = log.snapshot(shown);
    this.then = log.snapshot(this.before);
    this.part = smooth(part);
    const room = Math.min(width, height * 1.3) / 620;
    const least = clamp(90 / Math.sqrt(log.n), 1.2, 2.3); // of very many nodes even small discs would cover each other
    const roomy = clamp(66 / Math.sqrt(log.n), least, 8.5) * clamp(room, 0.62, 1.25) * this.camera.zoom ** 0.4;
    // On a crowded map nodes must not cover each other.
    this.unit = Math.min(roomy, Math.max(least, 0.24 * this.spacing));
    for (let i = 0; i < log.n; i++) this.radius[i] = this.unit * (0.5 + 0.4 * Math.sqrt(this.degreeOf(i)));
  }

  sizeOf(i) {
    return this.radius[i];
  }

  degreeOf(i) {
    return lerp(this.then.degrees[i], this.now.degrees[i], this.part);
  }

  // ------------------------------------------------------------------------- pointer and keyboard

  /** The active edge under a point, or else the missing true one. */
  pairAt(x, y) {
    if (!this.now) return null;
    const missing = this.log.truth && this.show.missing ? this.log.missingAt(this.app.shown) : [];
    return super.pairAt(x, y) ?? super.pairAt(x, y, missing);
  }

  pairs() {
    return this.log.snapshot(this.app.shown).active.map((e) => this.edges.pair(e));
  }

  find(i) {
    super.find(i);
    this.app.select({ kind: "node", i });
  }

  choose(node, x, y, shift) {
    const { app } = this;
    const first = app.selection;
    const pair = node < 0 ? this.pairAt(x, y) : null;
    if (node >= 0 && shift && first?.kind === "node" && first.i !== node) app.selectPair(first.i, node);
    else if (pair) app.selectPair(...pair);
    else app.select(node >= 0 ? { kind: "node", i: node } : null);
  }

  leave() {
    this.app.select(null);
  }

  /** By keyboard: the next or the previous variable, in the order of the table. */
  turn(step) {
    const { app } = this;
    const i = turned(app.selection ? app.selection.i : -1, step, this.log.n);
    app.select({ kind: "node", i });
    this.say(this.wordsFor(i));
  }

  /** By keyboard: the next or the previous edge, of the selected variable if there is one. */
  turnEdge(step) {
    const { app } = this;
    const pair = this.nextPair(step, this.pairs(), app.selection);
    if (!pair) return app.say(TEXT.graph.no_edges);
    app.selectPair(...pair);
    return this.say(this.wordsForPair(pair));
  }

  fact(node) {
    const { degree, hub } = this.log.nodeFacts(node, this.app.shown);
    return fill(TEXT.graph.degree_of, { degree }) + (hub ? ` · ${TEXT.graph.hub}` : "");
  }

  wordsForPair([i, j]) {
    const { log, app: { shown } } = this;
    const status = { true: ` · ${TEXT.graph.is_true}`, false: ` · ${TEXT.graph.is_false}`, null: "" }[String(log.isTrue(i, j))];
    const edge = log.edgeAt(i, j, shown);
    const fact = edge < 0 ? ` · ${TEXT.graph.inactive}` : ` · ${fill(TEXT.graph.since, { step: log.born[edge], norm: format(log.normAt(edge, shown)) })}`;
    const times = log.timesFound(i, j);
    const found = times === null ? "" : ` · ${fill(TEXT.graph.found_in, { found: times, of: log.stability.of })}`;
    return [h("b", {}, pairWords([log.name(i), log.name(j)], 30)), fact + status + found];
  }

  // ---------------------------------------------------------------------------------- drawing

  scene(palette) {
    const { app, log, region } = this;
    return [region.ground(palette), log.truth && this.show.missing && this.edges.missing(palette),
      this.edges.layers(palette, app.moment, this.before), region.cuts(palette), this.nodes(palette), this.names()];
  }

  /** End of the colour scale, a power of two; it only rises, so that colours of different runs can be compared. */
  get degreeLimit() {
    const { log } = this;
    if (this.limitOf?.log !== log || this.limitOf.ready !== log.ready) {
      this.limitOf = { log, ready: log.ready };
      this.limit = Math.max(this.limit, 2 ** Math.ceil(Math.log2(log.snapshot(log.ready).topDegree || 1)));
    }
    return this.limit;
  }

  nodes(palette) {
    const { app: { selection }, unit, now, then, part, region } = this;
    const wider = (extra) => (i) => this.radius[i] + extra;
    const light = [...new Set(this.edges.fresh.flatMap((e) => this.edges.pair(e)))];
    const top = Math.log2(1 + this.degreeLimit);
    if (this.sorted !== now) this.byDegree.sort((a, b) => now.degrees[a] - now.degrees[b] || a - b);
    this.sorted = now;
    const level = (i) => Math.round((Math.log2(1 + this.degreeOf(i)) / top) * COLOUR_LEVELS);
    const isOutlined = unit > 2.2; // outlines of small discs would take time and hide their colours
    const colour = (of) => {
      const own = viridis(0.04 + (0.93 * of) / COLOUR_LEVELS);
      return isOutlined || !palette.dark ? own : mix(own, palette.text, 0.3);
    };
    const grey = mix(palette.background, palette.text, 0.3);
    // Nodes of one colour are drawn at once, and so are those that are equally far dimmed.
    const looks = Map.groupBy(this.byDegree.filter((i) => this.isInSight(i)), (i) => 200 * level(i) + Math.round(100 * region.opacity(i)));
    const discs = [...looks.values()].map((nodes) => ({ nodes, size: wider(0), alpha: region.opacity(nodes[0]),
      line: isOutlined && palette.outline, width: unit > 3 ? 1.1 : 0.7, fill: level(nodes[0]) ? colour(level(nodes[0])) : grey }));
    const hubs = Map.groupBy(this.byDegree.filter((i) => then.hubs[i] || now.hubs[i]), (i) => Math.round(100 * lerp(then.hubs[i], now.hubs[i], part) * region.opacity(i)) / 100);
    const ring = clamp(unit / 2, 0.6, 1.6);
    const marked = selection ? [selection.i, selection.j].filter((i) => i !== undefined) : [];
    const rim = unit * 0.55 + 2 * this.edges.lightShare;
    return [{ nodes: light, size: wider(rim + 1), fill: palette.rim }, { nodes: light, size: wider(rim), fill: palette.step }, discs,
      [...hubs].map(([share, nodes]) => ({ nodes, size: wider(share * (unit * 0.35 + 1.25 * ring)), line: palette.text, alpha: share * 0.9, width: ring })),
      { nodes: marked, size: wider(unit * 0.35 + 5 + region.margin), line: palette.primary, width: 2.5 },
      this.hover >= 0 && { nodes: [this.hover], size: wider(2.5), line: palette.text, width: 2 }];
  }

  /** Names of the nodes pointed at and selected, of their neighbours or region, and of the largest nodes. */
  names() {
    const { app, log, now, unit, camera: { zoom }, named } = this;
    const { selection, region: { lit: region } } = app;
    const near = region ? region.nodes.slice(0, region.size)
      : selection?.kind === "node" ? log.nodeFacts(selection.i, now.t).partners.slice(0, 12).map(({ node }) => node) : [];
    const isFew = log.n <= FEW;
    const least = isFew || zoom > 2.2 ? 0 : 3;
    const weight = (i) => now.degrees[i] + (named.has(i) ? NAMED_LONGER : 0);
    const rest = [];
    for (let k = log.n - 1; k >= 0 && rest.length < NAME_TRIES * this.nameRoom && now.degrees[this.byDegree[k]] >= least; k--) {
      if (this.isInSight(this.byDegree[k])) rest.push(this.byDegree[k]);
    }
    rest.sort((a, b) => weight(b) - weight(a) || a - b);
    return { names: [...near, ...rest],
      always: [this.hover, selection?.i ?? -1, selection?.j ?? -1, this.edges.path?.third ?? -1].filter((i) => i >= 0), longest: 20,
      spots: (i, half) => this.beside(i, half, now.hubs[i] ? unit * 0.35 + 4 : 3) };
  }

  // ----------------------------------------------------------------------------------- legend

  buildLegend() {
    this.tallies = Object.fromEntries(["gone", "partial", "right", "wrong", "missing", "stability"].map((kind) => [kind, h("b")]));
    const entry = (kind, text, sample, title = fill(TEXT.graph.toggle, { text })) => {
      const node = h("button", { type: "button", class: "gv-key", "aria-pressed": String(this.show[kind]), title, click: () => {
        this.show[kind] = !this.show[kind];
        node.setAttribute("aria-pressed", String(this.show[kind]));
        remembered.set("show", this.show);
        this.app.wake();
      } }, sample, `${text} `, this.tallies[kind]);
      return node;
    };
    this.edges.missingSample = lineSample("muted", MISSING_LINE);
    this.degrees = new Ramp(`${TEXT.graph.degree} `);
    this.partialKey = legendKey("gv-line gv-line-partial", [`${TEXT.graph.partial} `, this.tallies.partial], TEXT.graph.partial_title);
    this.goneKey = legendKey(h("i", { class: "gv-cross" }, "×"), [`${TEXT.graph.gone} `, this.tallies.gone], TEXT.graph.gone_title);
    this.stableKey = entry("stability", TEXT.graph.stability, h("i", { class: "gv-fade" }), TEXT.graph.stability_title);
    const hasHubRule = this.log.header.learner.pseudocode?.some(({ key }) => key === "reorganise");
    const ofTruth = () => [entry("right", TEXT.graph.right, lineSample("right")), entry("wrong", TEXT.graph.wrong, lineSample("wrong", { style: "dashed" })),
      entry("missing", TEXT.graph.missing, this.edges.missingSample)];
    replaceChildren(this.legend, this.log.truth && ofTruth(), legendKey("gv-line gv-line-step", TEXT.graph.fresh, TEXT.graph.fresh_title),
      this.partialKey, this.goneKey, this.stableKey, legendKey("gv-hub", TEXT.graph.ring, TEXT.graph.ring_title),
      hasHubRule && legendKey(null, TEXT.graph.rule, TEXT.graph.rule_title), this.degrees.element);
  }

  /** Numbers in the legend and the description, once per shown step. */
  describe() {
    const { log, tallies, app: { shown } } = this;
    const { count, right, topDegree, dropped, partial } = log.snapshot(shown);
    const gone = dropped + (log.record(shown)?.removed?.length ?? 0);
    const missing = log.truth ? log.truth.size - right : 0;
    this.partialKey.hidden = log.features.every(({ steps }) => steps.length === 0);
    this.goneKey.hidden = log.gone + log.dropped.size === 0;
    this.stableKey.hidden = !log.stability;
    for (const [kind, value] of Object.entries({ partial, gone, right, wrong: count - right, missing })) tallies[kind].textContent = integer(value);
    if (log.stability) tallies.stability.textContent = fill(TEXT.graph.subsamples, { of: integer(log.stability.of) });
    this.degrees.set("0", String(this.degreeLimit));
    const facts = [fill(TEXT.graph.described, { step: shown, edges: counted(count, TEXT.units.edges), variables: counted(log.n, TEXT.graph.variables) }),
      log.truth && fill(TEXT.graph.described_truth, { right, missing }), partial && fill(TEXT.graph.described_partial, { partial }),
      gone && counted(gone, TEXT.graph.described_gone), fill(TEXT.graph.described_degree, { degree: topDegree })];
    this.describeAs(`${facts.filter(Boolean).join(", ")}.`);
  }
}
