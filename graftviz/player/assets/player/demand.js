// Ask for records before they run out, and for nothing while there is enough.

import { clamp } from "../shared/core.js";

const AHEAD_SECONDS = 1.5;
const FETCH_SECONDS = 3;
const LEAST = 24;
const MOST = 400;
const PATIENCE = 4000; // ms without any reply before asking again

export class Demand {
  constructor(need) {
    this.need = need;
    this.timer = 0;
    this.reset();
  }

  reset() {
    clearTimeout(this.timer);
    this.asked = null; // {from, until, at, ready}
    this.pause = 250; // grows while replies are empty
  }

  get waiting() {
    return this.asked !== null;
  }

  /** A message of this run arrived. */
  replied(log) {
    if (!this.asked) return;
    const progress = log.ready > this.asked.ready;
    this.pause = progress ? 250 : Math.min(this.pause * 1.6, PATIENCE);
    if (log.ready >= this.asked.until || log.finished) {
      this.asked = null;
      clearTimeout(this.timer);
    } else this.asked = { ...this.asked, ready: log.ready, from: log.ready + 1, retry: this.asked.at + this.pause };
  }

  /** Range of records needed for the shown step. */
  wanted(log, { p, speed, playing, goal }) {
    if (goal !== null && goal > log.ready) return { least: Math.min(goal, log.ready + MOST), fetch: MOST };
    const least = p + Math.max(playing ? AHEAD_SECONDS * speed : 0, 6);
    return { least, fetch: clamp(Math.ceil(FETCH_SECONDS * speed), LEAST, MOST) };
  }

  update(log, watched, wake) {
    if (!this.need || log.finished || document.hidden) return;
    const { least, fetch } = this.wanted(log, watched);
    if (log.ready >= least) return;
    const now = performance.now();
    const from = log.ready + 1;
    const until = log.ready + fetch;
    if (this.asked) {
      const due = this.asked.retry ?? this.asked.at + PATIENCE;
      const wider = until > this.asked.until + fetch / 2;
      if (now < due && !wider) {
        clearTimeout(this.timer);
        this.timer = setTimeout(wake, due - now + 5);
        return;
      }
    }
    this.asked = { from, until, at: now, ready: log.ready };
    clearTimeout(this.timer);
    this.timer = setTimeout(wake, PATIENCE + 5);
    this.need(from, fetch);
  }

  destroy() {
    clearTimeout(this.timer);
    this.need = null;
  }
}
