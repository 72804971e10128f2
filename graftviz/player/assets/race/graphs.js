// The graphs of all racers side by side, every variable at the same place in each.

import { clamp, css, h, integer, isolated, lineSample, mix, plural, replaceChildren, shorten, Surface } from "../shared/core.js";
import { attachKeys, turned } from "../shared/keys.js";
import { racerSample, racerWords } from "../shared/marks.js";
import { saveButton } from "../shared/save_picture.js";
import { Tip } from "../shared/tip.js";

export class RaceGraphs {
  constructor(app) {
    this.app = app;
    this.tiles = [];
    this.hover = -1;
    this.grid = h("div", { class: "gv-race-graphs" });
    this.keys = h("div", { class: "gv-legend gv-race-keys" });
    this.element = h("section", { class: "gv-saved", "aria-label": "Graphs" }, this.grid, this.keys);
  }

  setRace(log) {
    this.destroy();
    this.hover = -1;
    this.shown = "";
    this.box = this.boxOf(log.header.positions);
    this.tiles = log.racers.map((racer) => this.buildTile(racer));
    this.grid.dataset.racers = log.racers.length;
    this.grid.replaceChildren(...this.tiles.map((tile) => tile.element));
    this.agreedCount = h("b");
    const key = (...parts) => h("span", { class: "gv-key" }, ...parts);
    replaceChildren(this.keys,
      log.racers.length > 1 ? key(lineSample("agreed"), "all racers have it ", this.agreedCount) : null,
      ...(log.truth
        ? [key(lineSample("right"), "true"), key(lineSample("wrong"), "false"), key(lineSample("haze"), "true, missing")]
        : [key(lineSample("plain"), "edge")]), saveButton(this.app, "race"));
  }

  buildTile(racer) {
    const numbers = h("span");
    const badge = h("span", { class: "gv-badge gv-good", hidden: true }, "✓", h("span", { class: "gv-race-done" }, " done"));
    const holder = h("div", { class: "gv-race-stage" });
    const trouble = h("p", { class: "gv-message", dir: "auto", hidden: true });
    const element = h("div", { class: "gv-card gv-race-tile" },
      h("header", {}, racerSample(racer.index), h("h3", { dir: "auto", title: racer.name }, isolated(racerWords(racer.name)))),
      h("p", { class: "gv-race-numbers" }, numbers, badge), trouble, holder);
    const surface = new Surface(holder, () => this.app.wake());
    const tip = new Tip(holder);
    const tile = { racer, numbers, badge, trouble, surface, tip, holder };
    surface.canvas.addEventListener("pointermove", (event) => this.point(tile, event));
    for (const type of ["pointerleave", "blur"]) surface.canvas.addEventListener(type, () => this.leave());
    attachKeys(surface.canvas, { turn: (step) => this.turn(tile, step), leave: () => this.leave() });
    return { ...tile, element };
  }

  destroy() {
    for (const { surface } of this.tiles) surface.destroy();
  }

