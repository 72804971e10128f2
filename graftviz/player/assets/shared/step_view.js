// View of steps: the playhead, its movement, and requests for what is missing.

import { clamp, remembered } from "./core.js";
import { SPEEDS } from "./transport.js";
import { View } from "./view.js";

const STILL_RATE = 1; // steps per second with reduced motion
export const REPLY_LOST = 4000; // ms after which a reply counts as lost

/** A subclass has a `transport`, and a `log` with `ready`, the number of available steps, and `last`. */
export class StepView extends View {
  constructor(host, callbacks, kind, label, { key, speed, retry = [] }) {
    super(host, callbacks, kind, label);
    this.key = `${key}.speed`;
    this.shown = 0; // the step that all panels show
    this.p = 0; // playhead, continuous
    this.age = Infinity; // seconds since the shown step was reached
    this.wanted = null; // a step to show once it has arrived
    this.retry = retry; // ms between requests
    this.tries = 0; // consecutive requests without news
    const chosen = remembered.get(this.key, speed);
    this.speed = SPEEDS.includes(chosen) ? chosen : speed;
  }

  /** Whether nothing is missing. */
  get isComplete() {
    return true;
  }

  /** Request what is missing; a subclass that may miss something defines it. */
  request() {}

  /** Request what is missing after a while, and again until it is there, while the page is visible. */
  requestLater() {
    clearTimeout(this.timers.need);
    if (!this.log || this.isComplete || document.hidden) return;
    this.timers.need = setTimeout(() => {
      this.request();
      // A reply starts the next request; this is for a reply that was lost.
      this.timers.need = setTimeout(() => this.requestLater(), REPLY_LOST);
    }, this.retry[Math.min(this.tries, this.retry.length - 1)]);
  }

  becameVisible() {
    super.becameVisible();
    this.requestLater();
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
