// The growing graph on a canvas: where things are, how they look. Gestures live in gestures.js.

import { CameraView } from "../shared/camera.js";
import { clamp, css, h, integer, lerp, lineSample, mix, plural, remembered, replaceChildren, smooth, Surface, viridis } from "../shared/core.js";
import { attachGestures } from "../shared/gestures.js";
import { zoomButtons } from "../shared/zoom_buttons.js";
import { Tip } from "../shared/tip.js";
import { EdgeLayer } from "./edges.js";
import { GraphPointer } from "./graph_pointer.js";
import { NodeLabels } from "./labels.js";
import { RegionLayer } from "./region_layer.js";

const GLIDE_SECONDS = 0.7;

export class GraphView extends CameraView {
  constructor(app) {
    super();
    this.app = app;
    this.show = { right: true, wrong: true, missing: true, stability: true, ...remembered.get("show", {}) };
    this.pointer = new GraphPointer(this);
    this.labels = new NodeLabels(this);
    this.edges = new EdgeLayer(this);
    this.region = new RegionLayer(this);
    this.holder = h("div", { class: "gv-stage" });
    this.keys = h("div", { class: "gv-legend" });
    this.pointer.tip = new Tip(this.holder);
    this.element = h("div", { class: "gv-card gv-graph" }, this.holder, app.region.caption, h("footer", {}, this.keys, zoomButtons(this, app, "graph")));
    this.surface = new Surface(this.holder, () => app.resized());
    this.canvas = this.surface.canvas;
    this.releaseGestures = attachGestures(this);
  }

  destroy() {
    this.releaseGestures();
    this.surface.destroy();
  }

  // -------------------------------------------------------------------------------- a new run

  setRun(log, keepPlaces) {
    const before = keepPlaces && this.world ? this.world.slice() : null;
    this.log = log;
    this.world = new Float32Array(2 * log.n);
    this.screen = new Float32Array(2 * log.n);
    this.radius = new Float32Array(log.n);
    this.offset = null;
    this.byDegree = Array.from({ length: log.n }, (_, i) => i);
    this.labels.clear();
    this.region.clear(log.n);
    this.pointer.over = null;
    this.frameBox = this.boxOfPlaces();
    if (before) this.glideFrom(before);
    this.buildLegend();
  }

  /** Let nodes travel from where they are now instead of jumping when their targets change. */
  keepPlaces(change) {
    if (!this.log || this.log.header.positions) return change();
    const before = this.placeNodes(this.app.p).slice();
    const result = change();
    this.offset = null;
    this.glideFrom(before);
    return result;
  }

  glideFrom(before) {
    if (this.app.still || before.length !== this.world.length) return;
    const target = this.log.positions(this.app.p, new Float32Array(this.world.length));
    const offset = before.map((x, k) => x - target[k]);
    if (offset.some((d) => Math.abs(d) > 2)) {
      this.offset = offset;
      this.glide = 0;
    }
  }

  advance(seconds) {
    this.region.advance(seconds);
    if (!this.offset) return;
    this.glide += seconds / GLIDE_SECONDS;
    if (this.glide >= 1) this.offset = null;
  }

  get moving() {
    return this.offset !== null || this.region.moving;
  }

  placeNodes(p) {
    this.log.positions(p, this.world);
    if (this.offset) {
      const left = 1 - smooth(clamp(this.glide, 0, 1));
      for (let k = 0; k < this.world.length; k++) this.world[k] += this.offset[k] * left;
    }
    return this.world;
  }

  // ----------------------------------------------------------------------------------- camera

