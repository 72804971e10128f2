// View of steps: the playhead and its movement.

import { clamp, h } from "./core.js";
import { Requests } from "./requests.js";
import { View } from "./view.js";

const STILL_RATE = 1; // steps per second with reduced motion

/** A subclass has a `transport`, and a `log` with `ready`, the number of available steps, `last` and `finished`. */
export class StepView extends View {
  /** `change`: seconds of the animation of a step, or less at a high speed; `patience`: see Requests. */
  constructor(host, callbacks, kind, label, { speedKey, speed, change = 0.01, patience }) {
    super(host, callbacks, kind, label);
    this.speedKey = speedKey;
    this.speed = speed;
    this.change = change;
    this.shown = 0; // the step that all panels show
    this.p = 0; // playhead, continuous
    this.age = Infinity; // seconds since the shown step was reached
    this.wanted = null; // a step to show once it has arrived
    this.requests = new Requests(this, "need", { longest: patience });
  }

  address() {
    return this.shown;
  }

  /** The sentence of the shown place, `more` elements, and what is said at the end. */
  buildWords(...more) {
    this.words = h("p", { class: "gv-sentence", dir: "auto" });
    this.stop = h("p", { class: "gv-muted", dir: "auto" });
    return h("div", { class: "gv-words" }, this.words, more, this.stop);
  }

  /** What is shown, for screen readers. */
  sentence() {
    return [this.words, this.stop].map(({ textContent }) => textContent).filter(Boolean).join(" ");
  }

  get isAtRest() {
    return !this.playing && this.wanted === null;
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

  /** Go to the wanted step, as far as it is here. */
  reachWanted() {
    if (this.wanted === null && this.shown <= this.log.ready) return;
    this.goTo(Math.min(this.wanted ?? this.shown, this.log.ready));
    if (this.log.finished || this.wanted <= this.log.ready) this.wanted = null;
  }

  toggle() {
    if (!this.log) return;
    if (!this.playing && this.isAtEnd) this.goTo(0);
    this.wanted = null;
    this.playing = !this.playing;
    this.changed();
  }

  stepBy(steps) {
    this.playing = false;
    this.seek((Number.isFinite(this.wanted) ? this.wanted : this.shown) + steps);
  }

  /** Show a step now, or as soon as it is here; Infinity: the end. */
  seek(step, play = false) {
    if (!this.log) return;
    const isNext = step === this.shown + 1 && step <= this.log.ready;
    this.wanted = Math.max(0, step);
    this.reachWanted();
    if (isNext) this.age = 0;
    this.playing = play;
    this.changed();
  }

  // ----------------------------------------------------------------------------------- movement

  /** Progress of the animation of the shown step, 0 … 1. */
  get part() {
    return this.still ? 1 : clamp(this.age / Math.min(this.change, 0.9 / this.speed), 0, 1);
  }

  get moving() {
    return (this.playing && this.p < this.log.ready) || this.part < 1 || this.panels.some((panel) => panel.moving);
  }

  advance(seconds) {
    this.age += seconds;
    if (this.playing) this.roll(seconds);
    super.advance(seconds);
  }

  roll(seconds) {
    const { log } = this;
    this.p = Math.min(this.p + seconds * (this.still ? Math.min(this.speed, STILL_RATE) : this.speed), log.ready);
    const step = Math.floor(this.p);
    const isNext = step > this.shown;
    if (isNext) [this.shown, this.age] = [step, 0];
    // The end may be reached before it is known to be one.
    if (step === log.last) this.playing = false;
    if (isNext || !this.playing) this.changed();
  }
}
