// The certified region in the graph: a coloured area under its nodes and edges, bars across cut edges.

import { css, Eased, mix } from "../shared/core.js";

const GLOW_RATE = 9; // 1/s: how fast a node lights up or goes dark
const REVEAL_RATE = 26; // nodes per second in which a new region grows
const CUT_MARKS = 150; // largest number of bars, which would cover the graph
const OUTSIDE = 0.42; // opacity of nodes outside the region

export class RegionLayer {
  constructor(view) {
    this.view = view;
    this.eased = new Eased(view.app, GLOW_RATE, () => 0.02); // how far all others are dimmed, and how bright each node is, 0…1
    this.clear(0);
  }

  clear(n) {
    this.eased.values = new Float32Array(n + 1);
    this.take();
    this.reveal = 0; // nodes that are lit
    this.of = null; // the node the reveal belongs to
    this.verdict = null;
  }

  take() {
    const { values } = this.eased;
    [this.light, this.glow] = [values[0], values.subarray(1)];
  }

  get shown() {
    return this.view.app.region.lit;
  }

  /** Highlight the nodes of the region one after another, and dim all others. */
  advance(seconds) {
    const { app } = this.view;
    const { shown } = this;
    if (shown) {
      const more = app.still ? shown.size : seconds * REVEAL_RATE;
      this.reveal = Math.min((this.of === shown.node ? this.reveal : 1) + more, shown.size);
      this.verdict = shown.verdict;
    }
    this.of = shown ? shown.node : null;
    const goals = this.eased.values.map((_, k) => Number(k === 0 && shown !== null));
    for (const i of shown ? shown.nodes.slice(0, app.region.preview ?? Math.floor(this.reveal)) : []) goals[i + 1] = 1;
    this.eased.advance(goals, seconds);
    this.take();
    this.moving = this.eased.moving || (shown !== null && this.reveal < shown.size);
  }

  /** Opacity of a node: those outside the region are dimmed. */
  opacity(i) {
    return 1 - (1 - OUTSIDE) * this.light * (1 - this.glow[i]);
  }

  /** Additional radius of the ring around the selected node, which encloses the coloured area. */
  get margin() {
    return this.light * (0.4 * this.view.unit + 3);
  }

  /** Whether an edge lies inside, or null if no region is shown. */
  holds(e) {
    return this.light < 0.5 ? null : this.view.edges.pair(e).every((i) => this.glow[i] > 0.5);
  }

  /** Colour of rim and cuts, and opacity of the area: a region with a vacuous bound is grey and nearly transparent. */
  tone(palette) {
    const strength = { certified: 0.3, bounded: 0.17 }[this.verdict];
    return strength ? [palette.region, palette.dark ? strength + 0.1 : strength] : [palette.muted, 0.07];
  }

  /** Radius of the coloured area around a node. */
  reach(i) {
    return this.view.radius[i] + this.view.unit * 0.75 + 3.5;
  }

  /** Pairs of the active edges at the shown step for which something holds. */
  active(holds) {
    const { log, now, edges } = this.view;
    return now.active.filter((e) => !log.isDropped(e, now.t)).map((e) => edges.pair(e)).filter(holds);
  }

  /** The area: discs under the nodes, bands under the edges between them, and a rim around both. */
  ground(palette) {
    if (this.light <= 0) return [];
    const { unit, app } = this.view;
    const nodes = [...this.glow.keys()].filter((i) => this.glow[i] > 0);
    const inner = this.active((pair) => pair.every((i) => this.glow[i] > 0));
    const [edge, strength] = this.tone(palette);
    return [[1.6 * app.type, edge], [0, mix(palette.background, edge, strength)]].map(([rim, colour]) => [
      ...inner.map((pair) => ({ edges: [pair], line: colour, width: (unit * 0.9 + 4) * Math.min(...pair.map((i) => this.glow[i])) + 2 * rim, cap: "round" })),
      { nodes, size: (i) => this.reach(i) * this.glow[i] + rim, fill: colour }]);
  }

  /** A bar across every edge that leaves the region, at the border of the area. */
  cuts(palette) {
    if (this.light < 0.5) return [];
    const { at, app: { type } } = this.view;
    const isInside = (i) => this.glow[i] > 0.5;
    const leaving = this.active((pair) => pair.some(isInside) && !pair.every(isInside)).slice(0, CUT_MARKS);
    return (context) => {
      context.strokeStyle = css(this.tone(palette)[0], this.light);
      context.lineWidth = 2.2 * type;
      context.beginPath();
      for (const pair of leaving) {
        const [i, j] = isInside(pair[0]) ? pair : [pair[1], pair[0]];
        const [dx, dy] = [at[j][0] - at[i][0], at[j][1] - at[i][1]];
        const length = Math.hypot(dx, dy) || 1;
        const away = (this.reach(i) + 4.5 * type) / length;
        const half = (4 * type) / length;
        for (const side of [half, -half]) context[side > 0 ? "moveTo" : "lineTo"](at[i][0] + dx * away - dy * side, at[i][1] + dy * away + dx * side);
      }
      context.stroke();
    };
  }
}
