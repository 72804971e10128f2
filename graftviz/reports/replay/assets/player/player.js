// The player: shown run and step, the moving playhead, and messages to the server.

import { clamp, counted, fill, h } from "../shared/core.js";
import { graphKeys, turnKeys } from "../shared/keys_help.js";
import { Requests } from "../shared/requests.js";
import { StepView } from "../shared/step_view.js";
import { Transport } from "../shared/transport.js";
import { RegionPanel } from "./certified_region.js";
import { CurvesPanel } from "./curves.js";
import { GraphView } from "./graph.js";
import { InspectorPanel } from "./inspector.js";
import { RunLog } from "./log.js";
import { Questions } from "./questions.js";
import { ReservoirPanel } from "./reservoir.js";
import { WordsPanel } from "./words.js";

const AHEAD_SECONDS = 1.5; // of playback that should be available beyond the shown step
const FETCH_SECONDS = 3; // of playback in a request
const FETCH_STEPS = [24, 400]; // least and most of a request
const FETCH_SPREAD = 0.25; // share by which requests differ, so that pages that begin together do not all ask at the same time
const PATIENT_MS = 700; // how long the old run stays while the new one has not reached the step

class Player extends StepView {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-grow", TEXT.player.title, { speedKey: "speed", speed: 4, change: 0.8 });
    this.ghost = null;
    this.next = null; // a run that is loading: {log, step, playing, at}
    this.sameEdges = null; // number of edges with which the next run opens, or null
    this.selection = null;
    this.ghostRequests = new Requests(this, "ghost", { soon: 500, tries: 10 });
    this.questions = new Questions(this);
    this.region = new RegionPanel(this);
    this.graph = new GraphView(this);
    this.reservoir = new ReservoirPanel(this);
    this.curves = new CurvesPanel(this);
    this.words = new WordsPanel(this);
    this.inspector = new InspectorPanel(this);
    this.transport = new Transport(this, { keys: [
      [TEXT.player.in_graph, [...graphKeys(), TEXT.player.edge_keys]],
      [TEXT.player.in_reservoir, [turnKeys(TEXT.player.candidate)]],
      [TEXT.player.on_threshold, TEXT.player.threshold_keys]] });
    this.assembleLayout(TEXT.player.waiting, "gv-player-body", this.graph.element, [
      h("div", { class: "gv-column" }, this.buildHead(), this.words.element, this.inspector.element, this.words.algorithm),
      h("div", { class: "gv-column" }, this.reservoir.element, this.curves.element)]);
    this.panels = [this.graph, this.region, this.reservoir, this.curves, this.words, this.inspector, this.transport];
  }

  // ------------------------------------------------------------------------------ runs, records

  load(header, { step = null, playing = false } = {}) {
    const log = new RunLog(header);
    const { branch } = header;
    const parent = [this.log, this.next && this.next.log].find((other) => other && branch && other.header.run === branch.run);
    if (parent && parent.n === log.n) log.inherit(parent, branch.t);
    this.requests.reset();
    this.next = { log, step, playing, at: performance.now() };
    this.root.classList.toggle("gv-outdated", this.log !== null);
    if (!this.log) {
      this.sentPlace = JSON.stringify(step ?? 0);
      this.adopt();
    } else this.considerNext();
    this.wake();
  }

  feed({ run, from, records, outcome }) {
    const waiting = this.next && this.next.log.header.run === run ? this.next.log : null;
    const log = waiting || [this.log, this.ghost].find((some) => some && some.header.run === run);
    if (!log) return;
    const before = log.ready;
    log.feed(from, records || [], outcome || null);
    const isNews = log.ready > before;
    if (log === this.ghost) this.ghostRequests.replied(isNews);
    else {
      this.requests.replied(isNews);
      if (waiting) this.considerNext();
      else this.reachWanted();
    }
    this.changed();
  }

  /** Show how often each pair was found over subsamples: {run, of, rows, edges: [[i, j, count], …]}. */
  stabilise(found) {
    const log = [this.next && this.next.log, this.log].find((some) => some && some.header.run === found.run);
    if (!log) return;
    log.setStability(found);
    this.changed();
  }

  /** The step at which a loading run opens: the requested one, or the shown one. */
  openingStep({ log, step }) {
    if (this.sameEdges !== null) return log.stepWith(this.sameEdges) ?? log.last ?? log.ready + 1;
    const wanted = step ?? this.wanted ?? (this.log !== null && this.isAtEnd ? Infinity : this.shown);
    return log.last === null ? wanted : Math.min(wanted, log.last);
  }

  /** Go to the wanted step; after a change of the preset it is the first with as many edges as before. */
  reachWanted() {
    const { log, sameEdges } = this;
    if (sameEdges !== null && log.header.ghost) {
      const step = log.stepWith(sameEdges) ?? log.last;
      this.wanted = step ?? log.ready + 1;
      if (step !== null) this.sameEdges = null;
    }
    super.reachWanted();
  }

  /** Switch to the loading run once that step is available, or after some time. */
  considerNext() {
    const { next } = this;
    if (!next) return;
    const ready = next.log.finished || next.log.ready >= this.openingStep(next);
    const late = performance.now() - next.at > PATIENT_MS && (next.log.ready > 0 || next.log.finished);
    if (ready || late) this.adopt();
    else {
      clearTimeout(this.timers.next);
      this.timers.next = setTimeout(() => { this.considerNext(); this.wake(); }, PATIENT_MS + 10);
    }
  }

  adopt() {
    const { log, playing } = this.next;
    const target = this.openingStep(this.next);
    const old = this.log;
    const related = old !== null && old.n === log.n && dataOf(old.header) === dataOf(log.header);
    if (related && old.ready > 0) this.ghost = old;
    else if (!related) this.ghost = null;
    if (old && !related) {
      this.selection = null;
      this.graph.resetCamera();
    }
    this.questions.setRun();
    this.ghostRequests.reset();
    this.next = null;
    this.root.classList.remove("gv-outdated");
    this.log = log;
    this.wanted = target;
    this.reachWanted();
    this.playing = playing;
    this.reveal();
    this.writeHead(log.header);
    for (const panel of this.panels) panel.setRun(log, this.ghost);
    this.changed();
  }

  writeHead({ title, learner, note, branch, seed }) {
    this.headline.textContent = title;
    const options = Object.entries(learner.options || {}).filter(([, value]) => value !== null && value !== "");
    const text = options.map(([key, value]) => `${SYMBOLS[key] ?? key} ${{ true: TEXT.player.on, false: TEXT.player.off }[value] ?? value}`);
    const parts = [learner.title, ...text, seed === undefined ? null : fill(TEXT.player.seed, { seed }), branch && branch.text].filter(Boolean);
    this.under.textContent = parts.join(" · ");
    this.under.title = this.under.textContent;
    this.note.textContent = note || "";
  }

  // ---------------------------------------------------------------------------------- transport

  pause() {
    this.playing = false;
    this.changed();
  }

  /** Show step t, now or as soon as it is available; Infinity is the end of the run, where playback stops. */
  seek(t) {
    this.sameEdges = null;
    super.seek(t, this.playing && t !== Infinity);
  }

  /** Learn by the preset best, and show the step with as many edges. */
  switchToBest() {
    this.pause();
    this.sameEdges = this.log.edgesAt(this.shown);
    this.callbacks.best();
  }

  branchHere() {
    this.pause();
    this.callbacks.branch(this.shown);
  }

  stateWords() {
    const { log } = this;
    if (this.next) return TEXT.steps.learning;
    if (log.last !== null) return this.isAtEnd ? TEXT.steps[log.outcome.converged ? "converged" : "finished"] : "";
    if (this.wanted !== null || (this.playing && this.p >= log.ready)) return TEXT.steps.learning;
    return "";
  }

  // ---------------------------------------------------------------------------------- selection

  select(selection) {
    this.selection = selection;
    this.questions.begin();
    this.inspector.describe();
    this.wake();
  }

  selectPair(i, j) {
    this.select({ kind: "pair", i: Math.min(i, j), j: Math.max(i, j) });
  }

  /** What the inspector is about: the selection, or while paused the first new edge of the shown step. */
  get subject() {
    const first = this.selection || this.playing ? null : this.log.record(this.shown)?.activated[0];
    return first ? { kind: "pair", i: first[0], j: first[1] } : this.selection;
  }

  questionKind({ kind, i, j }) {
    return kind === "node" ? "node" : this.log.edgeAt(i, j, this.shown) >= 0 ? "edge" : "pair";
  }

  answer(message) {
    if (!this.log) return;
    this.questions.receive(message);
    this.inspector.describe();
    this.wake();
  }

  // ------------------------------------------------------------------------------------- words

  /** The shown step in words, for screen readers. */
  sentence() {
    const { log, shown } = this;
    const record = log.record(shown);
    const end = this.isAtEnd ? ` ${log.outcome.stop_reason}` : "";
    const place = fill(TEXT.player[log.last === null ? "place" : "place_of"], { step: shown, last: log.last, edges: counted(log.edgesAt(shown), TEXT.units.edges) });
    return `${place} ${record ? record.words : ""}${end}`;
  }

  refresh() {
    const before = JSON.stringify(this.palette);
    super.refresh();
    if (this.log && before !== JSON.stringify(this.palette)) this.inspector.describe();
  }

  // ----------------------------------------------------------------------------------- requests

  demand() {
    this.demandRecords();
    this.demandGhost();
    this.questions.demand();
  }

  /** Request records before the playhead reaches the last one. */
  demandRecords() {
    const { log, p, wanted } = this.next ? { ...this.next, p: 0, wanted: this.openingStep(this.next) } : this;
    if (log.finished) return;
    const [least, most] = FETCH_STEPS;
    const isFar = wanted !== null && wanted > log.ready;
    const needed = isFar ? wanted : p + Math.max(AHEAD_SECONDS * this.speed, 6);
    if (log.ready >= needed) return;
    const share = 1 + FETCH_SPREAD * (2 * Math.random() - 1);
    this.requests.send(log.ready + 1, isFar ? most : Math.ceil(share * clamp(FETCH_SECONDS * this.speed, least, most)));
  }

  /** Request the missing records of a run that is compared with this one, or from which it branches off. */
  demandGhost() {
    const { ghost, log: { header } } = this;
    if (ghost && !ghost.finished && (header.ghost || header.branch?.run === ghost.header.run)) this.ghostRequests.send(ghost.header.run, ghost.ready + 1);
  }
}

