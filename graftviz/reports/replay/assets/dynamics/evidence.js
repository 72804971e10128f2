// Evidence for the parents of a series: the seeds it drives, and the scores of candidate parents.

import { button, codeLines, format, h, icon, integer, isolated, listed, plural, shorten } from "../shared/core.js";

const EVIDENCE_MOST = 12; // candidates that are listed
const EVIDENCE_NAMED = 4; // seeds, or missed parents, that are named
const EVIDENCE_KINDS = {
  seed: "Seed: parents from its regression, strongest first.",
  uncovered: "Not a parent of any seed: fitted from its own data.",
  given: "Given parents; least-squares coefficients.",
  induced: "The strongest coefficients of its ℓ₁ regression.",
};

export class DynamicsEvidence {
  constructor(app) {
    this.app = app;
    this.title = h("h3", { dir: "auto" });
    this.count = h("span", { class: "gv-count" });
    this.lead = h("p", { dir: "auto" });
    this.list = h("ol", { class: "gv-dynamics-bars" });
    this.foot = h("p", { class: "gv-muted", dir: "auto" });
    this.close = button("Clear selection", icon("close"), () => app.choose(null), { class: "gv-quiet" });
    this.code = h("ol", { class: "gv-code" });
    this.element = h("section", { class: "gv-card gv-dynamics-evidence", "aria-label": "Parents of a series" },
      h("header", {}, this.title, this.count, this.close), this.lead, this.list, this.foot);
    this.algorithm = h("section", { class: "gv-card gv-algorithm", "aria-label": "Algorithm" }, h("h3", {}, "Algorithm"), this.code);
  }

  describe() {
    const { log, shown, chosen } = this.app;
    this.close.hidden = chosen === null;
    this.describeCode(log, shown);
    const found = chosen === null ? null : log.evidence(chosen, shown);
    const { lead, lines = [], foot = "" } = found ? this.facts(log, found) : { lead: log.run.seeded
      ? "Click a series in the network or the matrix to see which seeds it drives, and their two-step ancestors."
      : "Click a series in the network or the matrix to see its parents." };
    this.title.replaceChildren(found ? isolated(shorten(log.name(chosen), 40)) : "Evidence for parents");
    this.count.textContent = !found ? "" : found.row ? plural(found.row.parents.length, "parent") : "row not learned yet";
    this.lead.textContent = lead;
    this.list.replaceChildren(...lines.map((line) => this.line(log, line)));
    this.foot.textContent = foot;
    this.summary = found ? `${log.name(chosen)}: ${lead} ${foot}` : "";
  }

  /** The pseudo-code with the lines run for the shown row. */
  describeCode(log, shown) {
    const ran = shown > 0 ? log.rows[shown - 1].lines : [];
    this.code.replaceChildren(...codeLines(log.run.code, ran));
  }

  facts(log, found) {
    const kind = log.kindOf(found.j);
    if (log.run.seeded && found.voters.length > 0 && kind !== "seed") return this.votes(log, found);
    if (found.row) return this.parents(log, found, kind);
    return { lead: kind === "seed" ? "A seed, not regressed yet." : log.run.seeded ? "Not a parent of any seed so far." : "Row not learned yet." };
  }

  /** Candidates by the score that the seeds give them. */
  votes(log, { voters, ranked, row, missed }) {
    const lead = `${plural(voters.length, "seed")} ${voters.length === 1 ? "has" : "have"} it as a parent: `
      + `${this.names(log, voters)}. Candidate parents by score E:`;
    const last = ranked.findLastIndex(({ taken }) => taken);
    const lines = ranked.slice(0, Math.min(EVIDENCE_MOST, Math.max(last + 4, 8))).map(({ u, score, parts, taken, isTrue }) => ({
      u, taken: row ? taken : null, isTrue, text: score.toFixed(3),
      title: parts.map(([seed, share]) => `${log.name(seed)}: ${share.toFixed(3)}`).join(", "),
      bars: parts.map(([seed, share]) => [voters.indexOf(seed) % 2, share / ranked[0].score]),
    }));
    const foot = row ? `E = Σ |B| / ‖B‖₁ (one bar segment per seed).${this.missedWords(log, missed)}`
      : "Its parents are chosen after all seeds have been regressed.";
    return { lead, lines, foot };
  }

  /** The parents of a learned row, by their standardised coefficients. */
  parents(log, { j, row, missed }, kind) {
    const parents = row.parents.map((u, p) => ({ u, value: row.weights[p], size: Math.abs(log.sized(j, u, row.weights[p])) })).sort((a, b) => b.size - a.size);
    const lines = parents.slice(0, EVIDENCE_MOST).map(({ u, value, size }) => ({
      u, taken: null, isTrue: log.isTrue(u, j), text: format(value), title: "Coefficient; bars show standardised coefficients",
      bars: [[value < 0 ? "down" : "up", size / parents[0].size]],
    }));
    const rest = parents.length - EVIDENCE_MOST;
    const order = parents.length > 1 ? "Numbers are coefficients; order and bars use standardised coefficients. " : "";
    const foot = `${order}${rest > 0 ? `${integer(rest)} weaker parents not shown.` : ""}${this.missedWords(log, missed)}`;
    return { lead: EVIDENCE_KINDS[kind] ?? "Least squares on all series, strongest first.", lines, foot };
  }

  names(log, series) {
    return listed(series.map((u) => shorten(log.name(u), 22)), EVIDENCE_NAMED);
  }

  missedWords(log, missed) {
    if (!log.truth) return "";
    return missed.length ? ` True parents missed: ${this.names(log, missed)}.` : " All true parents found.";
  }

  line(log, { u, taken, isTrue, text, title, bars }) {
    // A rejected candidate is marked only if that is wrong.
    const choice = taken === null ? "" : taken ? "chosen" : "not chosen";
    const verdict = [choice, isTrue === null || (taken === false && !isTrue) ? "" : isTrue ? "true" : "false"].filter(Boolean).join(", ");
    const sign = isTrue ? "✓ " : isTrue === false && taken !== false ? "✗ " : "";
    const parts = bars.map(([kind, share]) => h("i", { class: `gv-dynamics-part gv-dynamics-part-${kind}`, style: `width: ${(100 * share).toFixed(2)}%` }));
    return h("li", { class: taken === false ? "gv-dynamics-left" : "", title },
      h("button", { type: "button", class: "gv-label gv-link", click: () => this.app.choose(u) }, isolated(log.name(u))),
      h("span", { class: "gv-dynamics-meter", "aria-hidden": "true" }, parts),
      h("span", { class: "gv-number" }, text),
      h("span", { class: `gv-dynamics-verdict ${isTrue ? "gv-dynamics-yes" : ""}` }, sign + verdict));
  }
}
