// The race: shown place on the chosen axis, movement, and messages to the server.

import { Choice, clamp, h, remembered, ticks } from "../shared/core.js";
import { graphKeys } from "../shared/keys_help.js";
import { RunsView } from "../shared/runs_view.js";
import { Transport } from "../shared/transport.js";
import { RaceCurves } from "./curves.js";
import { RaceGraphs } from "./graphs.js";
import { costText, RACE_AXES, RaceLog } from "./log.js";
import { RaceTable } from "./table.js";

const RACE_END = "end"; // a place in addresses and messages
const RACE_PAUSE = { playing: 0.12, still: 0.5 }; // s between changes of words and numbers
const RACE_WORDS = { start: "Restart", back: "Back to the previous change", next: "Forward to the next change",
  track: "Position in the race", speed: "Duration of playback" };
const RACE_DURATIONS = [5, 10, 20, 40, 80].map((seconds) => [seconds, `in ${seconds} s`]); // from start to finish
const RACE_SCALES = [["linear", "linear", "Equal steps"], ["log", "log", "Logarithmic: shows the beginning in detail"]];

/** A step of this view is a cost on the axis, and its speed is the duration of the race. */
class RacePlayer extends RunsView {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-race", "Race of learning runs", { speedKey: "race.duration", speed: 20, ahead: 600 });
    this.axis = "tests";
    this.places = []; // the shown moment of every racer
    this.scales = { seconds: "linear", tests: "log", edges: "linear", ...remembered.get("race.scales", {}) };
    this.graphs = new RaceGraphs(this);
    this.curves = new RaceCurves(this);
    this.table = new RaceTable(this);
    this.axisChoice = new Choice("Advance by", Object.entries(RACE_AXES).map(([key, { title }]) => [key, key, title]), this.axis, (axis) => this.setAxis(axis));
    this.scaleChoice = new Choice("Scale of the axis", RACE_SCALES, this.scale, (scale) => this.setScale(scale));
    this.transport = new Transport(this, { keys: [["In a graph", graphKeys()]], words: RACE_WORDS, speeds: RACE_DURATIONS, scale: this,
      more: h("span", { class: "gv-race-axis" }, h("span", { class: "gv-muted" }, "by"), this.axisChoice.element, this.scaleChoice.element) });
    this.panels = [this.graphs, this.curves, this.table, this.transport];
    this.assembleLayout("Waiting for the race…", "gv-race-body", [this.graphs.element, this.table.element],
      [this.buildHead(), this.buildWords(), this.curves.element]);
  }

  // --------------------------------------------------------------------------- race and records

  begin(header) {
    this.log = this.runs = new RaceLog(header);
    this.headline.textContent = header.title;
    for (const panel of [this.graphs, this.curves, this.table]) panel.setRace(this.log);
  }

  receive({ header, place }, { isFirst, wasAtEnd }) {
    if (!header) return;
    if (isFirst && RACE_AXES[place.axis]) this.axis = place.axis;
    this.log.axis = this.axis;
    const at = isFirst ? place.at : wasAtEnd ? RACE_END : this.shown;
    if (isFirst) this.sentPlace = JSON.stringify({ axis: this.axis, at });
    this.open(at === RACE_END ? Infinity : at);
  }

  placeOf(racer) {
    return this.places[racer.index] ?? 0;
  }

  // ------------------------------------------------------------------------------- axis, places

  get scale() {
    return this.scales[this.axis];
  }

  /** Length of the axis: all of the race, or some more than is available so far. */
  get extent() {
    return (this.log.farthest || 1) * (this.log.finished ? 1 : 1.12);
  }

  share(value) {
    if (this.scale === "linear") return value / this.extent;
    return Math.log1p(value / this.log.least) / Math.log1p(this.extent / this.log.least);
  }

  valueAt(share) {
    if (share >= 1) return Infinity;
    if (this.scale === "linear") return share * this.extent;
    return this.log.least * Math.expm1(share * Math.log1p(this.extent / this.log.least));
  }

  axisTicks() {
    if (this.scale === "linear") return ticks(0, this.extent, 4);
    const marks = [0];
    for (let power = Math.floor(Math.log10(this.log.least)); 10 ** power <= this.extent; power++) marks.push(10 ** power);
    return marks;
  }

  setAxis(axis) {
    const share = this.isAtEnd ? 1 : clamp(this.share(this.shown), 0, 1);
    this.axis = this.log.axis = axis;
    this.seek(Math.min(this.valueAt(share), this.log.ready), this.playing);
  }

  setScale(scale) {
    this.scales[this.axis] = scale;
    remembered.set("race.scales", this.scales);
    this.changed();
  }

  // ----------------------------------------------------------------------------------- movement

  /** Move over so many changes, forwards or backwards. */
  stepBy(steps) {
    let place = this.shown;
    for (let k = 0; k < Math.abs(steps); k++) place = this.log.next(place, Math.sign(steps));
    this.seek(place);
  }

  roll(seconds) {
    const { log } = this;
    this.p = Math.min(this.valueAt(this.share(this.p) + seconds / this.speed), log.ready);
    const isReached = this.p === log.ready;
    const passed = (this.share(this.p) - this.share(this.shown)) * this.speed;
    if (isReached && log.finished) this.playing = false;
    else if (this.p === this.shown || (!isReached && passed < (this.still ? RACE_PAUSE.still : RACE_PAUSE.playing))) return;
    this.shown = this.p;
    this.changed();
  }

  advance(seconds) {
    super.advance(seconds);
    this.place();
  }

  /** Find the moment of every racer. */
  place() {
    this.places = this.runs.tracks.map((racer) => racer.at(this.axis, this.head));
  }

  // ----------------------------------------------------------------------------- messages

  write() {
    this.place();
    const { log, shown, places } = this;
    const isAtStart = shown === 0 && !this.playing && log.running.length > 0;
    this.words.textContent = isAtStart ? "Press play." : log.sentence(shown, places, this.isAtEnd);
    this.axisChoice.set(this.axis);
    this.scaleChoice.set(this.scale);
  }

  placeWords() {
    const { log, axis, shown } = this;
    const isWaiting = !log.finished && (this.wanted !== null || (this.playing && this.p >= log.ready));
    const state = this.isAtEnd ? (log.running.every(({ outcome }) => outcome) ? "all finished" : "finished")
      : isWaiting ? "learning…" : `of ${log.finished ? costText(axis, log.ready) : "…"}`;
    return { before: "after ", now: costText(axis, shown), after: "", state };
  }

  address() {
    // Seconds differ from machine to machine; the end is the end on all of them.
    return { axis: this.axis, at: this.isAtEnd ? RACE_END : Number(this.shown.toPrecision(6)) };
  }
}

/** See shared/mount.js. */
export const host = {
  key: "race",
  once: "header",
  messages: { need: (wants) => ({ wants }), moved: ({ axis, at }) => ({ axis, at }) },
  place: ({ axis, at }) => ({ axis: axis === "tests" ? null : axis, at: at === 0 ? null : at }),
};

export const mount = (host, callbacks = {}) => new RacePlayer(host, callbacks);
