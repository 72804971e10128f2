// The player: shown run and step, the moving playhead, and messages to the server.

import { clamp, h, plural } from "../shared/core.js";
import { KEYS_OF_PLAYER } from "../shared/keys_help.js";
import { Transport } from "../shared/transport.js";
import { View } from "../shared/view.js";
import { REGION_ASK_MS, RegionPanel } from "./certified_region.js";
import { CurvesPanel } from "./curves.js";
import { GraphView } from "./graph.js";
import { InspectorPanel } from "./inspector.js";
import { RunLog } from "./log.js";
import { ReservoirPanel } from "./reservoir.js";
import { WordsPanel } from "./words.js";

const AHEAD_SECONDS = 1.5; // of playing that should be here beyond the shown step
const FETCH_SECONDS = 3; // of playing that a request is for
const FETCH_STEPS = [24, 400]; // least and most of a request
const STEP_RATE = 11; // 1/s: how fast the playhead closes in on a step that was jumped to
const BESIDE_MS = 500; // between requests for the rest of the run shown beside; then twice that, …
const BESIDE_TRIES = 6;
const PATIENT_MS = 700; // how long the old run stays while the new one has not reached the step

class Player extends View {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-grow", "Player of a learning run");
    this.ghost = null;
    this.next = null; // a run that is loading: {log, step, playing, at}
    this.p = 0; // playhead, continuous; step t is complete at p = t
    this.shown = 0; // the step that all panels show
    this.goal = null; // a requested step that has not arrived yet
    this.speedKey = "speed";
    this.speed = 4;
    this.selection = null;
    this.build();
  }

  build() {
    this.region = new RegionPanel(this);
    this.graph = new GraphView(this);
    this.reservoir = new ReservoirPanel(this);
    this.curves = new CurvesPanel(this);
    this.words = new WordsPanel(this);
    this.inspector = new InspectorPanel(this);
    this.transport = new Transport(this);
    this.assembleLayout("Waiting for the run…", "gv-player-body", this.graph.element, [
      h("div", { class: "gv-column" }, this.buildHead(), this.words.element, this.inspector.element, this.words.algorithm),
      h("div", { class: "gv-column" }, this.reservoir.element, this.curves.element)]);
    this.panels = [this.graph, this.region, this.reservoir, this.curves, this.words, this.inspector, this.transport];
  }

  get keys() {
    return KEYS_OF_PLAYER;
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
    const take = () => log.feed(from, records || [], outcome || null);
    if (log === this.log) this.graph.keepPlaces(take);
    else take();
    if (log === this.ghost) {
      if (records && records.length) this.besideTries = 0;
      return this.changed();
    }
    this.requests.replied(log.ready > before);
    if (waiting) this.considerNext();
    else this.reachGoal();
    this.changed();
  }

  /** Show how often each pair was found over subsamples: {run, of, rows, edges: [[i, j, count], …]}. */
  stabilise(found) {
    const log = [this.next && this.next.log, this.log].find((some) => some && some.header.run === found.run);
    if (!log) return;
    log.setStability(found);
    this.changed();
  }

  /** Where a loading run should open: the step asked for, or the place the last one was left at. */
  openingStep({ log, step }) {
    const atEnd = this.log !== null && this.log.finished && this.shown === this.log.last;
    const wanted = step ?? this.goal ?? (atEnd ? Infinity : this.shown);
    return log.last === null ? wanted : Math.min(wanted, log.last);
  }

  /** Switch to the loading run once it has what should be shown, or after a little patience. */
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
    const related = old !== null && old.n === log.n && old.header.title === log.header.title;
    if (related && old.ready > 0) this.ghost = old;
    else if (!related) this.ghost = null;
    if (old && !related) {
      this.selection = null;
      this.graph.resetCamera();
    }
    this.next = null;
    this.root.classList.remove("gv-outdated");
    this.log = log;
    this.shown = Math.min(target, log.ready);
    this.p = this.shown;
    this.goal = target > log.ready && !log.finished ? target : null;
    this.playing = playing;
    this.reveal();
    this.writeHead(log.header);
    this.region.setRun();
    this.graph.setRun(log, related);
    this.reservoir.setRun(log);
    this.words.setRun(log);
    this.inspector.setRun(log);
    this.curves.setRun(log, this.ghost);
    this.transport.setRun(log);
    this.besideTries = 0;
    this.completeGhost();
    this.changed();
  }

  /** Ask for what is missing of the run this one belongs beside; other ghosts stay as they are. */
  completeGhost() {
    clearTimeout(this.timers.beside);
    const { ghost, log, callbacks } = this;
    const belongs = ghost && (log.header.beside || (log.header.branch && log.header.branch.run === ghost.header.run));
    if (!belongs || ghost.finished || !callbacks.beside || this.besideTries >= BESIDE_TRIES) return;
    this.timers.beside = setTimeout(() => {
      callbacks.beside(ghost.header.run, ghost.ready + 1);
      this.besideTries++;
      this.completeGhost();
    }, BESIDE_MS * 2 ** this.besideTries);
  }

  writeHead({ title, learner, note, branch, seed }) {
    this.headline.textContent = title;
    const options = Object.entries(learner.options || {}).filter(([, value]) => value !== null && value !== "");
    const text = options.map(([key, value]) => `${SYMBOLS[key] ?? key} ${{ true: "on", false: "off" }[value] ?? value}`);
    const parts = [learner.title, ...text, seed === undefined ? null : `seed ${seed}`, branch && branch.text].filter(Boolean);
    this.under.textContent = parts.join(" · ");
    this.under.title = this.under.textContent;
    this.note.textContent = note || "";
  }

  // ---------------------------------------------------------------------------------- transport

  toggle() {
    if (!this.log) return;
    if (this.playing) this.pause();
    else {
      if (this.log.finished && this.shown >= this.log.ready) this.show(0);
      this.goal = null;
      this.playing = true;
      this.changed();
    }
  }

  pause() {
    this.playing = false;
    this.changed();
  }

  stepBy(count) {
    if (!this.log) return;
    this.playing = false;
    this.seek((this.goal === null || this.goal === Infinity ? this.shown : this.goal) + count);
  }

  /** Show step t, now or as soon as it has arrived; Infinity is the end of the run. */
  seek(t) {
    if (!this.log) return;
    const last = this.log.last ?? Infinity;
    const target = clamp(t, 0, last);
    if (t === Infinity) this.playing = false;
    this.goal = target > this.log.ready ? target : null;
    this.show(Math.min(target, this.log.ready));
  }

  show(t) {
    this.shown = t;
    // A far jump need not pass by everything between.
    if (Math.abs(this.p - t) > 40) this.p = t + 40 * Math.sign(this.p - t);
    if (this.still) this.p = t;
    this.changed();
  }

  reachGoal() {
    if (this.goal === null) return;
    if (this.log.finished) this.goal = Math.min(this.goal, this.log.last);
    const t = Math.min(this.goal, this.log.ready);
    if (this.goal <= this.log.ready) this.goal = null;
    if (t !== this.shown) this.show(t);
  }

  branchHere() {
    this.pause();
    this.callbacks.branch(this.shown);
  }

  stateWords() {
    const { log } = this;
    if (this.next) return "learning…";
    if (log.last !== null) return log.finished && this.shown === log.last ? (log.outcome.converged ? "converged" : "finished") : "";
    if (this.goal !== null || (this.playing && this.p >= log.ready)) return "learning…";
    return "";
  }

  // ---------------------------------------------------------------------------------- selection

  select(selection) {
    this.selection = selection;
    this.inspector.answer = null;
    this.inspector.describe();
    this.asked = null;
    this.askSoon();
    this.wake();
  }

  selectPair(i, j) {
    this.select({ kind: "pair", i: Math.min(i, j), j: Math.max(i, j) });
  }

  questionKind({ kind, i, j }) {
    return kind === "node" ? "node" : this.log.edgeAt(i, j, this.shown) >= 0 ? "edge" : "pair";
  }

  /** Ask about the selection at the shown step: promptly at rest, about once a second in motion. */
  askSoon() {
    const { region } = this;
    if (!this.selection || !this.callbacks.ask || this.timers.ask) return;
    const first = !this.asked;
    this.timers.ask = setTimeout(() => {
      this.timers.ask = 0;
      const { selection, shown, log, region } = this;
      if (!selection || !log) return;
      // The latest question counts: while playing, the next one waits for the answer to the last.
      if (this.playing && region.waiting && !first) return;
      const question = { run: log.header.run, kind: this.questionKind(selection), i: selection.i, t: shown };
      if (selection.j !== undefined) question.j = selection.j;
      const text = JSON.stringify(question);
      const wish = region.wish(shown);
      // An available region is not requested again, nor is the same question sent twice.
      if (text === this.asked?.text && (!wish || JSON.stringify(wish) === this.asked.wish)) return;
      this.asked = { text, wish: JSON.stringify(wish) };
      if (wish) question.region = wish;
      region.asked(question);
      this.callbacks.ask(question);
    }, first ? 0 : !this.playing ? 180 : region.node === null ? 1200 : REGION_ASK_MS);
  }

  answer(message) {
    const { question } = message;
    if (!this.log || !question || (question.run ?? this.log.header.run) !== this.log.header.run) return;
    this.region.receive(message);
    this.inspector.receive(message);
    this.askSoon();
    this.wake();
  }

  // ----------------------------------------------------------------------------- messages

  changed() {
    super.changed();
    this.askSoon();
  }

  get isAtRest() {
    return !this.playing && this.goal === null;
  }

  address() {
    return this.shown;
  }

  /** The shown step in words, for screen readers. */
  sentence() {
    const { log, shown } = this;
    const record = log.record(shown);
    const total = log.last === null ? "" : ` of ${log.last}`;
    const end = log.finished && shown === log.last ? ` ${log.outcome.stop_reason}` : "";
    return `Step ${shown}${total}, ${plural(log.edgesAt(shown), "edge")}. ${record ? record.words : ""}${end}`;
  }

  refresh() {
    const before = JSON.stringify(this.palette);
    super.refresh();
    if (this.log && before !== JSON.stringify(this.palette)) this.inspector.describe();
  }

  // ----------------------------------------------------------------------------------- movement

  get moving() {
    const rolling = this.playing && this.p < this.log.ready;
    return rolling || this.p !== this.shown || this.panels.some((panel) => panel.moving);
  }

  advance(seconds) {
    const gap = this.shown - this.p;
    // Playing goes on from the shown step once a jump to it has been completed.
    const there = gap >= -0.01 && gap <= 1;
    if (this.playing && there && !this.transport.dragging) this.roll(seconds);
    else {
      this.p = Math.abs(gap) < 0.004 ? this.shown : this.p + gap * (1 - Math.exp(-STEP_RATE * seconds));
    }
    super.advance(seconds);
  }

  /** Request records before they run out, and none while there are enough. */
  demand() {
    const { log, p, goal, playing } = this.next ? { ...this.next, p: 0, goal: this.openingStep(this.next) } : this;
    if (log.finished) return;
    const [least, most] = FETCH_STEPS;
    const isFar = goal !== null && goal > log.ready;
    const needed = isFar ? goal : p + Math.max(playing ? AHEAD_SECONDS * this.speed : 0, 6);
    if (log.ready < needed) this.requests.send(log.ready + 1, isFar ? most : clamp(Math.ceil(FETCH_SECONDS * this.speed), least, most));
  }

  roll(seconds) {
    const limit = this.log.ready;
    if (this.still) {
      this.carry = Math.min((this.carry || 0) + seconds * this.speed, limit - this.shown);
      const whole = Math.floor(this.carry);
      this.carry -= whole;
      this.p = this.shown + whole;
    } else {
      this.p = Math.min(this.p + seconds * this.speed, limit);
    }
    const shown = this.still ? this.p : Math.ceil(this.p - 1e-9);
    const ended = this.p >= limit && this.log.finished;
    if (ended) this.playing = false;
    if (shown !== this.shown || ended) {
      this.shown = shown;
      this.changed();
    }
  }
}

