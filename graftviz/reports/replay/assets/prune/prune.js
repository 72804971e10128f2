// Forced pruning: shown run and step, and messages to the server.

import { decimals, format, h, integer, plural } from "../shared/core.js";
import { graphKeys, turnKeys } from "../shared/keys_help.js";
import { RunsView } from "../shared/runs_view.js";
import { Transport } from "../shared/transport.js";
import { PruneCurves, PruneRanking, PruneStrip } from "./charts.js";
import { PruneGraph } from "./graph.js";
import { PruneLog } from "./log.js";

class PrunePlayer extends RunsView {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-prune", "Forced pruning", { speedKey: "prune.speed", speed: 1, change: 1.1, ahead: 200 });
    this.pointed = null; // a pair under the pointer
    this.node = -1; // the selected variable
    this.graph = new PruneGraph(this);
    this.ranking = new PruneRanking(this);
    this.strip = new PruneStrip(this);
    this.curves = new PruneCurves(this);
    this.transport = new Transport(this, { keys: [["In the graph", [...graphKeys(), ["Enter", "select it"]]], ["In the ranking", [turnKeys("edge")]]] });
    this.panels = [this.graph, this.ranking, this.strip, this.curves, this.transport];
    this.badge = h("span", { class: "gv-badge" });
    this.truth = h("p", { class: "gv-prune-truth", dir: "auto" });
    this.fallback = h("p", { class: "gv-prune-fallback", dir: "auto" });
    this.assembleLayout("Loading the exchanges…", "gv-prune-body", this.graph.element, [
      this.buildHead("gv-prune-head", this.badge, this.truth), this.buildWords(this.fallback), this.ranking.element, this.strip.element, this.curves.element]);
  }

  // ----------------------------------------------------------------------------------- messages

  begin(header) {
    this.isOther = this.runs !== null && header.title !== this.runs.header.title;
    this.runs = new PruneLog(header);
    this.node = -1;
    this.under.textContent = this.under.title = [header.title, ...header.facts].join(" · ");
    this.graph.fit(header.positions, { isGiven: header.given });
    this.curves.setRuns(this.runs);
  }

  receive({ header, heuristic, visit, step }, { isFirst, wasAtEnd }) {
    const isVisit = isFirst || visit !== this.visit;
    this.visit = visit;
    const track = this.runs.of(heuristic);
    if (track !== this.log) {
      this.log = track;
      this.transport.setRun(track);
      this.pointed = null;
      if (isVisit || (header && this.isOther)) this.open(isVisit ? step : 0);
      else this.wanted = wasAtEnd && header ? Infinity : this.wanted ?? this.shown;
    } else if (isVisit) this.open(step);
    if (isVisit) this.sentPlace = JSON.stringify(step);
  }

  /** A run plays by itself, unless motion is reduced. */
  open(step) {
    super.open(step || (this.still ? 0 : null));
  }

  placeOf() {
    return this.shown;
  }

  pointTo(pair, worth = null) {
    if (String(pair) === String(this.pointed)) return;
    this.pointed = pair;
    this.pointedWorth = worth;
    this.ranking.describe();
    this.wake();
  }

  /** Select a variable, or none: its edges are marked in the graph and in the ranking. */
  chooseNode(i) {
    this.node = i === this.node ? -1 : i;
    this.graph.describe();
    this.wake();
  }

  // ---------------------------------------------------------------------- words and messages

  opening() {
    const { log, runs } = this;
    const tree = `The Chow–Liu tree: the maximum-information spanning tree (${plural(runs.header.tree.length, "edge")}).`;
    if (log.trouble) return log.trouble;
    if (log.finished && log.ready === 0) return log.outcome.stop_reason;
    return `${tree} ${log.ready ? "Random edges are added next." : "Fitting the start…"}`;
  }

  title(record) {
    if (!record) return "The Chow–Liu tree";
    const [left, new_] = [record.removed.length, record.added.length];
    if (record.isRequired) return `Start: ${plural(record.edges, "required edge")}`;
    const random = record.edges - record.tree - record.required;
    if (record.kind === "start") return `Start: the tree and ${plural(random, "random edge")}`;
    if (record.kind === "restart") return "Restart from the tree";
    if (record.kind === "best") return "Back to the best model";
    return `Exchange ${record.sum.exchanges}: ${plural(left, "edge")} out, ${integer(new_)} in`;
  }

  write() {
    const { log } = this;
    const record = log.at(this.shown);
    const isBest = record !== null && (record.kind === "best" || record.sum.bestStep === record.t);
    const isCompared = record !== null && (record.recall !== null || record.precision !== null);
    this.headline.textContent = this.title(record);
    this.badge.textContent = isBest ? "✓ best so far" : record ? `PLL ${format(record.best - record.after)} below the best` : "";
    this.badge.className = `gv-badge ${isBest ? "gv-good" : ""}`;
    this.badge.hidden = !record;
    this.truth.textContent = isCompared ? `Compared with the true edges: recall ${decimals(record.recall, 2)}, precision ${decimals(record.precision, 2)}` : "";
    this.words.textContent = record ? record.words : this.opening();
    this.fallback.textContent = [record?.fallback ? "Fallback." : "", ...(record?.notes ?? [])].filter(Boolean).join(" ");
    this.stop.textContent = this.isAtEnd ? log.trouble || log.outcome.stop_reason : "";
  }

  sentence() {
    return `${this.headline.textContent}. ${super.sentence()} ${this.fallback.textContent}`;
  }
}

/** See shared/mount.js. */
export const host = {
  key: "token",
  once: "header",
  messages: { need: (wants) => ({ wants }), heuristic: (key) => ({ key }), moved: (step) => ({ step }) },
  place: (step) => ({ step: step === 0 ? null : step }),
};

export const mount = (host, callbacks = {}) => new PrunePlayer(host, callbacks);
