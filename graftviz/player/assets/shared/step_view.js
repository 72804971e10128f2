// View of steps: the playhead and its movement.

import { clamp } from "./core.js";
import { Requests } from "./requests.js";
import { View } from "./view.js";

const STILL_RATE = 1; // steps per second with reduced motion

/** A subclass has a `transport`, and a `log` with `ready`, the number of available steps, and `last`. */
export class StepView extends View {
  constructor(host, callbacks, kind, label, { key, speed, patience }) {
    super(host, callbacks, kind, label);
    this.speedKey = `${key}.speed`;
    this.speed = speed;
    this.shown = 0; // the step that all panels show
    this.p = 0; // playhead, continuous
    this.age = Infinity; // seconds since the shown step was reached
    this.wanted = null; // a step to show once it has arrived
    this.requests = new Requests(this, patience);
  }

  address() {
    return this.shown;
  }

  goTo(step) {
    if (step !== this.shown) this.age = Infinity;
    this.shown = this.p = clamp(step, 0, this.log.ready);
  }

  toggle() {
    if (!this.log) return;
    if (!this.playing && this.shown >= this.log.ready) this.goTo(0);
    this.wanted = null;
    this.playing = !this.playing;
    this.changed();
  }

  stepBy(steps) {
    this.playing = false;
    this.seek(this.shown + steps);
  }

  seek(step, play = false) {
    if (!this.log) return;
    const to = clamp(step, 0, this.log.ready);
    const forward = to === this.shown + 1;
    this.goTo(to);
    if (forward) this.age = 0;
    this.wanted = null;
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
