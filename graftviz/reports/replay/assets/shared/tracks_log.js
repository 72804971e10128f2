// Logs of several runs on the same data.

import { EdgeLog } from "./log.js";

/** How many of some pairs each of n nodes is in. */
export function degreesOf(pairs, n) {
  const degrees = new Uint16Array(n);
  for (const i of pairs.flat()) degrees[i]++;
  return degrees;
}

/**
 * One of several runs on the same data: its records in order, and the edges that they add and remove.
 * A subclass defines `absorb(record, t)`, and may define `begin(head)` and `end(outcome)`.
 */
export class TrackLog extends EdgeLog {
  records = []; // of step t at t − 1
  head = null; // data known after the first step
  outcome = null;

  constructor({ run, name, problem }, index, header) {
    super(header.names.length);
    Object.assign(this, { run, title: name, index, header, trouble: problem || "" });
  }

  name(i) {
    return this.header.names[i];
  }

  /** The last available step. */
  get ready() {
    return this.records.length;
  }

  /** Whether nothing will follow: the run has ended, failed or been refused. */
  get finished() {
    return this.outcome !== null || this.trouble !== "";
  }

  get last() {
    return this.finished ? this.ready : null;
  }

  /** Append records, which `absorb` takes; return whether there were new ones. */
  feed({ head, feed: { from, records, outcome } }) {
    const before = [this.ready, this.finished].join();
    if (!this.head && head) this.begin?.(head);
    this.head ??= head;
    records.forEach((record, k) => {
      if (from + k !== this.ready + 1) return;
      this.records.push(record);
      this.absorb(record, this.ready);
    });
    if (outcome && !this.outcome && outcome.steps === this.ready) {
      this.outcome = outcome;
      this.end?.(outcome);
    }
    return [this.ready, this.finished].join() !== before;
  }
}

/** Several runs on the same data. */
export class TracksLog {
  constructor(header, runs, Track) {
    this.header = header;
    this.n = header.names.length;
    this.tracks = runs.map((run, index) => new Track(run, index, header));
  }

  name(i) {
    return this.header.names[i];
  }

  /** Take records and failures of runs, which several tracks may share; return whether anything is new. */
  feed({ feeds, failures }) {
    let isNews = false;
    for (const track of this.tracks) {
      for (const one of feeds) if (one.feed.run === track.run) isNews = track.feed(one) || isNews;
      const failure = failures[track.run] ?? "";
      isNews ||= failure !== "" && !track.trouble;
      track.trouble ||= failure;
    }
    return isNews;
  }

  /** Requests for the steps of every track up to `far(track)`: [[run, from, count], …]. */
  wants(far) {
    const wants = new Map();
    for (const track of this.tracks) {
      const count = far(track) - track.ready;
      if (!track.finished && count > 0 && !wants.has(track.run)) wants.set(track.run, [track.run, track.ready + 1, count]);
    }
    return [...wants.values()];
  }
}
