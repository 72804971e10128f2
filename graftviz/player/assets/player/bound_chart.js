// The bound against the size of the region: a small chart whose points can be pointed at or stepped through.

import { clamp, h, isolated, lerp, plural, replaceChildren, shorten, svg } from "../shared/core.js";

const BOUND_WIDTH = 250;
const BOUND_HEIGHT = 84;
const BOUND_PLOT = { left: 34, right: 244, top: 9, bottom: 66 };

/** A bound rounded up: what is shown must still be true. */
export function boundText(bound) {
  if (bound <= 0) return "0";
  if (bound < 1e-6) return "0.000001";
  const digits = Math.max(0, 1 - Math.floor(Math.log10(bound)));
  const up = Math.ceil(bound * 10 ** digits - 1e-9) / 10 ** digits;
  return up.toFixed(digits).replace(/(\.\d*?[1-9])0+$|\.0+$/, "$1");
}

export class BoundChart {
  constructor(preview) {
    this.preview = preview;
    this.region = null;
    this.size = null; // nodes pointed at
    this.element = h("figure", { class: "gv-bound" }, h("figcaption", {}, h("h4", {}, "Bound by size of the region")));
    this.picture = svg("svg", { viewBox: `0 0 ${BOUND_WIDTH} ${BOUND_HEIGHT}`, role: "slider", tabindex: "0",
      "aria-label": "Nodes of the region to light", "aria-valuemin": "1" });
    this.note = h("p", { class: "gv-muted" });
    this.element.append(this.picture, this.note);
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    this.picture.addEventListener("pointerdown", (event) => this.point(event));
    this.picture.addEventListener("pointerleave", () => this.choose(null));
    this.picture.addEventListener("blur", () => this.choose(null));
    this.picture.addEventListener("keydown", (event) => this.key(event));
  }

  point(event) {
    if (!this.region) return;
    const box = this.picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / Math.max(box.width, 1)) * BOUND_WIDTH;
    const sizes = this.region.bounds.map((_, k) => k + 1);
    const nearest = sizes.reduce((a, b) => (Math.abs(this.x(a) - x) <= Math.abs(this.x(b) - x) ? a : b));
    this.choose(nearest);
  }

  key(event) {
    if (!this.region || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = this.region.bounds.length;
    const at = this.size ?? this.region.size;
    const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 1, End: all }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.choose(clamp(to, 1, all));
  }

  choose(size) {
    if (size === this.size) return;
    this.size = size;
    this.preview(size);
    this.draw();
  }

  show(region, log) {
    if (region === this.region) return;
    this.region = region;
    this.log = log;
    if (!region) return;
    if (this.size !== null && this.size > region.bounds.length) this.choose(null);
    this.draw();
  }

  x(size) {
    const { left, right } = BOUND_PLOT;
    const last = Math.max(this.region.bounds.length, 2);
    return lerp(left, right, (size - 1) / (last - 1));
  }

  /** Bounds on a log scale, from 1 down to the tolerance and what lies below it. */
  y(bound) {
    const { top, bottom } = BOUND_PLOT;
    return lerp(top, bottom, clamp(Math.log10(Math.max(bound, 1e-12)) / Math.log10(this.floor), 0, 1));
  }

  draw() {
    const { region } = this;
    if (!region) return;
    const { bounds, tolerance } = region;
    const { left, right, bottom } = BOUND_PLOT;
    const positive = bounds.filter((bound) => bound > 0);
    this.floor = clamp(Math.min(tolerance / 2, ...positive), 1e-6, 0.5);
    const size = this.size ?? region.size;
    const parts = [];
    for (const value of new Set([1, 0.1, 0.01, 0.001].filter((v) => v > this.floor * 1.5))) {
      const at = this.y(value);
      parts.push(svg("line", { class: "gv-bound-grid", x1: left, x2: right, y1: at, y2: at }));
      parts.push(svg("text", { x: left - 5, y: at + 3.5, "text-anchor": "end" }, String(value)));
    }
    const goal = this.y(tolerance);
    parts.push(svg("line", { class: "gv-bound-goal", x1: left, x2: right, y1: goal, y2: goal }));
    const points = bounds.map((bound, k) => [this.x(k + 1), this.y(bound)]);
    parts.push(svg("polyline", { class: "gv-bound-line", points: points.map((p) => p.join(",")).join(" ") }));
    points.forEach(([cx, cy], k) => {
      const kind = bounds[k] >= 1 ? "gv-bound-vacuous" : bounds[k] <= tolerance ? "gv-bound-met" : "gv-bound-point";
      parts.push(svg("circle", { class: kind, cx, cy, r: k + 1 === size ? 4.6 : 2.6 }));
    });
    parts.push(svg("text", { x: left, y: bottom + 15, "text-anchor": "middle" }, "1"));
    if (bounds.length > 1) parts.push(svg("text", { x: right, y: bottom + 15, "text-anchor": "end" }, `${bounds.length} nodes`));
    this.picture.replaceChildren(...parts);
    this.describeSize(size);
  }

  describeSize(size) {
    const { bounds, nodes } = this.region;
    const bound = bounds[size - 1];
    const added = size > 1 ? [", the last one ", isolated(shorten(this.log.name(nodes[size - 1]), 24))] : [];
    const value = bound >= 1 ? "vacuous" : `±${boundText(bound)}`;
    replaceChildren(this.note, `${plural(size, "node")}: ${value}`, ...(this.size === null ? [] : added));
    this.picture.setAttribute("aria-valuemax", String(bounds.length));
    this.picture.setAttribute("aria-valuenow", String(size));
    this.picture.setAttribute("aria-valuetext", this.note.textContent);
  }
}
