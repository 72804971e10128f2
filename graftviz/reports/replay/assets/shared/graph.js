// Graph on a canvas: places of the nodes, camera, pointer, keys and tooltip, and a scene of layers.

import { button, clamp, css, fill, h, icon, integer, isolated, lerp, Picture, shorten, writeOver } from "./core.js";
import { Find } from "./find.js";
import { attachGestures } from "./gestures.js";
import { turned } from "./keys.js";
import { saveButton } from "./save_picture.js";
import { Tip } from "./tip.js";

const GRAPH_ZOOM = [0.5, 24]; // least and most
const GRAPH_BEND = 0.13; // of an arrow, in shares of its length
const OUT_OF_SIGHT = 20; // px beyond the edge of the picture
const TINY = 1.7; // px; discs up to this radius are drawn as squares of the same area, which takes half the time
const PATH_NODES = 50; // nodes in a path; larger paths take longer to fill
const INK = 0.2; // largest share of the picture that lines may cover
const STRENGTH_LEVELS = 1024;
const FOUND_AMONG = 60; // nodes in the picture after a search, if they were spread evenly
const GRAPH_NAME_ROOM = 6000; // px² of the picture for each name
export const NAME_TRIES = 5; // names tried for each that has room

/** Outlines of nodes; each is added to the current path. */
const SHAPES = {
  disc(context, x, y, r) {
    context.moveTo(x + r, y);
    context.arc(x, y, Math.max(r, 0), 0, 7);
  },
  square: (context, x, y, r) => context.rect(x - r, y - r, 2 * r, 2 * r),
  diamond: (context, x, y, r) => polygon(context, x, y, [r, r, r, r]),
  star: (context, x, y, r) => polygon(context, x, y, Array.from({ length: 10 }, (_, k) => (k % 2 ? 0.46 * r : r))),
};

/** A closed outline with corners at the given distances, from the top on clockwise. */
function polygon(context, x, y, distances) {
  distances.forEach((distance, k) => {
    const angle = (2 * Math.PI * k) / distances.length - Math.PI / 2;
    context[k ? "lineTo" : "moveTo"](x + distance * Math.cos(angle), y + distance * Math.sin(angle));
  });
  context.closePath();
}

/** Fill and stroke the current path; `fill` may be a pattern. */
function ink(context, { fill, line, alpha = 1, width = 1, dash = [], cap = "butt" }) {
  if (fill) {
    context.fillStyle = Array.isArray(fill) ? css(fill, alpha) : fill;
    context.fill();
  }
  if (!line) return;
  context.lineCap = cap;
  context.lineJoin = "round";
  context.lineWidth = width;
  context.setLineDash(dash);
  context.strokeStyle = css(line, alpha);
  context.stroke();
  context.setLineDash([]);
  context.lineCap = "butt";
}

const range = (values) => values.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);

/** Typical distance of a place to the nearest other one, from some of them. */
export function gapOf(places) {
  const some = places.filter((_, i) => i % Math.ceil(places.length / 300) === 0);
  const gaps = some.map(([x, y]) => Math.min(...places.map(([a, b]) => Math.hypot(a - x, b - y) || Infinity)));
  const gap = gaps.sort((a, b) => a - b)[gaps.length >> 1];
  return Number.isFinite(gap) ? gap : 3000;
}

/** The box around all places. */
export function boxOf(places) {
  const [[x0, x1], [y0, y1]] = [range(places.map((p) => p[0])), range(places.map((p) => p[1]))];
  return { x: (x0 + x1) / 2, y: (y0 + y1) / 2, w: Math.max(x1 - x0, 1), h: Math.max(y1 - y0, 1) };
}

export const WHOLE_PLANE = { x: 5000, y: 5000, w: 10000, h: 10000 };

/** Layers that highlight new items: a rim, and inside it the colour of new items. */
export const lit = (palette, layer, wider = 0) => [
  { ...layer, line: palette.rim, width: layer.width + wider + 2 }, { ...layer, line: palette.step, width: layer.width + wider }];

