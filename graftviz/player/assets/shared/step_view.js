// View of steps: the playhead and its movement.

import { clamp } from "./core.js";
import { Requests } from "./requests.js";
import { View } from "./view.js";

const STILL_RATE = 1; // steps per second with reduced motion

/** A subclass has a `transport`, and a `log` with `ready`, the number of available steps, `last` and `finished`. */
export class StepView extends View {
  constructor(host, callbacks, kind, label, { speedKey, speed, patience }) {
    super(host, callbacks, kind, label);
    this.speedKey = speedKey;
    this.speed = speed;
    this.shown = 0; // the step that all panels show
    this.p = 0; // playhead, continuous
    this.age = Infinity; // seconds since the shown step was reached
    this.wanted = null; // a step to show once it has arrived
    this.requests = new Requests(this, "need", { longest: patience });
  }

  address() {
    return this.shown;
  }

  get isAtRest() {
    return !this.playing && this.wanted === null;
  }

  goTo(step) {
    const to = clamp(step, 0, this.log.ready);
    if (to !== this.shown) this.age = Infinity;
    this.shown = this.p = to;
  }

  /** Go to the wanted step, as far as it has arrived. */
  reachWanted() {
    const { log, wanted } = this;
    if (wanted === null) return;
    this.goTo(wanted);
    if (log.finished || log.ready >= wanted) this.wanted = null;
  }

  toggle() {
    if (!this.log) return;
    if (!this.playing && this.log.finished && this.shown >= this.log.ready) this.goTo(0);
    this.wanted = null;
    this.playing = !this.playing;
    this.changed();
  }

  stepBy(steps) {
    this.playing = false;
    this.seek((Number.isFinite(this.wanted) ? this.wanted : this.shown) + steps);
  }

  /** Show a step, now or as soon as it has arrived; Infinity is the end. */
  seek(step, play = false) {
    if (!this.log) return;
    const isNext = step === this.shown + 1;
    this.wanted = step;
    this.reachWanted();
    if (isNext && this.shown === step) this.age = 0;
    this.playing = play;
    this.changed();
  }

  advance(seconds) {
    this.age += seconds;
    if (this.playing) this.roll(seconds);
    super.advance(seconds);
  }

  roll(seconds) {
    const { log } = this;
    this.p += seconds * (this.still ? Math.min(this.speed, STILL_RATE) : this.speed);
    const step = Math.min(Math.floor(this.p), log.ready);
    if (step > this.shown) {
      this.shown = step;
      this.age = 0;
      if (step === log.last) this.playing = false;
      this.changed();
    }
    if (step >= log.ready) this.p = Math.min(this.p, log.ready);
    if (step === log.last) this.playing = false;
  }
}
