// A card with a graph on a canvas: places of the nodes, zoom, pointer, tooltip. It is the base of the graphs
// of several views.

import { CameraView } from "./camera.js";
import { h, Surface } from "./core.js";
import { attachGestures } from "./gestures.js";
import { Tip } from "./tip.js";

const NEAR = 18; // px of the pointer around a node

const range = (values) => values.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);

/** Typical distance of a node to the nearest other one, from some of them. */
function gapOf(positions) {
  const some = positions.filter((_, i) => i % Math.ceil(positions.length / 300) === 0);
  const gaps = some.map(([x, y]) => Math.min(...positions.map(([a, b]) => Math.hypot(a - x, b - y) || Infinity)));
  const gap = gaps.sort((a, b) => a - b)[gaps.length >> 1];
  return Number.isFinite(gap) ? gap : 3000;
}

/** A subclass builds `element` around `holder`, calls `setPositions` and `place`, and defines pointAt and chooseAt. */
export class GraphCard extends CameraView {
  constructor(app) {
    super();
    this.app = app;
    this.at = []; // places of the nodes in the card, px
    this.hover = -1;
    this.holder = h("div", { class: "gv-stage" });
    this.surface = new Surface(this.holder, () => app.resized());
    this.tip = new Tip(this.holder);
    this.release = attachGestures(this);
  }

  destroy() {
    this.release();
    this.surface.destroy();
  }

  wake() {
    this.app.wake();
  }

  /** Take the positions of another graph, 0 … 10000, and show all of it. */
  setPositions(positions) {
    const [[x0, x1], [y0, y1]] = [range(positions.map((p) => p[0])), range(positions.map((p) => p[1]))];
    this.positions = positions;
    this.box = { x: (x0 + x1) / 2, y: (y0 + y1) / 2, w: Math.max(x1 - x0, 1), h: Math.max(y1 - y0, 1) };
    this.gap = gapOf(positions);
    this.at = [];
    this.hover = -1;
    this.tip.hide();
    this.resetCamera();
  }

  /** Place the nodes in the card: margins in px, and how much further one direction may be stretched. */
  place([across, down], stretch) {
    const { width, height } = this.surface;
    const { zoom, x, y } = this.camera;
    let [sx, sy] = [(width - 2 * across) / this.box.w, (height - 2 * down) / this.box.h];
    sx = Math.min(sx, stretch * sy);
    sy = Math.min(sy, stretch * sx);
    this.at = this.positions.map(([px, py]) => [width / 2 + x + (px - this.box.x) * sx * zoom, height / 2 + y + (py - this.box.y) * sy * zoom]);
    this.spacing = this.gap * Math.sqrt(sx * sy) * zoom;
  }

  get near() {
    return NEAR;
  }

  /** The node nearest to a point, or −1. */
  nodeAt(x, y) {
    let [best, gap] = [-1, this.near];
    this.at.forEach(([px, py], i) => {
      const distance = Math.hypot(px - x, py - y);
      if (distance < gap) [best, gap] = [i, distance];
    });
    return best;
  }
}
