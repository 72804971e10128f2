// Dobrushin's coefficient c over both strengths, the area where c < 1, and the current point, which
// can be dragged.

import { clamp, css, h, lerp, ticks, viridis } from "../shared/core.js";
import { Chart } from "../shared/chart.js";
import { attachKeys } from "../shared/keys.js";
import { legendKey, Ramp } from "../shared/legend.js";
import { Requests } from "../shared/requests.js";

const MAP_STEPS = 40; // key presses from one end of the map to the other
const MAP_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const MAP_STRIPES = 8; // px between stripes, where c ≥ 1
const ON_MAP = { background: [0, 0, 0], text: [255, 255, 255] }; // colours of words on the map

const strength = (value) => Number(value.toFixed(2));

export class RegionMap extends Chart {
  constructor(app) {
    super(app, "gv-region-map");
    this.map = null;
    this.point = null;
    this.held = null; // the dragged position, until the server has replied
    this.requests = new Requests(app, "strengths", { soon: 0 });
    this.value = h("b");
    this.words = h("p", { class: "gv-small gv-map-words" });
    this.ramp = new Ramp();
    this.keys = h("div", { class: "gv-legend" }, this.ramp.element, legendKey("gv-region-key gv-region-vacuous", "c ≥ 1"));
    this.card("gv-region-coupling", "Decay of influence", "strengths",
      [h("h3", {}, "Does influence decay?"), h("span", { class: "gv-count" }, "c = ", this.value)],
      h("div", { class: "gv-map-body" }, this.holder, h("div", { class: "gv-map-side" }, this.words, this.keys)));
    attachKeys(this.canvas, this);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.on("pointerdown pointermove pointerup pointercancel", (x, y, event) => this.follow(x, y, event));
  }

  follow(x, y, { type, button, pointerId }) {
    if (type === "pointerdown" && button === 0 && this.point) {
      this.dragging = true;
      this.canvas.setPointerCapture(pointerId);
    }
    if (!this.dragging) return;
    this.dragging = type === "pointerdown" || type === "pointermove";
    this.move(type === "pointercancel" ? this.held : this.strengthsAt(x, y), !this.dragging);
  }

  /** Move the point; `done`: it was released. */
  move(held, done) {
    [this.held, this.done] = [held, done];
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

  /** Send the position, but while a reply is pending only the newest one. */
  advance() {
    if (this.held === null) return;
    const [t1, t2] = this.held;
    const { done } = this;
    const place = [t1, t2, done].join();
    if (place === this.answered || !this.requests.send({ t1, t2, done })) return;
    this.sent = place;
    if (done) this.app.expect();
  }

  replied() {
    this.requests.replied(true);
    this.answered = this.sent;
    if (this.held && [...this.held, true].join() === this.sent) this.held = this.sent = this.answered = null;
  }

  setMap(map) {
    this.map = map;
    this.most = map ? Math.max(1.2, ...map.c.flat()) : null;
  }

  setPoint(point, coefficient) {
    this.point = point;
    this.value.textContent = coefficient.c === null ? "…" : coefficient.c.toFixed(2);
    this.words.textContent = coefficient.words;
    this.holder.hidden = this.keys.hidden = point === null;
    if (this.map) this.ramp.set("c = 0", this.most.toFixed(1));
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
    this.aside("couplings, T₂", 13, (top + bottom) / 2);
    if (this.map) this.paintMap(context);
    else {
      context.fillStyle = css(palette.hairline);
      context.fillRect(left, top, right - left, bottom - top);
      this.message("Computing the map…");
    }
    const [x, y] = [this.x(clamp(this.place[0], 0, most1)), this.y(clamp(this.place[1], 0, most2))];
    this.line([[left, y], [right, y], null, [x, top], [x, bottom]], "rgba(255,255,255,0.75)", 1);
    this.dot(x, y, 8, css(palette.wrong), "#000", 4.5);
    this.stroke("#fff", 2.4);
  }

  /** Colours of c, which the browser interpolates, and a line where c is 1, with stripes above it. */
  paintMap(context) {
    const { map: { t1, t2, c }, plot: { left, right, top, bottom } } = this;
    const picture = h("canvas", { width: t1.length, height: t2.length });
    const pixels = picture.getContext("2d");
    c.toReversed().forEach((row, y) => row.forEach((value, x) => {
      pixels.fillStyle = css(viridis(value / this.most));
      pixels.fillRect(x, y, 1, 1);
    }));
    context.drawImage(picture, 0.5, 0.5, t1.length - 1, t2.length - 1, left, top, right - left, bottom - top);
    if (!c.some((row) => row.some((value) => value >= 1))) return;
    const edge = t1.map((t, j) => [this.x(t), this.y(this.limit(j))]);
    this.path([[left, top], ...edge, [right, top]]);
    this.hatch("rgba(0,0,0,0.5)", MAP_STRIPES, 1.3);
    this.line(edge, "#000", 4.5);
    this.line(edge, "#fff", 2);
    context.font = this.app.font(12, "600");
    const below = Math.min(bottom - 12, edge.at(-1)[1] + 16 * this.app.type);
    const words = ["c < 1: influence decays", "c < 1"].find((text) => context.measureText(text).width < right - left - 16) ?? "";
    this.write(words, right - 8, below, { align: "right", colour: ON_MAP.text, rim: ON_MAP });
  }

  /** The value of T₂ at which c, which grows with T₂, passes 1 for the value of T₁ with number j. */
  limit(j) {
    const { t2, c } = this.map;
    const above = c.findIndex((row) => row[j] >= 1);
    if (above <= 0) return above < 0 ? t2.at(-1) : t2[0];
    return lerp(t2[above - 1], t2[above], (1 - c[above - 1][j]) / (c[above][j] - c[above - 1][j]));
  }

  describe() {
    const { point } = this;
    this.describeAs(point === null ? ""
      : `c for strengths of fields up to ${point.t1} and couplings up to ${point.t2}: ${this.value.textContent}. ${this.words.textContent}`);
  }
}