/**
 * A subclass defines `scene(palette)`, an array of layers, which are drawn in order; undefined ones are
 * left out, arrays are taken apart. A layer is a function of the context, or has one of the keys
 *
 *   edges: [[i, j], …]     lines; `grow`, how much of them is drawn, from the share `origin` on
 *   arrow: [i, j]          a curved arrow, or a ring where i = j; `grow`, and `head`: whether it has one
 *   nodes: [i, …]          outlines; `size`, a radius in px or a function; `shape`, by name or a function
 *   crosses: [[i, j], …]   crosses in the middle of edges; `arm`, in px
 *   names: [i, …]          names in order of importance, where they find room, and `always` those of a few;
 *                          `spots(i, half, high)`: centres of the text to try; `isApart`: nodes are not covered
 *
 * and colours `fill` and `line`, `alpha`, `width`, `dash` and `cap`. It calls `fit` for its places, and
 * defines `fact(i)`, a fact about a node for the tooltip, and `choose(i)`, for a click on a node or on none.
 * Where edges can be pointed at, too, it defines `pairs()` and `wordsForPair(pair)`.
 */
export class Graph extends Picture {
  camera = { zoom: 1, x: 0, y: 0 };
  at = []; // places of the nodes in the card, px
  hover = -1; // the node pointed at
  pair = null; // the pair pointed at, or null
  margins = null; // px around the places, across and down; null: by the size of the card
  stretch = 2; // how much further one direction may be stretched than the other
  near = 14; // px of the pointer around a node
  unitRange = [0.16, 2.4, 8.5]; // of a usual node: share of the gap between nodes, and least and most px
  named = new Set(); // nodes whose names are shown

  constructor(app) {
    super(app, "gv-stage");
    this.legend = h("div", { class: "gv-legend" });
    this.tip = new Tip(this.holder);
    this.thinNote = h("p", { class: "gv-thinned", hidden: true });
    this.search = new Find(this);
    this.holder.append(this.thinNote, this.search.element);
    this.release = attachGestures(this);
    this.canvas.addEventListener("blur", () => this.pointTo(-1));
  }

  /** The card of the graph, with elements above and below the picture, and the entries of its legend. */
  card(kind, label, name, { above = [], below = [], keys = [] } = {}) {
    this.legend.append(...keys);
    return h("section", { class: `gv-card gv-graph ${kind}`, "aria-label": label }, above, this.holder, below, h("footer", {}, this.legend, this.tools(name)));
  }

  /** Buttons that zoom, and the one that saves the picture under a name. */
  tools(name) {
    return h("div", { class: "gv-zoom", role: "group", "aria-label": TEXT.picture.tools },
      this.search.button,
      button(TEXT.picture.zoom_in, icon("plus"), () => this.zoomBy(1.4)),
      button(TEXT.picture.zoom_out, icon("minus"), () => this.zoomBy(1 / 1.4)),
      button(TEXT.picture.whole, icon("fit"), () => this.resetCamera()), saveButton(this.app, name));
  }

  destroy() {
    this.release();
    super.destroy();
  }

  name(i) {
    return this.app.log.name(i);
  }

  // ------------------------------------------------------------------------------ places, camera

  /** Take the places of another graph, and show all of it. */
  fit(places, { box = boxOf(places), isGiven = false } = {}) {
    this.places = places;
    this.box = box;
    // Maps and grids keep their shape within reason.
    if (isGiven) this.stretch = 1.25;
    this.gap = gapOf(places);
    this.at = [];
    this.hover = -1;
    this.tip.hide();
    this.resetCamera();
  }

