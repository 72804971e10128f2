// Forced pruning: shown run and step, and messages to the server.

import { clamp, format, h, integer, plural } from "../shared/core.js";
import { KEYS_GRAPH, KEYS_MOVE, KEYS_PLAY } from "../shared/keys_help.js";
import { StepView } from "../shared/step_view.js";
import { Transport } from "../shared/transport.js";
import { PruneCurves } from "./curves.js";
import { PruneGraph } from "./graph.js";
import { PruneLog } from "./log.js";
import { PruneRanking } from "./ranking.js";
import { PruneStrip } from "./strip.js";

const PRUNE_CHANGE = 1.1; // s of the animation of an exchange
const PRUNE_AHEAD = 200; // steps of every run to load beyond the shown one

class PrunePlayer extends StepView {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-prune", "Forced pruning", { speedKey: "prune.speed", speed: 1 });
    this.all = null;
    this.pointed = null; // a pair under the pointer
    this.node = -1; // the selected variable
    this.build();
  }

  build() {
    this.graph = new PruneGraph(this);
    this.ranking = new PruneRanking(this);
    this.strip = new PruneStrip(this);
    this.curves = new PruneCurves(this);
    this.transport = new Transport(this);
    this.panels = [this.graph, this.ranking, this.strip, this.curves, this.transport];
    this.badge = h("span", { class: "gv-badge" });
    this.truth = h("p", { class: "gv-prune-truth", dir: "auto" });
    this.assembleLayout("Loading the exchanges…", "gv-prune-body", this.graph.element, [
      this.buildHead("gv-prune-head", this.badge, this.truth), this.graph.words, this.ranking.element, this.strip.element, this.curves.element]);
  }

  // ----------------------------------------------------------------------------------- messages

  show({ header, heuristic, visit, step, feeds, failures, replies }) {
    const isFirst = this.all === null;
    const isVisit = isFirst || visit !== this.visit;
    const isOther = header && !isFirst && header.title !== this.all.header.title;
    const wasAtEnd = !isFirst && this.log.finished && this.shown === this.log.ready;
    if (header) {
      this.all = new PruneLog(header);
      this.requests.reset();
      this.node = -1;
      this.graph.setRuns(this.all);
      this.curves.setRuns(this.all);
      this.under.textContent = [header.title, ...header.facts].join(" · ");
      this.note.textContent = header.note;
    }
    const isNews = this.all.feed({ feeds, failures });
    if (replies) this.requests.replied(isNews);
    const track = this.all.of(heuristic);
    if (track !== this.log) {
      this.log = track;
      this.transport.setRun(track);
      this.pointed = null;
      if (isVisit || isOther) this.begin(isVisit ? step : 0);
      else this.wanted = wasAtEnd && header ? Infinity : this.wanted ?? this.shown;
    } else if (isVisit) this.begin(step);
    this.visit = visit;
    this.reveal();
    this.reachWanted();
    this.changed();
  }

  /** Show a requested step; a new run plays by itself, unless motion is reduced. */
  begin(step) {
    this.shown = this.p = 0;
    this.age = Infinity;
    this.wanted = step || null;
    this.sentPlace = JSON.stringify(step);
    this.playing = !step && !this.still;
  }

  /** Request missing steps ahead of the shown one. */
  demand() {
    const far = this.wanted === Infinity ? this.log.ready + PRUNE_AHEAD : Math.max(this.shown, this.wanted ?? 0) + PRUNE_AHEAD;
    const wants = this.all.tracks.filter((track) => !track.finished && track.ready < far).map((track) => [track.run, track.ready + 1, far - track.ready]);
    if (wants.length) this.requests.send(wants);
  }

  chooseHeuristic(key) {
    if (key !== this.log.heuristic) this.callbacks.heuristic(key);
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

  get keys() {
    return [["Everywhere", [...KEYS_PLAY, ...KEYS_MOVE]], ["In the graph", [...KEYS_GRAPH, ["Enter", "select it"]]],
      ["In the ranking", [["↓ ↑ or n p", "next, previous edge"]]]];
  }

  // ----------------------------------------------------------------------------------- movement

  /** Progress of the animation, 0 … 1. */
  get part() {
    return this.still ? 1 : clamp(this.age / Math.min(PRUNE_CHANGE, 0.85 / this.speed), 0, 1);
  }

  get moving() {
    const isWaiting = this.playing && this.shown >= this.log.ready && this.part === 1;
    return (this.playing && !isWaiting) || this.part < 1 || this.transport.moving;
  }

  // ---------------------------------------------------------------------- words and messages

  opening() {
    const { log, all } = this;
    const tree = `The Chow–Liu tree: the maximum-information spanning tree (${plural(all.header.tree.length, "edge")}).`;
    if (log.trouble) return log.trouble;
    if (log.finished && log.ready === 0) return log.outcome.stop_reason;
    return `${tree} ${log.ready ? "Random edges are added next." : "Fitting the start…"}`;
  }

  stateWords() {
    const { log, shown } = this;
    if (log.finished && shown === log.ready) return "finished";
    return !log.finished && shown === log.ready ? "learning…" : "";
  }

  title(record) {
    if (!record) return "The Chow–Liu tree";
    const [left, new_] = [record.removed.length, record.added.length];
    if (record.kind === "start") return `Start: the tree and ${plural(record.edges - record.tree, "random edge")}`;
    if (record.kind === "restart") return "Restart from the tree";
    if (record.kind === "best") return "Back to the best model";
    return `Exchange ${record.sum.exchanges}: ${plural(left, "edge")} out, ${integer(new_)} in`;
  }

  write() {
    const record = this.log.at(this.shown);
    const isBest = record !== null && (record.kind === "best" || record.sum.bestStep === record.t);
    const isCompared = record !== null && (record.recall !== null || record.precision !== null);
    this.headline.textContent = this.title(record);
    this.badge.textContent = isBest ? "✓ best so far" : record ? `PLL ${format(record.best - record.after)} below the best` : "";
    this.badge.className = `gv-badge ${isBest ? "gv-good" : ""}`;
    this.badge.hidden = !record;
    this.truth.textContent = isCompared ? `Compared with the true edges: recall ${shareText(record.recall)}, precision ${shareText(record.precision)}` : "";
  }

  sentence() {
    return `${this.headline.textContent}. ${this.graph.words.textContent} ${this.graph.fallback.textContent}`;
  }
}

/** A share with two digits, where there is one. */
const shareText = (share) => (share === null ? "–" : share.toFixed(2));

export const mount = (host, callbacks = {}) => new PrunePlayer(host, callbacks);
