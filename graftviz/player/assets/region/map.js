// Dobrushin's coefficient c over both strengths, the area where c < 1, and the current point, which
// can be dragged.

import { clamp, css, h, lerp, ticks, viridis, writeOver } from "../shared/core.js";
import { Chart } from "../shared/chart.js";
import { legendKey } from "../shared/graph.js";
import { attachKeys } from "../shared/keys.js";
import { saveButton } from "../shared/save_picture.js";

const MAP_LOST = 2500; // ms after which a reply to a dragged point counts as lost
const MAP_STEPS = 40; // key presses from one end of the map to the other
const MAP_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const MAP_STRIPES = { apart: 8, width: 1.3, shade: 0.55 }; // px, where c ≥ 1
const MAP_SHADES = 256;
const ON_MAP = { background: [0, 0, 0], text: [255, 255, 255] }; // colours of words on the map

const strength = (value) => Number(value.toFixed(2));

export class RegionMap extends Chart {
  constructor(app) {
    super(app, "gv-region-map");
    this.map = null;
    this.point = null;
    this.held = null; // the dragged position, until the server has replied
    this.value = h("b");
    this.words = h("p", { class: "gv-muted gv-map-words" });
    this.top = h("span");
    this.legend = h("div", { class: "gv-legend" }, h("span", { class: "gv-key" }, "c = 0", h("i", { class: "gv-ramp", "aria-hidden": "true" }), this.top),
      legendKey("gv-region-key gv-region-vacuous", "c ≥ 1"));
    this.element = h("section", { class: "gv-card gv-region-coupling", "aria-label": "Decay of influence" },
      h("header", {}, h("h3", {}, "Does influence decay?"), h("span", { class: "gv-count" }, "c = ", this.value), saveButton(app, "strengths")),
      h("div", { class: "gv-map-body" }, this.holder, h("div", { class: "gv-map-side" }, this.words, this.legend)));
    attachKeys(this.canvas, this);
    this.listen();
  }

  destroy() {
    clearTimeout(this.timer);
    super.destroy();
  }