  /** Place the nodes in the card. */
  project() {
    const { width, height, camera: { zoom, x, y } } = this;
    const [across, down] = this.margins ?? [clamp(0.07 * width, 24, 56), clamp(0.07 * height, 22, 34)];
    let [sx, sy] = [(width - 2 * across) / this.box.w, (height - 2 * down) / this.box.h];
    sx = Math.min(sx, this.stretch * sy);
    sy = Math.min(sy, this.stretch * sx);
    this.spacing = this.gap * Math.sqrt(sx * sy) * zoom;
    this.screen = ([a, b]) => [width / 2 + x + (a - this.box.x) * sx * zoom, height / 2 + y + (b - this.box.y) * sy * zoom];
    this.at = this.places.map(this.screen);
    const [share, least, most] = this.unitRange;
    this.unit = clamp(share * this.spacing, least, most * this.app.type); // px
  }

  /** Zoom around a place in the picture, given in px; else around its middle. */
  zoomBy(factor, px = this.width / 2, py = this.height / 2) {
    const { camera } = this;
    const zoom = clamp(camera.zoom * factor, ...GRAPH_ZOOM);
    const f = zoom / camera.zoom;
    const [cx, cy] = [this.width / 2, this.height / 2];
    Object.assign(camera, { zoom, x: (px - cx) * (1 - f) + camera.x * f, y: (py - cy) * (1 - f) + camera.y * f });
    this.app.wake();
  }

  panBy(dx, dy) {
    this.camera.x += dx;
    this.camera.y += dy;
    this.app.wake();
  }

  resetCamera() {
    Object.assign(this.camera, { zoom: 1, x: 0, y: 0 });
    this.app.wake();
  }

  /** Move a node to the middle of the picture, and zoom in until there are not too many around it. */
  centre(i) {
    const { camera, at, width, height } = this;
    this.zoomBy(Math.max(1, Math.sqrt(at.length / FOUND_AMONG) / camera.zoom));
    this.project();
    this.panBy(width / 2 - this.at[i][0], height / 2 - this.at[i][1]);
  }

  // ------------------------------------------------------------------------- pointer and keyboard

  openSearch() {
    this.search.open();
  }

  /** Show a node that was searched for. */
  find(i) {
    this.centre(i);
    this.pointTo(i, this.width / 2, this.height / 2);
  }

  /** Radius of a node as it is drawn. */
  sizeOf() {
    return this.unit;
  }

  /** The node under a point, or −1. */
  nodeAt(x, y) {
    let [best, least] = [-1, this.near];
    this.at.forEach(([px, py], i) => {
      const gap = Math.hypot(px - x, py - y) - this.sizeOf(i);
      if (gap < least) [best, least] = [i, gap];
    });
    return best;
  }

  /** The pair whose line passes nearest to a point, or null. */
  pairAt(x, y, pairs = this.pairs?.() ?? []) {
    let [best, least] = [null, 6];
    for (const pair of pairs) {
      const [[ax, ay], [bx, by]] = pair.map((i) => this.at[i]);
      const length = (bx - ax) ** 2 + (by - ay) ** 2;
      const f = length ? clamp(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length, 0, 1) : 0;
      const gap = Math.hypot(lerp(ax, bx, f) - x, lerp(ay, by, f) - y);
      if (gap < least) [best, least] = [pair, gap];
    }
    return best;
  }

  pointAt(x, y) {
    const i = this.nodeAt(x, y);
    this.pointTo(i, x, y, i < 0 ? this.pairAt(x, y) : null);
  }

  chooseAt(x, y, shift) {
    if (this.at.length) this.choose(this.nodeAt(x, y), x, y, shift);
  }

  /** Without another meaning, a click shows the tooltip, also of a finger. */
  choose(i, x, y) {
    this.pointTo(i, x, y);
  }

  /** Point to a node, or to none (−1) but perhaps a pair, from a place in the picture. */
  pointTo(i, x, y, pair = null) {
    const isOther = i !== this.hover || String(pair) !== String(this.pair);
    [this.hover, this.pair] = [i, pair];
    this.canvas.classList.toggle("gv-pointing", i >= 0 || pair !== null);
    if (i >= 0) this.tip.show(x, y, ...this.wordsFor(i));
    else if (pair) this.tip.show(x, y, ...this.wordsForPair(pair));
    else this.tip.hide();
    if (!isOther) return;
    this.pointed?.(i);
    this.app.wake();
  }

