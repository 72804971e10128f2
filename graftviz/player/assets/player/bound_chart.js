// The bound against the size of the region: a small chart whose points can be pointed at or stepped through.

import { boundText, clamp, h, isolated, lerp, plural, replaceChildren, shorten, svg } from "../shared/core.js";

const BOUND_WIDTH = 250;
const BOUND_HEIGHT = 84;
const BOUND_PLOT = { left: 34, right: 244, top: 9, bottom: 66 };

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
    const { left, right } = BOUND_PLOT;
    const share = (((event.clientX - box.left) / Math.max(box.width, 1)) * BOUND_WIDTH - left) / (right - left);
    const all = this.region.bounds.length;
    this.choose(clamp(1 + Math.round(share * Math.max(all - 1, 1)), 1, all));
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
    [this.region, this.log] = [region, log];
    if (this.size !== null && this.size > region.bounds.length) this.choose(null);
    this.draw();
  }

  /** Bounds on a log scale, from 1 down to the tolerance and what lies below it. */
  draw() {
    if (!this.region) return;
    const { bounds, tolerance } = this.region;
    const { left, right, top, bottom } = BOUND_PLOT;
    const floor = clamp(Math.min(tolerance / 2, ...bounds.filter((bound) => bound > 0)), 1e-6, 0.5);
    const size = this.size ?? this.region.size;
    const x = (k) => lerp(left, right, k / Math.max(bounds.length - 1, 1));
    const y = (bound) => lerp(top, bottom, clamp(Math.log10(Math.max(bound, 1e-12)) / Math.log10(floor), 0, 1));
    const level = (kind, value) => svg("line", { class: `gv-bound-${kind}`, x1: left, x2: right, y1: y(value), y2: y(value) });
    const text = (words, at, height, anchor) => svg("text", { x: at, y: height, "text-anchor": anchor }, words);
    this.picture.replaceChildren(
      ...[1, 0.1, 0.01, 0.001].filter((value) => value > floor * 1.5).flatMap((value) => [level("grid", value), text(String(value), left - 5, y(value) + 3.5, "end")]),
      level("goal", tolerance), svg("polyline", { class: "gv-bound-line", points: bounds.map((bound, k) => `${x(k)},${y(bound)}`).join(" ") }),
      ...bounds.map((bound, k) => svg("circle", { class: `gv-bound-${bound >= 1 ? "vacuous" : bound <= tolerance ? "met" : "point"}`, cx: x(k), cy: y(bound), r: k + 1 === size ? 4.6 : 2.6 })),
      text("1", left, bottom + 15, "middle"), ...(bounds.length > 1 ? [text(`${bounds.length} nodes`, right, bottom + 15, "end")] : []));
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