  listen() {
    const { canvas } = this;
    const follow = (event, done) => {
      if (!this.dragging) return;
      this.dragging = !done;
      this.move(event.type === "pointercancel" ? this.held : this.strengthsAt(event.offsetX, event.offsetY), done);
    };
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.point) return;
      this.dragging = true;
      canvas.setPointerCapture(event.pointerId);
      follow(event, false);
    });
    canvas.addEventListener("pointermove", (event) => follow(event, false));
    for (const type of ["pointerup", "pointercancel"]) canvas.addEventListener(type, (event) => follow(event, true));
  }

  /** Move the point; `done`: it was let go. */
  move(held, done) {
    [this.held, this.done] = [held, done];
    this.pass();
    this.app.wake();
  }

  /** By keyboard: the point moves by a fortieth of the map. */
  key(event) {
    const direction = MAP_KEYS[event.key];
    if (!direction || !this.point || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { most } = this.point;
    this.move(this.place.map((t, k) => strength(clamp(t + (direction[k] * most[k]) / MAP_STEPS, 0, most[k]))), true);
  }

  /** One request at a time: while a reply is pending, only the newest position is kept. */
  pass() {
    if (this.held === null || this.asked) return;
    if (this.sent && this.held.join() === this.sent.join() && !this.done) return;
    const { done, held: [t1, t2] } = this;
    this.asked = true;
    this.done = false;
    this.sent = this.held;
    const send = () => this.app.callbacks.strengths({ t1, t2, done });
    if (done) this.app.expect(send);
    else send();
    // Messages may get lost when many are sent: send the position again.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.asked = false;
      this.sent = null;
      this.done = this.done || done || !this.dragging;
      this.pass();
    }, MAP_LOST);
  }

  replied() {
    clearTimeout(this.timer);
    this.asked = false;
    if (this.done || this.dragging) this.pass();
    else this.held = null;
  }

  setMap(map) {
    this.map = map;
    this.field = null;
    this.most = map ? Math.max(1.2, ...map.c.flat()) : null;
  }

  setPoint(point, coefficient) {
    this.point = point;
    this.value.textContent = coefficient.c === null ? "…" : coefficient.c.toFixed(2);
    this.words.textContent = coefficient.words;
    this.holder.hidden = this.legend.hidden = point === null;
    if (this.map) this.top.textContent = this.most.toFixed(1);
  }

  /** The shown strengths: those of the dragged point, or else of the region. */
  get place() {
    return this.held ?? [this.point.t1, this.point.t2];
  }

  strengthsAt(px, py) {
    const { left, right, top, bottom } = this.plot;
    const shares = [(px - left) / (right - left), (bottom - py) / (bottom - top)];
    return shares.map((share, k) => strength(clamp(share, 0, 1) * this.point.most[k]));
  }

  paint(context, palette) {
    if (!this.point) return;
    const [most1, most2] = this.point.most;
    this.axes([40, 11, 11, 32], [0, most1], [0, most2]);
    const { left, right, top, bottom } = this.plot;
    this.grid(ticks(0, most2, 4));
    this.below(ticks(0, most1, 4), "fields, T₁");
    this.title(context, palette);
    if (this.map) {
      context.drawImage(this.painted(), left, top, right - left, bottom - top);
      this.paintLimit(context);
    } else {
      context.fillStyle = css(palette.hairline);
      context.fillRect(left, top, right - left, bottom - top);
      this.message("Computing the map…");
    }
    const [x, y] = [this.x(clamp(this.place[0], 0, most1)), this.y(clamp(this.place[1], 0, most2))];
    this.line([[left, y], [right, y], null, [x, top], [x, bottom]], "rgba(255,255,255,0.75)", 1);
    this.dot(x, y, 8, css(palette.wrong), "#000", 4.5);
    this.stroke("#fff", 2.4);
  }

  /** c as a picture, made once for every size: striped where it is 1 or more, with a line where it passes 1. */
  painted() {
    const { surface: { ratio }, plot: { left, right, top, bottom } } = this;
    const [width, height] = [right - left, bottom - top].map((size) => Math.round(size * ratio));
    if (this.field?.width === width && this.field.height === height) return this.field;
    this.field = h("canvas", { width, height });
    const context = this.field.getContext("2d");
    const image = context.createImageData(width, height);
    const colours = Array.from({ length: MAP_SHADES }, (_, k) => viridis(k / (MAP_SHADES - 1)));
    const c = this.interpolated(width, height);
    for (let at = 0; at < c.length; at++) {
      const [x, y] = [at % width, Math.floor(at / width)];
      const slope = Math.hypot(c[at] - c[x ? at - 1 : at + 1], c[at] - c[y ? at - width : at + width]);
      const far = Math.abs(c[at] - 1) / Math.max(slope, 1e-9) / ratio; // px to where c = 1
      const isStriped = c[at] >= 1 && (x + y) % Math.round(MAP_STRIPES.apart * ratio) < MAP_STRIPES.width * ratio;
      const colour = colours[Math.round(clamp(c[at] / this.most, 0, 1) * (MAP_SHADES - 1))];
      for (let m = 0; m < 3; m++) image.data[4 * at + m] = far < 1.3 ? 255 : far < 2.6 ? 0 : colour[m] * (isStriped ? MAP_STRIPES.shade : 1);
      image.data[4 * at + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    return this.field;
  }

  /** c at every pixel, interpolated; row 0 on top, where T₂ is largest. */
  interpolated(width, height) {
    const { t1, t2, c } = this.map;
    /** The cell that a pixel lies in, and how far. */
    const cell = (share, cells) => {
      const k = Math.min(Math.floor(share * cells), cells - 1);
      return [k, share * cells - k];
    };
    const columns = Array.from({ length: width }, (_, x) => cell(x / Math.max(1, width - 1), t1.length - 1));
    const values = new Float32Array(width * height);
    for (let y = 0; y < height; y++) {
      const [i, r] = cell(1 - y / Math.max(1, height - 1), t2.length - 1);
      columns.forEach(([j, s], x) => {
        values[y * width + x] = lerp(lerp(c[i][j], c[i][j + 1], s), lerp(c[i + 1][j], c[i + 1][j + 1], s), r);
      });
    }
    return values;
  }

  /** Label the side of the line where influence decays, at its right end. */
  paintLimit(context) {
    const { t2, c } = this.map;
    const row = c.findIndex((values) => values.at(-1) >= 1);
    if (row < 0) return;
    context.font = this.app.font(12, "600");
    context.textAlign = "right";
    context.textBaseline = "middle";
    writeOver(context, ON_MAP, "c < 1: influence decays", this.plot.right - 8, Math.min(this.plot.bottom - 12, this.y(t2[Math.max(0, row - 1)]) + 16 * this.app.type));
  }

  /** Name of the vertical axis. */
  title(context, palette) {
    context.save();
    context.translate(9, (this.plot.top + this.plot.bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = css(palette.muted);
    context.fillText("couplings, T₂", 0, 0);
    context.restore();
  }

  describe() {
    const { point } = this;
    this.describeAs(point === null ? "" : `c for strengths of fields up to ${point.t1} and couplings up to ${point.t2}: ${this.value.textContent}. ${this.words.textContent}`);
  }
}
