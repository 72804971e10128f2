// The influence network: an arrow from each parent to its series; seeds are squares.

import { clamp, css, h, integer, isolated, lerp, plural, replaceChildren, shorten, writeOver } from "../shared/core.js";
import { GraphCard } from "../shared/graph_card.js";
import { turned } from "../shared/keys.js";
import { zoomButtons } from "../shared/zoom_buttons.js";

export const DYNAMICS_ENTRY = 0.45; // seconds of the animation of a row
const NETWORK_MOST = 700; // largest number of arrows drawn, the strongest ones
const NETWORK_ROOM = 40; // px between nodes from which on all names are shown
const NETWORK_SPARE = 3; // rejected candidates shown, besides the chosen ones

export class DynamicsNetwork extends GraphCard {
  constructor(app) {
    super(app);
    this.count = h("span", { class: "gv-count" });
    this.keys = h("div", { class: "gv-legend" });
    this.silent = h("p", { class: "gv-muted gv-dynamics-silent", dir: "auto", hidden: true });
    this.element = h("section", { class: "gv-card gv-graph gv-dynamics-network", "aria-label": "Influence network" },
      this.holder, h("footer", {}, h("div", {}, this.keys, this.count, this.silent), zoomButtons(this, app, "network")));
  }

  // ------------------------------------------------------------------------------ places, camera

  project() {
    const { width, height } = this.surface;
    this.place([clamp(width * 0.07, 24, 56), clamp(height * 0.07, 22, 34)], this.app.log.graph.given ? 1.3 : 2);
    this.unit = clamp(0.16 * this.spacing, 2.4, 8.5 * this.app.type);
  }

  // ------------------------------------------------------------------------------------- pointer

  pointAt(x, y) {
    const node = this.app.log && Number.isFinite(x) ? this.nodeAt(x, y) : -1;
    this.surface.canvas.classList.toggle("gv-pointing", node >= 0);
    this.app.pointTo(node);
    if (node < 0) return this.tip.hide();
    const { log, shown } = this.app;
    const row = log.rowOf(node, shown);
    const kind = { seed: " · seed", unspoken: " · without a seed" }[log.kindOf(node)] ?? "";
    return this.tip.show(x, y, h("b", {}, isolated(shorten(log.name(node), 40))), `${kind} · ${row ? plural(row.parents.length, "parent") : "row not learned yet"}`);
  }

  chooseAt(x, y) {
    const node = this.nodeAt(x, y);
    if (node >= 0) this.app.choose(node);
    else this.leave();
  }

  leave() {
    if (this.app.chosen !== null) this.app.choose(null);
  }

  /** By keyboard: the next or previous series. */
  turn(step) {
    const { app } = this;
    if (app.log) app.choose(turned(app.chosen ?? -1, step, app.log.n));
  }

  // ------------------------------------------------------------------------------------- drawing

  draw() {
    const context = this.surface.begin();
    const { app } = this;
    if (!context || !app.log) return;
    this.project();
    const { palette, log, shown, chosen } = app;
    const found = chosen === null || !log.run.seeded ? null : log.evidence(chosen, shown);
    this.drawArrows(context, palette, log, shown, chosen, found);
    if (found && found.voters.length && log.kindOf(chosen) !== "seed") this.drawEvidence(context, palette, found);
    this.drawNodes(context, palette, log, shown, chosen);
    this.drawNames(context, palette, log, shown, chosen, found);
  }

  /** Arrows to draw at a step: the strongest, those of the newest row and of the selected series. */
  visible(log, shown, chosen) {
    const all = log.edges.slice(0, log.edgesAt(shown));
    if (all.length <= NETWORK_MOST) return all;
    const least = all.map(({ size }) => Math.abs(size)).sort((a, b) => b - a)[NETWORK_MOST];
    return all.filter(({ size, source, target, born }) => Math.abs(size) > least || born === shown || source === chosen || target === chosen);
  }

  drawArrows(context, palette, log, shown, chosen, found) {
    const entry = this.app.entry;
    const hasEvidence = found && found.voters.length > 0 && log.kindOf(chosen) !== "seed";
    const edges = this.visible(log, shown, chosen);
    const crowd = clamp(260 / Math.max(edges.length, 1), 0.22, 0.8);
    for (const edge of edges) {
      const isNew = edge.born === shown && chosen === null;
      const isOwn = chosen !== null && !hasEvidence && (edge.target === chosen || edge.source === chosen);
      const strength = clamp(Math.abs(edge.size) / log.full, 0.08, 1);
      const colour = edge.value < 0 ? palette.repel : palette.attract;
      const alpha = chosen === null ? (isNew ? 1 : crowd) : isOwn ? (edge.target === chosen ? 1 : 0.5) : 0.09;
      const width = (0.7 + 2.6 * strength) * Math.min(1, this.unit / 4.5);
      if (isNew) {
        for (const [glow, wider] of [[palette.rim, 5.5], [palette.step, 4]]) this.arrow(context, edge.source, edge.target, css(glow), width + wider, entry, false);
      }
      this.arrow(context, edge.source, edge.target, css(colour, alpha), width, isNew ? entry : 1);
    }
  }

