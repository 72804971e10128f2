// The junction tree: cliques as boxes near their variables, the widest highlighted.

import { clamp, css, h, lerp, mix, plural, shorten } from "../shared/core.js";
import { BudgetPlane } from "./plane.js";

const BUDGET_LONGEST = 4; // largest number of variables named in a box
const BUDGET_COVERED = 0.34; // largest share of the drawing for boxes with names; beyond, boxes show sizes
const BUDGET_SHORT = 9; // characters of a name inside a box

export class BudgetTree extends BudgetPlane {
  constructor(app) {
    super(app, "gv-budget-tree", "Junction tree");
    this.kind = "clique";
    this.element.append(h("footer", { class: "gv-legend" }, h("span", { class: "gv-key" },
      "box = clique; hover to highlight it in the graph")));
    this.boxes = [];
  }

  /** Text of a box: names if they are few and short, else their number. */
  label(clique) {
    const { log } = this.app;
    const names = clique.map((i) => shorten(log.name(i), BUDGET_SHORT));
    if (clique.length > BUDGET_LONGEST + 2) return [plural(clique.length, "variable")];
    if (names.join(" ").length <= 11) return [names.join(" ")];
    const lines = [];
    for (const name of names) {
      const last = lines[lines.length - 1];
      if (last !== undefined && last.length + name.length < 12) lines[lines.length - 1] = `${last} ${name}`;
      else lines.push(name);
    }
    return lines.length <= BUDGET_LONGEST ? lines : [plural(clique.length, "variable")];
  }

  layOut(context) {
    const { log, shown, type, palette } = this.app;
    const { width, height } = this.surface;
    const step = log.steps[shown];
    const before = shown > 0 ? log.steps[shown - 1] : null;
    const room = (width * height) / step.cliques.length;
    this.size = clamp(Math.sqrt(room) * 0.13, 9, 12 * type);
    this.font = `500 ${this.size}px ${palette.font}`;
    context.font = this.font;
    const half = (lines) => [Math.max(...lines.map((line) => context.measureText(line).width)) / 2 + 6, (lines.length * this.size * 1.18) / 2 + 4];
    let labels = step.cliques.map((clique) => this.label(clique));
    const covered = labels.map(half).reduce((sum, [w, high]) => sum + 4 * w * high, 0);
    if (covered > BUDGET_COVERED * width * height) labels = step.cliques.map((clique) => [String(clique.length)]);
    const halves = labels.map(half);
    const margin = [0, 1].map((k) => 4 + Math.max(...halves.map((half) => half[k])));
    const f = this.entry;
    this.boxes = step.cliques.map((clique, c) => {
      const from = before && step.from[c] >= 0 ? before.at[step.from[c]] : step.at[c];
      const place = [0, 1].map((k) => lerp(from[k], step.at[c][k], f));
      const [x, y] = this.project(place, margin);
      return { clique, lines: labels[c], x, y, w: halves[c][0], h: halves[c][1] };
    });
  }

  things() {
    return this.boxes.map(({ x, y }) => [x, y]);
  }

  find(x, y) {
    const c = this.boxes.findIndex((box) => Math.abs(box.x - x) <= box.w + 2 && Math.abs(box.y - y) <= box.h + 2);
    return c < 0 ? null : { clique: c };
  }

  wordsFor({ clique }) {
    const { log, shown } = this.app;
    const members = log.steps[shown].cliques[clique];
    return [h("b", {}, plural(members.length, "variable")), ` · ${members.map((i) => shorten(log.name(i), 24)).join(", ")}`];
  }

  draw() {
    const context = this.surface.begin();
    const { app } = this;
    if (!context || !app.log) return;
    this.layOut(context);
    const { palette, log, shown, hover } = app;
    const step = log.steps[shown];
    const held = hover && hover.node !== undefined ? new Set(log.holders(hover.node, shown)) : null;
    const isLit = (c) => (held ? held.has(c) : hover && hover.clique !== undefined ? c === hover.clique : c === step.lit && step.cliques[c].length > 1);
    for (const [a, b] of step.links) {
      const both = held && held.has(a) && held.has(b);
      context.beginPath();
      context.moveTo(this.boxes[a].x, this.boxes[a].y);
      context.lineTo(this.boxes[b].x, this.boxes[b].y);
      context.lineWidth = both ? 4 : 2;
      context.strokeStyle = css(both ? palette.primary : palette.muted, both ? 1 : 0.8);
      context.stroke();
    }
    context.font = this.font;
    context.textAlign = "center";
    context.textBaseline = "middle";
    this.boxes.forEach((box, c) => { if (!isLit(c)) this.drawBox(context, palette, box, null); });
    this.boxes.forEach((box, c) => { if (isLit(c)) this.drawBox(context, palette, box, hover ? palette.primary : palette.region); });
  }

  drawBox(context, palette, { lines, clique, x, y, w, h: half }, colour) {
    const newest = this.app.log.steps[this.app.shown].edge;
    const isNew = newest !== null && newest.every((i) => clique.includes(i));
    context.beginPath();
    context.roundRect(x - w, y - half, 2 * w, 2 * half, 7);
    if (isNew) {
      for (const [colour, width] of [[palette.rim, 9.5], [palette.step, 7.5]]) {
        context.lineWidth = width;
        context.strokeStyle = css(colour);
        context.stroke();
      }
    }
    context.fillStyle = css(colour ? mix(palette.background, colour, palette.dark ? 0.42 : 0.26) : palette.background);
    context.fill();
    context.lineWidth = colour ? 2.6 : 1.3;
    context.strokeStyle = css(colour ?? palette.muted);
    context.stroke();
    context.fillStyle = css(palette.text);
    lines.forEach((line, k) => context.fillText(line, x, y + (k - (lines.length - 1) / 2) * this.size * 1.18 + 0.5));
  }

  describe() {
    const { log, shown } = this.app;
    const { cliques, lit, width } = log.steps[shown];
    this.count.textContent = `${plural(cliques.length, "clique")} · widest: ${plural(cliques[lit].length, "variable")} (width ${width})`;
    this.surface.canvas.setAttribute("aria-label",
      `Junction tree of ${plural(cliques.length, "clique")}; widest: ${plural(cliques[lit].length, "variable")} (width ${width}).`);
  }
}
