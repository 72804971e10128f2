// Pseudo-likelihood by exchange under all three rules, with their numbers of draws and acceptances.

import { Chart, paddedRange, wholeTicks } from "../shared/chart.js";
import { clamp, css, format, h, integer, plural, ticks } from "../shared/core.js";
import { drawMark, RACER_DASHES, racerSample } from "../shared/marks.js";
import { acceptance } from "./log.js";

export class PruneCurves extends Chart {
  constructor(app) {
    super(app, "gv-prune-curve");
    this.rows = h("tbody");
    const columns = ["rule", "PLL", "best (step)", "accepted", "fallbacks"].map((text) => h("th", { scope: "col" }, text));
    this.card("gv-prune-curves", "Pseudo-likelihood by exchange", "rules",
      [h("h3", {}, "Three deletion rules"), h("span", { class: "gv-count" }, "training PLL, nats per row")],
      h("table", { class: "gv-prune-table" }, h("thead", {}, h("tr", {}, columns)), this.rows));
    this.on("click", (x) => app.seek(Math.round(this.valueAt(x))));
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

  paint(context, palette) {
    const { all: { tracks }, log, shown } = this.app;
    const steps = Math.max(2, ...tracks.map((track) => track.ready));
    const [low, high] = paddedRange(tracks.flatMap(({ records }) => records.map(({ after }) => after)));
    this.axes([50, 12, 10, 32], [1, steps], [low, high]);
    this.grid(ticks(low, high, 4));
    this.below(wholeTicks(1, steps, 10), "step", (t) => (t === 1 ? "start" : String(t)));
    if (shown > 0) this.upright(clamp(shown, 1, steps));
    for (const track of [...tracks].sort((a, b) => (a === log) - (b === log))) this.drawTrack(context, palette, track, track === log);
  }

  drawTrack(context, palette, track, isChosen) {
    const colour = palette.racers[track.index];
    const place = ({ t, after }) => [this.x(t), this.y(after)];
    // Later steps are drawn pale.
    for (const [until, alpha] of [[track.ready, 0.28], [this.app.shown, isChosen ? 1 : 0.8]]) {
      this.line(track.records.slice(0, until).map(place), css(colour, alpha), isChosen ? 3.2 : 1.8, RACER_DASHES[track.index]);
    }
    const shown = track.at(this.app.shown);
    if (!shown) return;
    this.dot(...place(track.at(shown.sum.bestStep)), isChosen ? 9 : 7, null, css(isChosen ? palette.text : colour), 1.8);
    drawMark(context, track.index, ...place(shown), colour, palette.background);
  }

  describe() {
    const { log, shown } = this.app;
    for (const { track, choose, cells, row } of this.cells) {
      row.classList.toggle("gv-chosen", track === log);
      choose.setAttribute("aria-pressed", String(track === log));
      const record = track.at(shown);
      const { tries, accepted, fallbacks, exchanges, bestStep } = record?.sum ?? {};
      const texts = [
        record ? format(record.after) : track.trouble || (track.ready === 0 ? "learning…" : "–"),
        record ? `${format(record.best)} (${bestStep})` : "–",
        tries ? acceptance(accepted, tries) : "–",
        tries ? `${integer(fallbacks)} of ${integer(exchanges)}` : "–",
      ];
      cells.forEach((cell, k) => { cell.textContent = texts[k]; });
      cells[2].title = tries ? `${integer(accepted)} of ${plural(tries, "drawn subset")} so far` : "No draws";
      cells[3].classList.toggle("gv-prune-warned", Boolean(fallbacks));
    }
    this.describeAs(this.cells.map(({ track, cells }) => `${track.name}: ${cells[0].textContent}, best ${cells[1].textContent}, accepted ${cells[2].textContent}`).join("; "));
  }
}
