// The selected node, edge or pair at the shown step: data of the log at once, then the full answer.

import { button, counted, css, diverging, fill, format, formatBeside, h, icon, integer, isolated, luminance, pairWords, replaceChildren, shorten, textParts, tickText } from "../shared/core.js";
import { bars, meter } from "./bars.js";
import { effectView, whyView } from "./reasons.js";

let inspectors = 0;

export class InspectorPanel {
  constructor(app) {
    this.app = app;
    const listId = `gv-names-${++inspectors}`;
    const field = (label) => h("input", { list: listId, "aria-label": label, placeholder: label, autocomplete: "off", spellcheck: "false" });
    this.first = field(TEXT.inspector.first);
    this.second = field(TEXT.inspector.second);
    this.list = h("datalist", { id: listId });
    this.message = h("p", { class: "gv-message", role: "alert" });
    this.form = h("form", { class: "gv-ask", submit: (event) => this.submit(event) },
      this.first, this.second, this.list, h("button", { type: "submit" }, TEXT.inspector.why));
    this.clear = button(TEXT.inspector.clear, icon("close"), () => app.select(null), { class: "gv-quiet", hidden: true });
    this.heading = h("div");
    this.body = h("div", { class: "gv-inspected" });
    this.element = h("section", { class: "gv-card gv-inspector", "aria-label": TEXT.inspector.label },
      h("header", {}, h("h3", {}, TEXT.inspector.title), this.clear), this.form, this.message,
      this.heading, app.region.element, this.body);
  }

  setRun(log) {
    this.byName = new Map(log.header.names.map((name, i) => [name.trim(), i]));
    replaceChildren(this.list, log.header.names.map((name) => h("option", { value: name })));
  }

  submit(event) {
    event.preventDefault();
    const { app } = this;
    const found = [this.first, this.second].map((input) => {
      const text = input.value.trim();
      return text === "" ? null : this.byName.get(text) ?? -1;
    });
    const wrong = [this.first, this.second][found.indexOf(-1)];
    if (wrong) return this.refuse(fill(TEXT.inspector.unknown, { name: shorten(wrong.value.trim(), 40) }));
    const [i, j] = found[0] === null ? [found[1], null] : found;
    if (i === null) return this.refuse(TEXT.inspector.enter);
    if (i === j) return this.refuse(TEXT.inspector.same);
    if (j === null) app.select({ kind: "node", i });
    else app.selectPair(i, j);
  }

  /** Show what is wrong with a question, in place of the last answer. */
  refuse(text) {
    this.app.select(null);
    this.message.textContent = text;
  }

  describe() {
    const { app } = this;
    const { log, selection, shown } = app;
    this.clear.hidden = !selection;
    this.element.classList.toggle("gv-chosen", selection !== null);
    app.region.describe();
    if (!selection) {
      this.heading.replaceChildren();
      const { subject } = app;
      const effect = app.questions.find()?.answer.effect;
      const link = subject && effect?.cells && h("button", { type: "button", class: "gv-link", title: TEXT.inspector.inspect,
        click: () => app.selectPair(subject.i, subject.j) }, pairWords([subject.i, subject.j].map((i) => log.name(i)), 30));
      replaceChildren(this.body, h("p", { class: "gv-muted" },
        TEXT.inspector.hint),
        link && h("p", {}, h("b", {}, `${TEXT.inspector.fresh} `), link), link && effectView(effect));
      return;
    }
    this.message.textContent = "";
    const kind = app.questionKind(selection);
    const logged = kind === "node" ? log.nodeFacts(selection.i, shown) : log[`${kind}Facts`](selection.i, selection.j, shown);
    const found = app.questions.find();
    const answer = found?.question.kind === kind ? found.answer : null;
    const isOld = answer?.t !== undefined && answer.t !== shown;
    // Numbers of another step would contradict the picture: those of the log come first while they differ.
    const facts = isOld ? { ...answer, ...logged } : { ...logged, ...answer };
    const build = { node: nodeView, edge: edgeView, pair: pairView }[kind];
    const stale = isOld ? h("p", { class: "gv-muted" }, fill(TEXT.inspector.old, { step: answer.t })) : null;
    const more = answer || app.callbacks.ask ? null
      : h("p", { class: "gv-muted" }, TEXT.inspector.offline);
    // The region is updated separately: its controls must keep the focus from step to step.
    const [title, ...rest] = build(facts, app);
    this.heading.replaceChildren(title);
    replaceChildren(this.body, rest, stale, more);
  }
}

