// The graph of a finished model on a canvas: zoom, pan, and click a node or an edge. The server
// decides what is drawn (GraphPicture); clicks are sent back.

import { CameraView } from "../shared/camera.js";
import { clamp, drawing, h, shorten, viridis } from "../shared/core.js";
import { attachGestures } from "../shared/gestures.js";
import { turned } from "../shared/keys.js";
import { Host, mountedBy } from "../shared/mount.js";

const STYLES = {
  common: { dash: [] },
  lost: { color: "#d55e00", dash: [8, 5] },
  gained: { color: "#0072b2", darkColor: "#56b4e9", dash: [2, 4] },
};
const REGION = { color: "#0072b2", darkColor: "#56b4e9" };

class GraphView extends CameraView {
  constructor(onPick) {
    super();
    this.onPick = onPick;
    this.canvas = h("canvas");
    this.tip = h("div", { class: "gi-tip" });
    this.tip.hidden = true;
    this.stage = h("div", { class: "gi-stage" }, this.canvas, this.tip);
    this.keys = h("span", { style: "display:contents" });
    const tools = h("span", { class: "gi-tools", role: "group", "aria-label": "Zoom and save" },
      this.button("Zoom in", "+", () => this.zoomBy(1.4)),
      this.button("Zoom out", "−", () => this.zoomBy(1 / 1.4)),
      this.button("Fit the graph", "⤢", () => this.resetCamera()),
      this.button("Save the graph as PNG", "PNG", () => this.save()));
    this.element = h("div", { class: "gi" }, this.stage, h("footer", {}, this.keys, tools));
    this.watcher = new ResizeObserver(() => this.wake());
    this.watcher.observe(this.stage);
    this.release = attachGestures(this);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    // Positions on the page, for tests.
    this.canvas.graftviz = {
      edges: () => this.data.edges.map(([i, j]) => [i, j]),
      node: (i) => this.screenOf(this.place.get(i)),
      edge: (i, j) => {
        const [a, b] = [this.screenOf(this.place.get(i)), this.screenOf(this.place.get(j))];
        return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
      },
    };
  }

  get surface() {
    return { canvas: this.canvas, width: this.stage.clientWidth, height: this.stage.clientHeight };
  }

  button(label, text, action) {
    const element = h("button", { type: "button", title: label, "aria-label": label }, text);
    element.addEventListener("click", action);
    return element;
  }

  // ---------------------------------------------------------------------------------------- data

  show(data) {
    if (this.data && this.data.token !== data.token) this.resetCamera();
    this.data = data;
    this.place = new Map(data.nodes.map((i, k) => [i, k]));
    this.ends = data.edges.map(([i, j]) => [this.place.get(i), this.place.get(j)]);
    this.byDegree = data.nodes.map((_, k) => k).sort((a, b) => data.degrees[b] - data.degrees[a] || a - b);
    this.most = Math.max(1, ...data.degrees);
    const [xs, ys] = [data.places.map((p) => p[0]), data.places.map((p) => p[1])];
    const span = (v) => [Math.min(...v), Math.max(...v)];
    const [[x0, x1], [y0, y1]] = [span(xs), span(ys)];
    this.box = { x: (x0 + x1) / 2, y: (y0 + y1) / 2, w: Math.max(x1 - x0, 1), h: Math.max(y1 - y0, 1) };
    this.canvas.setAttribute("aria-label", data.alt);
  }

  /** Read the theme again, e.g. after it was switched. */
  refresh() {
    if (!this.data) return;
    this.readTheme();
    this.keys.replaceChildren(...this.legend());
    this.wake();
  }

  readTheme() {
    const style = getComputedStyle(this.element);
    [this.text, this.ground, this.family] = [style.color, style.backgroundColor, style.fontFamily];
    const parts = (this.ground.match(/[\d.]+/g) ?? [255, 255, 255]).map(Number);
    this.dark = parts[0] + parts[1] + parts[2] < 380;
  }

  colorOf({ color, darkColor }) {
    return (this.dark && darkColor) || color;
  }

