// The matrix A: a row for each target, a column for each source; the true matrix beside it.

import { Chart } from "../shared/chart.js";
import { brief, clamp, css, diverging, format, h, integer, isolated, plural, replaceChildren, shorten } from "../shared/core.js";
import { attachKeys } from "../shared/keys.js";

const MATRIX_GAP = 26; // px between two matrices
const MATRIX_EDGE = 18; // px for the labels at the edges
const MATRIX_LINES = 240; // pixel lines; in larger matrices several rows share a line

export class DynamicsMatrix extends Chart {
  constructor(app) {
    super(app, "gv-dynamics-matrix-stage");
    this.read = h("p", { class: "gv-muted gv-dynamics-read", dir: "auto" });
    this.notes = h("p", { class: "gv-muted gv-dynamics-read", dir: "auto", hidden: true });
    this.low = h("span");
    this.high = h("span");
    const ramp = h("span", { class: "gv-key", title: "Standardised coefficients" }, this.low, h("i", { class: "gv-dynamics-ramp", "aria-hidden": "true" }), this.high);
    this.card("gv-dynamics-matrix", "Matrix A", "matrix", [h("h3", {}, "Matrix A"), ramp], this.read, this.notes);
    attachKeys(this.canvas, this);
    this.on("pointermove", (x, y) => this.pointTo(this.find(x, y)));
    this.on("pointerleave", () => this.pointTo(null));
    this.on("pointerdown", (x, y) => {
      const cell = this.find(x, y);
      if (cell) app.choose(cell.i);
    });
    this.learned = h("canvas");
    this.true = h("canvas");
    this.cell = null;
    this.clear();
  }

  clear() {
    this.built = { log: null, shown: -1, palette: null };
    this.pointTo(null);
  }

  // ------------------------------------------------------------------------------------ pictures

  /** One pixel for each entry, or for a few; only new rows are drawn. */
  build() {
    const { log, shown, palette } = this.app;
    const { built } = this;
    const isSame = built.log === log && built.palette === palette && built.full === log.full;
    if (isSame && built.shown === shown) return;
    const from = isSame && built.shown < shown ? built.shown : 0;
    if (from === 0) {
      // Setting the size of a canvas clears it.
      for (const canvas of [this.learned, this.true]) canvas.width = canvas.height = Math.min(log.n, MATRIX_LINES);
      this.begun = new Set();
      if (log.truth) log.truth.forEach((row, i) => this.fillRow(this.true, i, [...row], log.n <= MATRIX_LINES));
    }
    for (const row of log.rows.slice(from, shown)) {
      const line = this.lineOf(row.node);
      this.fillRow(this.learned, row.node, row.parents.map((u, p) => [u, log.sized(row.node, u, row.weights[p])]), !this.begun.has(line));
      this.begun.add(line);
    }
    this.built = { log, shown, palette, full: log.full };
  }

  lineOf(i) {
    return Math.floor((i * Math.min(this.app.log.n, MATRIX_LINES)) / this.app.log.n);
  }

  /** Draw a row; clear its line first unless other rows share it. */
  fillRow(canvas, i, entries, isClear) {
    const { palette, log } = this.app;
    const context = canvas.getContext("2d");
    if (isClear) {
      context.fillStyle = css(palette.background);
      context.fillRect(0, this.lineOf(i), canvas.width, 1);
    }
    for (const [u, size] of entries) {
      context.fillStyle = css(diverging(clamp(size / log.full, -1, 1), palette));
      context.fillRect(this.lineOf(u), this.lineOf(i), 1, 1);
    }
  }

  /** Left, top and side of each matrix. */
  frames() {
    const { width, height } = this.surface;
    const two = this.app.log.truth !== null;
    const space = two ? (width - 8 - MATRIX_GAP) / 2 : width - 8;
    const edge = MATRIX_EDGE * this.app.type;
    const side = Math.max(20, Math.min(space - edge, height - edge - 3));
    const left = (k) => (width - (two ? 2 * (side + edge) + MATRIX_GAP : side + edge)) / 2 + edge + k * (side + edge + MATRIX_GAP);
    return [[left(0), edge, side, "learned"], ...(two ? [[left(1), edge, side, "true"]] : [])];
  }

  paint(context, palette) {
    this.build();
    const { log, shown, chosen } = this.app;
    context.imageSmoothingEnabled = false;
    for (const [left, top, side, name] of this.frames()) {
      const unit = side / log.n;
      const frame = (x, y, width, height, colour, line) => {
        context.beginPath();
        context.rect(x - line / 2, y - line / 2, width + line, height + line);
        this.stroke(css(colour), line);
      };
      // Rows not learned yet are striped.
      context.beginPath();
      context.rect(left, top, side, side);
      this.hatch(left, left + side, top, top + side, 9, css(palette.hairline));
      context.drawImage(name === "true" ? this.true : this.learned, left, top, side, side);
      frame(left, top, side, side, palette.faint, 1);
      const newest = shown > 0 && shown !== log.last ? log.rows[shown - 1].node : null;
      if (newest !== null) frame(left, top + newest * unit, side, unit, palette.rim, 2.2);
      if (chosen !== null) frame(left, top + chosen * unit, side, unit, palette.primary, 2.2);
      if (this.cell) frame(left + this.cell.u * unit, top + this.cell.i * unit, unit, unit, palette.text, 1.5);
      context.fillStyle = css(palette.muted);
      context.textBaseline = "alphabetic";
      context.textAlign = "center";
      context.fillText(name === "true" ? "true A: from →" : log.truth ? "learned A: from →" : "from →", left + side / 2, top - 6);
      context.save();
      context.translate(left - 7, top + side / 2);
      context.rotate(-Math.PI / 2);
      context.fillText("← to", 0, 0);
      context.restore();
    }
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
    const at = row ? row.parents.indexOf(u) : -1;
    const value = row ? (at < 0 ? "0" : format(row.weights[at])) : "not learned yet";
    const truth = log.graph.truth && log.graph.truth[i];
    const place = truth ? truth[0].indexOf(u) : -1;
    const known = truth ? ` · true ${place < 0 ? "0" : format(truth[1][place])}` : "";
    replaceChildren(this.read, isolated(shorten(log.name(u), 24)), " → ", isolated(shorten(log.name(i), 24)), `: ${value}${known}`);
  }

  describe() {
    const { log, shown } = this.app;
    this.low.textContent = `−${brief(log.full)}`;
    this.high.textContent = `+${brief(log.full)}`;
    this.describeCell();
    this.notes.textContent = shown === log.last ? log.run.notes.join(" ") : "";
    this.notes.hidden = this.notes.textContent === "";
    this.holder.classList.toggle("gv-dynamics-two", log.truth !== null);
    this.describeAs(`Matrix of ${integer(log.n)} targets by ${integer(log.n)} sources, ${plural(Math.min(shown, log.ready), "row")} learned with ${plural(log.edgesAt(shown), "entry", "entries")}`
      + `${log.truth ? "; the true matrix beside it" : ""}.`);
  }
}