  wordsFor(i) {
    return [h("b", {}, isolated(shorten(this.name(i), 40))), ` · ${this.fact(i)}`];
  }

  /** By keyboard: the next or previous node. */
  turn(step) {
    if (this.at.length === 0) return;
    const i = turned(this.hover, step, this.at.length);
    this.pointTo(i, ...this.at[i]);
    this.say(this.wordsFor(i));
  }

  /** Have screen readers read the words of a tooltip. */
  say(words) {
    this.app.say(h("p", {}, ...words).textContent);
  }

  leave() {
    this.pointTo(-1);
  }

  /** By keyboard: the next or previous of some pairs; of those of the selected node, if there is one. */
  nextPair(step, pairs, selection) {
    if (selection?.j === undefined) this.around = selection ? selection.i : null;
    const own = pairs.filter((pair) => this.around === null || pair.includes(this.around));
    const now = selection?.j === undefined ? -1 : own.findIndex((pair) => pair.includes(selection.i) && pair.includes(selection.j));
    return own[turned(now, step, own.length)];
  }

  // ------------------------------------------------------------------------------------- drawing

  draw() {
    const context = this.begin();
    if (!context || !this.app.log || !this.places) return;
    this.project();
    this.thinned = [];
    for (const layer of this.scene(this.app.palette).flat(Infinity)) {
      if (typeof layer === "function") layer(context);
      else if (layer) this.paint(context, layer);
    }
    this.writeThinned();
  }

  /**
   * Of some pairs, those whose lines are drawn: the ones in sight, or only the strongest of these if
   * all lines would cover too much of the picture. The sentence in the picture says how many.
   *
   * `strength(k)`, 0…1, of the pair at k, by default the same for all: then the first ones are drawn;
   * `width` of the lines in px; `share` of the picture that they may cover; `words(drawn, all)` for the
   * sentence; pairs with `keeps(pair)` are drawn in any case.
   */
  strongest(pairs, { strength = () => 0, width = 1, share = INK, words, keeps = () => false }) {
    const inSight = [];
    const lengths = new Float32Array(pairs.length);
    const levels = new Uint16Array(pairs.length);
    const sums = new Float64Array(STRENGTH_LEVELS);
    let total = 0;
    for (let k = 0; k < pairs.length; k++) {
      lengths[k] = this.lengthInSight(pairs[k]);
      if (lengths[k] === 0) continue;
      inSight.push(k);
      levels[k] = Math.round(clamp(strength(k), 0, 1) * (STRENGTH_LEVELS - 1));
      sums[levels[k]] += lengths[k];
      total += lengths[k];
    }
    let left = (share * this.width * this.height) / width;
    if (total <= left) return inSight.map((k) => pairs[k]);
    let least = STRENGTH_LEVELS - 1; // pairs of higher levels are drawn, of those of this level the first
    while (least > 0 && sums[least] <= left) left -= sums[least--];
    const drawn = inSight.filter((k) => {
      if (levels[k] > least || keeps(pairs[k])) return true;
      if (levels[k] < least || left < 0) return false;
      left -= lengths[k];
      return true;
    });
    if (drawn.length < inSight.length) this.thinned.push(words(integer(drawn.length), integer(inSight.length)));
    return drawn.map((k) => pairs[k]);
  }

  /** Write which edges are not drawn. */
  writeThinned() {
    const text = this.thinned.length ? fill(TEXT.picture.thinned, { edges: this.thinned.join(` ${TEXT.lists.and} `) }) : "";
    if (this.thinNote.textContent === text) return;
    this.thinNote.textContent = text;
    this.thinNote.hidden = !text;
  }

