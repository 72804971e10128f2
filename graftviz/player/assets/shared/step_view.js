// A view of something that goes on step by step: where it stands, and what moves it.

import { clamp, remembered } from "./core.js";
import { SPEEDS } from "./transport.js";
import { View } from "./view.js";

const STILL_RATE = 1; // steps per second with reduced motion

/** A subclass has a `transport`, and a `log` with `ready`, the number of available steps, and `last`. */
export class StepView extends View {
  constructor(host, callbacks, kind, label, { key, speed }) {
    super(host, callbacks, kind, label);
    this.key = `${key}.speed`;
    this.shown = 0; // the step that all panels show
    this.p = 0; // playhead, continuous
    this.age = Infinity; // seconds since the shown step was reached
    this.wanted = null; // a step to show once it has arrived
    const chosen = remembered.get(this.key, speed);
    this.speed = SPEEDS.includes(chosen) ? chosen : speed;
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

  setSpeed(speed) {
    this.speed = speed;
    remembered.set(this.key, speed);
  }

  advance(seconds) {
    this.age += seconds;
    if (this.playing) this.roll(seconds);
    this.transport.advance(seconds);
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
