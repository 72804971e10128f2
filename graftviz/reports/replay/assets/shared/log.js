// Logs of runs: steps that arrive in order, and the edges that they add and remove.

/** How many of some ascending values are at most `value`. */
export function countUpTo(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Values of something that changes at some steps. */
export class History {
  steps = [];
  values = [];

  push(t, value) {
    this.steps.push(t);
    this.values.push(value);
  }

  /** The value after step t, or undefined before the first one. */
  at(t) {
    return this.values[countUpTo(this.steps, t) - 1];
  }

  /** The step of the last change up to step t, or undefined before the first one. */
  since(t) {
    return this.steps[countUpTo(this.steps, t) - 1];
  }
}

/** Edges in the order in which they were added; one that was removed and added again is in it twice. */
export class EdgeLog {
  sources = [];
  targets = [];
  born = []; // the step each was added in
  died = []; // the step each was removed in; Infinity: none
  removals = 0;
  lives = new Map(); // key of a pair: its edges, the latest last

  constructor(n) {
    this.n = n;
  }

  key(i, j) {
    return i < j ? i * this.n + j : j * this.n + i;
  }

  /** The latest edge of a pair so far, or −1. */
  latest(i, j) {
    return this.lives.get(this.key(i, j))?.at(-1) ?? -1;
  }

  /** Add an edge in step t; return whether it was not active. */
  add(i, j, t) {
    const before = this.latest(i, j);
    if (before >= 0 && this.died[before] === Infinity) return false;
    const key = this.key(i, j);
    this.lives.set(key, [...(this.lives.get(key) ?? []), this.sources.length]);
    this.sources.push(i);
    this.targets.push(j);
    this.born.push(t);
    this.died.push(Infinity);
    return true;
  }

  /** Remove an edge in step t; return whether it was active. */
  remove(i, j, t) {
    const edge = this.latest(i, j);
    if (edge < 0 || this.died[edge] !== Infinity) return false;
    this.died[edge] = t;
    this.removals++;
    return true;
  }

  isActive(edge, t) {
    return this.born[edge] <= t && t < this.died[edge];
  }

  /** The edges that are active after step t, as pairs; the same array until another step is requested or edges change. */
  pairsAt(t) {
    const state = `${t} ${this.sources.length} ${this.removals}`;
    if (this.pairsOf?.state !== state) this.pairsOf = { state, pairs: this.pairs.filter((_, edge) => this.isActive(edge, t)) };
    return this.pairsOf.pairs;
  }

  /** All edges as pairs. */
  get pairs() {
    return this.sources.map((i, edge) => [i, this.targets[edge]]);
  }
}

/** Steps of a computation on a graph, the first `start` of which come before step 1. */
export class StepLog {
  steps = [];
  ready = 0; // the last available step
  last = null; // the last step, once it is known
  finished = false;

  constructor(graph, run, start = 0) {
    this.graph = graph;
    this.run = run;
    this.start = start;
    this.n = graph.names.length;
  }

  /** Append steps that are new, and return them. */
  take({ from, steps, done }) {
    if (from > this.steps.length) return [];
    const fresh = steps.slice(this.steps.length - from);
    this.steps.push(...fresh);
    this.ready = Math.max(0, this.steps.length - this.start);
    this.finished = done;
    this.last = done ? this.ready : null;
    return fresh;
  }

  /** Number of available steps. */
  get count() {
    return this.steps.length;
  }

  name(i) {
    return this.graph.names[i];
  }
}
