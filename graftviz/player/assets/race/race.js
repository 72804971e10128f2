// The race: shown place on the chosen axis, movement, and messages to the server.

import { clamp, h, remembered, ticks } from "../shared/core.js";
import { KEYS_GRAPH, KEYS_MOVE, KEYS_PLAY } from "../shared/keys_help.js";
import { View } from "../shared/view.js";
import { RaceCurves } from "./curves.js";
import { RaceGraphs } from "./graphs.js";
import { RACE_AXES, RaceLog } from "./log.js";
import { RaceTable } from "./table.js";
import { RACE_DURATIONS, RaceTransport } from "./transport.js";

const RACE_END = "end"; // a place in addresses and messages
const RACE_AHEAD = 600; // steps of every racer that should be here beyond the shown one
const RACE_STILL_SECONDS = 0.5; // between pictures with reduced motion
const RACE_WORDS_EVERY = 120; // ms between changes of words and numbers while playing

class RacePlayer extends View {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-race", "Race of learning runs");
    this.axis = "tests";
    this.value = 0;
    this.goal = null; // a requested place that has not been learned yet
    this.places = []; // the shown moment of every racer
    const duration = remembered.get("race.duration", 20);
    this.duration = RACE_DURATIONS.includes(duration) ? duration : 20;
    this.scales = { seconds: "linear", tests: "log", edges: "linear", ...remembered.get("race.scales", {}) };
    this.build();
  }

  build() {
    this.graphs = new RaceGraphs(this);
    this.curves = new RaceCurves(this);
    this.table = new RaceTable(this);
    this.transport = new RaceTransport(this);
    this.panels = [this.graphs, this.curves, this.table, this.transport];
    this.leader = h("p", { class: "gv-race-leader", dir: "auto" });
    this.assemble("Waiting for the race…", "gv-race-body",
      this.buildHead(), this.leader,
      this.graphs.element, this.curves.element, this.table.element, this.transport.element);
  }

  // --------------------------------------------------------------------------- race and records

  load(header, place) {
    const kept = this.log !== null;
    const left = kept && this.over ? Infinity : this.value;
    this.log = new RaceLog(header);
    this.requests.reset();
    this.playing = false;
    if (!kept && place) {
      if (RACE_AXES[place.axis]) this.axis = place.axis;
      this.goal = place.at === RACE_END ? Infinity : place.at;
    } else this.goal = left;
    this.value = 0;
    this.sentPlace = JSON.stringify({ axis: this.axis, at: this.goal === Infinity ? RACE_END : this.goal });
    this.headline.textContent = header.title;
    this.under.textContent = header.facts.join(" · ");
    this.note.textContent = header.note;
    this.reveal();
    for (const panel of [this.graphs, this.curves, this.table]) panel.setRace(this.log);
    this.changed();
  }

  feed({ feeds, failures, replies }) {
    const { log } = this;
    if (!log) return;
    let news = false;
    for (const one of feeds) news = log.feed(one) || news;
    for (const racer of log.racers) {
      if (failures[racer.run] && !racer.trouble) {
        racer.trouble = failures[racer.run];
        news = true;
      }
    }
    if (replies) this.requests.replied(news);
    this.reachGoal();
    this.changed();
  }

  /** Ask for what is missing ahead of the shown place; while enough is here, for nothing. */
  demand() {
    const { log } = this;
    if (log.complete) return;
    const wants = [];
    for (const racer of log.racers) {
      if (racer.complete || wants.some(([run]) => run === racer.run)) continue;
      const far = this.goal === null ? (this.places[racer.index] ?? 0) + RACE_AHEAD : racer.ready + RACE_AHEAD;
      if (racer.ready < far) wants.push([racer.run, racer.ready + 1, far - racer.ready]);
    }
    if (wants.length) this.requests.send(wants);
  }

  get keys() {
    return [["Everywhere", [...KEYS_PLAY.filter(([keys]) => !keys.startsWith("shift")), ...KEYS_MOVE]], ["In a graph", KEYS_GRAPH]];
  }

  // ------------------------------------------------------------------------------- axis, places

  get scale() {
    return this.scales[this.axis];
  }

  /** What the axis spans: all of the race, or a little more than is known so far. */
  get extent() {
    return (this.log.finish(this.axis) || 1) * (this.log.complete ? 1 : 1.12);
  }

  share(value) {
    if (this.scale === "linear") return value / this.extent;
    const unit = this.log.least(this.axis);
    return Math.log1p(value / unit) / Math.log1p(this.extent / unit);
  }

  valueAt(share) {
    if (this.scale === "linear") return share * this.extent;
    const unit = this.log.least(this.axis);
    return unit * Math.expm1(share * Math.log1p(this.extent / unit));
  }

  axisTicks() {
    if (this.scale === "linear") return ticks(0, this.extent, 4);
    const marks = [0];
    for (let power = Math.floor(Math.log10(this.log.least(this.axis))); 10 ** power <= this.extent; power++) marks.push(10 ** power);
    return marks;
  }

  setAxis(axis) {
    const share = clamp(this.share(this.value), 0, 1);
    const { over } = this;
    this.axis = axis;
    this.goal = null;
    this.show(over ? this.log.finish(axis) : this.valueAt(share));
  }

  setScale(scale) {
    this.scales[this.axis] = scale;
    remembered.set("race.scales", this.scales);
    this.changed();
  }

  setDuration(seconds) {
    this.duration = seconds;
    remembered.set("race.duration", seconds);
    if (!this.transport.byKeyboard) this.transport.duration.blur();
  }

  // ---------------------------------------------------------------------------------- transport

  /** Whether every racer is shown where it ended. */
  get over() {
    return this.log.isOver(this.places);
  }

  get waiting() {
    return !this.log.complete && (this.goal !== null || (this.playing && this.value >= this.log.frontier(this.axis)));
  }

  toggle() {
    if (!this.log) return;
    if (!this.playing && this.over) this.show(0);
    this.playing = !this.playing;
    this.goal = null;
    this.changed();
  }

  /** Move to the next or the previous change. */
  stepBy(steps) {
    this.playing = false;
    this.seek(this.log.next(this.axis, this.value, Math.sign(steps)));
  }

  seekShare(share) {
    this.seek(share >= 1 ? Infinity : this.valueAt(share));
  }

  /** Show a place, now or as soon as all racers are known up to it; Infinity is the end. */
  seek(value) {
    if (!this.log) return;
    if (value === Infinity) this.playing = false;
    this.goal = value;
    this.reachGoal();
    this.changed();
  }

  reachGoal() {
    if (this.goal === null) return;
    const { log, axis } = this;
    const wanted = Math.min(this.goal, log.finish(axis));
    const there = Math.min(wanted, log.frontier(axis));
    if (log.complete || this.goal <= log.frontier(axis)) this.goal = null;
    this.value = Math.max(0, there);
  }

  show(value) {
    this.value = clamp(value, 0, Math.min(this.log.finish(this.axis), this.log.frontier(this.axis)));
    this.changed();
  }

  // ----------------------------------------------------------------------------------- movement

  advance(seconds) {
    if (this.playing) this.roll(seconds);
    this.place();
    super.advance(seconds);
  }

  get moving() {
    return this.playing && !this.starved;
  }

  roll(seconds) {
    const { log, axis } = this;
    let passed = seconds;
    if (this.still) {
      this.carry = (this.carry ?? 0) + seconds;
      if (this.carry < RACE_STILL_SECONDS) return;
      passed = this.carry;
      this.carry = 0;
    }
    const finish = log.finish(axis);
    const reach = Math.min(finish, log.frontier(axis));
    const wanted = this.valueAt(clamp(this.share(this.value), 0, 1) + passed / this.duration);
    const value = Math.max(this.value, Math.min(wanted, reach));
    // Waiting for records: sleep until they arrive.
    this.starved = value >= reach && !log.complete;
    if (value === this.value && !(log.complete && value >= finish)) return;
    this.value = value;
    if (log.complete && value >= finish) this.playing = false;
    const now = performance.now();
    if (this.playing && !this.starved && now - (this.describedAt ?? 0) < RACE_WORDS_EVERY) return;
    this.describedAt = now;
    this.changed();
  }

  place() {
    this.places = this.log.racers.map((racer) => racer.at(this.axis, this.value));
  }

  // ----------------------------------------------------------------------------- messages

  write() {
    this.place();
    if (!this.playing || this.value < this.log.frontier(this.axis)) this.starved = false;
    const atStart = this.value <= 0 && !this.playing && this.log.running.length > 0;
    this.leader.textContent = atStart ? "Press play." : this.log.sentence(this.axis, this.value, this.places);
  }

  sentence() {
    return this.leader.textContent;
  }

  get isAtRest() {
    return !this.playing && this.goal === null;
  }

  address() {
    // Seconds differ from machine to machine; the end is the end on all of them.
    return { axis: this.axis, at: this.over ? RACE_END : Number(this.value.toPrecision(6)) };
  }
}

export const mount = (host, callbacks = {}) => new RacePlayer(host, callbacks);
