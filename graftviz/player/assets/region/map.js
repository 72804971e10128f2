// Dobrushin's coefficient c over both strengths, the area where c < 1, and the current point, which
// can be dragged.

import { clamp, css, h, lerp, Surface, ticks, VIRIDIS, writeOver } from "../shared/core.js";
import { attachKeys } from "../shared/keys.js";
import { saveButton } from "../shared/save_picture.js";

const MAP_LOST = 2500; // ms after which a reply to a dragged point counts as lost

const ON_MAP = { background: [0, 0, 0], text: [255, 255, 255] }; // colours of words on the map

export class RegionMap {
  constructor(app) {
    this.app = app;
    this.map = null;
    this.point = null;
    this.held = null; // the dragged position, until the server has replied
    this.value = h("b");
    this.words = h("p", { class: "gv-muted gv-map-words" });
    this.holder = h("div", { class: "gv-chart gv-region-map" });
    this.top = h("span");
    this.legend = h("div", { class: "gv-legend" }, h("span", { class: "gv-key" }, "c = 0", h("i", { class: "gv-ramp", "aria-hidden": "true" }), this.top),
      h("span", { class: "gv-key" }, h("i", { class: "gv-region-key gv-region-vacuous", "aria-hidden": "true" }), "c ≥ 1"));
    this.element = h("section", { class: "gv-card gv-region-coupling", "aria-label": "Decay of influence" },
      h("header", {}, h("h3", {}, "Does influence decay?"), h("span", { class: "gv-count" }, "c = ", this.value), saveButton(app, "strengths")),
      h("div", { class: "gv-map-body" }, this.holder, h("div", { class: "gv-map-side" }, this.words, this.legend)));
    this.surface = new Surface(this.holder, () => app.resized());
    attachKeys(this.surface.canvas, this);
    this.listen();
  }

  destroy() {
    clearTimeout(this.timer);
    this.surface.destroy();
  }

