// The graph: edges of the tree drawn double, removed ones red and dashed, added ones green and wide.

import { clamp, css, format, h, integer, isolated, lerp, plural, shorten, smooth, writeOver } from "../shared/core.js";
import { GraphCard } from "../shared/graph_card.js";
import { turned } from "../shared/keys.js";
import { zoomButtons } from "../shared/zoom_buttons.js";
import { pairKey } from "./log.js";

const PRUNE_GONE = 0.5; // opacity of a removed edge, while its exchange is shown
const PRUNE_NAMED = 40; // up to this many variables, all names are shown
const PRUNE_OWN = 6; // edges of the selected variable that are listed

export class PruneGraph extends GraphCard {
  constructor(app) {
    super(app);
    this.sentence = h("p", { class: "gv-sentence", dir: "auto" });
    this.stop = h("p", { class: "gv-muted", dir: "auto" });
    this.fallback = h("p", { class: "gv-prune-fallback", dir: "auto", hidden: true });
    this.chosen = h("p", { class: "gv-prune-chosen", dir: "auto", hidden: true });
    this.surface.canvas.addEventListener("blur", () => this.pointTo(-1));
    const key = (kind, text) => h("span", { class: "gv-key" }, h("i", { class: `gv-line gv-line-${kind}`, "aria-hidden": "true" }), text);
    this.words = h("div", { class: "gv-words" }, this.sentence, this.fallback, this.stop);
    this.element = h("section", { class: "gv-card gv-graph gv-prune-graph", "aria-label": "Graph" },
      this.holder, this.chosen,
      h("footer", {}, h("div", { class: "gv-legend" }, key("tree", "Chow–Liu tree"), key("edge", "other edge"), key("leaving", "removed"), key("arriving", "added")), zoomButtons(this, app, "graph")));
  }

  setRuns(all) {
    this.surface.context.font = `500 12.5px ${this.app.palette.font}`;
    this.longest = Math.max(...all.header.names.map((name) => this.surface.context.measureText(shorten(name, 16)).width));
    this.setPositions(all.header.positions);
  }

  /** Place the variables; maps and grids nearly keep their aspect ratio. */
  project() {
    const { header, n } = this.app.all;
    const margins = n <= PRUNE_NAMED ? [Math.min(this.longest * this.app.type + 14, this.surface.width * 0.24), 30] : [18, 18];
    this.place(margins, header.given ? 1.2 : 2.2);
  }

  draw() {
    const context = this.surface.begin();
    const { app } = this;
    if (!context || !app.log) return;
    const { palette, all, shown, part, log } = app;
    this.project();
    const { at } = this;
    const unit = clamp(9 / Math.sqrt(all.n) + 0.5, 0.8, 2.6) * app.type;
    const degrees = new Uint16Array(all.n);
    const groups = { tree: [], other: [], leaving: [], arriving: [] };
    for (const edge of log.edges) {
      if (edge.born > shown || edge.died < shown || (edge.died === shown && shown === 0)) continue;
      if (edge.died > shown) {
        degrees[edge.i]++;
        degrees[edge.j]++;
      }
      const kind = edge.died === shown ? "leaving" : edge.born === shown && shown > 0 ? "arriving"
        : all.tree.has(pairKey(edge.i, edge.j)) ? "tree" : "other";
      groups[kind].push(edge);
    }
    const marked = Object.values(groups).flat().filter(({ i, j }) => i === app.node || j === app.node);
    for (const edge of marked) this.line(context, edge, css(palette.primary, 0.45), 2.4 * unit + 6);
    for (const edge of groups.other) this.line(context, edge, css(palette.plain, 0.75), unit * 1.1);
    for (const edge of groups.tree) this.double(context, edge, css(palette.text, 0.9), unit);
    for (const edge of groups.leaving) this.drawLeaving(context, edge, unit, clamp(part * 1.6, 0, 1));
    for (const edge of groups.arriving) this.arrive(context, edge, unit, clamp(part * 1.6 - 0.6, 0, 1));
    if (app.pointed) this.line(context, { i: app.pointed[0], j: app.pointed[1] }, css(palette.primary), unit + 3, [2, 4]);
    const base = clamp(24 / Math.sqrt(all.n), 2.2, 6) * app.type;
    for (let i = 0; i < all.n; i++) {
      context.beginPath();
      context.arc(at[i][0], at[i][1], base * (0.85 + 0.12 * Math.sqrt(degrees[i])), 0, 7);
      context.fillStyle = css(palette.text);
      context.fill();
      context.lineWidth = 1.5;
      context.strokeStyle = css(i === this.hover || i === app.node ? palette.primary : palette.background);
      context.stroke();
    }
    this.drawNames(context, palette, degrees, base);
  }

