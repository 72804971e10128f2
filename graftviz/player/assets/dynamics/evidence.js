// Evidence for the parents of a series: the seeds it drives, and the scores of candidate parents.

import { button, format, h, icon, integer, isolated, plural, shorten } from "../shared/core.js";

const EVIDENCE_MOST = 12; // candidates that are listed

export class DynamicsEvidence {
  constructor(app) {
    this.app = app;
    this.title = h("h3", { dir: "auto" });
    this.count = h("span", { class: "gv-count" });
    this.lead = h("p", { class: "gv-dynamics-lead", dir: "auto" });
    this.list = h("ol", { class: "gv-dynamics-bars" });
    this.foot = h("p", { class: "gv-muted", dir: "auto" });
    this.close = button("Clear selection", icon("close"), () => app.choose(null));
    this.close.classList.add("gv-dynamics-close");
    this.code = h("ol", { class: "gv-code", "aria-label": "Pseudo-code" });
    this.element = h("section", { class: "gv-card gv-dynamics-evidence", "aria-label": "Parents of a series" },
      h("header", {}, this.title, this.count, this.close), this.lead, this.list, this.foot, this.code);
    this.summary = "";
  }

  describe() {
    const { log, shown, chosen } = this.app;
    this.close.hidden = chosen === null;
    this.describeCode(log, shown, chosen);
    if (chosen === null) {
      this.title.textContent = "Evidence for parents";
      this.count.textContent = "";
      this.lead.textContent = log.run.seeded
        ? "Click a series in the network or the matrix to see which seeds it drives, and their two-step ancestors."
        : "Click a series in the network or the matrix to see its parents.";
      this.list.replaceChildren();
      this.foot.textContent = "";
      this.summary = "";
      return;
    }
    const found = log.evidence(chosen, shown);
    const isVoted = log.run.seeded && found.voters.length > 0 && log.kindOf(chosen) !== "seed";
    this.title.replaceChildren(isolated(shorten(log.name(chosen), 40)));
    this.count.textContent = found.row ? plural(found.row.parents.length, "parent") : "row not learned yet";
    if (isVoted) this.tellVotes(log, found);
    else this.tellRow(log, found);
    this.summary = `${log.name(chosen)}: ${this.lead.textContent} ${this.foot.textContent}`;
  }

  /** While no series is selected, the pseudo-code with the lines run for the shown row. */
  describeCode(log, shown, chosen) {
    this.code.hidden = chosen !== null;
    const ran = new Set(shown > 0 ? log.rows[shown - 1].lines : []);
    if (this.shownRun !== log.run.token) {
      this.shownRun = log.run.token;
      this.code.replaceChildren(...log.run.code.map(({ indent, text }) => h("li", { style: `--gv-indent: ${indent}` }, text)));
    }
    log.run.code.forEach(({ key }, k) => this.code.children[k].classList.toggle("gv-ran", ran.has(key)));
  }

  tellVotes(log, { j, voters, ranked, row }) {
    const names = voters.slice(0, 4).map((i) => shorten(log.name(i), 22)).join(", ") + (voters.length > 4 ? ` and ${voters.length - 4} more` : "");
    this.lead.textContent = `${plural(voters.length, "seed")} ${voters.length === 1 ? "has" : "have"} it as a parent: ${names}. `
      + "Candidate parents by score E:";
    const top = ranked.length ? ranked[0].score : 1;
    const last = ranked.findLastIndex(({ taken }) => taken);
    const shownOnes = ranked.slice(0, Math.min(EVIDENCE_MOST, Math.max(last + 4, 8)));
    const width = (share) => `${((100 * share) / top).toFixed(2)}%`;
    this.list.replaceChildren(...shownOnes.map(({ u, score, parts, taken, isTrue }) => this.line(log, u, {
      taken: row ? taken : null, isTrue, text: score.toFixed(3),
      title: parts.map(([seed, share]) => `${log.name(seed)}: ${share.toFixed(3)}`).join(", "),
      bars: parts.map(([seed, share]) => h("i", { class: `gv-dynamics-part gv-dynamics-part-${voters.indexOf(seed) % 2}`, style: `width: ${width(share)}` })),
    })));
    const missed = log.truth && row ? [...log.truth[j].keys()].filter((u) => !row.parents.includes(u)) : [];
    this.foot.textContent = !row ? "Its parents are chosen after all seeds have been regressed."
      : `E = Σ |B| / ‖B‖₁ (one bar segment per seed).${this.missedWords(log, missed)}`;
  }

  tellRow(log, { j, row }) {
    const kind = log.kindOf(j);
    if (!row) {
      this.lead.textContent = kind === "seed" ? "A seed, not regressed yet." : log.run.seeded ? "Not a parent of any seed so far." : "Row not learned yet.";
      this.list.replaceChildren();
      this.foot.textContent = "";
      return;
    }
    this.lead.textContent = {
      seed: "Seed: parents from its regression, strongest first.",
      unspoken: "Not a parent of any seed: fitted from its own data.",
      given: "Given parents; least-squares coefficients.",
      induced: "The strongest coefficients of its ℓ₁ regression.",
    }[kind] ?? "Least squares on all series, strongest first.";
    const parents = row.parents.map((u, p) => ({ u, value: row.weights[p], size: log.sized(j, u, row.weights[p]) })).sort((a, b) => Math.abs(b.size) - Math.abs(a.size));
    const top = parents.length ? Math.abs(parents[0].size) : 1;
    this.list.replaceChildren(...parents.slice(0, EVIDENCE_MOST).map(({ u, value, size }) => this.line(log, u, {
      taken: null, isTrue: log.isTrue(u, j), text: format(value).replace("-", "−"),
      title: "Coefficient; bars show standardised coefficients",
      bars: [h("i", { class: `gv-dynamics-part gv-dynamics-${value < 0 ? "down" : "up"}`, style: `width: ${((100 * Math.abs(size)) / top).toFixed(2)}%` })],
    })));
    const missed = log.truth ? [...log.truth[j].keys()].filter((u) => !row.parents.includes(u)) : [];
    const rest = parents.length - EVIDENCE_MOST;
    const order = parents.length > 1 ? "Numbers are coefficients; order and bars use standardised coefficients. " : "";
    this.foot.textContent = `${order}${rest > 0 ? `${integer(rest)} weaker parents not shown.` : ""}${this.missedWords(log, missed)}`;
  }

  missedWords(log, missed) {
    if (!log.truth) return "";
    if (!missed.length) return " All true parents found.";
    return ` True parents missed: ${missed.slice(0, 4).map((u) => shorten(log.name(u), 22)).join(", ")}${missed.length > 4 ? ` and ${missed.length - 4} more` : ""}.`;
  }

  line(log, u, { taken, isTrue, text, title, bars }) {
    // A rejected candidate is marked only if that is wrong.
    const choice = taken === null ? "" : taken ? "chosen" : "not chosen";
    const verdict = [choice, isTrue === null || (taken === false && !isTrue) ? "" : isTrue ? "true" : "false"].filter(Boolean).join(", ");
    const sign = isTrue ? "✓ " : isTrue === false && taken !== false ? "✗ " : "";
    return h("li", { class: taken === false ? "gv-dynamics-left" : "", title },
      h("button", { type: "button", class: "gv-label gv-link", click: () => this.app.choose(u) }, isolated(log.name(u))),
      h("span", { class: "gv-dynamics-meter", "aria-hidden": "true" }, bars),
      h("span", { class: "gv-number" }, text),
      h("span", { class: `gv-dynamics-verdict ${isTrue ? "gv-dynamics-yes" : ""}` }, sign + verdict));
  }
}