function heading(content, ...tags) {
  return h("div", { class: "gv-heading" }, h("b", { dir: "auto" }, content),
    tags.filter(Boolean).map((tag) => h("span", { class: "gv-tag" }, tag)));
}

const truthTag = (truth) => ((truth ?? null) === null ? null : h("span", { "data-true": String(truth) }, TEXT.graph[truth ? "is_true" : "is_false"]));

const barsOf = (title, rows) => h("div", { class: "gv-bars" }, bars(title, rows));

function nodeView(facts, app) {
  const parts = [heading(isolated(shorten(facts.name, 60)), fill(TEXT.graph.degree_of, { degree: facts.degree }), fill(TEXT.inspector.rank, { rank: facts.rank, n: app.log.n }), facts.hub && TEXT.graph.hub)];
  const columns = [];
  if (facts.marginal) {
    const rows = facts.marginal.slice(0, 24).map((value, k) => [
      isolated(shorten(facts.labels[k] ?? String(k), 24), { class: "gv-label" }),
      meter(value, facts.data ? facts.data[k] : undefined),
      h("span", { class: "gv-number" }, value.toFixed(3)),
    ]);
    columns.push(barsOf(TEXT.inspector.marginal, rows));
  }
  if (facts.partners.length) {
    const top = facts.partners[0].norm || 1;
    const rows = facts.partners.slice(0, 10).map((partner) => [
      h("button", { type: "button", class: "gv-link gv-label", title: TEXT.inspector.inspect,
        click: () => app.selectPair(app.selection.i, partner.node) }, isolated(shorten(partner.name, 24))),
      meter(partner.norm / top),
      h("span", { class: "gv-number" }, format(partner.norm)),
    ]);
    const more = facts.partners.length > 10 ? ` · ${fill(TEXT.inspector.first_of, { shown: 10, n: facts.partners.length })}` : "";
    columns.push(barsOf(TEXT.inspector.neighbours + more, rows));
  } else {
    columns.push(h("p", { class: "gv-muted" }, TEXT.inspector.alone));
  }
  return [...parts, h("div", { class: "gv-columns" }, columns)];
}

function edgeView(facts, app) {
  const parts = [
    heading(pairWords(facts.names), fill(TEXT.inspector.since, { step: facts.since }), fill(TEXT.inspector.norm, { norm: format(facts.norm) }),
      facts.score_at_activation !== undefined && fill(TEXT.inspector.chosen, { score: format(facts.score_at_activation) }),
      facts.tests !== undefined && counted(facts.tests, TEXT.inspector.tested), truthTag(facts.truth),
      foundTag(facts, app.log), featuresTag(facts), facts.again && TEXT.inspector.again, facts.dropped && TEXT.inspector.dropped),
  ];
  if (facts.why) parts.push(...whyView(facts, app));
  if (facts.words) parts.push(h("p", { dir: "auto" }, facts.words));
  if (facts.effect?.cells && facts.since === facts.t) parts.push(effectView(facts.effect));
  if (facts.weights) {
    const lists = ["attract", "repel"].map((kind) => pairList(kind, facts[kind]));
    parts.push(h("div", { class: "gv-columns" }, heatMap(facts, app.palette), h("div", {}, lists)));
  }
  return parts;
}

