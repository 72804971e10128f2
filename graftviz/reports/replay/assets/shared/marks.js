// Dashes and marks of racers, which distinguish them together with the colours `racers` of the palette.

import { css, drawing } from "./core.js";

export const RACER_DASHES = [[], [7, 3], [2, 2.5], [9, 3, 2, 3], [1.5, 4], [14, 4]];
// Marks in a box from −5 to 5: disc, square, triangle, diamond, cross, star.
const RACER_MARKS = [
  "M4.4 0A4.4 4.4 0 1 1 -4.4 0A4.4 4.4 0 1 1 4.4 0Z",
  "M-4 -4H4V4H-4Z",
  "M0 -5.200L5 4H-5Z",
  "M0 -5.500L5.500 0L0 5.500L-5.500 0Z",
  "M-5 -3L-3 -5L0 -2L3 -5L5 -3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z",
  "M0 -6L1.500 -2L5.700 -1.900L2.400 0.800L3.500 4.900L0 2.500L-3.500 4.900L-2.400 0.800L-5.700 -1.900L-1.500 -2Z",
];

/** A racer's name for a narrow box: an option and its value stay in one line. */
export const racerWords = (name) => name.split(" · ").map((part, k) => (k ? part.replaceAll(" ", "\u00a0") : part)).join(" · ");

/** A piece of a racer's line with its mark, for legends; its colour follows the theme. */
export function racerSample(index) {
  const k = index % 6;
  const sample = drawing("0 0 44 14",
    ["path", { d: "M1 7H43", "stroke-dasharray": RACER_DASHES[k].join(" ") || "none", "stroke-width": 2.4, fill: "none" }],
    ["path", { d: RACER_MARKS[k], transform: "translate(22 7)", "stroke-width": 1.5 }]);
  sample.setAttribute("class", "gv-racer-sample");
  const [line, mark] = sample.children;
  line.style.stroke = mark.style.fill = `var(--gv-racer-${k})`;
  mark.style.stroke = "var(--gv-background)";
  return sample;
}

export function drawMark(context, index, x, y, colour, rim, scale = 1) {
  context.save();
  context.translate(x, y);
  context.scale(scale, scale);
  const shape = new Path2D(RACER_MARKS[index % 6]);
  context.lineWidth = 2.5;
  context.strokeStyle = css(rim);
  context.stroke(shape);
  context.fillStyle = css(colour);
  context.fill(shape);
  context.restore();
}