  listen() {
    const { canvas } = this.surface;
    const move = (event, done) => {
      const box = canvas.getBoundingClientRect();
      this.held = this.strengthsAt(event.clientX - box.left, event.clientY - box.top);
      this.done = done;
      this.pass();
      this.app.wake();
    };
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.point) return;
      this.dragging = true;
      canvas.setPointerCapture(event.pointerId);
      move(event, false);
    });
    canvas.addEventListener("pointermove", (event) => this.dragging && move(event, false));
    canvas.addEventListener("pointerup", (event) => {
      if (!this.dragging) return;
      this.dragging = false;
      move(event, true);
    });
    canvas.addEventListener("pointercancel", () => {
      if (!this.dragging) return;
      this.dragging = false;
      this.done = true;
      this.pass();
    });
  }

  /** By keyboard: the point moves by a fortieth of the map. */
  key(event) {
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!direction || !this.point || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const from = this.held || [this.point.t1, this.point.t2];
    this.held = from.map((t, k) => Number(clamp(t + (direction[k] * this.point.most[k]) / 40, 0, this.point.most[k]).toFixed(2)));
    this.done = true;
    this.pass();
    this.app.wake();
  }

  /** One request at a time: while a reply is pending, only the newest position is kept. */
  pass() {
    if (this.held === null || this.asked) return;
    if (this.sent && this.held.join() === this.sent.join() && !this.done) return;
    const { done } = this;
    this.asked = true;
    this.done = false;
    this.sent = this.held;
    const send = () => this.app.callbacks.strengths({ t1: this.sent[0], t2: this.sent[1], done });
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
  }

  setPoint(point, coefficient) {
    this.point = point;
    this.value.textContent = coefficient.c === null ? "…" : coefficient.c.toFixed(2);
    this.words.textContent = coefficient.words;
    this.holder.hidden = this.legend.hidden = point === null;
    if (this.map) this.top.textContent = this.most.toFixed(1);
  }

  get most() {
    return Math.max(1.2, ...this.map.c.map((row) => Math.max(...row)));
  }

  frame() {
    const { type } = this.app;
    const { width, height } = this.surface;
    return { left: 40 * type, right: width - 11, top: 11, bottom: height - 32 * type };
  }

  strengthsAt(px, py) {
    const { left, right, top, bottom } = this.frame();
    const [t1, t2] = this.point.most.map((most) => [0, most]);
    const round = (value) => Number(value.toFixed(2));
    return [round(lerp(t1[0], t1[1], clamp((px - left) / (right - left), 0, 1))), round(lerp(t2[0], t2[1], clamp((bottom - py) / (bottom - top), 0, 1)))];
  }

  draw() {
    const { app, map, point } = this;
    if (point === null) return;
    const context = this.surface.begin();
    if (!context) return;
    const { palette } = app;
    const plot = this.frame();
    const [a, b] = point.most.map((most) => [0, most]);
    const x = (t) => plot.left + ((plot.right - plot.left) * (t - a[0])) / (a[1] - a[0]);
    const y = (t) => plot.bottom - ((plot.bottom - plot.top) * (t - b[0])) / (b[1] - b[0]);
    if (map) {
      this.drawField(context, plot, map);
      this.drawLimit(context, palette, plot, map, y);
    } else this.drawEmpty(context, palette, plot);
    this.drawAxes(context, palette, plot, [a, b], x, y);
    const [t1, t2] = this.held || [point.t1, point.t2];
    this.drawPoint(context, palette, plot, x(clamp(t1, ...a)), y(clamp(t2, ...b)));
  }

  drawEmpty(context, palette, plot) {
    context.fillStyle = css(palette.hairline);
    context.fillRect(plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
    context.font = `${12 * this.app.type}px ${palette.font}`;
    context.fillStyle = css(palette.muted);
    context.textAlign = "center";
    context.fillText("Computing the map…", (plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2);
  }

  /** c as a smooth picture, hatched where it is 1 or more, with a line where it passes 1. */
  drawField(context, plot, map) {
    const { ratio } = this.surface;
    const size = [Math.round((plot.right - plot.left) * ratio), Math.round((plot.bottom - plot.top) * ratio)];
    if (!this.field || this.field.map !== map || this.field.size.join() !== size.join()) this.field = { map, size, canvas: this.paint(map, size, ratio) };
    context.drawImage(this.field.canvas, plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
  }

  paint(map, [width, height], ratio) {
    const canvas = h("canvas", { width, height });
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const c = this.interpolated(map, width, height);
    const { most } = this;
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const at = y * width + x;
        const slope = Math.hypot(c[at] - c[x > 0 ? at - 1 : at + 1], c[at] - c[y > 0 ? at - width : at + width]);
        const far = Math.abs(c[at] - 1) / Math.max(slope, 1e-9) / ratio; // px to where c = 1
        const striped = c[at] >= 1 && (x + y) % Math.round(8 * ratio) < 1.3 * ratio ? 0.55 : 1;
        const level = clamp(c[at] / most, 0, 1) * (VIRIDIS.length - 1);
        const k = Math.min(Math.floor(level), VIRIDIS.length - 2);
        for (let m = 0; m < 3; m++) {
          const colour = striped * lerp(VIRIDIS[k][m], VIRIDIS[k + 1][m], level - k);
          image.data[4 * at + m] = far < 1.3 ? 255 : far < 2.6 ? 0 : colour;
        }
        image.data[4 * at + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  /** c at every pixel, interpolated; row 0 on top, where T₂ is largest. */
  interpolated(map, width, height) {
    const [columns, rows] = [map.t1.length - 1, map.t2.length - 1];
    const c = new Float32Array(width * height);
    for (let y = 0; y < height; y++) {
      const r = rows * (1 - y / Math.max(1, height - 1));
      const i = Math.min(Math.floor(r), rows - 1);
      for (let x = 0; x < width; x++) {
        const s = (columns * x) / Math.max(1, width - 1);
        const j = Math.min(Math.floor(s), columns - 1);
        c[y * width + x] = lerp(lerp(map.c[i][j], map.c[i][j + 1], s - j), lerp(map.c[i + 1][j], map.c[i + 1][j + 1], s - j), r - i);
      }
    }
    return c;
  }

  /** Label the side of the line where influence decays, at its right end. */
  drawLimit(context, palette, plot, map, y) {
    const last = map.t1.length - 1;
    const row = map.c.findIndex((values) => values[last] >= 1);
    if (row < 0) return;
    context.font = `600 ${12 * this.app.type}px ${palette.font}`;
    context.textAlign = "right";
    context.textBaseline = "middle";
    writeOver(context, ON_MAP, "c < 1: influence decays", plot.right - 8, Math.min(plot.bottom - 12, y(map.t2[Math.max(0, row - 1)]) + 16 * this.app.type));
  }

  drawAxes(context, palette, plot, [a, b], x, y) {
    const { type } = this.app;
    context.font = `${11.5 * type}px ${palette.font}`;
    context.fillStyle = css(palette.muted);
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    for (const tick of ticks(...a, 4)) {
      const text = String(tick);
      const half = context.measureText(text).width / 2;
      context.fillText(text, clamp(x(tick), plot.left, this.surface.width - half), plot.bottom + 14 * type);
    }
    context.textAlign = "right";
    context.fillText("fields, T₁", plot.right, plot.bottom + 28 * type);
    context.textBaseline = "middle";
    for (const tick of ticks(...b, 4)) context.fillText(String(tick), plot.left - 5, clamp(y(tick), plot.top + 6, plot.bottom - 2));
    context.save();
    context.translate(9, (plot.top + plot.bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText("couplings, T₂", 0, 0);
    context.restore();
  }

  drawPoint(context, palette, plot, x, y) {
    context.beginPath();
    context.moveTo(plot.left, y);
    context.lineTo(plot.right, y);
    context.moveTo(x, plot.top);
    context.lineTo(x, plot.bottom);
    context.lineWidth = 1;
    context.strokeStyle = "rgba(255,255,255,0.75)";
    context.stroke();
    context.beginPath();
    context.arc(x, y, 8, 0, 7);
    context.fillStyle = css(palette.wrong);
    context.fill();
    for (const [width, colour] of [[4.5, "#000"], [2.4, "#fff"]]) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
  }

  describe() {
    const { point } = this;
    this.surface.canvas.setAttribute("aria-label", point === null ? "" : `c for strengths of fields up to ${point.t1} and couplings up to ${point.t2}: ${this.value.textContent}. ${this.words.textContent}`);
  }
}
