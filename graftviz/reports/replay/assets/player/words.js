// The step in words, the pseudo-code beside it, and how the run ended.

import { codeLines, counted, fill, format, formatBeside, h, integer, listed, replaceChildren, shorten, tickText } from "../shared/core.js";
import { Terms } from "./terms.js";

export class WordsPanel {
  constructor(app) {
    this.app = app;
    this.title = h("h3", {}, TEXT.words.title);
    this.badge = h("span", { class: "gv-badge", hidden: true });
    this.sentence = h("p", { class: "gv-sentence", dir: "auto" });
    this.notes = h("ul", { class: "gv-notes" });
    this.outcome = h("div", { class: "gv-outcome", hidden: true });
    this.code = h("ol", { class: "gv-code" });
    this.element = h("section", { class: "gv-card gv-words", "aria-label": TEXT.words.label },
      h("header", {}, this.title, this.badge),
      h("div", { class: "gv-step" }, this.outcome, this.sentence, this.notes));
    this.algorithm = h("section", { class: "gv-card gv-algorithm", "aria-label": TEXT.words.algorithm }, h("h3", {}, TEXT.words.algorithm), this.code);
    this.terms = new Terms(app, this.element);
  }

  setRun(log) {
    this.terms.setRun(log);
    this.lines = log.header.learner.pseudocode || [];
    this.algorithm.hidden = this.lines.length === 0;
  }

  describe() {
    const { log, shown, isAtEnd: ended } = this.app;
    const record = log.record(shown);
    this.code.replaceChildren(...codeLines(this.lines, record?.lines ?? []));
    this.title.textContent = record ? fill(TEXT.words.step, { step: shown }) : TEXT.words.before;
    this.showWords(record ? record.words : this.beginning(log, ended), record ? record.notes : [], log, ended);
  }

  /** Write the words if they have changed; otherwise an open definition stays open. */
  showWords(words, notes, log, ended) {
    const text = JSON.stringify([words, notes, ended && [log.outcome, log.header.objective]]);
    if (text === this.shownWords) return;
    this.shownWords = text;
    this.terms.begin();
    // Terms are linked in the sentence first, which is read before the words of the end.
    replaceChildren(this.sentence, this.terms.link(words));
    replaceChildren(this.notes, notes.map((note) => h("li", { dir: "auto" }, this.terms.link(note))));
    this.describeOutcome(log, ended);
  }

  beginning(log, ended) {
    if (ended) return "";
    const { n, header: { rows, truth } } = log;
    const start = counted(rows.train, TEXT.words.start, { variables: integer(n) });
    return truth ? `${start} ${TEXT.words.truth}` : start;
  }

  describeOutcome(log, ended) {
    this.outcome.hidden = !ended;
    this.badge.hidden = !ended;
    if (!ended) return;
    const { outcome } = log;
    this.title.textContent = outcome.steps ? counted(outcome.steps, TEXT.words.finished) : TEXT.words.no_step;
    this.badge.textContent = outcome.converged ? `✓ ${TEXT.steps.converged}` : TEXT.words.limit;
    this.badge.classList.toggle("gv-good", outcome.converged);
    // The reason to stop may contain the numbers of the certificate already.
    const isSaid = outcome.converged && outcome.stop_reason.includes(integer(outcome.certificate.scored));
    replaceChildren(this.outcome,
      h("p", {}, this.terms.link(outcome.stop_reason)),
      isSaid ? null : h("p", {}, this.terms.link(certificateWords(outcome.certificate))),
      outcome.certificate.screening && h("p", {}, this.terms.link(outcome.certificate.screening)),
      outcome.path && h("p", {}, this.terms.link(outcome.path)),
      droppedWords(log) && h("p", { dir: "auto" }, droppedWords(log)),
      h("p", { class: "gv-trust", title: exactWords(outcome) }, this.terms.link(trustWords(outcome, log.header.objective))));
  }
}

/** A sentence about the check of edges (or features) that are not in the model. */
function certificateWords({ scored, possible, worst_score: worst, threshold, symbol = "λ", unit: name = "edge", screening }) {
  const text = TEXT.certificate[screening ? "candidate" : name];
  if (possible === 0) return text.none;
  if (scored === 0) return counted(possible, text.unscored);
  const who = scored === possible ? counted(possible, text.all) : fill(text.some, { scored: integer(scored), n: integer(possible) });
  if (worst === null || worst === undefined) return `${who}.`;
  const values = { who, score: formatBeside(worst, threshold), share: formatBeside((100 * worst) / threshold, 100),
    limit: `${symbol}\u00a0=\u00a0${tickText(threshold)}` };
  const kinds = symbol === "κ" ? ["share", "passes"] : ["below", "above"];
  return fill(TEXT.certificate[kinds[worst <= threshold ? 0 : 1]], values);
}

/** A sentence about the edges that the final fit removed. */
function droppedWords(log) {
  const pairs = log.outcome.dropped ?? [];
  if (pairs.length === 0) return null;
  const named = pairs.map(([i, j]) => `${shorten(log.name(i), 24)} – ${shorten(log.name(j), 24)}`);
  return counted(pairs.length, TEXT.words.dropped, { names: listed(named, 4) });
}

/** A sentence about optimality, and about belief propagation on the final model. */
function trustWords({ bp_restart_gap: gap }, objective) {
  const fitted = TEXT.words.optimal;
  if (gap === null || gap === undefined) return `${fitted}.`;
  const verdict = gap <= 0.01 ? "same" : objective === "pseudo-likelihood" ? "off" : "unstable";
  return fitted + fill(TEXT.words[verdict], { gap: format(gap) });
}

/** The numbers behind that sentence, with their terms. */
function exactWords({ kkt, bp_restart_gap: gap }) {
  return fill(TEXT.words[(gap ?? null) === null ? "exact" : "exact_gap"], { kkt: format(kkt), gap: format(gap) });
}