  line(context, { i, j }, colour, width, dash = []) {
    context.beginPath();
    context.moveTo(...this.at[i]);
    context.lineTo(...this.at[j]);
    context.lineWidth = width;
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
  }

  double(context, edge, colour, unit) {
    const { palette } = this.app;
    this.line(context, edge, colour, 2.4 * unit + 1.2);
    this.line(context, edge, css(palette.background), 1.1 * unit);
  }

  /** Fading, dashed, and crossed through; it stays faint as long as its exchange is shown. */
  drawLeaving(context, edge, unit, part) {
    const { app, at } = this;
    const red = pruneColours(app.palette).leaving;
    this.line(context, edge, css(red, lerp(1, PRUNE_GONE, part)), lerp(3.2, 1.9, part) * unit, [7, 5]);
    const [x, y] = [0, 1].map((k) => (at[edge.i][k] + at[edge.j][k]) / 2);
    const arm = 3 + 1.6 * unit;
    context.beginPath();
    for (const slope of [1, -1]) {
      context.moveTo(x - arm, y - arm * slope);
      context.lineTo(x + arm, y + arm * slope);
    }
    context.lineCap = "round";
    for (const [width, colour] of [[5.5, css(app.palette.background)], [2.6, css(red)]]) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
    context.lineCap = "butt";
  }

  /** Growing from its middle, then wide; of the tree, it is drawn double at once. */
  arrive(context, edge, unit, part) {
    if (part === 0) return;
    const { app, at } = this;
    const green = css(pruneColours(app.palette).arriving);
    const ends = [[edge.i, edge.j], [edge.j, edge.i]].map(([a, b]) => [0, 1].map((k) => lerp((at[a][k] + at[b][k]) / 2, at[a][k], smooth(part))));
    const trace = (width, colour) => {
      context.beginPath();
      context.moveTo(...ends[0]);
      context.lineTo(...ends[1]);
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    };
    trace(2.6 * unit + 1.6, green);
    if (app.all.tree.has(pairKey(edge.i, edge.j))) trace(unit, css(app.palette.background));
  }

