// Table with a row for each of several runs.

import { h, isolated } from "./core.js";
import { racerSample, racerWords } from "./marks.js";

export class RacerTable {
  constructor(first, titles) {
    this.heads = [first, ...titles].map((text) => h("th", { scope: "col" }, text));
    this.body = h("tbody");
    this.table = h("div", { class: "gv-racers", tabindex: "0", role: "region", "aria-label": "Numbers of all runs" },
      h("table", {}, h("thead", {}, h("tr", {}, this.heads)), this.body));
  }

  /** Make rows {track, cells, row}; `choose(track)` handles a click on the name of a run, if given. */
  setRows(tracks, choose = null) {
    this.rows = tracks.map((track) => {
      const name = [racerSample(track.index), isolated(racerWords(track.title))];
      const button = choose && h("button", { type: "button", class: "gv-key", title: `Show the run with ${track.title}`, click: () => choose(track) }, name);
      const cells = this.heads.slice(1).map(() => h("td"));
      return { track, cells, button, row: h("tr", {}, h("th", { scope: "row", dir: "auto" }, button ?? name), cells) };
    });
    this.body.replaceChildren(...this.rows.map(({ row }) => row));
  }

  showColumn(c, isShown) {
    for (const cell of [this.heads[c + 1], ...this.rows.map(({ cells }) => cells[c])]) cell.hidden = !isShown;
  }
}
