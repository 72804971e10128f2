// The numbers of all racers at the shown place; once all have arrived, the best of each column.

import { h, isolated } from "../shared/core.js";
import { racerSample, racerWords } from "../shared/marks.js";

const RACE_COLUMNS = [
  { name: "seconds", title: "Engine seconds", decimals: 3, sign: -1 },
  { name: "tests", title: "Edge tests", decimals: 0, sign: -1 },
  { name: "tables", title: "Pair tables counted", decimals: 0, sign: -1 },
  { name: "edges", title: "Edges", decimals: 0, sign: 0 },
  { name: "objective", title: "Objective", decimals: 3, sign: -1 },
  { name: "recall", title: "Recall", decimals: 3, sign: 1 },
  { name: "precision", title: "Precision", decimals: 3, sign: 1 },
  { name: "nlpl_test", title: "Held-out NLPL", decimals: 3, sign: -1 },
];

export class RaceTable {
  constructor(app) {
    this.app = app;
    this.title = h("h3");
    this.hint = h("span", { class: "gv-count" });
    this.body = h("tbody");
    this.table = h("table", { class: "gv-race-table" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Racer"), RACE_COLUMNS.map((column) => h("th", { scope: "col" }, column.title)))),
      this.body);
    this.element = h("section", { class: "gv-card gv-race-standings", "aria-label": "Standings" },
      h("header", {}, this.title, this.hint), h("div", { class: "gv-race-scroll", tabindex: "0", role: "region", "aria-label": "Standings, a table" }, this.table));
  }

  setRace(log) {
    this.rows = log.racers.map((racer) => {
      const cells = RACE_COLUMNS.map(() => h("td"));
      return { racer, cells, element: h("tr", {}, h("th", { scope: "row", dir: "auto" }, racerSample(racer.index), isolated(racerWords(racer.name))), cells) };
    });
    this.body.replaceChildren(...this.rows.map((row) => row.element));
  }

  /** Racers that are best in a column; none where all are equal, or cannot be compared. */
  winners({ name, decimals, sign }) {
    const { log, places } = this.app;
    const running = log.running.filter((racer) => racer.ended);
    if (sign === 0 || running.length < 2) return [];
    if (name === "objective" && new Set(running.map((racer) => racer.yardstick)).size > 1) return [];
    const known = running.map((racer) => [racer, racer.moments[places[racer.index]][name]]).filter(([, value]) => value !== null);
    const scores = known.map(([, value]) => sign * Number(value.toFixed(decimals)));
    const best = Math.max(...scores);
    const first = known.filter((_, k) => scores[k] === best).map(([racer]) => racer);
    return first.length === known.length ? [] : first;
  }

  describe() {
    const { places, over } = this.app;
    this.title.textContent = over ? "Result" : "Standings";
    this.hint.textContent = over ? "★ best of the column (none if all are equal)" : "";
    RACE_COLUMNS.forEach((column, c) => {
      const first = over ? this.winners(column) : [];
      const known = this.rows.some(({ racer }) => racer.takesPart && racer.moments.some((moment) => moment[column.name] !== null));
      for (const { racer, cells } of this.rows) {
        const moment = racer.moments[places[racer.index]];
        const value = moment ? moment[column.name] : null;
        const text = value === null ? "–" : value.toLocaleString("en", { minimumFractionDigits: column.decimals, maximumFractionDigits: column.decimals });
        const wins = first.includes(racer);
        cells[c].replaceChildren(wins ? h("b", {}, `★ ${text}`) : text);
        cells[c].classList.toggle("gv-wins", wins);
        cells[c].hidden = !known;
      }
      this.table.tHead.rows[0].cells[c + 1].hidden = !known;
    });
  }
}
