// Records of all racers, and the moment shown of each as a function of axis and position.

import { integer, plural } from "../shared/core.js";
import { countUpTo } from "../shared/log.js";
import { TrackLog, TracksLog } from "../shared/tracks_log.js";

export const RACE_AXES = {
  seconds: { words: "engine seconds", title: "Engine time, on each racer's own clock" },
  tests: { words: "edge tests", title: "Edge tests made" },
  edges: { words: "edges", title: "Edges taken" },
};
const RACE_MEASURES = [["recall", "recall", 1], ["nlpl_test", "held-out NLPL", -1], ["objective", "objective", -1], ["edges", "edges", 1]];

export function costText(axis, value) {
  if (axis === "seconds") return `${Number(value.toPrecision(3))}\u00a0s`;
  return axis === "tests" ? plural(Math.floor(value), "edge test") : plural(Math.floor(value), "edge");
}

class RacerLog extends TrackLog {
  moments = []; // 0: without edges; t: after step t; the last one, once it has ended: its end
  costs = { seconds: [], tests: [], edges: [] };
  strengths = new Map(); // of edges, by key: the score with which they were activated

  /** Whether it has anything to show: a racer that was refused has nothing. */
  get takesPart() {
    return this.moments.length > 0;
  }

  /** Name of the objective. Those of racers with the same `yardstick` can be compared. */
  get objective() {
    return this.outcome?.objective_name ?? this.head.objective;
  }

  get yardstick() {
    return (this.outcome ?? this.head).yardstick;
  }

  begin({ start }) {
    this.push(start);
  }

  absorb(record, t) {
    for (const [i, j] of record.removed) this.remove(i, j, t);
    for (const [i, j, score] of record.activated) {
      this.add(i, j, t);
      this.strengths.set(this.key(i, j), score ?? 0);
    }
    this.push(record);
  }

  end(outcome) {
    for (const [i, j] of outcome.dropped) this.remove(i, j, this.moments.length);
    this.push(outcome);
  }

  push(moment) {
    this.moments.push(moment);
    for (const [axis, costs] of Object.entries(this.costs)) costs.push(Math.max(costs.at(-1) ?? 0, moment[axis] ?? 0));
  }

  /** The last moment that cost no more than `value`. */
  at(axis, value) {
    return Math.max(0, countUpTo(this.costs[axis], value) - 1);
  }

  /** Keys of the edges at a moment; the same set until another moment is requested or edges change. */
  keysAt(k) {
    const pairs = this.pairsAt(k);
    if (this.keysOf?.pairs !== pairs) this.keysOf = { pairs, keys: new Set(pairs.map((pair) => this.key(...pair))) };
    return this.keysOf.keys;
  }

  isAtEnd(k) {
    return this.outcome !== null && k === this.moments.length - 1;
  }
}

/** The race along one of its axes; as a log of steps its places are costs. */
export class RaceLog extends TracksLog {
  axis = "tests";

  constructor(header) {
    super(header, header.racers, RacerLog);
    const [first] = this.tracks;
    this.truth = header.truth ? new Set(header.truth.map(([i, j]) => first.key(i, j))) : null;
  }

  get running() {
    return this.tracks.filter((racer) => racer.takesPart);
  }

  get finished() {
    return this.tracks.every((racer) => racer.finished);
  }

  /** The cost up to which all racers are known; at the end, the cost of the last one. */
  get ready() {
    const last = ({ costs }) => costs[this.axis].at(-1) ?? 0;
    return this.finished ? Math.max(0, ...this.tracks.map(last)) : Math.min(...this.tracks.filter((racer) => !racer.finished).map(last));
  }

  get last() {
    return this.finished ? this.ready : null;
  }

  /** The largest cost of the last available step of any racer. */
  get farthest() {
    return Math.max(0, ...this.running.map(({ costs }) => costs[this.axis].at(-1)));
  }

  /** The smallest cost of any racer's first step: where a logarithmic axis turns linear. */
  get least() {
    const first = this.running.map(({ costs }) => costs[this.axis].find((cost) => cost > 0)).filter(Boolean);
    return first.length ? Math.min(...first) : 1;
  }

  /** The next cost at which any racer advances, forwards (1) or backwards (−1); the same cost if there is none. */
  next(value, direction) {
    const costs = this.running.map((racer) => racer.costs[this.axis]);
    const nearest = direction > 0 ? costs.map((all) => all.find((cost) => cost > value)) : costs.map((all) => all.findLast((cost) => cost < value));
    const defined = nearest.filter((cost) => cost !== undefined);
    return defined.length ? Math[direction > 0 ? "min" : "max"](...defined) : value;
  }

  /** Keys of the pairs that are edges of every racer at its moment in `places`; the same set until that changes. */
  agreed(places) {
    const all = this.running.map((racer) => racer.keysAt(places[racer.index]));
    if (this.common?.all.length !== all.length || all.some((keys, k) => keys !== this.common.all[k])) {
      const [first, ...others] = all;
      this.common = { all, keys: new Set([...first].filter((key) => others.every((keys) => keys.has(key)))) };
    }
    return this.common.keys;
  }

  /** The measure of the leader: the first one that is available for all racers. */
  get measure() {
    return RACE_MEASURES.find(([name]) => {
      if (name === "objective") return new Set(this.running.map((racer) => racer.yardstick)).size === 1;
      return this.running.every(({ moments }) => moments.at(-1)[name] !== null);
    });
  }

  /** A sentence about the leader at these moments. */
  sentence(value, places, isOver) {
    const { running } = this;
    if (running.length === 0) return "No racer has made a step yet.";
    const after = `after ${costText(this.axis, value)}`;
    const moments = running.map((racer) => racer.moments[places[racer.index]]);
    if (moments.every((moment) => moment.edges === 0)) return `No racer has an edge yet ${after}.`;
    const [name, words, sign] = this.measure;
    const scores = moments.map((moment) => sign * Number((moment[name] ?? -sign * Infinity).toFixed(3)));
    const best = Math.max(...scores);
    const first = running.filter((_, k) => scores[k] === best);
    const shown = moments[scores.indexOf(best)][name];
    const number = `${words} ${name === "edges" ? integer(shown) : shown.toFixed(2)} ${after}`;
    if (first.length === running.length && running.length > 1) return `All are level: ${number}.`;
    const names = first.map((racer) => racer.title);
    const who = names.length > 3 ? `${integer(names.length)} of ${integer(running.length)} racers`
      : names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0];
    return `${who} ${isOver ? "win" : "lead"}${names.length > 1 ? "" : "s"}: ${number}.`;
  }
}
