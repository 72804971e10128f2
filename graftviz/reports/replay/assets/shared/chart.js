// Chart on a canvas: its card, scales, axes, lines and marks, and the pointer on it.

import { clamp, css, h, hatching, Picture, ticks, tickText, writeOver } from "./core.js";
import { saveButton } from "./save_picture.js";

const CHART_ROW = 15; // px between rows of text below a plot

/** Function that maps low … high to from … to. */
const scale = (low, high, from, to) => (value) => from + ((to - from) * (value - low)) / (high - low || 1);

/** Whole numbers for an axis: the first one, and the multiples of a round number. */
export const wholeTicks = (first, last, count) => [first, ...ticks(first, last, count).filter((value) => value > first && Number.isInteger(value))];

/** The range of some numbers, of which some may be null, with a margin. */
export function paddedRange(values) {
  const numbers = values.filter((value) => value !== null);
  if (numbers.length === 0) return [0, 1];
  const [low, high] = numbers.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);
  const margin = (high - low) * 0.08 || Math.abs(high) * 0.01 || 1;
  return [low - margin, high + margin];
}

/** Points of a line that keeps each value until the next one. */
export const stairs = (points) => points.flatMap((point, k) => (k ? [[point[0], points[k - 1][1]], point] : [point]));

/** A subclass defines `paint`, which calls `axes` first. */
export class Chart extends Picture {
  constructor(app, kind) {
    super(app, `gv-chart ${kind}`);
    this.canvas.setAttribute("role", "img");
  }

  /**
   * Make the card of the chart: with a header, whose last element saves a picture named `file`, and a body with its holder.
   * A subclass may define `legend()`, entries of a legend outside the card for saved pictures: [[sample, words], …].
   */
  card(kind, label, file, header, ...body) {
    this.element = h("section", { class: `gv-card ${kind}`, "aria-label": label },
      h("header", {}, header, saveButton(this.app, file, () => this.legend?.() ?? [])), body);
  }

  /** Call `listener(x, y, event)` at events of the pointer, with its place in px of the canvas. */
  on(types, listener) {
    for (const type of types.split(" ")) {
      this.canvas.addEventListener(type, (event) => {
        const { left, top } = this.canvas.getBoundingClientRect();
        if (this.app.log) listener(event.clientX - left, event.clientY - top, event);
      });
    }
  }

  get palette() {
    return this.app.palette;
  }

  draw() {
    if (!this.app.log || !this.begin()) return;
    this.context.font = this.app.font(11.5);
    this.paint(this.context, this.palette);
  }

  // --------------------------------------------------------------------------------------- axes

  /** Set the plot, whose margins to the left and below grow with the type, and the scales of both axes. */
  axes([left, right, top, bottom], [x0, x1], [y0, y1]) {
    const { width, height, app: { type } } = this;
    this.plot = { left: left * type, right: width - right, top, bottom: height - bottom * type };
    this.x = scale(x0, x1, this.plot.left, this.plot.right);
    this.y = scale(y0, y1, this.plot.bottom, this.plot.top);
    this.span = [x0, x1];
  }

  /** The value of the horizontal axis at a place of the canvas. */
  valueAt(x) {
    if (!this.plot) return this.span?.[0] ?? 0;
    const { left, right } = this.plot;
    return scale(left, Math.max(right, left + 1), ...this.span)(clamp(x, left, right));
  }

  /** Draw horizontal lines at some values, with the values for which there is room to their left. */
  grid(values, text = tickText) {
    const { palette, plot } = this;
    let last = Infinity;
    for (const value of values) {
      const at = Math.round(this.y(value)) + 0.5;
      this.line([[plot.left, at], [plot.right, at]], css(palette.hairline), 1);
      const place = clamp(at, plot.top + 2, plot.bottom - 2);
      if (Math.abs(place - last) < 0.75 * CHART_ROW * this.app.type) continue;
      this.write(text(value), plot.left - 6, place, { align: "right" });
      last = place;
    }
  }

  /** Write values of the horizontal axis, those for which there is room, and its name at the right or below. */
  below(values, name = "", text = tickText) {
    const { context, plot } = this;
    const row = CHART_ROW * this.app.type;
    const isApart = plot.bottom + 2 * row <= this.height;
    this.write(name, plot.right, plot.bottom + (isApart ? 2 * row : row), { align: "right", base: "alphabetic" });
    const end = isApart || !name ? plot.right + 8 : plot.right - context.measureText(name).width - 8;
    let free = plot.left - 14;
    for (const value of values) {
      const words = text(value);
      const half = context.measureText(words).width / 2;
      const at = clamp(this.x(value), plot.left - 6 + half, plot.right + 8 - half);
      if (at - half < free + 8 || at + half > end) continue;
      this.write(words, at, plot.bottom + row, { base: "alphabetic" });
      free = at + half;
    }
  }

  /** Write upwards beside a plot, in the middle of its height. */
  aside(text, x, middle) {
    const { context } = this;
    context.save();
    context.translate(x, middle);
    context.rotate(-Math.PI / 2);
    this.write(text, 0, 0, { base: "alphabetic" });
    context.restore();
  }

  /** Write at a place; `rim` is the palette of the background, for words over lines. */
  write(text, x, y, { align = "center", base = "middle", colour = this.palette.muted, rim = null } = {}) {
    const { context } = this;
    context.textAlign = align;
    context.textBaseline = base;
    context.fillStyle = css(colour);
    if (rim) writeOver(context, rim, text, x, y, colour);
    else context.fillText(text, x, y);
  }

  // ------------------------------------------------------------------------------ lines and marks

  /** Begin a path through points; null is a gap. */
  path(points) {
    this.context.beginPath();
    points.forEach((point, k) => { if (point) this.context[points[k - 1] ? "lineTo" : "moveTo"](...point); });
  }

  stroke(colour, width, dash = []) {
    const { context } = this;
    context.lineJoin = "round";
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.setLineDash(dash);
    context.stroke();
    context.setLineDash([]);
  }

  line(points, colour, width, dash) {
    this.path(points);
    this.stroke(colour, width, dash);
  }

  /** Line over the height of the plot at a value of the horizontal axis. */
  upright(value, alpha = 0.55, dash = []) {
    const { top, bottom } = this.plot;
    const at = Math.round(this.x(value)) + 0.5;
    this.line([[at, top], [at, bottom]], css(this.palette.text, alpha), 1, dash);
  }

  /** Line over the width of the plot at a value of the vertical axis. */
  level(value, colour, width, dash) {
    const { left, right } = this.plot;
    this.line([[left, this.y(value)], [right, this.y(value)]], colour, width, dash);
  }

  dot(x, y, radius, fill, rim, width = 2) {
    const { context } = this;
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fillStyle = fill ?? "transparent";
    context.fill();
    if (rim) this.stroke(rim, width);
  }

  /** Fill the path with slanted stripes. */
  hatch(colour, apart, width = 1) {
    this.context.fillStyle = hatching(this.context, colour, { apart, width });
    this.context.fill();
  }

  /** Words in the middle, in place of a chart. */
  message(text) {
    this.write(text, this.width / 2, this.height / 2);
  }
}