  /** Length of the part of a pair's line that is in the picture, in px; at least 1 if any part is, else 0. */
  lengthInSight([i, j]) {
    const [[x, y], [a, b]] = [this.at[i], this.at[j]];
    let [from, to] = [0, 1];
    const cut = (start, along, size) => {
      if (along === 0) {
        if (start < 0 || start > size) from = 2;
        return;
      }
      const [one, other] = [-start / along, (size - start) / along];
      from = Math.max(from, Math.min(one, other));
      to = Math.min(to, Math.max(one, other));
    };
    cut(x, a - x, this.width);
    cut(y, b - y, this.height);
    return from > to ? 0 : Math.max(1, (to - from) * Math.hypot(a - x, b - y));
  }

  /** Whether the line of a pair may cross the picture. */
  crossesSight([i, j]) {
    const [[x, y], [a, b]] = [this.at[i], this.at[j]];
    return !((x < -OUT_OF_SIGHT && a < -OUT_OF_SIGHT) || (y < -OUT_OF_SIGHT && b < -OUT_OF_SIGHT)
      || (x > this.width + OUT_OF_SIGHT && a > this.width + OUT_OF_SIGHT) || (y > this.height + OUT_OF_SIGHT && b > this.height + OUT_OF_SIGHT));
  }

  paint(context, layer) {
    if (layer.names) return this.paintNames(context, layer);
    if (layer.arrow) return this.paintArrow(context, layer);
    const { edges = [], nodes = [], crosses = [] } = layer;
    if (nodes.length > PATH_NODES) {
      for (let k = 0; k < nodes.length; k += PATH_NODES) this.paint(context, { ...layer, nodes: nodes.slice(k, k + PATH_NODES) });
      return undefined;
    }
    if (edges.length + nodes.length + crosses.length === 0) return undefined;
    context.beginPath();
    for (const pair of edges) if (this.crossesSight(pair)) this.addLine(context, pair, layer);
    for (const i of nodes) if (this.isInSight(i)) this.addNode(context, i, layer);
    for (const pair of crosses) this.addCross(context, pair, layer);
    return ink(context, layer);
  }

  middle([i, j], share = 0.5) {
    return [0, 1].map((k) => lerp(this.at[i][k], this.at[j][k], share));
  }

  addLine(context, pair, { grow = 1, origin = 0.5 }) {
    if (grow === 1) {
      const [a, b] = [this.at[pair[0]], this.at[pair[1]]];
      context.moveTo(a[0], a[1]);
      context.lineTo(b[0], b[1]);
      return;
    }
    context.moveTo(...this.middle(pair, lerp(origin, 0, grow)));
    context.lineTo(...this.middle(pair, lerp(origin, 1, grow)));
  }

  addNode(context, i, { size = this.unit, shape = "disc" }) {
    const r = typeof size === "function" ? size(i) : size;
    const [x, y] = this.at[i];
    if (shape === "disc" && r <= TINY) context.rect(x - 0.886 * r, y - 0.886 * r, 1.772 * r, 1.772 * r);
    else (SHAPES[shape] ?? shape)(context, x, y, r, i);
  }

  addCross(context, pair, { arm }) {
    const [x, y] = this.middle(pair);
    for (const slope of [1, -1]) {
      context.moveTo(x - arm, y - arm * slope);
      context.lineTo(x + arm, y + arm * slope);
    }
  }