// What the papers call the options.
const SYMBOLS = { alpha: "α", lam: "λ", lam2: "λ₂", reservoir: "|R|", t_max: "t_max", max_edges: "edges ≤", max_features: "features ≤", hub_threshold: "ĉ" };

/** See shared/mount.js. */
export const host = {
  key: "run",
  once: "header",
  missing: () => ({ from: 1, count: 0 }),
  messages: {
    need: (from, count) => ({ from, count }), ask: (question) => question, beside: (run, from) => ({ run, from }),
    branch: (t) => ({ t }), moved: (t) => ({ t }),
  },
  place: (t) => ({ step: t > 0 ? t : null }),
  show(view, { run, header, step, feed, ghost, answer, stability, late }, before) {
    if (run !== before) {
      const load = (some) => view.load(some, { step: before === null ? step : null, playing: view.playing });
      // The run to compare with is completed, or loaded first, so that it becomes the ghost.
      if (ghost && ghost.header.run !== before) load(ghost.header);
      if (ghost) view.feed(ghost.feed);
      load(header);
    }
    for (const some of [feed, late]) if (some) view.feed(some);
    if (stability) view.stabilise(stability);
    if (answer) view.answer(answer);
  },
};

export const mount = (host, callbacks = {}) => new Player(host, callbacks);