/** Weights of an edge, state by state: colour shows sign and size; small tables show numbers. */
function heatMap({ names, labels, weights, active }, palette) {
  const top = weights.flat().reduce((a, w) => Math.max(a, Math.abs(w)), 0) || 1;
  const numbers = weights.length <= 8 && weights[0].length <= 8;
  const table = h("table", { class: numbers ? "gv-heat" : "gv-heat gv-heat-small" });
  const legend = active ? ` · ${TEXT.inspector.hatched}` : "";
  table.append(h("caption", {}, textParts(TEXT.inspector.weights, { rows: isolated(shorten(names[0], 24)), columns: isolated(shorten(names[1], 24)) }), legend));
  table.append(h("tr", {}, h("td", {}), labels[1].map((label) => h("th", { scope: "col" }, isolated(shorten(label, 9), { title: label })))));
  weights.forEach((row, a) => {
    table.append(h("tr", {}, h("th", { scope: "row" }, isolated(shorten(labels[0][a], 12), { title: labels[0][a] })), row.map((w, b) => {
      const pair = fill(TEXT.reasons.with, { one: labels[0][a], other: labels[1][b] });
      if (active && !active[a][b]) return h("td", { class: "gv-off", title: `${pair}: ${TEXT.graph.inactive}` }, numbers ? "–" : "");
      const colour = diverging(w / top, palette);
      const cell = h("td", { title: `${pair}: ${format(w)}` }, numbers ? w.toFixed(Math.abs(w) >= 9.995 ? 1 : 2).replace("-", "−") : "");
      cell.style.backgroundColor = css(colour);
      cell.style.color = luminance(colour) > 0.2 ? "#111" : "#fff";
      return cell;
    })));
  });
  return h("div", { class: "gv-heat-box" }, table);
}

function pairList(kind, pairs) {
  if (!pairs?.length) return null;
  return h("div", { class: "gv-states" }, h("h4", {}, h("i", { class: `gv-mark gv-mark-${kind}` }), TEXT.inspector[kind]),
    h("ul", {}, pairs.slice(0, 4).map(([a, b, w]) => h("li", {},
      textParts(TEXT.reasons.with, { one: isolated(shorten(a, 20)), other: isolated(shorten(b, 20)) }), h("span", { class: "gv-number" }, ` ${w > 0 ? "+" : ""}${format(w)}`)))));
}

/** How often subsamples found a pair. */
const foundTag = ({ found }, log) => ((found ?? null) === null ? null : fill(TEXT.graph.found_in, { found, of: log.stability.of }));

/** How many features of an edge are active, where they are activated one by one. */
const featuresTag = ({ features }) => features && counted(features.possible, TEXT.inspector.features, { active: integer(features.active) });

function pairView(facts, app) {
  const parts = [heading(pairWords(facts.names), TEXT.graph.inactive, truthTag(facts.truth), foundTag(facts, app.log),
    facts.tests !== undefined && (facts.tests ? counted(facts.tests, TEXT.inspector.tested) : TEXT.inspector.never))];
  if (facts.score !== undefined && facts.score !== null) {
    const { score, threshold } = facts;
    const hasThreshold = (threshold ?? null) !== null;
    const top = Math.max(score, hasThreshold ? threshold : 0) * 1.15 || 1;
    const verdict = TEXT.inspector[score > threshold ? "violates" : "holds"];
    parts.push(h("div", { class: "gv-score" }, meter(score / top, hasThreshold ? threshold / top : undefined),
      h("span", {}, `${fill(TEXT.inspector.score_in, { step: facts.scored ?? facts.t })} `, h("b", {}, hasThreshold ? formatBeside(score, threshold) : format(score)),
        hasThreshold ? ` · ${fill(TEXT.inspector.tick, { limit: `${facts.symbol ?? app.log.limitAt(facts.t).symbol} = ${tickText(threshold)}`, verdict })}` : "")));
  }
  if (facts.needs) parts.push(h("p", { class: "gv-needs" }, facts.needs));
  parts.push(h("p", { dir: "auto" }, facts.words));
  if (facts.last_test) {
    const { t, score, verdict } = facts.last_test;
    parts.push(h("p", { class: "gv-muted" }, fill(TEXT.inspector[score === null ? "last" : "last_score"], { step: t, score: format(score), verdict })));
  }
  return parts;
}
