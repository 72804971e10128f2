// Reasons for the selected edge: a third variable that explains it, and what its activation changed.

import { counted, css, diverging, fill, format, h, integer, isolated, luminance, shorten, textParts } from "../shared/core.js";
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
    h("div", { class: "gv-bars" }, bars(limit === null ? TEXT.reasons.score : fill(TEXT.reasons.score_tick, { symbol: why.symbol, limit: format(limit) }),
      [row(TEXT.reasons.raw, raw), row(textParts(TEXT.reasons.given, { third: third() }), given)])),
    h("p", { class: "gv-muted gv-small" }, textParts(TEXT.reasons.formula, { third: third(), again: third(), noise: format(why.noise) })),
    why.tables.length > 0 && countTables(why, names, app.palette),
    why.best && app.callbacks.best && h("div", {}, h("button", { type: "button", class: "gv-branch", click: () => app.switchToBest(),
      title: TEXT.reasons.best_title },
      TEXT.reasons.best)),
  ].filter(Boolean);
}

/** Counts of the pair in all rows, and for each state of the third variable; the colour is the distance from independence. */
function countTables({ name, labels, tables, more }, names, palette) {
  const parts = tables.map(({ counts, rows }) => {
    const [across, down] = [counts.map(sumOf), counts[0].map((_, b) => sumOf(counts.map((row) => row[b])))];
    return counts.map((row, a) => row.map((count, b) => (rows ? (count - (across[a] * down[b]) / rows) / rows : 0)));
  });
  const top = Math.max(...parts[0].flat().map(Math.abs)) || 1;
  const rest = more > 0 ? ` · ${fill(TEXT.reasons.first_states, { shown: tables.length - 1, n: tables.length - 1 + more })}` : "";
  const details = h("details", { class: "gv-counts" }, h("summary", {}, textParts(TEXT.reasons.counts, { third: isolated(shorten(name, 24)) })),
    h("p", { class: "gv-muted gv-small" }, textParts(TEXT.reasons.colours, { rows: isolated(shorten(names[0], 24)), columns: isolated(shorten(names[1], 24)) }), rest),
    h("div", { class: "gv-columns" }, tables.map((table, k) => countTable(table, parts[k], { name, labels, top }, palette))));
  details.open = tablesOpen;
  details.addEventListener("toggle", () => { tablesOpen = details.open; });
  return details;
}

const sumOf = (values) => values.reduce((total, value) => total + value, 0);

function countTable({ state, rows, counts }, gaps, { name, labels, top }, palette) {
  const numbers = Math.max(counts.length, counts[0].length) <= FEW_STATES;
  const table = h("table", { class: numbers ? "gv-heat" : "gv-heat gv-heat-small" });
  const title = state === null ? [TEXT.reasons.all_rows] : [isolated(shorten(name, 14)), " = ", isolated(shorten(state, 12))];
  table.append(h("caption", {}, title, ` (${integer(rows)})`));
  table.append(h("tr", {}, h("td", {}), labels[1].map((label) => h("th", { scope: "col" }, isolated(shorten(label, 6), { title: label })))));
  counts.forEach((row, a) => {
    table.append(h("tr", {}, h("th", { scope: "row" }, isolated(shorten(labels[0][a], 8), { title: labels[0][a] })), row.map((count, b) => {
      const colour = diverging(Math.max(-1, Math.min(1, gaps[a][b] / top)), palette);
      const cell = h("td", { title: `${fill(TEXT.reasons.with, { one: labels[0][a], other: labels[1][b] })}: ${counted(count, TEXT.reasons.rows)}` }, numbers ? integer(count) : "");
      cell.style.backgroundColor = css(colour);
      cell.style.color = luminance(colour) > 0.2 ? "#111" : "#fff";
      return cell;
    })));
  });
  return h("div", { class: "gv-heat-box" }, table);
}

/** The marginal of a pair before the step that activated it, after it, and in the data. */
export function effectView({ cells, left, method, words }) {
  const number = (value) => h("td", {}, value.toFixed(3));
  const more = left > 0 ? ` · ${fill(TEXT.reasons.more, { count: integer(left) })}` : "";
  return h("div", { class: "gv-effect" },
    h("table", {}, h("caption", {}, fill(TEXT.reasons.probability, { method }) + more),
      h("thead", {}, h("tr", {}, TEXT.reasons.columns.map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, cells.map(([a, b, ...values]) => h("tr", {},
        h("th", { scope: "row" }, textParts(TEXT.reasons.with, { one: isolated(shorten(a, 14)), other: isolated(shorten(b, 14)) })), values.map(number))))),
    h("p", { class: "gv-muted gv-small" }, words));
}