  drawNames(context, palette, degrees, base) {
    const { app, at, surface } = this;
    const { n } = app.all;
    const size = 12.5 * app.type;
    context.font = `500 ${size}px ${palette.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    const named = new Set([this.hover, app.node, ...(app.pointed ?? [])].filter((i) => i >= 0));
    if (n <= PRUNE_NAMED) for (const i of [...degrees.keys()].sort((a, b) => degrees[b] - degrees[a])) named.add(i);
    const taken = [];
    for (const i of named) {
      const text = shorten(app.all.name(i), 16);
      const half = context.measureText(text).width / 2;
      // Away from the middle, where the edges are.
      const [dx, dy] = [at[i][0] - surface.width / 2, at[i][1] - surface.height / 2];
      const far = Math.hypot(dx / surface.width, dy / surface.height) || 1;
      const x = clamp(at[i][0] + (dx / surface.width / far) * (base * 1.3 + half + 3), half + 3, surface.width - half - 3);
      const y = clamp(at[i][1] + (dy / surface.height / far) * (base * 1.3 + size * 0.72), size / 2, surface.height - size / 2);
      if (i !== this.hover && taken.some((box) => Math.abs(box.x - x) < box.half + half + 2 && Math.abs(box.y - y) < size)) continue;
      taken.push({ x, y, half });
      writeOver(context, palette, text, x, y);
    }
  }

  // --------------------------------------------------------------------------- pointer and words

  pointAt(x, y) {
    this.pointTo(this.nodeAt(x, y));
  }

  chooseAt(x, y) {
    this.pointAt(x, y);
    this.app.chooseNode(this.hover);
  }

  /** By keyboard: the next or previous variable. */
  turn(step) {
    if (this.at.length === 0) return;
    this.pointTo(turned(this.hover, step, this.at.length));
    this.app.say(this.tip.text);
  }

  enter() {
    if (this.hover >= 0) this.app.chooseNode(this.hover);
  }

  leave() {
    this.pointTo(-1);
    this.app.chooseNode(-1);
  }

  /** The edges of the selected variable, those that contribute most first. */
  describeNode() {
    const { node, log, shown, all } = this.app;
    this.chosen.hidden = node < 0;
    if (node < 0) return;
    const own = (log.at(shown)?.rank ?? []).filter(([i, j]) => i === node || j === node).sort((a, b) => b[2] - a[2]);
    const listed = own.slice(0, PRUNE_OWN).map(([i, j, worth]) => `${shorten(all.name(i === node ? j : i), 24)} ${format(worth)}`).join(" · ");
    const more = own.length > PRUNE_OWN ? ` · and ${own.length - PRUNE_OWN} more` : "";
    this.chosen.textContent = `${shorten(all.name(node), 40)}: ${own.length ? `contributions of its edges in nats per row: ${listed}${more}` : "no edges ranked"}`;
  }

  pointTo(i) {
    const { app } = this;
    if (i >= 0) {
      const degree = app.log.edges.filter((edge) => (edge.i === i || edge.j === i) && edge.born <= app.shown && app.shown < edge.died).length;
      this.tip.show(...this.at[i], h("b", {}, isolated(shorten(app.all.name(i), 40))), ` · ${plural(degree, "edge")}`);
    } else this.tip.hide();
    if (i === this.hover) return;
    this.hover = i;
    app.wake();
  }

  describe() {
    const { app } = this;
    const { log, shown, all } = app;
    const record = log.at(shown);
    this.sentence.textContent = record ? record.words : app.opening();
    const notes = record ? [...record.notes] : [];
    if (record?.fallback) notes.unshift("Fallback.");
    this.fallback.textContent = notes.join(" ");
    this.fallback.hidden = notes.length === 0;
    this.describeNode();
    const isEnd = log.finished && shown === log.ready;
    this.stop.textContent = isEnd ? log.trouble || log.outcome.stop_reason : "";
    const gone = log.edges.filter((edge) => edge.died === shown && shown > 0);
    const come = log.edges.filter((edge) => edge.born === shown && shown > 0);
    const { canvas } = this.surface;
    canvas.dataset.leaving = gone.map(({ i, j }) => pairKey(i, j)).join(" ");
    canvas.dataset.arriving = come.map(({ i, j }) => pairKey(i, j)).join(" ");
    canvas.setAttribute("aria-label", `${plural(all.n, "variable")}, ${plural(log.edgesAt(shown), "edge")}, `
      + `${plural(log.edges.filter((edge) => edge.born <= shown && shown < edge.died && all.tree.has(pairKey(edge.i, edge.j))).length, "of them", "of them")} in the Chow–Liu tree; `
      + `${integer(gone.length)} removed (red), ${integer(come.length)} added (green)`);
  }
}

/** Colours of removed and added edges, which also differ in dashes, marks and widths. */
export function pruneColours(palette) {
  return palette.dark ? { leaving: [255, 122, 112], arriving: [64, 208, 150] } : { leaving: [196, 38, 46], arriving: [0, 130, 84] };
}