// Symbols of the options in the papers.
const SYMBOLS = {
  alpha: "α", lam: "λ", lam2: "λ₂", reservoir: "|R|", t_max: "t_max", max_edges: TEXT.player.edges_at_most, max_features: TEXT.player.features_at_most, hub_threshold: "ĉ",
};

/** Name and size of the data; the rest of a title says how many of its rows are used. */
const dataOf = ({ title }) => title.split(" · ", 2).join(" · ");

/** Whether the address has no settings of the page. */
const isPlainAddress = () => [...new URLSearchParams(location.search).keys()].every((name) => name === "present");

/** See shared/mount.js. */
export const host = {
  key: "run",
  once: "header",
  missing: () => ({ from: 1, count: 0 }),
  messages: {
    need: (from, count) => ({ from, count }), ask: (question) => question, ghost: (run, from) => ({ run, from }),
    branch: (t) => ({ t }), moved: (t) => ({ t }), best: () => ({}), alpha: (value) => ({ value }),
  },
  place: (t) => ({ step: t > 0 ? t : null }),
  show(view, { run, header, step, feed, ghost, answer, stability, ghost_feed: ghostFeed }, before) {
    if (run !== before) {
      // Without settings in its address, the page opens with a run that plays, unless motion is reduced.
      const opening = { step, playing: step === 0 && !view.still && isPlainAddress() };
      const load = (some) => view.load(some, before === null ? opening : { playing: view.playing });
      // The run to compare with is completed, or loaded first, so that it becomes the ghost.
      if (ghost && ghost.header.run !== before) load(ghost.header);
      if (ghost) view.feed(ghost.feed);
      load(header);
    }
    for (const some of [feed, ghostFeed]) if (some) view.feed(some);
    if (stability) view.stabilise(stability);
    if (answer) view.answer(answer);
  },
};

export const mount = (host, callbacks = {}) => new Player(host, callbacks);