  boxOf(places) {
    const range = (values) => values.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);
    const [[x0, x1], [y0, y1]] = [range(places.map((p) => p[0])), range(places.map((p) => p[1]))];
    return { x: x0, y: y0, w: Math.max(x1 - x0, 1), h: Math.max(y1 - y0, 1) };
  }

  /** Where a variable lies on a surface: the same share of width and height in every tile. */
  placer({ width, height }) {
    const { box } = this;
    const margin = 10;
    let [sx, sy] = [(width - 2 * margin) / box.w, (height - 2 * margin) / box.h];
    // Maps and grids keep their shape within reason; other layouts may fill a wide tile.
    const stretch = this.app.log.header.given ? 1.2 : 2.2;
    sx = Math.min(sx, stretch * sy);
    sy = Math.min(sy, stretch * sx);
    const [left, top] = [(width - sx * box.w) / 2, (height - sy * box.h) / 2];
    const places = this.app.log.header.positions;
    return (i) => [left + (places[i][0] - box.x) * sx, top + (places[i][1] - box.y) * sy];
  }

  // ------------------------------------------------------------------------------------ drawing

  draw() {
    const { log, palette, places } = this.app;
    const sizes = this.tiles.map(({ surface }) => `${surface.width}x${surface.height}x${surface.ratio}`);
    const shown = JSON.stringify([places, log.running.length, this.hover, palette, sizes, window.devicePixelRatio]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.agreed = log.running.length > 1 ? log.agreed(places) : new Set();
    this.agreedCount.textContent = integer(this.agreed.size);
    for (const tile of this.tiles) {
      const context = tile.surface.begin();
      if (context) this.drawTile(context, tile, palette, places[tile.racer.index]);
    }
  }

  drawTile(context, { racer, surface }, palette, k) {
    const { log } = this.app;
    const place = this.placer(surface);
    const at = Array.from({ length: log.n }, (_, i) => place(i));
    const degrees = new Uint16Array(log.n);
    const groups = { right: [], wrong: [], plain: [], agreed: [] };
    const held = new Set();
    for (let e = 0; e < racer.sources.length; e++) {
      if (!racer.isActive(e, k)) continue;
      const [i, j] = [racer.sources[e], racer.targets[e]];
      const key = racer.key(i, j);
      degrees[i]++;
      degrees[j]++;
      held.add(key);
      groups[log.truth ? (log.truth.has(key) ? "right" : "wrong") : "plain"].push([i, j]);
      if (this.agreed.has(key)) groups.agreed.push([i, j]);
    }
    const thin = clamp(16 / Math.sqrt(log.n), 0.9, 2);
    if (log.truth) {
      const missing = log.header.truth.filter(([i, j]) => !held.has(racer.key(i, j)));
      this.stroke(context, at, missing, css(palette.muted, palette.dark ? 0.3 : 0.26), 0.7, []);
    }
    this.stroke(context, at, groups.agreed, css(palette.muted), thin + 5, []);
    this.stroke(context, at, groups.agreed, css(mix(palette.background, palette.text, 0.16)), thin + 3.6, []);
    for (const kind of ["plain", "right", "wrong"]) {
      this.stroke(context, at, groups[kind], css(palette[kind], 0.9), thin, kind === "wrong" ? [4, 2.5] : []);
    }
    const base = clamp(22 / Math.sqrt(log.n), 1.3, 3.4);
    context.fillStyle = css(palette.text, 0.88);
    for (let i = 0; i < log.n; i++) {
      context.beginPath();
      context.arc(at[i][0], at[i][1], base * (1 + 0.16 * Math.sqrt(degrees[i])), 0, 7);
      context.fill();
    }
    if (this.hover >= 0) {
      context.beginPath();
      context.arc(at[this.hover][0], at[this.hover][1], base + 6, 0, 7);
      context.lineWidth = 2.2;
      context.strokeStyle = css(palette.primary);
      context.stroke();
    }
  }

  stroke(context, at, edges, colour, width, dash) {
    if (edges.length === 0) return;
    context.beginPath();
    for (const [i, j] of edges) {
      context.moveTo(at[i][0], at[i][1]);
      context.lineTo(at[j][0], at[j][1]);
    }
    context.lineWidth = width;
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
  }

  // -------------------------------------------------------------------------------------- words

  describe() {
    const { log, places } = this.app;
    for (const { racer, numbers, badge, trouble, surface } of this.tiles) {
      const moment = racer.moments[places[racer.index]];
      badge.hidden = !racer.takesPart || !racer.isAtEnd(places[racer.index]);
      trouble.hidden = racer.trouble === "";
      trouble.textContent = racer.trouble;
      const parts = moment ? [plural(moment.edges, "edge"),
        log.truth && `recall ${score(moment.recall)}`, log.truth && `precision ${score(moment.precision)}`] : ["waiting for its first step"];
      numbers.hidden = !moment && racer.trouble !== "";
      numbers.textContent = parts.filter(Boolean).join(" · ");
      surface.canvas.setAttribute("aria-label", `Graph of ${racer.name}: ${numbers.textContent}`);
    }
  }

  // -------------------------------------------------------------------------------------- hover

  point(tile, event) {
    const { log } = this.app;
    const box = tile.surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const place = this.placer(tile.surface);
    let [best, gap] = [-1, 14];
    for (let i = 0; i < log.n; i++) {
      const [px, py] = place(i);
      const distance = Math.hypot(px - x, py - y);
      if (distance < gap) [best, gap] = [i, distance];
    }
    this.pointTo(tile, best, x, y);
  }

  /** By keyboard: the next or the last variable. */
  turn(tile, step) {
    const i = turned(this.hover, step, this.app.log.n);
    this.pointTo(tile, i, ...this.placer(tile.surface)(i));
    this.app.say(tile.tip.text);
  }

  pointTo(tile, best, x, y) {
    const { log, places } = this.app;
    if (best !== this.hover) {
      this.hover = best;
      this.app.wake();
    }
    for (const { tip } of this.tiles) tip.hide();
    if (best < 0) return;
    const { racer } = tile;
    const degree = racer.sources.filter((i, e) => (i === best || racer.targets[e] === best) && racer.isActive(e, places[racer.index])).length;
    tile.tip.show(x, y, h("b", {}, isolated(shorten(log.header.names[best], 40))), ` · ${plural(degree, "edge")} here`);
  }

  leave() {
    for (const { tip } of this.tiles) tip.hide();
    if (this.hover >= 0) {
      this.hover = -1;
      this.app.wake();
    }
  }
}

const score = (x) => (x === null || x === undefined ? "–" : x.toFixed(2));