  /** The part of the plane to fit: given places keep their shape, a growing layout fills a square. */
  boxOfPlaces() {
    const places = this.log.header.positions;
    if (!places || places.length === 0) return { x: 5000, y: 5000, w: 10000, h: 10000, stretch: 1.5, gap: Infinity };
    const xs = places.map((p) => p[0]);
    const ys = places.map((p) => p[1]);
    const range = (v) => v.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);
    const [[x0, x1], [y0, y1]] = [range(xs), range(ys)];
    return { x: (x0 + x1) / 2, y: (y0 + y1) / 2, w: Math.max(x1 - x0, 1), h: Math.max(y1 - y0, 1), stretch: 1, gap: this.gapOf(places) };
  }

  /** Typical distance to the nearest neighbour: on a crowded map nodes must not cover each other. */
  gapOf(places) {
    const some = places.filter((_, i) => i % Math.ceil(places.length / 400) === 0);
    const gaps = some.map(([x, y]) => Math.min(...places.map(([a, b]) => Math.hypot(a - x, b - y) || Infinity)));
    return gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? Infinity;
  }

  project() {
    const { width, height } = this.surface;
    const { zoom, x, y } = this.camera;
    const box = this.frameBox;
    const margin = clamp(Math.min(width, height) * 0.06, 16, 40);
    let sx = (width - 2 * margin) / box.w;
    let sy = (height - 2 * margin) / box.h;
    sx = Math.min(sx, sy * box.stretch);
    sy = Math.min(sy, sx * box.stretch);
    const [cx, cy] = [width / 2 + x, height / 2 + y];
    this.crowded = 0.24 * box.gap * sx * zoom;
    for (let i = 0; i < this.log.n; i++) {
      this.screen[2 * i] = cx + (this.world[2 * i] - box.x) * sx * zoom;
      this.screen[2 * i + 1] = cy + (this.world[2 * i + 1] - box.y) * sy * zoom;
    }
  }

  wake() {
    this.app.wake();
  }

  /** What the pointer rests on: null, {node} or {edge: [i, j]}. */
  get hover() {
    return this.pointer.over;
  }

  pointAt(x, y) {
    if (Number.isNaN(x)) this.pointer.hide();
    else this.pointer.moveTo(x, y);
  }

  pressed() {
    this.pointer.hide();
  }

  chooseAt(x, y, shift) {
    this.pointer.choose(x, y, shift);
  }

  twiceAt(x, y, shift) {
    this.zoomBy(shift ? 0.5 : 2, x, y);
  }

  leave() {
    this.app.select(null);
  }

  turn(step) {
    this.pointer.turn(step);
  }

  turnEdge(step) {
    this.pointer.turnEdge(step);
  }

  // ------------------------------------------------------------------------------ positions

  nodeAt(x, y) {
    let best = -1;
    let bestGap = 7;
    for (let i = 0; i < this.log.n; i++) {
      const gap = Math.hypot(this.screen[2 * i] - x, this.screen[2 * i + 1] - y) - this.radius[i];
      if (gap < bestGap) [best, bestGap] = [i, gap];
    }
    return best;
  }

  /** The pair whose line passes nearest: an active edge, or a missing true one; null if none does. */
  pairAt(x, y) {
    let best = null;
    let bestGap = 5;
    const consider = (i, j, active) => {
      const [ax, ay] = [this.screen[2 * i], this.screen[2 * i + 1]];
      const [bx, by] = [this.screen[2 * j], this.screen[2 * j + 1]];
      const length = (bx - ax) ** 2 + (by - ay) ** 2;
      const f = length ? clamp(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length, 0, 1) : 0;
      const gap = Math.hypot(ax + f * (bx - ax) - x, ay + f * (by - ay) - y);
      if (gap < bestGap) [best, bestGap] = [{ i, j, active }, gap];
    };
    const t = this.app.shown;
    for (const e of this.log.snapshot(t).active) consider(this.log.sources[e], this.log.targets[e], true);
    if (!best && this.log.truth && this.show.missing) {
      for (const [i, j] of this.log.header.truth) {
        if (this.log.edgeAt(i, j, t) < 0) consider(i, j, false);
      }
    }
    return best;
  }

  // ---------------------------------------------------------------------------------- drawing

  draw() {
    const context = this.surface.begin();
    if (!context || !this.log) return;
    const { p, palette } = this.app;
    this.placeNodes(p);
    this.project();
    const after = Math.ceil(p - 1e-6);
    const before = Math.floor(p + 1e-6);
    this.now = this.log.snapshot(clamp(after, 0, this.log.ready));
    this.then = this.log.snapshot(clamp(before, 0, this.log.ready));
    this.part = after > before ? smooth(p - before) : 1;
    this.scaleNodes();
    this.region.drawGround(context, palette);
    if (this.log.truth && this.show.missing) this.edges.drawMissing(context, palette);
    this.edges.draw(context, palette, p, before);
    this.region.drawCuts(context, palette);
    this.drawNodes(context, palette);
    this.labels.draw(context, palette);
    context.globalAlpha = 1;
  }

  degreeOf(i) {
    return lerp(this.then.degrees[i], this.now.degrees[i], this.part);
  }

  /** End of the colour scale: a power of two, so that colours of nodes seldom change during a run. */
  get degreeLimit() {
    const { log } = this;
    if (this.limitOf?.log !== log || this.limitOf.ready !== log.ready) {
      const most = Math.max(8, log.snapshot(log.ready).topDegree);
      this.limitOf = { log, ready: log.ready, value: 2 ** Math.ceil(Math.log2(most)) };
    }
    return this.limitOf.value;
  }

  scaleNodes() {
    const room = Math.min(this.surface.width, this.surface.height * 1.3) / 620;
    const roomy = clamp(66 / Math.sqrt(this.log.n), 2.3, 8.5) * clamp(room, 0.62, 1.25) * this.camera.zoom ** 0.4;
    const unit = Math.min(roomy, Math.max(2.3, this.crowded));
    this.unit = unit;
    for (let i = 0; i < this.log.n; i++) this.radius[i] = unit * (0.5 + 0.4 * Math.sqrt(this.degreeOf(i)));
  }

  drawNodes(context, palette) {
    const { n } = this.log;
    const chosen = this.app.selection;
    const light = new Set(this.edges.fresh.flatMap((e) => [this.log.sources[e], this.log.targets[e]]));
    for (const i of light) this.disc(context, i, this.unit * 0.55 + 3, css(palette.rim));
    for (const i of light) this.disc(context, i, this.unit * 0.55 + 2, css(palette.step));
    const top = Math.log2(1 + this.degreeLimit);
    this.byDegree.sort((a, b) => this.now.degrees[a] - this.now.degrees[b] || a - b);
    const colours = new Map();
    for (let k = 0; k < n; k++) {
      const i = this.byDegree[k];
      const level = Math.round((Math.log2(1 + this.degreeOf(i)) / top) * 32);
      // Nodes of one colour are drawn at once, and so are those that are equally far dimmed.
      const key = level * 64 + Math.round(this.region.opacity(i) * 63);
      const same = colours.get(key);
      if (same) same.push(i);
      else colours.set(key, [i]);
    }
    const rim = this.unit > 3 ? 1.1 : 0.7;
    for (const [key, nodes] of colours) {
      const level = key >> 6;
      context.globalAlpha = (key & 63) / 63;
      context.beginPath();
      for (const i of nodes) {
        context.moveTo(this.screen[2 * i] + this.radius[i], this.screen[2 * i + 1]);
        context.arc(this.screen[2 * i], this.screen[2 * i + 1], this.radius[i], 0, 7);
      }
      context.fillStyle = level === 0 ? css(mix(palette.background, palette.text, 0.3)) : viridis(0.04 + (0.93 * level) / 32);
      context.fill();
      context.lineWidth = rim;
      context.strokeStyle = css(palette.outline);
      context.stroke();
    }
    context.globalAlpha = 1;
    for (let i = 0; i < n; i++) {
      const ring = lerp(this.then.hubs[i], this.now.hubs[i], this.part) * this.region.opacity(i);
      if (ring > 0) this.ring(context, i, ring * (this.unit * 0.35 + 2), 1.6, css(palette.text, ring * 0.9));
    }
    const marked = chosen ? (chosen.kind === "node" ? [chosen.i] : [chosen.i, chosen.j]) : [];
    for (const i of marked) this.ring(context, i, this.unit * 0.35 + 5 + this.region.margin, 2.5, css(palette.primary));
    if (this.hover && this.hover.node !== undefined) this.ring(context, this.hover.node, 2.5, 2, css(palette.text));
  }

  disc(context, i, extra, colour) {
    context.beginPath();
    context.arc(this.screen[2 * i], this.screen[2 * i + 1], this.radius[i] + extra, 0, 7);
    context.fillStyle = colour;
    context.fill();
  }

  ring(context, i, extra, width, colour) {
    context.beginPath();
    context.arc(this.screen[2 * i], this.screen[2 * i + 1], this.radius[i] + extra, 0, 7);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }

  // ----------------------------------------------------------------------------------- legend

  buildLegend() {
    this.tallies = {};
    const entry = (kind, text, sample = lineSample(kind)) => {
      if (kind === "missing") this.edges.missingSample = sample;
      this.tallies[kind] = h("b");
      const node = h("button", { type: "button", class: "gv-key", "aria-pressed": String(this.show[kind]),
        title: `Show or hide: ${text}`, click: () => {
          this.show[kind] = !this.show[kind];
          node.setAttribute("aria-pressed", String(this.show[kind]));
          remembered.set("show", this.show);
          this.app.wake();
        } }, sample, `${text} `, this.tallies[kind]);
      return node;
    };
    this.degreeTop = h("span");
    this.tallies.gone = h("b");
    this.tallies.partial = h("b");
    this.partialKey = h("span", { class: "gv-key", title: "Only some pairs of states of this edge are active" },
      lineSample("partial"), "partially active ", this.tallies.partial);
    this.goneKey = h("span", { class: "gv-key", title: "Removed after it had been an edge" },
      h("i", { class: "gv-cross", "aria-hidden": "true" }, "×"), "removed ", this.tallies.gone);
    this.stableKey = entry("stability", "found in", h("i", { class: "gv-fade", "aria-hidden": "true" }));
    this.stableKey.title = "The fainter an edge, the fewer subsamples found it. Click to draw all edges alike.";
    replaceChildren(this.keys,
      this.log.truth && [entry("right", "true"), entry("wrong", "false"), entry("missing", "missing")],
      h("span", { class: "gv-key", title: "Activated in this step" }, lineSample("step"), "new"),
      this.partialKey, this.goneKey, this.stableKey,
      h("span", { class: "gv-key" }, h("i", { class: "gv-hub", "aria-hidden": "true" }), "hub"),
      h("span", { class: "gv-key" }, "degree 0", h("i", { class: "gv-ramp", "aria-hidden": "true" }), this.degreeTop));
  }

  /** Numbers in the legend and the description, once per shown step. */
  describe() {
    const t = this.app.shown;
    const { count, right, topDegree, dropped, partial } = this.log.snapshot(t);
    const record = this.log.record(t);
    const gone = dropped + (record && record.removed ? record.removed.length : 0);
    const { stability } = this.log;
    this.partialKey.hidden = this.log.features.every((history) => history === null);
    this.tallies.partial.textContent = integer(partial);
    this.goneKey.hidden = this.log.gone + this.log.dropped.size === 0;
    this.tallies.gone.textContent = integer(gone);
    this.stableKey.hidden = !stability;
    if (stability) this.tallies.stability.textContent = `0 … ${integer(stability.of)} subsamples`;
    this.degreeTop.textContent = String(this.degreeLimit);
    if (this.log.truth) {
      this.tallies.right.textContent = integer(right);
      this.tallies.wrong.textContent = integer(count - right);
      this.tallies.missing.textContent = integer(this.log.truth.size - right);
    }
    const left = (partial ? `, ${partial} of them partially active` : "") + (gone ? `; ${plural(gone, "edge")} removed` : "");
    const truth = this.log.truth ? `, ${right} of them true, ${this.log.truth.size - right} true edges missing` : "";
    this.canvas.setAttribute("aria-label",
      `Graph after step ${t}: ${plural(this.log.n, "variable")}, ${plural(count, "edge")}${truth}${left}; largest degree ${topDegree}.`);
  }
}