  paintArrow(context, { arrow: [i, j], grow = 1, head = true, ...style }) {
    const [[x, y], [a, b]] = [this.at[i], this.at[j]];
    context.beginPath();
    if (i === j) {
      SHAPES.disc(context, x + 1.15 * this.unit, y - 1.15 * this.unit, 0.95 * this.unit);
      return ink(context, style);
    }
    const by = [(x + a) / 2 - GRAPH_BEND * (b - y), (y + b) / 2 + GRAPH_BEND * (a - x)];
    const length = Math.hypot(a - by[0], b - by[1]) || 1;
    const way = [(a - by[0]) / length, (b - by[1]) / length];
    const rim = [a - way[0] * (this.unit + 2.5), b - way[1] * (this.unit + 2.5)];
    const mid = [lerp(x, by[0], grow), lerp(y, by[1], grow)];
    const end = [0, 1].map((k) => lerp(mid[k], lerp(by[k], rim[k], grow), grow));
    const size = head && grow > 0.6 ? clamp(2.6 + 1.7 * style.width, 3.2, 9) : 0;
    const behind = (far, aside = 0) => [end[0] - way[0] * far + way[1] * aside, end[1] - way[1] * far - way[0] * aside];
    context.moveTo(x, y);
    context.quadraticCurveTo(...mid, ...behind(0.8 * size));
    ink(context, style);
    if (!size) return undefined;
    context.beginPath();
    context.moveTo(...end);
    for (const side of [0.72, -0.72]) context.lineTo(...behind(1.5 * size, side * size));
    return ink(context, { fill: style.line, alpha: style.alpha });
  }

  /** Above a node or below it, first of all away from the middle, where the edges are. */
  aboveOrBelow(i, high) {
    const [x, y] = this.at[i];
    const far = (this.sizeOf(i) + high / 2 + 3) * (y < this.height / 2 ? 1 : -1);
    return [[x, y - far], [x, y + far]];
  }

  /** Right of a node, or left of it where the picture ends. */
  beside(i, half, gap) {
    const [x, y] = this.at[i];
    const far = this.sizeOf(i) + half + gap;
    return [[x + far + half < this.width - 4 ? x + far : x - far, y]];
  }

  isInSight(i) {
    const [x, y] = this.at[i];
    const far = Math.max(OUT_OF_SIGHT, this.sizeOf(i));
    return x > -far && y > -far && x < this.width + far && y < this.height + far;
  }

  /** How many names the picture has room for. */
  get nameRoom() {
    return Math.round((this.width * this.height) / (GRAPH_NAME_ROOM * this.app.type ** 2));
  }

  paintNames(context, layer) {
    const { names, always = [], text = (i) => this.name(i), size = 12, longest = 18, isApart = false } = layer;
    const { spots = (i, half, high) => this.aboveOrBelow(i, high) } = layer;
    const { width, height } = this;
    const high = 1.15 * size * this.app.type;
    const first = new Set(always);
    // Boxes that are taken, by rows as high as a name.
    const rows = Array.from({ length: Math.ceil(height / high) + 1 }, () => []);
    const rowOf = (y) => clamp(Math.floor(y / high), 0, rows.length - 1);
    const take = (x, y, half) => rows[rowOf(y)].push([x, y, half]);
    const isFree = (x, y, half) => {
      for (let row = Math.max(0, rowOf(y) - 1); row <= Math.min(rows.length - 1, rowOf(y) + 1); row++) {
        if (rows[row].some(([a, b, other]) => Math.abs(a - x) < other + half && Math.abs(b - y) < high)) return false;
      }
      return true;
    };
    if (isApart) this.at.forEach(([x, y], i) => this.isInSight(i) && take(x, y, this.sizeOf(i)));
    this.named = new Set();
    let tries = NAME_TRIES * this.nameRoom;
    context.font = this.app.font(size, "500");
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const i of new Set([...first, ...names])) {
      if (!this.isInSight(i)) continue;
      if (this.named.size >= this.nameRoom + first.size || tries-- < 0) break;
      const words = shorten(text(i), longest);
      const half = context.measureText(words).width / 2 + 2;
      const places = spots(i, half, high).map(([x, y]) => [clamp(x, half + 2, width - half - 2), clamp(y, high / 2, height - high / 2)]);
      const free = places.find(([x, y]) => isFree(x, y, half));
      if (!free && !first.has(i)) continue;
      const [x, y] = free ?? places[0];
      take(x, y, half);
      this.named.add(i);
      writeOver(context, this.app.palette, words, x, y);
    }
  }
}
