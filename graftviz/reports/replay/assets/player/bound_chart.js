// The bound against the size of the region: a chart whose points can be pointed at or stepped through.

import { Chart } from "../shared/chart.js";
import { boundText, clamp, counted, css, h, isolated, replaceChildren, shorten, textParts } from "../shared/core.js";

const BOUND_LEVELS = [1, 0.1, 0.01, 0.001]; // bounds with a line

export class BoundChart extends Chart {
  /** `preview(size)` lights the first nodes of the region; all of them for null. */
  constructor(app, preview) {
    super(app, "gv-bound-chart");
    this.preview = preview;
    this.region = null;
    this.size = null; // nodes pointed at
    this.note = h("p", { class: "gv-muted" });
    this.element = h("figure", { class: "gv-bound" }, h("figcaption", {}, h("h4", {}, TEXT.region.chart)), this.holder, this.note);
    const attributes = { role: "slider", tabindex: 0, "aria-valuemin": 1 };
    for (const [name, value] of Object.entries(attributes)) this.canvas.setAttribute(name, value);
    this.describeAs(TEXT.region.nodes_to_light);
    this.on("pointermove pointerdown", (x) => this.region && this.choose(1 + Math.round(this.valueAt(x))));
    this.on("pointerleave blur", () => this.choose(null));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
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
    this.describe();
  }

  show(region, log) {
    if (region === this.region) return;
    [this.region, this.log] = [region, log];
    if (this.size !== null && this.size > region.bounds.length) this.choose(null);
    this.describe();
  }

  /** Bounds on a log scale, from 1 down to the tolerance and what lies below it. */
  paint(context, palette) {
    if (!this.region) return;
    const { bounds, tolerance, size } = this.region;
    const low = Math.log10(clamp(Math.min(tolerance / 2, ...bounds.filter((bound) => bound > 0)), 1e-6, 0.5));
    const level = (bound) => clamp(Math.log10(Math.max(bound, 1e-12)), low, 0);
    this.axes([34, 8, 8, 18], [0, Math.max(bounds.length - 1, 1)], [low, 0]);
    this.grid(BOUND_LEVELS.map(level).filter((value) => value > low + 0.18), (value) => String(Number((10 ** value).toPrecision(1))));
    this.below([0], bounds.length > 1 ? counted(bounds.length, TEXT.region.nodes) : "", () => "1");
    this.level(level(tolerance), css(palette.text), 1.2, [4, 3]);
    const points = bounds.map((bound, k) => [this.x(k), this.y(level(bound))]);
    this.line(points, css(palette.region), 1.6);
    points.forEach(([x, y], k) => {
      const rim = bounds[k] >= 1 ? palette.muted : palette.region;
      this.dot(x, y, k + 1 === (this.size ?? size) ? 4.6 : 2.6, css(bounds[k] <= tolerance ? palette.region : palette.background), css(rim), 1.4);
    });
  }

  describe() {
    if (!this.region) return;
    const { bounds, nodes } = this.region;
    const size = this.size ?? this.region.size;
    const bound = bounds[size - 1];
    const added = size > 1 ? textParts(TEXT.region.last, { name: isolated(shorten(this.log.name(nodes[size - 1]), 24)) }) : [];
    const value = bound >= 1 ? TEXT.region.vacuous : `±${boundText(bound)}`;
    replaceChildren(this.note, `${counted(size, TEXT.region.nodes)}: ${value}`, ...(this.size === null ? [] : added));
    const values = { max: bounds.length, now: size, text: this.note.textContent };
    for (const [name, text] of Object.entries(values)) this.canvas.setAttribute(`aria-value${name}`, text);
    this.app.wake();
  }
}
