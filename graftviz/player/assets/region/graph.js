// The graph around the query: the region, its cut edges, and the candidates.

import { brief, clamp, css, h, isolated, lerp, mix, plural, replaceChildren, shorten, smooth, viridis, writeOver } from "../shared/core.js";
import { GraphCard } from "../shared/graph_card.js";
import { turned } from "../shared/keys.js";
import { zoomButtons } from "../shared/zoom_buttons.js";
import { boundText, chance } from "./log.js";

const JOIN_SECONDS = 0.45; // animation of an added node
const FLASH_SECONDS = 1.1;
const NAME_ROOM = 56; // px between nodes from which on all names are shown
const LABEL_ROOM = 23; // px between nodes from which on the bound of every candidate is shown

export class RegionGraph extends GraphCard {
  constructor(app) {
    super(app);
    this.keys = h("div", { class: "gv-legend" });
    this.element = h("div", { class: "gv-card gv-graph gv-region-graph" }, this.holder, h("footer", {}, this.keys, zoomButtons(this, app, "region")));
    this.buildLegend();
  }

  buildLegend() {
    this.low = h("span");
    this.high = h("span");
    const key = (sample, text, title) => h("span", { class: "gv-key", title }, h("i", { class: `gv-region-key ${sample}`, "aria-hidden": "true" }), h("span", {}, text));
    this.ramp = h("span", { class: "gv-key", title: "Bound if this neighbour is added to the region" },
      "candidate: bound if added ", this.low, h("i", { class: "gv-ramp", "aria-hidden": "true" }), this.high);
    this.plainKey = key("gv-region-rim", "candidate", "Neighbour of the region");
    this.noneKey = key("gv-region-vacuous", "candidate: vacuous bound", "The bound stays vacuous if this neighbour is added to the region");
    this.feltKey = key("gv-region-felt", "outside (darker: more influence on the query)", "Upper bound on the influence of a variable on the query");
    replaceChildren(this.keys, key("gv-region-query", "query", "The variable whose marginal is computed"),
      key("gv-region-inside", "in the region", "Only these variables are used"),
      key("gv-region-cut", "cut edges", "Edges that leave the region: dropped, or replaced by a field"),
      this.ramp, this.plainKey, this.noneKey, this.feltKey);
  }

  // ------------------------------------------------------------------------------ places, camera

  setGraph(graph) {
    this.graph = graph;
    this.setPositions(graph.positions);
  }

  project() {
    const { width, height } = this.surface;
    const margin = clamp(Math.min(width, height) * 0.05, 14, 34) + (this.graph.names.length <= 60 && !this.graph.given ? 24 : 0);
    this.place([margin, margin], this.graph.given ? 1.25 : 1.5);
    this.unit = clamp(0.27 * this.spacing, 2.2, 13 * this.app.type);
  }

  // ------------------------------------------------------------------------------------ pointing

  get near() {
    return clamp(0.75 * this.spacing, 11, 26);
  }

  chooseAt(x, y) {
    const i = this.graph ? this.nodeAt(x, y) : -1;
    if (i < 0) return;
    this.leave();
    this.app.ask(i);
  }

  pointAt(x, y) {
    this.pointTo(this.graph ? this.nodeAt(x, y) : -1, x, y);
  }

  /** By keyboard: the next or previous variable; Enter queries it. */
  turn(step) {
    if (!this.graph || !this.app.log) return;
    const i = turned(this.hover < 0 ? this.app.log.region.query : this.hover, step, this.graph.names.length);
    this.pointTo(i, ...this.at[i]);
    this.app.say(this.tip.text.replace("click", "press Enter"));
  }

  enter() {
    if (this.hover >= 0) this.app.ask(this.hover);
  }

  leave() {
    this.pointTo(-1);
  }

  pointTo(i, x, y) {
    if (i !== this.hover) {
      this.hover = i;
      this.surface.canvas.classList.toggle("gv-pointing", i >= 0);
      this.app.wake();
    }
    if (i < 0) return this.tip.hide();
    const { log, shown } = this.app;
    const step = log.steps[shown];
    const place = step.candidates.indexOf(i);
    const fact = i === log.region.query ? "query"
      : log.has(i, shown) ? `in the region since step ${log.joined[i]}`
        : place < 0 ? "outside the region · click to query"
          : !log.region.asksAll ? "candidate; this rule does not compute its bound"
          : step.bounds[place] === null ? "candidate; the bound stays vacuous if added"
            : `candidate; bound if added: ${boundText(step.bounds[place])}`;
    return this.tip.show(x, y, h("b", {}, isolated(shorten(this.graph.names[i], 40))), ` · ${fact}`);
  }

  // ------------------------------------------------------------------------------------- drawing

  /** Whether the animation of the newest node runs. */
  get moving() {
    return !this.app.still && this.app.age < FLASH_SECONDS;
  }