  legend() {
    const keys = [h("span", { class: "gi-key" }, this.data.legend.low, h("span", { class: "gi-ramp" }), this.data.legend.high)];
    for (const [style, text] of this.data.legend.styles) {
      const [color, dash] = [this.colorOf(STYLES[style]), STYLES[style].dash];
      const key = h("span", { class: "gi-key" }, text);
      key.prepend(drawing("0 0 26 10", ["line", { x1: 1, x2: 25, y1: 5, y2: 5, stroke: color ?? "currentColor", "stroke-width": 2.5, "stroke-dasharray": dash.join(" ") }]));
      keys.push(key);
    }
    if (this.data.region.length) {
      const key = h("span", { class: "gi-key" }, "in the region");
      key.prepend(drawing("0 0 26 14", ["circle", { cx: 13, cy: 7, r: 5.5, fill: "none", stroke: this.colorOf(REGION), "stroke-width": 2.2, "stroke-dasharray": "3 2" }]));
      keys.push(key);
    }
    return keys;
  }

  pick(value) {
    this.onPick({ token: this.data.token, ...value });
  }

  // -------------------------------------------------------------------------------------- camera

  project() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const { zoom, x, y } = this.camera;
    const margin = clamp(Math.min(width, height) * 0.07, 18, 44);
    let sx = (width - 2 * margin) / this.box.w;
    let sy = (height - 2 * margin) / this.box.h;
    sx = Math.min(sx, sy * this.data.stretch);
    sy = Math.min(sy, sx * this.data.stretch);
    this.toScreen = ([a, b]) => [width / 2 + x + (a - this.box.x) * sx * zoom, height / 2 + y + (b - this.box.y) * sy * zoom];
    this.screen = this.data.places.map(this.toScreen);
    const room = Math.sqrt((width * height) / Math.max(1, this.data.nodes.length));
    const largest = clamp(room * 0.2, 3, 15) * Math.min(2, Math.sqrt(zoom));
    this.radius = this.data.degrees.map((d) => largest * (0.45 + 0.55 * Math.sqrt(d / this.most)));
  }

  screenOf(k) {
    this.project();
    return this.screen[k];
  }

  // ----------------------------------------------------------------------------- positions

  nodeAt(x, y) {
    let [best, bestGap] = [-1, 6];
    this.screen.forEach(([a, b], k) => {
      const gap = Math.hypot(a - x, b - y) - this.radius[k];
      if (gap < bestGap) [best, bestGap] = [k, gap];
    });
    return best;
  }

  edgeAt(x, y) {
    let [best, bestGap] = [-1, 6];
    this.ends.forEach(([p, q], e) => {
      const [[ax, ay], [bx, by]] = [this.screen[p], this.screen[q]];
      const length = (bx - ax) ** 2 + (by - ay) ** 2;
      const f = length ? clamp(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length, 0, 1) : 0;
      const gap = Math.hypot(ax + f * (bx - ax) - x, ay + f * (by - ay) - y);
      if (gap < bestGap) [best, bestGap] = [e, gap];
    });
    return best;
  }

  // ------------------------------------------------------------------------------------ drawing

  wake() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = undefined;
      if (!this.gone && this.data) this.draw(this.canvas, Math.min(window.devicePixelRatio || 1, 3));
    });
  }

  draw(canvas, ratio) {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (width < 2 || height < 2) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.readTheme();
    context.fillStyle = this.ground;
    context.fillRect(0, 0, width, height);
    this.project();
    this.drawEdges(context);
    this.drawNodes(context);
    this.drawLabels(context);
  }

  drawEdges(context) {
    const { edges, selected } = this.data;
    const chosenNode = selected?.kind === "node" ? this.place.get(selected.i) : undefined;
    const line = (e, color, width, alpha) => {
      const [[ax, ay], [bx, by]] = this.ends[e].map((k) => this.screen[k]);
      context.strokeStyle = color;
      context.lineWidth = width;
      context.globalAlpha = alpha;
      context.beginPath();
      context.moveTo(ax, ay);
      context.lineTo(bx, by);
      context.stroke();
    };
    const nearEdges = chosenNode === undefined ? 0 : this.ends.filter((ends) => ends.includes(chosenNode)).length;
    // Or a hub would vanish under its own edges, and small nodes under all of them.
    const opacity = nearEdges > 40 || edges.length > 300 ? 0.6 : 1;
    const thickest = edges.length > 150 ? 2.2 : 4;
    edges.forEach(([i, j, strength, kind], e) => {
      const [color, dash] = [this.colorOf(STYLES[kind]), STYLES[kind].dash];
      const near = chosenNode === undefined || this.ends[e].includes(chosenNode);
      const isChosen = selected?.kind === "edge" && selected.i === i && selected.j === j;
      const width = 0.9 + thickest * strength;
      context.setLineDash([]);
      if (isChosen || e === this.hoverEdge) line(e, this.text, width + 7, isChosen ? 0.45 : 0.2);
      context.setLineDash(dash);
      const plain = chosenNode !== undefined && near ? this.text : "#7a8088";
      line(e, color || plain, width, near ? opacity : 0.25);
    });
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  drawNodes(context) {
    const { nodes, values, observed, region, selected } = this.data;
    const inRegion = new Set(region);
    nodes.forEach((i, k) => {
      const [x, y] = this.screen[k];
      const r = this.radius[k];
      const isChosen = selected && (selected.i === i || (selected.kind === "edge" && selected.j === i));
      context.beginPath();
      if (observed[i] !== undefined) context.rect(x - r, y - r, 2 * r, 2 * r); // known: square
      else context.arc(x, y, r, 0, 2 * Math.PI);
      context.fillStyle = observed[i] !== undefined ? this.text : viridis(values[k]);
      context.fill();
      context.lineWidth = 1;
      context.strokeStyle = this.text;
      context.stroke();
      const ring = (gap, width, color, dash = []) => {
        context.beginPath();
        context.arc(x, y, r + gap, 0, 2 * Math.PI);
        context.setLineDash(dash);
        context.lineWidth = width;
        context.strokeStyle = color;
        context.stroke();
        context.setLineDash([]);
      };
      if (inRegion.has(i)) ring(4, 2.5, this.colorOf(REGION), [4, 3]);
      if (isChosen) ring(inRegion.has(i) ? 8 : 5, 3.5, this.text);
      else if (k === this.hoverNode) ring(4, 2, this.text);
    });
  }

  /** Names of what is chosen, observed and near it; then of the busiest nodes that find room. */
  drawLabels(context) {
    const { nodes, names, observed, selected } = this.data;
    context.font = `500 13px ${this.family}`;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    const near = [];
    if (selected?.kind === "node") {
      const k = this.place.get(selected.i);
      for (const [p, q] of this.ends) if (p === k || q === k) near.push(p === k ? q : p);
    }
    const chosen = selected ? [selected.i, selected.j].filter((i) => this.place.has(i)).map((i) => this.place.get(i)) : [];
    const known = nodes.map((_, k) => k).filter((k) => observed[nodes[k]] !== undefined);
    const hovered = this.hoverNode >= 0 ? [this.hoverNode] : [];
    const budget = nodes.length <= 45 ? nodes.length : Math.round(10 * this.camera.zoom ** 2);
    // A name that may be left out does not cover nodes either.
    const covers = (box) => this.screen.some(([x, y], k) => x + this.radius[k] > box[0] && x - this.radius[k] < box[2] && y > box[1] && y < box[3]);
    const taken = [];
    const done = new Set();
    for (const [list, always] of [[[...hovered, ...chosen, ...known.slice(0, 40)], true], [near.slice(0, 15), false], [this.byDegree.slice(0, budget), false]]) {
      for (const k of list) {
        if (done.has(k)) continue;
        const i = nodes[k];
        const text = shorten(names[k], 22) + (observed[i] !== undefined ? ` = ${shorten(observed[i], 12)}` : "");
        const width = context.measureText(text).width;
        const [x, y] = this.screen[k];
        const gap = this.radius[k] + (chosen.includes(k) ? 12 : 6);
        const left = x + gap + width > this.stage.clientWidth - 4 ? x - gap - width : x + gap;
        const box = [left, y - 9, left + width, y + 9];
        const meets = (t) => box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3];
        if (!always && (taken.some(meets) || covers([left - 2, y - 8, left + width, y + 8]))) continue;
        taken.push(box);
        done.add(k);
        context.strokeStyle = this.ground;
        context.lineWidth = 4;
        context.globalAlpha = 0.85;
        context.strokeText(text, left, y);
        context.globalAlpha = 1;
        context.fillStyle = this.text;
        context.fillText(text, left, y);
      }
    }
  }

  save() {
    const canvas = h("canvas");
    this.draw(canvas, 3);
    canvas.toBlob((blob) => {
      const link = h("a", { href: URL.createObjectURL(blob), download: "graph.png" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }, "image/png");
  }

  // ----------------------------------------------------------------------- pointer and keyboard

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.data) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || event.shiftKey) return;
    this.turn(step);
    event.preventDefault();
  }

  /** By keyboard: on by falling degree, from the chosen node. */
  turn(step) {
    const { nodes, selected } = this.data;
    const now = selected ? this.byDegree.indexOf(this.place.get(selected.i)) : -1;
    this.pick({ node: nodes[this.byDegree[turned(now, step, nodes.length)]] });
  }

  /** By keyboard: the next or the last edge, of the chosen node if there is one. */
  turnEdge(step) {
    const { edges, selected } = this.data;
    if (!selected || selected.kind === "node") this.around = selected ? selected.i : null;
    const own = edges.filter(([i, j]) => this.around === null || i === this.around || j === this.around);
    if (own.length === 0) return;
    const now = selected?.kind === "edge" ? own.findIndex(([i, j]) => i === selected.i && j === selected.j) : -1;
    this.pick({ edge: own[turned(now, step, own.length)].slice(0, 2) });
  }

  chooseAt(x, y) {
    if (!this.data) return undefined;
    this.project();
    const k = this.nodeAt(x, y);
    if (k >= 0) return this.pick({ node: this.data.nodes[k] });
    const e = this.edgeAt(x, y);
    return this.pick(e >= 0 ? { edge: this.data.edges[e].slice(0, 2) } : {});
  }

  twiceAt(x, y, shift) {
    this.zoomBy(shift ? 0.5 : 2, x, y);
  }

  leave() {
    if (this.data) this.pick({});
  }

  pointAt(x, y) {
    if (!this.data || !this.screen) return;
    const point = Number.isNaN(x) ? null : [x, y];
    const node = point ? this.nodeAt(...point) : -1;
    const edge = point && node < 0 ? this.edgeAt(...point) : -1;
    if (node !== this.hoverNode || edge !== this.hoverEdge) this.wake();
    [this.hoverNode, this.hoverEdge] = [node, edge];
    this.canvas.classList.toggle("gi-pointing", node >= 0 || edge >= 0);
    this.tip.hidden = node < 0 && edge < 0;
    if (this.tip.hidden) return;
    const { names, degrees, tips } = this.data;
    const name = (k) => shorten(names[k], 40);
    this.tip.textContent = node >= 0
      ? `${name(node)} · degree ${degrees[node]}${tips[node] ? ` · ${tips[node]}` : ""}`
      : `${name(this.ends[edge][0])} – ${name(this.ends[edge][1])}`;
    const { clientWidth: width, clientHeight: height } = this.stage;
    this.tip.style.left = `${clamp(point[0] + 14, 4, Math.max(4, width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${clamp(point[1] + 18, 4, Math.max(4, height - this.tip.offsetHeight - 4))}px`;
  }

  destroy() {
    this.gone = true;
    this.release();
    this.watcher.disconnect();
    this.element.remove();
  }
}

class GraphHost extends Host {
  mount() {
    this.view = new GraphView((picked) => this.send("picked", picked));
    this.add(this.view.element);
    return true;
  }

  show(message) {
    this.view.show(message);
  }
}

export default mountedBy(GraphHost);