  /** Control point of an arrow, and its end at the rim of the target. */
  bend(source, target) {
    const [[x, y], [a, b]] = [this.at[source], this.at[target]];
    const [cx, cy] = [(x + a) / 2 - 0.13 * (b - y), (y + b) / 2 + 0.13 * (a - x)];
    const length = Math.hypot(a - cx, b - cy) || 1;
    const rim = this.unit + 2.5;
    return { from: [x, y], by: [cx, cy], to: [a - ((a - cx) / length) * rim, b - ((b - cy) / length) * rim], way: [(a - cx) / length, (b - cy) / length] };
  }

  arrow(context, source, target, colour, width, share = 1, head = true) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = width;
    if (source === target) return this.loop(context, source);
    const { from, by, to, way } = this.bend(source, target);
    const mid = [0, 1].map((k) => lerp(from[k], by[k], share));
    const end = [0, 1].map((k) => lerp(mid[k], lerp(by[k], to[k], share), share));
    const size = head && share > 0.6 ? clamp(2.6 + 1.7 * width, 3.2, 9) : 0;
    context.beginPath();
    context.moveTo(...from);
    context.quadraticCurveTo(...mid, end[0] - way[0] * size * 0.8, end[1] - way[1] * size * 0.8);
    context.stroke();
    if (!size) return undefined;
    context.beginPath();
    context.moveTo(...end);
    for (const side of [1, -1]) context.lineTo(end[0] - way[0] * size * 1.5 + side * way[1] * size * 0.72, end[1] - way[1] * size * 1.5 - side * way[0] * size * 0.72);
    context.fill();
    return undefined;
  }

  /** A ring marks a series that drives itself. */
  loop(context, node) {
    const [x, y] = this.at[node];
    const radius = this.unit * 0.95;
    context.beginPath();
    context.arc(x + this.unit * 1.15, y - this.unit * 1.15, radius, 0, 7);
    context.stroke();
    return undefined;
  }

  /** For the selected series: the seeds it drives, and their two-step ancestors. */
  drawEvidence(context, palette, { j, voters, ranked }) {
    for (const seed of voters) if (seed !== j) this.arrow(context, j, seed, css(palette.region, 0.9), 3);
    const spare = ranked.filter(({ taken }) => !taken).slice(0, NETWORK_SPARE);
    const top = ranked.length ? ranked[0].score : 1;
    for (const { u, score, taken, isTrue } of [...spare, ...ranked.filter((one) => one.taken)]) {
      context.setLineDash(taken ? [7, 4] : [1.5, 4]);
      const colour = taken ? (isTrue === false ? palette.wrong : isTrue ? palette.right : palette.text) : palette.muted;
      this.arrow(context, u, j, css(colour, taken ? 0.95 : 0.7), 1 + 3 * (score / top));
      context.setLineDash([]);
    }
  }

  drawNodes(context, palette, log, shown, chosen) {
    const { hover } = this.app;
    const newest = shown > 0 ? log.rows[shown - 1].node : -1;
    for (let i = 0; i < log.n; i++) {
      const [x, y] = this.at[i];
      const known = log.born[i] > 0 && log.born[i] <= shown;
      const kind = log.kindOf(i);
      const size = this.unit * (kind === "seed" ? 1.02 : 1);
      if (i === newest && chosen === null) this.halo(context, x, y, css(palette.step), css(palette.rim));
      if (i === chosen) this.halo(context, x, y, css(palette.primary));
      context.beginPath();
      if (kind === "seed") context.rect(x - size * 0.9, y - size * 0.9, 1.8 * size, 1.8 * size);
      else if (kind === "unspoken" && known) {
        context.moveTo(x, y - 1.25 * size);
        for (const [a, b] of [[1.25, 0], [0, 1.25], [-1.25, 0]]) context.lineTo(x + a * size, y + b * size);
        context.closePath();
      } else context.arc(x, y, size, 0, 7);
      const colour = kind === "seed" ? palette.text : kind === "unspoken" ? palette.precision : palette.plain;
      context.fillStyle = css(known ? (i === hover ? palette.primary : colour) : palette.background);
      context.fill();
      context.lineWidth = known ? 1.5 : 1.6;
      context.strokeStyle = css(known ? palette.background : kind === "seed" ? palette.text : palette.faint);
      context.stroke();
    }
  }

  halo(context, x, y, colour, rim = colour) {
    context.beginPath();
    context.arc(x, y, this.unit * 1.75 + 2, 0, 7);
    context.fillStyle = colour;
    context.fill();
    context.lineWidth = 1.2;
    context.strokeStyle = rim;
    context.stroke();
  }

  drawNames(context, palette, log, shown, chosen, found) {
    const { hover } = this.app;
    const newest = shown > 0 ? log.rows[shown - 1] : null;
    const first = [chosen, hover, ...(chosen === null && newest ? [newest.node] : [])].filter((i) => i !== null && i >= 0);
    const near = found && found.voters.length ? [...found.voters, ...found.ranked.filter(({ taken }) => taken).map(({ u }) => u)]
      : log.rowOf(chosen ?? newest?.node ?? 0, shown)?.parents ?? [];
    const all = this.spacing >= NETWORK_ROOM ? [...log.graph.names.keys()] : [];
    const size = 11.5 * this.app.type;
    context.font = `500 ${size}px ${palette.font}`;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.lineJoin = "round";
    const taken = [];
    for (const i of new Set([...first, ...near.slice(0, 14), ...all])) {
      const text = shorten(log.name(i), 18);
      const half = context.measureText(text).width / 2 + 2;
      const x = clamp(this.at[i][0], half + 2, this.surface.width - half - 2);
      // Above the node, or below it if there is room.
      const rows = [-this.unit - 5, this.unit + size + 1].map((by) => clamp(this.at[i][1] + by, size + 1, this.surface.height - 3));
      const free = rows.find((row) => !taken.some(([a, b, w]) => Math.abs(a - x) < w + half && Math.abs(b - row) < size));
      if (free === undefined && !first.includes(i)) continue;
      const y = free ?? rows[0];
      taken.push([x, y, half]);
      writeOver(context, palette, text, x, y);
    }
  }

  get moving() {
    return !this.app.still && this.app.age < DYNAMICS_ENTRY;
  }

  // --------------------------------------------------------------------------------------- words

  describe() {
    const { log, shown, chosen } = this.app;
    const total = log.edgesAt(shown);
    const drawn = Math.min(total, NETWORK_MOST);
    this.count.textContent = drawn < total ? `${integer(drawn)} strongest of ${integer(total)} arrows` : "";
    this.describeKeys(log, shown, chosen);
    const silent = log.unspoken(shown);
    this.silent.hidden = silent.length === 0;
    this.silent.title = silent.map((i) => log.name(i)).join(", ");
    const named = silent.slice(0, 6).map((i) => shorten(log.name(i), 24)).join(", ");
    this.silent.textContent = silent.length ? `Series without a seed: ${named}${silent.length > 6 ? ` and ${silent.length - 6} more` : ""}.` : "";
    this.surface.canvas.setAttribute("aria-label",
      `Influence network of ${plural(log.n, "series", "series")}: ${plural(total, "arrow")}, ${plural(Math.min(shown, log.ready), "row")} learned, `
      + `${plural(log.seeds.filter(({ born }) => born <= shown).length, "seed")}.`);
  }

  describeKeys(log, shown, chosen) {
    const hasEvidence = chosen !== null && log.run.seeded && log.kindOf(chosen) !== "seed" && log.evidence(chosen, shown).voters.length > 0;
    const state = `${hasEvidence} ${log.run.seeded} ${log.truth !== null}`;
    if (state === this.keyState) return;
    this.keyState = state;
    const key = (sample, text) => h("span", { class: "gv-key" }, h("i", { class: sample, "aria-hidden": "true" }), text);
    const seed = log.run.seeded ? [key("gv-dynamics-seed", "seed"), key("gv-dynamics-unspoken", "series without a seed")] : [];
    const ofEvidence = [key("gv-line gv-dynamics-voice", "drives this seed"),
      ...(log.truth ? [key("gv-line gv-dynamics-taken gv-dynamics-right", "two-step ancestor: chosen, true"), key("gv-line gv-dynamics-taken gv-dynamics-wrong", "chosen, false")]
        : [key("gv-line gv-dynamics-taken", "two-step ancestor: chosen")]),
      key("gv-line gv-dynamics-passed", "not chosen")];
    const plain = [key("gv-line gv-dynamics-plus", "positive"), key("gv-line gv-dynamics-minus", "negative"), key("gv-dynamics-loop", "drives itself")];
    replaceChildren(this.keys, ...(hasEvidence ? ofEvidence : plain), ...seed);
  }
}
