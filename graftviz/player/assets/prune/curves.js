// Pseudo-likelihood by exchange under all three rules, with their numbers of draws and acceptances.

import { clamp, css, drawGrid, format, h, integer, plural, Surface, ticks } from "../shared/core.js";
import { drawMark, RACER_DASHES, racerSample } from "../shared/marks.js";
import { saveButton } from "../shared/save_picture.js";
import { acceptance } from "./log.js";

export class PruneCurves {
  constructor(app) {
    this.app = app;
    this.holder = h("div", { class: "gv-chart gv-prune-curve" });
    this.rows = h("tbody");
    this.table = h("table", { class: "gv-prune-table" },
      h("thead", {}, h("tr", {}, ["rule", "PLL", "best (step)", "accepted", "fallbacks"].map((text) => h("th", { scope: "col" }, text)))), this.rows);
    this.element = h("section", { class: "gv-card gv-prune-curves", "aria-label": "Pseudo-likelihood by exchange" },
      h("header", {}, h("h3", {}, "Three deletion rules"), h("span", { class: "gv-count" }, "training PLL, nats per row"), saveButton(app, "rules")), this.holder, this.table);
    this.surface = new Surface(this.holder, () => app.resized());
    const { canvas } = this.surface;
    canvas.setAttribute("role", "img");
    canvas.addEventListener("click", (event) => this.seek(event));
  }

  destroy() {
    this.surface.destroy();
  }

  setRuns(all) {
    this.cells = all.tracks.map((track) => {
      const choose = h("button", { type: "button", class: "gv-key", title: `Show the run with ${track.name}`, click: () => this.app.chooseHeuristic(track.heuristic) },
        racerSample(track.index), track.name);
      const cells = Array.from({ length: 4 }, () => h("td"));
      return { track, choose, cells, row: h("tr", {}, h("th", { scope: "row" }, choose), cells) };
    });
    this.rows.replaceChildren(...this.cells.map(({ row }) => row));
  }

  seek(event) {
    const { app } = this;
    if (!app.log || !this.plot) return;
    const { left, right } = this.plot;
    const share = (event.clientX - this.surface.canvas.getBoundingClientRect().left - left) / (right - left);
    app.seek(Math.round(1 + clamp(share, 0, 1) * (this.steps - 1)));
  }

  draw() {
    const context = this.surface.begin();
    const { app } = this;
    if (!context || !app.log) return;
    const { palette, type, all, log, shown } = app;
    const { width, height } = this.surface;
    const plot = { left: 50 * type, right: width - 12, top: 10, bottom: height - 32 * type };
    this.plot = plot;
    this.steps = Math.max(2, ...all.tracks.map((track) => track.ready));
    const known = all.tracks.flatMap((track) => track.records.map((record) => record.after));
    context.font = `${11.5 * type}px ${palette.font}`;
    const [least, most] = known.length ? [Math.min(...known), Math.max(...known)] : [-1, 0];
    const margin = (most - least) * 0.08 || Math.abs(most) * 0.01 || 1;
    const [low, high] = [least - margin, most + margin];
    const x = (t) => plot.left + ((plot.right - plot.left) * (t - 1)) / (this.steps - 1);
    const y = (value) => plot.bottom - ((plot.bottom - plot.top) * (value - low)) / (high - low);
    drawGrid(context, palette, plot, ticks(low, high, 4), y, (value) => String(value).replace("-", "−"), (at) => clamp(at, plot.top + 2, plot.bottom - 2));
    this.drawAxis(context, palette, plot, x);
    const now = x(clamp(shown, 1, this.steps));
    if (shown > 0) {
      context.beginPath();
      context.moveTo(now, plot.top);
      context.lineTo(now, plot.bottom);
      context.lineWidth = 1.2;
      context.strokeStyle = css(palette.text, 0.6);
      context.stroke();
    }
    for (const track of [...all.tracks.filter((some) => some !== log), log]) this.drawTrack(context, palette, track, x, y, track === log);
  }

  drawAxis(context, palette, plot, x) {
    const { type } = this.app;
    context.fillStyle = css(palette.muted);
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((step) => this.steps / step <= 11) || 2000;
    for (let t = 1; t <= this.steps; t++) {
      const hasRoom = t % every === 0 && x(t) - x(1) > 32 * type;
      if (t === 1 || hasRoom) context.fillText(t === 1 ? "start" : String(t), x(t), plot.bottom + 14 * type);
    }
    context.textAlign = "right";
    context.fillText("step", plot.right, plot.bottom + 28 * type);
  }

  drawTrack(context, palette, track, x, y, isChosen) {
    const colour = palette.racers[track.index];
    context.lineJoin = "round";
    context.setLineDash(RACER_DASHES[track.index]);
    // Later steps are drawn pale.
    for (const [until, alpha] of [[track.ready, 0.28], [this.app.shown, isChosen ? 1 : 0.8]]) {
      context.beginPath();
      for (const { t, after } of track.records.slice(0, until)) {
        if (t === 1) context.moveTo(x(t), y(after));
        else context.lineTo(x(t), y(after));
      }
      context.lineWidth = isChosen ? 3.2 : 1.8;
      context.strokeStyle = css(colour, alpha);
      context.stroke();
    }
    context.setLineDash([]);
    const shown = track.at(Math.min(this.app.shown, track.ready));
    if (!shown) return;
    const best = track.at(shown.sum.bestStep);
    context.beginPath();
    context.arc(x(best.t), y(best.after), isChosen ? 9 : 7, 0, 7);
    context.lineWidth = 1.8;
    context.strokeStyle = css(isChosen ? palette.text : colour);
    context.stroke();
    drawMark(context, track.index, x(shown.t), y(shown.after), colour, palette.background);
  }

  describe() {
    const { log, shown } = this.app;
    for (const { track, choose, cells, row } of this.cells) {
      const isChosen = track === log;
      row.classList.toggle("gv-chosen", isChosen);
      choose.setAttribute("aria-pressed", String(isChosen));
      const record = track.at(Math.min(shown, track.ready));
      const waits = track.trouble || (track.ready === 0 ? "learning…" : "–");
      const texts = !record ? [waits, "–", "–", "–"] : [
        format(record.after).replace("-", "−"),
        `${format(record.best).replace("-", "−")} (${record.sum.bestStep})`,
        record.sum.tries ? acceptance(record.sum.accepted, record.sum.tries) : "–",
        record.sum.tries ? `${integer(record.sum.fallbacks)} of ${integer(record.sum.exchanges)}` : "–",
      ];
      cells.forEach((cell, k) => { cell.textContent = texts[k]; });
      cells[2].title = record?.sum.tries ? `${integer(record.sum.accepted)} of ${plural(record.sum.tries, "drawn subset")} so far` : "No draws";
      cells[3].classList.toggle("gv-prune-warned", Boolean(record?.sum.fallbacks));
    }
    this.surface.canvas.setAttribute("aria-label", this.cells.map(({ track, cells }) => `${track.name}: ${cells[0].textContent}, best ${cells[1].textContent}, accepted ${cells[2].textContent}`).join("; "));
  }
}
