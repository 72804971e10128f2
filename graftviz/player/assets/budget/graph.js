// The graph under a bound: newest edge, widest clique, edges of the previous run.

import { clamp, css, h, integer, isolated, lerp, mix, plural, shorten, writeOver } from "../shared/core.js";
import { BudgetPlane } from "./plane.js";

const BUDGET_NAME_ROOM = 42; // px between nodes from which on all names are shown

export class BudgetGraph extends BudgetPlane {
  constructor(app) {
    super(app, "gv-budget-graph", "Graph");
    this.kind = "node";
    const key = (sample, text) => h("span", { class: "gv-key" }, h("i", { class: sample, "aria-hidden": "true" }), text);
    this.ghostKey = key("gv-line gv-line-missing", "previous run");
    this.element.append(h("footer", { class: "gv-legend" }, key("gv-line gv-line-step", "new"), key("gv-budget-lit", "widest clique"), this.ghostKey));
  }

  places() {
    const { width, height } = this.surface;
    const { graph } = this.app.log;
    const n = graph.names.length;
    const margin = [clamp(width * 0.09, 26, 60), clamp(height * 0.07, 18, 34)];
    this.at = graph.positions.map((place) => this.project(place, margin));
    this.spacing = Math.sqrt((width * height) / Math.max(n, 1)) * 0.62;
    this.unit = clamp(0.15 * this.spacing, 3.2, 9 * this.app.type);
  }

  things() {
    this.places();
    return this.at;
  }

  find(x, y) {
    this.places();
    let [best, gap] = [-1, 24];
    this.at.forEach(([px, py], i) => {
      const distance = Math.hypot(px - x, py - y);
      if (distance < gap) [best, gap] = [i, distance];
    });
    return best < 0 ? null : { node: best };
  }

  wordsFor({ node }) {
    const { log, shown } = this.app;
    const degree = log.steps.slice(1, shown + 1).filter(({ edge }) => edge.includes(node)).length;
    const held = log.holders(node, shown).length;
    return [h("b", {}, isolated(shorten(log.name(node), 40))), ` · ${plural(degree, "neighbour")} · in ${plural(held, "clique")}`];
  }

  draw() {
    const context = this.surface.begin();
    const { app } = this;
    if (!context || !app.log) return;
    this.places();
    const { palette, log, shown } = app;
    const step = log.steps[shown];
    const lit = app.litClique();
    this.drawGhost(context, palette, log, shown);
    this.drawHull(context, palette, lit, app.hover ? palette.primary : palette.region);
    this.drawEdges(context, palette, log, shown);
    if (step.edge) this.drawNewest(context, palette, step.edge);
    this.drawNodes(context, palette, log, new Set(step.cliques[step.lit].length > 1 || app.hover ? lit : []));
    this.drawNames(context, palette, log, lit, step.edge ?? []);
  }

  line(context, i, j, f = 1) {
    const [[x, y], [a, b]] = [this.at[i], this.at[j]];
    const [mx, my] = [(x + a) / 2, (y + b) / 2];
    context.moveTo(lerp(mx, x, f), lerp(my, y, f));
    context.lineTo(lerp(mx, a, f), lerp(my, b, f));
  }

  drawGhost(context, palette, log, shown) {
    const { ghost } = this.app;
    this.ghostKey.hidden = !ghost;
    if (!ghost) return;
    const own = new Set(log.steps.slice(1, shown + 1).map(({ edge }) => `${edge}`));
    context.beginPath();
    for (const [i, j] of ghost.edges) if (!own.has(`${i},${j}`)) this.line(context, i, j);
    context.setLineDash([1.6, 5]);
    context.lineWidth = 1.6;
    context.strokeStyle = css(palette.muted, 0.75);
    context.stroke();
    context.setLineDash([]);
  }

  /** A clique: bands between all its variables, edges and fill-in alike. */
  drawHull(context, palette, clique, colour) {
    if (clique.length < 2) return;
    context.beginPath();
    clique.forEach((i, p) => clique.slice(p + 1).forEach((j) => this.line(context, i, j)));
    context.lineCap = context.lineJoin = "round";
    context.lineWidth = 2.9 * this.unit;
    context.strokeStyle = css(mix(palette.background, colour, palette.dark ? 0.32 : 0.2));
    context.stroke();
    context.lineCap = "butt";
  }

  drawEdges(context, palette, log, shown) {
    context.beginPath();
    for (const { edge } of log.steps.slice(1, shown)) this.line(context, ...edge);
    context.lineWidth = clamp(this.unit * 0.28, 1.3, 2.6);
    context.strokeStyle = css(palette.text, 0.7);
    context.stroke();
  }

  drawNewest(context, palette, edge) {
    const f = this.entry;
    for (const [colour, width] of [[css(palette.rim), 10.5], [css(palette.step), 8.5], [css(palette.text, 0.9), 2.4]]) {
      context.beginPath();
      this.line(context, ...edge, f);
      context.lineCap = "round";
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
    context.lineCap = "butt";
  }

  drawNodes(context, palette, log, lit) {
    const { hover } = this.app;
    for (let i = 0; i < log.n; i++) {
      const [x, y] = this.at[i];
      const strong = lit.has(i);
      context.beginPath();
      context.arc(x, y, this.unit * (strong ? 1.15 : 0.9), 0, 7);
      context.fillStyle = css(strong ? (hover ? palette.primary : palette.region) : palette.plain);
      context.fill();
      context.lineWidth = 2;
      context.strokeStyle = css(palette.background);
      context.stroke();
    }
  }

  drawNames(context, palette, log, lit, newest) {
    const all = this.spacing >= BUDGET_NAME_ROOM;
    const order = [...new Set([...newest, ...lit, ...(all ? log.graph.names.keys() : [])])];
    const size = 11.5 * this.app.type;
    context.font = `500 ${size}px ${palette.font}`;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const taken = [];
    order.forEach((i, rank) => {
      const [x, y] = this.at[i];
      const text = shorten(log.name(i), 18);
      const half = context.measureText(text).width / 2 + 2;
      const at = clamp(x, half + 2, this.surface.width - half - 2);
      const base = Math.max(y - this.unit - 5, size + 1);
      const meets = taken.some(([a, b, w]) => Math.abs(a - at) < w + half && Math.abs(b - base) < size);
      if (meets && rank >= newest.length) return;
      taken.push([at, base, half]);
      writeOver(context, palette, text, at, base);
    });
  }

  describe() {
    const { log, shown } = this.app;
    const step = log.steps[shown];
    this.count.textContent = `${plural(shown, "edge")} of ${integer(log.pairs)} pairs`;
    const widest = step.cliques[step.lit].map((i) => log.name(i)).join(", ");
    this.surface.canvas.setAttribute("aria-label",
      `Graph of ${plural(log.n, "variable")} with ${plural(shown, "edge")}. Widest clique: ${widest}.`);
  }
}