  draw() {
    const context = this.surface.begin();
    const { log, palette } = this.app;
    if (!context || !log) return;
    this.project();
    this.k = this.app.shown;
    this.step = log.steps[this.k];
    this.entry = this.app.still || this.k === 0 ? 1 : smooth(clamp(this.app.age / JOIN_SECONDS, 0, 1));
    this.drawEdges(context, palette, log);
    this.drawBody(context, palette, log);
    this.drawCuts(context, palette, log);
    this.drawOutside(context, palette, log);
    this.drawInside(context, palette, log);
    this.drawCandidates(context, palette, log);
    this.drawNames(context, palette, log);
    if (this.hover >= 0) this.ring(context, this.hover, this.unit + 3, 2, css(palette.text));
  }

  line(context, i, j) {
    context.moveTo(...this.at[i]);
    context.lineTo(...this.at[j]);
  }

  drawEdges(context, palette, log) {
    const { edges, norms, largest } = this.graph;
    // A few widths, each drawn at once: stroking thousands of lines one by one is slow.
    const groups = Array.from({ length: 5 }, () => []);
    edges.forEach(([i, j], e) => {
      if (log.has(i, this.k) && log.has(j, this.k)) return;
      groups[Math.min(4, Math.floor((5 * norms[e]) / largest))].push([i, j]);
    });
    groups.forEach((group, g) => {
      context.beginPath();
      for (const [i, j] of group) this.line(context, i, j);
      context.lineWidth = 0.6 + 0.35 * g;
      context.strokeStyle = css(palette.muted, 0.13 + 0.09 * g);
      context.stroke();
    });
  }

  /** The region as one body: wide round strokes along its inner edges, stroked as a single path. */
  drawBody(context, palette, log) {
    context.beginPath();
    for (const { added } of log.steps.slice(0, this.k + 1)) {
      const [x, y] = this.at[added];
      const from = log.from[added];
      const [fx, fy] = from < 0 ? [x, y] : this.at[from];
      const f = added === this.step.added ? this.entry : 1;
      context.moveTo(fx, fy);
      context.lineTo(lerp(fx, x, f) + 0.01, lerp(fy, y, f));
      for (const j of this.graph.neighbours[added]) {
        if (log.joined[j] < log.joined[added] && f === 1) this.line(context, added, j);
      }
    }
    context.lineCap = context.lineJoin = "round";
    context.lineWidth = Math.min(this.spacing * 0.92, 6.5 * this.unit, 54 * this.app.type) || 12;
    context.strokeStyle = css(palette.objective, palette.dark ? 0.34 : 0.2);
    context.stroke();
    context.lineCap = "butt";
    context.beginPath();
    for (const [i, j] of this.graph.edges) {
      if (log.has(i, this.k) && log.has(j, this.k)) this.line(context, i, j);
    }
    context.lineWidth = clamp(this.unit * 0.28, 1.4, 3);
    context.strokeStyle = css(palette.text, 0.75);
    context.stroke();
  }

  drawCuts(context, palette, log) {
    context.beginPath();
    for (const i of this.step.boundary) {
      for (const j of this.graph.neighbours[i]) {
        if (!log.has(j, this.k)) this.line(context, i, j);
      }
    }
    context.lineWidth = clamp(this.unit * 0.26, 1.3, 2.6);
    context.setLineDash([3, 3.5]);
    context.strokeStyle = css(palette.wrong);
    context.stroke();
    context.setLineDash([]);
  }

  /** Nodes outside the region: darker with more influence on the query. */
  drawOutside(context, palette, log) {
    const { influence } = log.region;
    const levels = Array.from({ length: 6 }, () => []);
    for (let i = 0; i < log.n; i++) {
      if (log.has(i, this.k)) continue;
      levels[influence ? Math.round((5 * influence[i]) / 255) : 2].push(i);
    }
    levels.forEach((nodes, level) => {
      context.beginPath();
      const size = this.unit * (influence ? 0.5 + 0.07 * level : 0.62);
      for (const i of nodes) this.disc(context, i, size);
      context.fillStyle = css(mix(palette.background, palette.text, influence ? 0.16 + 0.09 * level : 0.32));
      context.fill();
    });
  }

  drawInside(context, palette, log) {
    const { query } = log.region;
    const added = this.step.added;
    if (this.k > 0) this.flash(context, palette, added);
    context.beginPath();
    for (const { added: i } of log.steps.slice(1, this.k + 1)) this.disc(context, i, this.unit * (i === added ? this.entry : 1));
    context.fillStyle = css(palette.text);
    context.fill();
    if (this.k > 0) this.ring(context, added, this.unit + 2.5, 2.2, css(palette.rim));
    this.star(context, query, this.unit * 1.85);
    context.lineJoin = "round";
    context.lineWidth = 2.2;
    context.strokeStyle = css(palette.text);
    context.fillStyle = css(palette.step);
    context.fill();
    context.stroke();
  }

