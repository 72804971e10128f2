// The step in words, the pseudo-code beside it, and how the run ended.

import { codeLines, format, formatBeside, h, integer, plural, replaceChildren, shorten, tickText } from "../shared/core.js";
import { Terms } from "./terms.js";

export class WordsPanel {
  constructor(app) {
    this.app = app;
    this.title = h("h3", {}, "This step");
    this.badge = h("span", { class: "gv-badge", hidden: true });
    this.sentence = h("p", { class: "gv-sentence", dir: "auto" });
    this.notes = h("ul", { class: "gv-notes" });
    this.outcome = h("div", { class: "gv-outcome", hidden: true });
    this.code = h("ol", { class: "gv-code" });
    this.element = h("section", { class: "gv-card gv-words", "aria-label": "This step in words" },
      h("header", {}, this.title, this.badge),
      h("div", { class: "gv-step" }, this.outcome, this.sentence, this.notes));
    this.algorithm = h("section", { class: "gv-card gv-algorithm", "aria-label": "Algorithm" }, h("h3", {}, "Algorithm"), this.code);
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
    this.title.textContent = record ? `Step ${shown}` : "Before the first step";
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
    const known = truth ? " Dotted: the true edges, from which the rows were drawn; the learner does not use them." : "";
    return `Each circle is one of the ${integer(n)} variables of a table with ${plural(rows.train, "training row")}. Step by step, edges are added between variables that depend on each other; first there are none.${known}`;
  }

  describeOutcome(log, ended) {
    this.outcome.hidden = !ended;
    this.badge.hidden = !ended;
    if (!ended) return;
    const { outcome } = log;
    this.title.textContent = outcome.steps ? `Finished after ${plural(outcome.steps, "step")}` : "Finished without any step";
    this.badge.textContent = outcome.converged ? "✓ converged" : "stopped at a limit";
    this.badge.classList.toggle("gv-good", outcome.converged);
    // The reason to stop may contain the numbers of the certificate already.
    const isSaid = outcome.converged && outcome.stop_reason.includes(integer(outcome.certificate.scored));
    replaceChildren(this.outcome,
      h("p", {}, this.terms.link(outcome.stop_reason)),
      isSaid ? null : h("p", {}, this.terms.link(certificateWords(outcome.certificate))),
      outcome.certificate.screening && h("p", {}, this.terms.link(outcome.certificate.screening)),
      outcome.path && h("p", {}, this.terms.link(outcome.path)),
      droppedWords(log) && h("p", { dir: "auto" }, droppedWords(log)),
      h("p", { class: "gv-trust" }, this.terms.link(trustWords(outcome, log.header.objective))));
  }
}

/** A sentence about the check of edges (or features) that are not in the model. */
function certificateWords({ scored, possible, worst_score: worst, threshold, symbol = "λ", unit: name = "edge", screening }) {
  const unit = screening ? "candidate" : name;
  if (possible === 0) return `No inactive ${unit} is left.`;
  if (scored === 0) return `None of the ${plural(possible, `inactive ${unit}`)} was scored at the final weights.`;
  const who = scored === possible
    ? possible === 1 ? `The only inactive ${unit} was scored` : `All ${integer(possible)} inactive ${unit}s were scored`
    : `${integer(scored)} of the ${integer(possible)} inactive ${unit}s were scored`;
  if (worst === null || worst === undefined) return `${who}.`;
  const verdict = worst <= threshold ? "is below" : "is still above";
  return `${who}; the largest score, ${formatBeside(worst, threshold)}, ${verdict} ${symbol}\u00a0=\u00a0${tickText(threshold)}.`;
}

/** A sentence about the edges that the final fit removed. */
function droppedWords(log) {
  const pairs = log.outcome.dropped ?? [];
  if (pairs.length === 0) return null;
  const named = pairs.slice(0, 4).map(([i, j]) => `${shorten(log.name(i), 24)} – ${shorten(log.name(j), 24)}`);
  const more = pairs.length > 4 ? ` and ${integer(pairs.length - 4)} more` : "";
  return `The final fit removed ${plural(pairs.length, "edge")} (× in the graph): ${named.join(", ")}${more}.`;
}

/** A sentence about optimality, and about belief propagation on the final model. */
function trustWords({ kkt, bp_restart_gap: gap }, objective) {
  const fitted = `Weights are optimal up to ${format(kkt)} (KKT residual)`;
  if (gap === null || gap === undefined) return `${fitted}.`;
  if (gap <= 0.01) return `${fitted}; restarted belief propagation converges to the same beliefs (gap ${format(gap)}).`;
  return objective === "pseudo-likelihood"
    ? `${fitted}. Belief propagation on this model is off by up to ${format(gap)}: use exact inference for this model. The fit is not affected.`
    : `${fitted}. Caution: restarted belief propagation converges to other beliefs (gap ${format(gap)}): an unstable fixed point.`;
}
