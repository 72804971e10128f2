// View of steps: the playhead and its movement.

import { clamp, counted, h, remembered, textParts } from "./core.js";
import { Requests } from "./requests.js";
import { View } from "./view.js";

const STEP_SENT = 350; // ms of rest before the shown place is sent
const STEP_SAY = { playing: 3000, still: 350 }; // ms before the next sentence for screen readers

/**
 * A subclass has a `transport`, and a `log` with `ready`, the number of available steps, `last` and `finished`.
 * It may define `write`, which writes its own words.
 */
export class StepView extends View {
  /** `change`: seconds of the animation of a step, or less at a high speed; `patience`: see Requests. */
  constructor(host, callbacks, kind, label, { speedKey, speed, change = 0.01, patience }) {
    super(host, callbacks, kind, label);
    this.speedKey = speedKey;
    this.speed = speed;
    this.change = change;
    this.playing = false;
    this.shown = 0; // the step in all panels
    this.p = 0; // playhead, continuous
    this.age = Infinity; // seconds since the shown step was reached
    this.wanted = null; // a step to show once it is available
    this.requests = new Requests(this, "need", { longest: patience });
  }

  address() {
    return this.shown;
  }

  /** The sentence of the shown place, `more` elements, and the reason to stop at the end. */
  buildWords(...more) {
    this.words = h("p", { class: "gv-sentence", dir: "auto" });
    this.stop = h("p", { class: "gv-muted", dir: "auto" });
    return h("div", { class: "gv-words" }, this.words, more, this.stop);
  }

  /** What is shown, for screen readers. */
  sentence() {
    return [this.words, this.stop].map(({ textContent }) => textContent).filter(Boolean).join(" ");
  }

  get isAtEnd() {
    return this.log.finished && this.shown >= this.log.ready;
  }

  goTo(step) {
    const to = clamp(step, 0, this.log.ready);
    if (to !== this.shown) this.age = Infinity;
    this.shown = this.p = to;
  }

  /** Open at a step; null: play from the start, or with reduced motion show the end. */
  open(step) {
    this.goTo(0);
    this.wanted = step ?? (this.still ? Infinity : null);
    this.playing = this.wanted === null;
    this.reachWanted();
  }

  /** Go to the wanted step, or to the last one available. */
  reachWanted() {
    if (this.wanted === null && this.shown <= this.log.ready) return;
    this.goTo(Math.min(this.wanted ?? this.shown, this.log.ready));
    if (this.log.finished || this.wanted <= this.log.ready) this.wanted = null;
  }

  toggle() {
    if (!this.log) return;
    if (!this.playing && this.isAtEnd) this.goTo(0);
    this.wanted = null;
    this.p = this.shown;
    this.playing = !this.playing;
    this.changed();
  }

  stepBy(steps) {
    this.playing = false;
    this.seek((Number.isFinite(this.wanted) ? this.wanted : this.shown) + steps);
  }

  /** Show a step now, or as soon as it is available; Infinity: the end. */
  seek(step, play = false) {
    if (!this.log) return;
    const isNext = step === this.shown + 1 && step <= this.log.ready;
    this.wanted = Math.max(0, step);
    this.reachWanted();
    if (isNext) this.age = 0;
    this.playing = play;
    this.changed();
  }

  setSpeed(speed) {
    this.speed = speed;
    remembered.set(this.speedKey, speed);
    this.wake();
  }

  /** The shown place for the playback bar: the words around it, and the state in a second line. */
  placeWords() {
    const { log, shown } = this;
    const state = [counted(log.edgesAt(shown), TEXT.units.edges), this.stateWords()].filter(Boolean).join(" · ");
    const [before, now, of, last] = textParts(TEXT.steps.place, { step: String(shown), last: log.last ?? `${log.ready}+` });
    return { before, now, after: of + last, state };
  }

  /** The state of the run at the shown step. */
  stateWords() {
    if (this.isAtEnd) return TEXT.steps.finished;
    return this.shown >= this.log.ready ? TEXT.steps.learning : "";
  }

  /** Something other than the moving playhead changed. */
  changed() {
    if (!this.log) return;
    this.write?.();
    for (const panel of this.everyPanel) panel.describe?.();
    clearTimeout(this.timers.moved);
    if (!this.playing && this.wanted === null) this.timers.moved = setTimeout(() => this.sendPlace(), STEP_SENT);
    this.announce();
    this.wake();
  }

  /** Send the shown place, unless it was sent before. */
  sendPlace() {
    const place = this.address();
    if (JSON.stringify(place) === this.sentPlace) return;
    this.sentPlace = JSON.stringify(place);
    this.callbacks.moved?.(place);
  }

  /** Have screen readers read the sentence that holds by then, no faster than it can be read out. */
  announce() {
    this.timers.live ||= setTimeout(() => {
      this.timers.live = 0;
      const text = this.sentence();
      if (this.live.textContent !== text) this.live.textContent = text;
    }, this.playing ? STEP_SAY.playing : STEP_SAY.still);
  }

  // ----------------------------------------------------------------------------------- movement

  /** The playhead as the playback bar shows it. */
  get head() {
    return this.still ? this.shown : this.p;
  }

  /** The place that pictures show: on the way from the step before to the shown one. */
  get moment() {
    return this.shown - 1 + this.part;
  }

  /** Progress of the animation of the shown step, 0 … 1. */
  get part() {
    return this.still ? 1 : clamp(this.age / Math.min(this.change, 0.9 / this.speed), 0, 1);
  }

  get moving() {
    return (this.playing && this.p < this.log.ready) || this.part < 1 || super.moving;
  }

  advance(seconds) {
    this.age += seconds;
    if (this.playing && !this.transport.dragging) this.roll(seconds);
    super.advance(seconds);
  }

  roll(seconds) {
    const { log } = this;
    this.p = Math.min(this.p + seconds * this.speed, log.ready);
    const step = Math.floor(this.p);
    const isNext = step > this.shown;
    if (isNext) [this.shown, this.age] = [step, 0];
    // The last step may be reached before the end of the run is known.
    if (step === log.last) this.playing = false;
    if (isNext || !this.playing) this.changed();
  }
}