  flash(context, palette, i) {
    const left = this.app.still ? 0 : 1 - clamp(this.app.age / FLASH_SECONDS, 0, 1);
    if (left <= 0) return;
    context.beginPath();
    this.disc(context, i, this.unit * (1.4 + 1.8 * (1 - left)) + 4);
    context.fillStyle = css(palette.step, 0.6 * left);
    context.fill();
  }

  drawCandidates(context, palette, log) {
    const { candidates, bounds } = this.step;
    const size = this.unit * 0.95;
    const best = bounds.reduce((at, b, m) => (b !== null && (at < 0 || b < bounds[at]) ? m : at), -1);
    candidates.forEach((i, m) => {
      context.beginPath();
      this.disc(context, i, size);
      context.fillStyle = bounds[m] === null ? css(palette.background) : viridis(0.06 + 0.94 * log.promise(bounds[m]));
      context.fill();
      if (bounds[m] === null && log.region.asksAll) this.hatch(context, palette, i, size);
      context.lineWidth = m === best ? 2.6 : 1.1;
      context.strokeStyle = css(palette.text, m === best ? 1 : 0.8);
      context.stroke();
    });
    this.drawBounds(context, palette, best);
  }

  /** Bounds as numbers: all of them where there is room, else the smallest. */
  drawBounds(context, palette, best) {
    const { candidates, bounds } = this.step;
    const order = bounds.map((b, m) => m).filter((m) => bounds[m] !== null).sort((a, b) => bounds[a] - bounds[b]);
    const size = clamp(this.unit * 1.35, 10, 14 * this.app.type);
    const roomy = this.spacing >= LABEL_ROOM;
    context.lineJoin = "round";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const m of order.slice(0, roomy ? 60 : 3).reverse()) {
      const [x, y] = this.at[candidates[m]];
      context.font = `${m === best ? 700 : 500} ${size}px ${palette.font}`;
      const below = y + this.unit + size * 0.62;
      writeOver(context, palette, brief(bounds[m]), x, below);
    }
  }

  /** All names where there is room; else, in graphs without given positions, the query and the newest node. */
  drawNames(context, palette, log) {
    const all = this.spacing >= NAME_ROOM * this.app.type;
    if (!all && this.graph.given) return;
    const named = all ? this.graph.names.keys() : new Set([log.region.query, this.step.added]);
    context.font = `500 ${12 * this.app.type}px ${palette.font}`;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    for (const i of named) {
      const [x, y] = this.at[i];
      const text = shorten(this.graph.names[i], 18);
      const half = context.measureText(text).width / 2;
      const at = [clamp(x, half + 3, this.surface.width - half - 3), Math.max(y - this.unit * (i === log.region.query ? 1.9 : 1) - 6, 12 * this.app.type)];
      writeOver(context, palette, text, ...at);
    }
  }

  disc(context, i, radius) {
    const [x, y] = this.at[i];
    context.moveTo(x + radius, y);
    context.arc(x, y, Math.max(radius, 0), 0, 7);
  }

  ring(context, i, radius, width, colour) {
    context.beginPath();
    this.disc(context, i, radius);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }

  hatch(context, palette, i, radius) {
    const [x, y] = this.at[i];
    context.save();
    context.clip();
    context.beginPath();
    for (let d = -2 * radius; d <= 2 * radius; d += 3.4) {
      context.moveTo(x + d - radius, y + radius);
      context.lineTo(x + d + radius, y - radius);
    }
    context.lineWidth = 1.1;
    context.strokeStyle = css(palette.muted);
    context.stroke();
    context.restore();
    context.beginPath();
    this.disc(context, i, radius);
  }

  star(context, i, radius) {
    const [x, y] = this.at[i];
    context.beginPath();
    for (let corner = 0; corner < 10; corner++) {
      const angle = (Math.PI * corner) / 5 - Math.PI / 2;
      const far = Math.max(radius, 7) * (corner % 2 ? 0.46 : 1);
      context.lineTo(x + far * Math.cos(angle), y + far * Math.sin(angle));
    }
    context.closePath();
  }

  describe() {
    const { log, shown } = this.app;
    const step = log.steps[shown];
    const some = step.bounds.some((b) => b !== null);
    this.ramp.hidden = !log.steps.some(({ bounds }) => bounds.some((b) => b !== null));
    this.plainKey.hidden = log.region.asksAll;
    this.feltKey.hidden = !log.region.influence;
    this.noneKey.hidden = !log.region.asksAll || !log.steps.some(({ bounds }) => bounds.some((b) => b === null));
    this.low.textContent = chance(Number(log.most.toPrecision(2)));
    this.high.textContent = chance(Number(log.least.toPrecision(2)));
    const left = `${plural(step.candidates.length, "candidate")}${some || !step.candidates.length ? "" : ", all with vacuous bounds"}`;
    this.surface.canvas.setAttribute("aria-label",
      `Graph of ${plural(log.n, "variable")}; ${shown + 1} of them in the region around ${log.name(log.region.query)}; ${left}. ${step.words}`);
  }
}
