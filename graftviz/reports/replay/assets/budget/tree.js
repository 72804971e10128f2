// The junction tree: cliques as boxes near their variables, the widest highlighted.

import { clamp, css, h, lerp, mix, plural, shorten, smooth } from "../shared/core.js";
import { lit, WHOLE_PLANE } from "../shared/graph.js";
import { legendKey } from "../shared/legend.js";
import { BudgetPlane } from "./graph.js";

const BUDGET_LONGEST = 4; // largest number of lines in a box
const BUDGET_COVERED = 0.34; // largest share of the drawing for boxes with names; beyond, boxes show sizes
const BUDGET_SHORT = 9; // characters of a name inside a box
const BUDGET_LINE = 12; // characters of a line

export class BudgetTree extends BudgetPlane {
  constructor(app) {
    super(app, "clique", "Junction tree", "junction-tree", [legendKey("gv-budget-clique", "clique; hover to highlight it in the graph")]);
    this.boxes = [];
  }

  /** Text of a box: names if they are few and short, else their number. */
  label(clique) {
    const lines = [""];
    for (const name of clique.map((i) => shorten(this.name(i), BUDGET_SHORT))) {
      const longer = `${lines.at(-1)} ${name}`.trim();
      if (longer.length <= BUDGET_LINE || !lines.at(-1)) lines[lines.length - 1] = longer;
      else lines.push(name);
    }
    return lines.length <= BUDGET_LONGEST ? lines : [plural(clique.length, "variable")];
  }

  /** Boxes: lines, and half of width and height; they move from the place of the clique they grew from. */
  project() {
    const { log, shown, type } = this.app;
    const { width, height, context } = this;
    const { cliques, from, at } = log.steps[shown];
    const before = log.steps[shown - 1];
    this.size = clamp(Math.sqrt((width * height) / cliques.length) * 0.13, 9, 12 * type);
    context.font = this.app.font(this.size / type, "500");
    const boxed = (lines) => ({ lines, w: Math.max(...lines.map((line) => context.measureText(line).width)) / 2 + 6, h: lines.length * this.size * 0.59 + 4 });
    this.boxes = cliques.map((clique) => boxed(this.label(clique)));
    if (this.boxes.reduce((sum, box) => sum + 4 * box.w * box.h, 0) > BUDGET_COVERED * width * height) {
      this.boxes = cliques.map((clique) => boxed([String(clique.length)]));
    }
    this.margins = ["w", "h"].map((side) => 4 + Math.max(...this.boxes.map((box) => box[side])));
    this.places = at.map((place, c) => {
      const start = before && from[c] >= 0 ? before.at[from[c]] : place;
      return place.map((x, k) => lerp(start[k], x, smooth(this.app.part)));
    });
    super.project();
  }

  nodeAt(x, y) {
    return this.boxes.findIndex(({ w, h: half }, c) => Math.abs(this.at[c][0] - x) <= w + 2 && Math.abs(this.at[c][1] - y) <= half + 2);
  }

  wordsFor(c) {
    const members = this.app.log.steps[this.app.shown].cliques[c];
    return [h("b", {}, plural(members.length, "variable")), ` · ${members.map((i) => shorten(this.name(i), 24)).join(", ")}`];
  }

  scene(palette) {
    const { log, shown, hover } = this.app;
    const { cliques, links, lit: widest } = log.steps[shown];
    const held = hover?.node === undefined ? [] : log.holders(hover.node, shown);
    const chosen = new Set(hover ? [...held, hover.clique] : cliques[widest].length > 1 ? [widest] : []);
    const isHeld = ([a, b]) => held.includes(a) && held.includes(b);
    const order = [...cliques.keys()].sort((a, b) => chosen.has(a) - chosen.has(b));
    return [
      { edges: links.filter((pair) => !isHeld(pair)), line: palette.muted, alpha: 0.8, width: 2 },
      { edges: links.filter(isHeld), line: palette.primary, width: 4 },
      order.map((c) => this.boxLayers(palette, c, !chosen.has(c) ? null : hover ? palette.primary : palette.region)),
    ];
  }

  /** Layers of a box with its words; those of the newest edge are lit up. */
  boxLayers(palette, c, colour) {
    const { edge, cliques } = this.app.log.steps[this.app.shown];
    const { lines, w, h: half } = this.boxes[c];
    const box = { nodes: [c], shape: (context, x, y) => context.roundRect(x - w, y - half, 2 * w, 2 * half, 7) };
    const [x, y] = this.at[c];
    const words = (context) => {
      context.font = this.app.font(this.size / this.app.type, "500");
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillStyle = css(palette.text);
      lines.forEach((line, k) => context.fillText(line, x, y + (k - (lines.length - 1) / 2) * this.size * 1.18 + 0.5));
    };
    return [
      edge?.every((i) => cliques[c].includes(i)) && lit(palette, { ...box, width: 7.5 }),
      { ...box, line: colour ?? palette.muted, width: colour ? 5.2 : 2.6 },
      { ...box, fill: colour ? mix(palette.background, colour, palette.dark ? 0.42 : 0.26) : palette.background }, words];
  }

  describe() {
    const { log, shown } = this.app;
    const { cliques, lit, width, at } = log.steps[shown];
    if (!this.places) this.fit(at, { box: WHOLE_PLANE });
    const widest = `widest: ${plural(cliques[lit].length, "variable")} (width ${width})`;
    this.count.textContent = `${plural(cliques.length, "clique")} · ${widest}`;
    this.describeAs(`Junction tree of ${plural(cliques.length, "clique")}; ${widest}.`);
  }
}
