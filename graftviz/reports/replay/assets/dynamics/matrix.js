// The matrix A: a row for each target, a column for each source; the true matrix beside it.

import { Chart } from "../shared/chart.js";
import { brief, clamp, css, diverging, format, h, integer, isolated, plural, replaceChildren, shorten } from "../shared/core.js";
import { attachKeys } from "../shared/keys.js";
import { Ramp } from "../shared/legend.js";

const MATRIX_GAP = 26; // px between two matrices
const MATRIX_EDGE = 18; // px for the labels at the edges
const MATRIX_LINES = 240; // pixel lines; in larger matrices several rows share a line

export class DynamicsMatrix extends Chart {
  constructor(app) {
    super(app, "gv-dynamics-matrix-stage");
    this.read = h("p", { class: "gv-small gv-dynamics-read", dir: "auto" });
    this.notes = h("p", { class: "gv-muted", dir: "auto" });
    this.ramp = new Ramp("", "Standardised coefficients", "gv-dynamics-ramp");
    this.card("gv-dynamics-matrix", "Matrix A", "matrix", [h("h3", {}, "Matrix A"), this.ramp.element], this.holder, this.read, this.notes);
    attachKeys(this.canvas, this);
    this.on("pointermove", (x, y) => this.pointTo(this.find(x, y)));
    this.on("pointerleave", () => this.pointTo(null));
    this.on("pointerdown", (x, y) => {
      const cell = this.find(x, y);
      if (cell) app.choose(cell.i);
    });
    this.cell = null;
    this.built = {};
  }

  // ------------------------------------------------------------------------------------ pictures

  /** The picture of the learned and of the true matrix, with one pixel for each entry, or for a few. */
  get pictures() {
    const { log, palette } = this.app;
    const { count } = log;
    if (this.built.log !== log || this.built.count !== count || this.built.palette !== palette) {
      const learned = log.rows.map(({ node, parents, weights }) => [node, parents.map((u, p) => [u, log.sized(node, u, weights[p])])]);
      const rows = { learned, true: log.truth && [...log.truth.entries()] };
      this.built = { log, count, palette, learned: this.picture(rows.learned), true: rows.true && this.picture(rows.true) };
    }
    return this.built;
  }

  picture(rows) {
    const { log, palette } = this.app;
    const lines = this.lineOf(log.n);
    const canvas = h("canvas", { width: lines, height: lines });
    const context = canvas.getContext("2d");
    context.fillStyle = css(palette.background);
    context.fillRect(0, 0, lines, lines);
    for (const [i, entries] of rows) {
      for (const [u, size] of entries) {
        context.fillStyle = css(diverging(clamp(size / log.full, -1, 1), palette));
        context.fillRect(this.lineOf(u), this.lineOf(i), 1, 1);
      }
    }
    return canvas;
  }

  lineOf(i) {
    return Math.floor((i * Math.min(this.app.log.n, MATRIX_LINES)) / this.app.log.n);
  }

  /** Left, top and side of each matrix. */
  frames() {
    const { width, height } = this;
    const kinds = this.app.log.truth ? ["learned", "true"] : ["learned"];
    const edge = MATRIX_EDGE * this.app.type;
    const space = (width - 8 - MATRIX_GAP * (kinds.length - 1)) / kinds.length;
    const side = Math.max(20, Math.min(space - edge, height - edge - 3));
    const start = (width - kinds.length * (side + edge) - MATRIX_GAP * (kinds.length - 1)) / 2 + edge;
    return kinds.map((kind, k) => [start + k * (side + edge + MATRIX_GAP), edge, side, kind]);
  }

  paint(context, palette) {
    const { log, shown, chosen } = this.app;
    context.imageSmoothingEnabled = false;
    for (const [left, top, side, kind] of this.frames()) {
      const unit = side / log.n;
      const frame = (x, y, width, height, colour, line) => {
        context.beginPath();
        context.rect(x - line / 2, y - line / 2, width + line, height + line);
        this.stroke(css(colour), line);
      };
      context.drawImage(this.pictures[kind], left, top, side, side);
      if (kind === "learned") this.coverUnlearned(context, left, top, side);
      frame(left, top, side, side, palette.faint, 1);
      const newest = shown > 0 && shown !== log.last ? log.rows[shown - 1].node : null;
      if (newest !== null) frame(left, top + newest * unit, side, unit, palette.rim, 2.2);
      if (chosen !== null) frame(left, top + chosen * unit, side, unit, palette.primary, 2.2);
      if (this.cell) frame(left + this.cell.u * unit, top + this.cell.i * unit, unit, unit, palette.text, 1.5);
      this.write(kind === "true" ? "true A: from →" : log.truth ? "learned A: from →" : "from →", left + side / 2, top - 10);
      this.aside("← to", left - 7, top + side / 2);
    }
  }

  /** Stripes over rows that are not learned yet. */
  coverUnlearned(context, left, top, side) {
    const { log, shown, palette } = this.app;
    const lines = this.lineOf(log.n);
    const learned = new Set(log.rows.slice(0, shown).map(({ node }) => this.lineOf(node)));
    context.beginPath();
    for (let line = 0; line < lines; line++) if (!learned.has(line)) context.rect(left, top + (line * side) / lines, side, side / lines);
    context.fillStyle = css(palette.background);
    context.fill();
    this.hatch(css(palette.hairline), 9);
  }

  // ------------------------------------------------------------------------------------- pointer

  find(x, y) {
    const { log } = this.app;
    const isInside = (k) => k >= 0 && k < log.n;
    for (const [left, top, side] of this.frames()) {
      const [u, i] = [Math.floor(((x - left) / side) * log.n), Math.floor(((y - top) / side) * log.n)];
      if (isInside(u) && isInside(i)) return { u, i };
    }
    return null;
  }

  pointTo(cell) {
    if (JSON.stringify(cell) === JSON.stringify(this.cell)) return;
    this.cell = cell;
    if (this.app.log) this.describeCell();
    this.app.wake();
  }

  turn(step) {
    this.app.network.turn(step);
  }

  leave() {
    this.app.network.leave();
  }

  describeCell() {
    const { log, shown } = this.app;
    if (!this.cell) {
      this.read.textContent = `${integer(log.edgesAt(shown))} of ${integer(log.n * log.n)} entries. Hover for a value, click for a row.`;
      return;
    }
    const { u, i } = this.cell;
    const row = log.rowOf(i, shown);
    const value = row ? format(row.weights[row.parents.indexOf(u)] ?? 0) : "not learned yet";
    const [sources, values] = log.graph.truth?.[i] ?? [];
    const truth = sources ? ` · true ${format(values[sources.indexOf(u)] ?? 0)}` : "";
    replaceChildren(this.read, isolated(shorten(log.name(u), 24)), " → ", isolated(shorten(log.name(i), 24)), `: ${value}${truth}`);
  }

  describe() {
    const { log, shown } = this.app;
    this.ramp.set(`−${brief(log.full)}`, `+${brief(log.full)}`);
    this.describeCell();
    this.notes.textContent = shown === log.last ? log.run.notes.join(" ") : "";
    this.holder.classList.toggle("gv-dynamics-two", log.truth !== null);
    this.describeAs(`Matrix of ${integer(log.n)} targets by ${integer(log.n)} sources, ${plural(Math.min(shown, log.ready), "row")} `
      + `learned with ${plural(log.edgesAt(shown), "entry", "entries")}${log.truth ? "; the true matrix beside it" : ""}.`);
  }
}
