// The matrix A: a row for each target, a column for each source; the true matrix beside it.

import { brief, clamp, css, diverging, format, h, integer, isolated, plural, replaceChildren, shorten, Surface } from "../shared/core.js";
import { attachKeys } from "../shared/keys.js";
import { saveButton } from "../shared/save_picture.js";

const MATRIX_GAP = 26; // px between two matrices
const MATRIX_EDGE = 18; // px for the labels at the edges
const MATRIX_LINES = 240; // pixel lines; in larger matrices several rows share a line

export class DynamicsMatrix {
  constructor(app) {
    this.app = app;
    this.read = h("p", { class: "gv-muted gv-dynamics-read", dir: "auto" });
    this.notes = h("p", { class: "gv-muted gv-dynamics-read", dir: "auto", hidden: true });
    this.holder = h("div", { class: "gv-chart gv-dynamics-matrix-stage" });
    this.low = h("span");
    this.high = h("span");
    const ramp = h("span", { class: "gv-key", title: "Standardised coefficients" }, this.low, h("i", { class: "gv-dynamics-ramp", "aria-hidden": "true" }), this.high);
    this.element = h("section", { class: "gv-card gv-dynamics-matrix", "aria-label": "Matrix A" },
      h("header", {}, h("h3", {}, "Matrix A"), ramp, saveButton(app, "matrix")), this.holder, this.read, this.notes);
    this.surface = new Surface(this.holder, () => app.resized());
    const { canvas } = this.surface;
    attachKeys(canvas, this);
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerdown", (event) => this.choose(event));
    canvas.addEventListener("pointerleave", () => this.pointTo(null));
    this.learned = h("canvas");
    this.true = h("canvas");
    this.cell = null;
    this.clear();
  }

  destroy() {
    this.surface.destroy();
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
      if (log.truth) log.truth.forEach((row, i) => this.paint(this.true, i, [...row], log.n <= MATRIX_LINES));
    }
    for (const row of log.rows.slice(from, shown)) {
      const line = this.line(row.node);
      this.paint(this.learned, row.node, row.parents.map((u, p) => [u, log.sized(row.node, u, row.weights[p])]), !this.begun.has(line));
      this.begun.add(line);
    }
    this.built = { log, shown, palette, full: log.full };
  }

  line(i) {
    return Math.floor((i * Math.min(this.app.log.n, MATRIX_LINES)) / this.app.log.n);
  }

  /** Draw a row; clear its line first unless other rows share it. */
  paint(canvas, i, entries, isClear) {
    const { palette, log } = this.app;
    const context = canvas.getContext("2d");
    if (isClear) {
      context.fillStyle = css(palette.background);
      context.fillRect(0, this.line(i), canvas.width, 1);
    }
    for (const [u, size] of entries) {
      context.fillStyle = css(diverging(clamp(size / log.full, -1, 1), palette));
      context.fillRect(this.line(u), this.line(i), 1, 1);
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

  draw() {
    const context = this.surface.begin();
    if (!context || !this.app.log) return;
    this.build();
    const { palette, log, shown, chosen, type } = this.app;
    context.imageSmoothingEnabled = false;
    for (const [left, top, side, name] of this.frames()) {
      const unit = side / log.n;
      this.hatch(context, palette, left, top, side);
      context.drawImage(name === "true" ? this.true : this.learned, left, top, side, side);
      context.strokeStyle = css(palette.faint);
      context.lineWidth = 1;
      context.strokeRect(left - 0.5, top - 0.5, side + 1, side + 1);
      const newest = shown > 0 ? log.rows[shown - 1].node : -1;
      if (newest >= 0 && shown !== log.last) this.frame(context, css(palette.rim), left, top + newest * unit, side, unit, 2.2);
      if (chosen !== null) this.frame(context, css(palette.primary), left, top + chosen * unit, side, unit, 2.2);
      if (this.cell) this.frame(context, css(palette.text), left + this.cell.u * unit, top + this.cell.i * unit, unit, unit, 1.5);
      context.font = `${11.5 * type}px ${palette.font}`;
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

  frame(context, colour, x, y, width, height, line) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(x - line / 2, y - line / 2, width + line, height + line);
  }

  /** Rows not learned yet are striped. */
  hatch(context, palette, left, top, side) {
    context.save();
    context.beginPath();
    context.rect(left, top, side, side);
    context.clip();
    context.beginPath();
    for (let x = -side; x < side; x += 9) {
      context.moveTo(left + x, top + side);
      context.lineTo(left + x + side, top);
    }
    context.lineWidth = 1;
    context.strokeStyle = css(palette.hairline);
    context.stroke();
    context.restore();
  }

  // ------------------------------------------------------------------------------------- pointer

  find(event) {
    const { log } = this.app;
    if (!log) return null;
    const box = this.surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    for (const [left, top, side] of this.frames()) {
      const [u, i] = [Math.floor(((x - left) / side) * log.n), Math.floor(((y - top) / side) * log.n)];
      if (u >= 0 && u < log.n && i >= 0 && i < log.n) return { u, i };
    }
    return null;
  }

  point(event) {
    this.pointTo(this.find(event));
  }

  pointTo(cell) {
    if (JSON.stringify(cell) === JSON.stringify(this.cell)) return;
    this.cell = cell;
    if (this.app.log) this.describeCell();
    this.app.wake();
  }

  choose(event) {
    const cell = this.find(event);
    if (cell) this.app.choose(cell.i);
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
    const value = row ? (at < 0 ? "0" : format(row.weights[at]).replace("-", "−")) : "not learned yet";
    const truth = log.graph.truth && log.graph.truth[i];
    const place = truth ? truth[0].indexOf(u) : -1;
    const known = truth ? ` · true ${place < 0 ? "0" : format(truth[1][place]).replace("-", "−")}` : "";
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
    this.surface.canvas.setAttribute("aria-label",
      `Matrix of ${integer(log.n)} targets by ${integer(log.n)} sources, ${plural(Math.min(shown, log.ready), "row")} learned with ${plural(log.edgesAt(shown), "entry", "entries")}`
      + `${log.truth ? "; the true matrix beside it" : ""}.`);
  }
}
