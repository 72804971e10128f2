// Reasons for the selected edge: a third variable that explains it, and what its activation changed.

import { css, diverging, format, h, integer, isolated, luminance, shorten } from "../shared/core.js";
import { bars, meter } from "./bars.js";

const FEW_STATES = 5; // states up to which tables show their counts

let tablesOpen = false; // whether the tables are unfolded; panels are made anew with every step

/** The third variable that explains an edge: a sentence, the score with and without it, tables, and the better score. */
export function whyView({ why, names }, app) {
  const { raw, given, limit } = why;
  const top = Math.max(raw, given, limit ?? 0) * 1.15 || 1;
  const third = () => isolated(shorten(why.name, 24));
  const row = (label, value) => [h("span", { class: "gv-label" }, label), meter(value / top, limit === null ? undefined : limit / top),
    h("span", { class: "gv-number" }, format(value))];
  return [
    h("p", { class: "gv-why", dir: "auto" }, why.words),
    h("div", { class: "gv-bars" }, bars(limit === null ? "Score of the pair" : `Score of the pair · tick: ${why.symbol} (${format(limit)})`,
      [row("raw", raw), row(["given ", third()], given)])),
    h("p", { class: "gv-muted gv-small" }, "Given ", third(),
      ": ‖Σ p(c) p(a|c) p(b|c) − p(a, b)‖ / d of all training rows, c its states. That is the score if the model had only the pair's edges to ",
      third(), `, without penalty; sampling noise alone is ${format(why.noise)}.`),
    why.tables.length > 0 && countTables(why, names, app.palette),
    why.best && app.callbacks.best && h("div", {}, h("button", { type: "button", class: "gv-branch", click: () => app.switchToBest(),
      title: "Learn the same data by the preset best, whose score is given all neighbours, and show the step with as many edges" },
      "See it with pseudo-likelihood")),
  ].filter(Boolean);
}

/** Counts of the pair in all rows, and for each state of the third variable; the colour is the distance from independence. */
function countTables({ name, labels, tables, more }, names, palette) {
  const parts = tables.map(({ counts, rows }) => {
    const [across, down] = [counts.map(sumOf), counts[0].map((_, b) => sumOf(counts.map((row) => row[b])))];
    return counts.map((row, a) => row.map((count, b) => (rows ? (count - (across[a] * down[b]) / rows) / rows : 0)));
  });
  const top = Math.max(...parts[0].flat().map(Math.abs)) || 1;
  const rest = more > 0 ? ` · first ${tables.length - 1} of ${tables.length - 1 + more} states` : "";
  const details = h("details", { class: "gv-counts" }, h("summary", {}, "Counts for each state of ", isolated(shorten(name, 24))),
    h("p", { class: "gv-muted gv-small" }, "Rows ", isolated(shorten(names[0], 24)), ", columns ", isolated(shorten(names[1], 24)),
      ` · colour: more or fewer rows than if independent${rest}`),
    h("div", { class: "gv-columns" }, tables.map((table, k) => countTable(table, parts[k], { name, labels, top }, palette))));
  details.open = tablesOpen;
  details.addEventListener("toggle", () => { tablesOpen = details.open; });
  return details;
}

const sumOf = (values) => values.reduce((total, value) => total + value, 0);

function countTable({ state, rows, counts }, gaps, { name, labels, top }, palette) {
  const numbers = Math.max(counts.length, counts[0].length) <= FEW_STATES;
  const table = h("table", { class: numbers ? "gv-heat" : "gv-heat gv-heat-small" });
  const title = state === null ? ["all rows"] : [isolated(shorten(name, 14)), " = ", isolated(shorten(state, 12))];
  table.append(h("caption", {}, title, ` (${integer(rows)})`));
  table.append(h("tr", {}, h("td", {}), labels[1].map((label) => h("th", { scope: "col" }, isolated(shorten(label, 6), { title: label })))));
  counts.forEach((row, a) => {
    table.append(h("tr", {}, h("th", { scope: "row" }, isolated(shorten(labels[0][a], 8), { title: labels[0][a] })), row.map((count, b) => {
      const colour = diverging(Math.max(-1, Math.min(1, gaps[a][b] / top)), palette);
      const cell = h("td", { title: `${labels[0][a]} with ${labels[1][b]}: ${rowsText(count)}` }, numbers ? integer(count) : "");
      cell.style.backgroundColor = css(colour);
      cell.style.color = luminance(colour) > 0.2 ? "#111" : "#fff";
      return cell;
    })));
  });
  return h("div", { class: "gv-heat-box" }, table);
}

const rowsText = (count) => (count === 1 ? "1 row" : `${integer(count)} rows`);

/** The marginal of a pair before the step that activated it, after it, and in the data. */
export function effectView({ cells, left, method, words }) {
  const number = (value) => h("td", {}, value.toFixed(3));
  const more = left > 0 ? ` · ${integer(left)} more` : "";
  return h("div", { class: "gv-effect" },
    h("table", {}, h("caption", {}, `Probability of pairs of states, by ${method}${more}`),
      h("thead", {}, h("tr", {}, ["states", "before", "after", "data"].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, cells.map(([a, b, ...values]) => h("tr", {},
        h("th", { scope: "row" }, isolated(shorten(a, 14)), " with ", isolated(shorten(b, 14))), values.map(number))))),
    h("p", { class: "gv-muted gv-small" }, words));
}
