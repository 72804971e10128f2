// The numbers of all racers at the shown place; once all have finished, the best of each column.

import { decimals, h } from "../shared/core.js";
import { RacerTable } from "../shared/racer_table.js";

const RACE_COLUMNS = [
  { name: "seconds", title: "Engine seconds", digits: 3, sign: -1 },
  { name: "tests", title: "Edge tests", digits: 0, sign: -1 },
  { name: "tables", title: "Pair tables counted", digits: 0, sign: -1 },
  { name: "edges", title: "Edges", digits: 0, sign: 0 },
  { name: "objective", title: "Objective", digits: 3, sign: -1 },
  { name: "recall", title: "Recall", digits: 3, sign: 1 },
  { name: "precision", title: "Precision", digits: 3, sign: 1 },
  { name: "nlpl_test", title: "Held-out NLPL", digits: 3, sign: -1 },
];

export class RaceTable extends RacerTable {
  constructor(app) {
    super("Racer", RACE_COLUMNS.map(({ title }) => title));
    this.app = app;
    this.title = h("h3");
    this.hint = h("span", { class: "gv-count" });
    this.element = h("section", { class: "gv-card gv-race-standings", "aria-label": "Standings" }, h("header", {}, this.title, this.hint), this.table);
  }

  setRace(log) {
    this.setRows(log.tracks);
  }

  valueOf({ moments, index }, { name }) {
    return moments[this.app.places[index]]?.[name] ?? null;
  }

  /** Racers that are best in a column; none where all are equal, or cannot be compared. */
  winners(column) {
    const { name, digits, sign } = column;
    const ended = this.app.log.running.filter(({ outcome }) => outcome);
    if (sign === 0 || ended.length < 2) return [];
    if (name === "objective" && new Set(ended.map((racer) => racer.yardstick)).size > 1) return [];
    const measured = ended.filter((racer) => this.valueOf(racer, column) !== null);
    const scores = measured.map((racer) => sign * Number(this.valueOf(racer, column).toFixed(digits)));
    const first = measured.filter((_, k) => scores[k] === Math.max(...scores));
    return first.length === measured.length ? [] : first;
  }

  describe() {
    const { isAtEnd, log } = this.app;
    this.title.textContent = isAtEnd ? "Result" : "Standings";
    this.hint.textContent = isAtEnd ? "★ best of the column (none if all are equal)" : "";
    RACE_COLUMNS.forEach((column, c) => {
      const first = isAtEnd ? this.winners(column) : [];
      this.showColumn(c, log.running.some(({ moments }) => moments.some((moment) => moment[column.name] !== null)));
      for (const { track, cells } of this.rows) {
        const isBest = first.includes(track);
        const text = decimals(this.valueOf(track, column), column.digits);
        cells[c].replaceChildren(isBest ? h("b", {}, `★ ${text}`) : text);
        cells[c].classList.toggle("gv-wins", isBest);
      }
    });
  }
}
