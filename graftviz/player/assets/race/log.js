// Records of all racers, and the moment shown of each as a function of axis and position.

import { integer, plural } from "../shared/core.js";
import { countUpTo, EdgeLog } from "../shared/log.js";

export const RACE_AXES = {
  seconds: { choice: "seconds", words: "engine seconds", title: "Engine time, on each racer's own clock" },
  tests: { choice: "tests", words: "edge tests", title: "Edge tests made" },
  edges: { choice: "edges", words: "edges", title: "Edges taken" },
};
const RACE_MEASURES = [["recall", "recall", 1], ["nlpl_test", "held-out NLPL", -1], ["objective", "objective", -1], ["edges", "edges", 1]];

export function costText(axis, value) {
  if (axis === "seconds") return `${Number(value.toPrecision(3))}\u00a0s`;
  return axis === "tests" ? plural(Math.floor(value), "edge test") : plural(Math.floor(value), "edge");
}

class RacerLog extends EdgeLog {
  head = null;
  moments = []; // 0: without edges; t: after step t; the last one, once it has ended: its end
  costs = { seconds: [], tests: [], edges: [] };
  ready = 0; // steps that are here
  ended = false;
  yardstick = "";

  constructor({ run, name, problem }, index, n) {
    super(n);
    Object.assign(this, { run, name, index, trouble: problem || "" });
  }

  /** Whether there is anything to show: a racer that was refused has no part in the race. */
  get takesPart() {
    return this.moments.length > 0;
  }

  /** Whether nothing will follow. */
  get complete() {
    return this.ended || this.trouble !== "";
  }

  feed(head, { from, records, outcome }) {
    if (head && !this.head) {
      this.head = head;
      this.yardstick = head.yardstick;
      this.objective = head.objective;
      this.push(head.start);
    }
    if (!this.head) return false;
    const before = this.moments.length;
    records.forEach((record, k) => {
      if ((record.t ?? from + k) === this.ready + 1) this.absorb(record);
    });
    if (outcome && !this.ended && this.ready >= outcome.steps) {
      this.ended = true;
      this.yardstick = outcome.yardstick;
      this.objective = outcome.objective_name;
      for (const [i, j] of outcome.dropped) this.remove(i, j, this.moments.length);
      this.push(outcome);
    }
    return this.moments.length > before;
  }

  absorb(record) {
    this.ready++;
    const at = this.moments.length;
    for (const [i, j] of record.removed) this.remove(i, j, at);
    for (const [i, j] of record.activated) this.add(i, j, at);
    this.push(record);
  }

  push(moment) {
    this.moments.push(moment);
    for (const [axis, costs] of Object.entries(this.costs)) {
      costs.push(Math.max(costs.length ? costs[costs.length - 1] : 0, moment[axis] ?? 0));
    }
  }

  /** The last moment that cost no more than `value`. */
  at(axis, value) {
    return Math.max(0, countUpTo(this.costs[axis], value) - 1);
  }

  last(axis) {
    return this.costs[axis].length ? this.costs[axis][this.costs[axis].length - 1] : 0;
  }

  isAtEnd(k) {
    return this.ended && k === this.moments.length - 1;
  }
}

export class RaceLog {
  constructor(header) {
    this.header = header;
    this.n = header.names.length;
    this.racers = header.racers.map((racer, index) => new RacerLog(racer, index, this.n));
    const keyed = (pairs) => new Set(pairs.map(([i, j]) => (i < j ? i * this.n + j : j * this.n + i)));
    this.truth = header.truth ? keyed(header.truth) : null;
  }

  feed({ head, feed }) {
    let news = false;
    for (const racer of this.racers) {
      if (racer.run === feed.run) news = racer.feed(head, feed) || news;
    }
    return news;
  }

  get running() {
    return this.racers.filter((racer) => racer.takesPart);
  }

  get complete() {
    return this.racers.every((racer) => racer.complete);
  }

  /** Whether nothing will follow after these moments; a racer that failed stays where it was. */
  isOver(places) {
    return this.running.length > 0 && this.complete
      && this.running.every((racer) => places[racer.index] === racer.moments.length - 1);
  }

  /** As far as all racers are known. */
  frontier(axis) {
    const open = this.racers.filter((racer) => !racer.complete);
    return open.length ? Math.min(...open.map((racer) => racer.last(axis))) : Infinity;
  }

  /** The cost at which the last racer is where it has come to so far. */
  finish(axis) {
    return Math.max(0, ...this.running.map((racer) => racer.last(axis)));
  }

  /** The smallest cost of any racer's first step: where a logarithmic axis turns linear. */
  least(axis) {
    const first = this.running.map((racer) => racer.costs[axis].find((cost) => cost > 0)).filter(Boolean);
    return first.length ? Math.min(...first) : 1;
  }

  /** The next cost at which any racer advances, forwards (1) or backwards (−1). */
  next(axis, value, direction) {
    let best = direction > 0 ? Infinity : 0;
    for (const racer of this.running) {
      const costs = racer.costs[axis];
      const k = racer.at(axis, value);
      if (direction > 0) {
        if (k + 1 < costs.length) best = Math.min(best, costs[k + 1]);
        continue;
      }
      let before = k;
      while (before > 0 && costs[before] >= value) before--;
      best = Math.max(best, costs[before] < value ? costs[before] : 0);
    }
    return Number.isFinite(best) ? best : value;
  }

  /** Keys of the pairs that are edges of every racer at its moment in `places`. */
  agreed(places) {
    const counts = new Map();
    for (const racer of this.running) {
      const k = places[racer.index];
      for (const e of racer.activeAt(k)) {
        const key = racer.key(racer.sources[e], racer.targets[e]);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    }
    const all = this.running.length;
    return new Set([...counts].filter(([, count]) => count === all).map(([key]) => key));
  }

  /** What the race is led by: the first measure that is known of everybody. */
  get measure() {
    return RACE_MEASURES.find(([name]) => {
      if (name === "objective") return new Set(this.running.map((racer) => racer.yardstick)).size === 1;
      return this.running.every(({ moments }) => moments[moments.length - 1][name] !== null);
    });
  }

  /** One sentence: who leads at these moments. */
  sentence(axis, value, places) {
    const { running } = this;
    if (running.length === 0) return "No racer has made a step yet.";
    const after = `after ${costText(axis, value)}`;
    const moments = running.map((racer) => racer.moments[places[racer.index]]);
    if (moments.every((moment) => moment.edges === 0)) return `No racer has an edge yet ${after}.`;
    const [name, words, sign] = this.measure;
    const scores = moments.map((moment) => sign * Number((moment[name] ?? -sign * Infinity).toFixed(3)));
    const best = Math.max(...scores);
    const first = running.filter((_, k) => scores[k] === best);
    const shown = moments[scores.indexOf(best)][name];
    const number = `${words} ${name === "edges" ? integer(shown) : shown.toFixed(2)} ${after}`;
    if (first.length === running.length && running.length > 1) return `All are level: ${number}.`;
    const names = first.map((racer) => racer.name);
    const who = names.length > 3 ? `${integer(names.length)} of ${integer(running.length)} racers`
      : names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}` : names[0];
    return `${who} ${this.isOver(places) ? "win" : "lead"}${names.length > 1 ? "" : "s"}: ${number}.`;
  }
}
