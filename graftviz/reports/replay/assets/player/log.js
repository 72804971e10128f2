// The log of one run in the browser: panels show functions of it and of the playhead.

import { fill, format, lerp } from "../shared/core.js";
import { countUpTo, EdgeLog, History } from "../shared/log.js";

const LEAST_HUB_DEGREE = 3;

/** Mask of hubs: nodes with at least 3 edges, and two standard deviations more than the mean. */
function hubsOf(degrees) {
  const mean = degrees.reduce((sum, d) => sum + d, 0) / degrees.length;
  const variance = degrees.reduce((sum, d) => sum + (d - mean) ** 2, 0) / degrees.length;
  const least = Math.max(LEAST_HUB_DEGREE, mean + 2 * Math.sqrt(variance));
  return Uint8Array.from(degrees, (d) => d >= least);
}

export class RunLog extends EdgeLog {
  records = [null]; // by t; with holes after lost messages
  ready = 0; // the last step up to which all records are available
  outcome = null;
  scores = []; // per edge
  norms = []; // per edge: its weight norm
  features = []; // per edge: {active, possible} of one that got single features
  limits = new History(); // limits that a score must exceed
  frames = new History(); // layout key frames
  made = [0]; // activations up to and with step t
  counts = [0]; // active edges after step t
  dropped = new Set(); // edges that the final fit removed
  gone = 0; // edges removed so far
  stability = null; // {of, counts: key of a pair → subsamples that found it}
  cache = new Map();
  absent = new Map(); // true edges that are missing, by step
  scoreTop = 0;

  constructor(header) {
    super(header.names.length);
    this.header = header;
    if (header.layout) this.frames.push(0, header.layout);
    this.limits.push(0, header.threshold ?? { symbol: "λ", value: header.lam });
    this.truth = header.truth ? new Set(header.truth.map(([i, j]) => this.key(i, j))) : null;
  }

  name(i) {
    return this.header.names[i] ?? fill(TEXT.history.variable, { i });
  }

  /** The limit that a score must exceed in step t: {symbol, value}; a branch may change it. */
  limitAt(t) {
    return this.limits.at(Math.max(t, 1));
  }

  get finished() {
    return this.outcome !== null && this.ready >= this.outcome.steps;
  }

  /** The last step, if it is known. */
  get last() {
    return this.outcome === null ? null : this.outcome.steps;
  }

  record(t) {
    return t >= 1 && t <= this.ready ? this.records[t] : null;
  }

  feed(from, records, outcome) {
    records.forEach((record, k) => {
      const t = record.t ?? from + k;
      if (t >= 1 && !this.records[t]) this.records[t] = record;
    });
    while (this.records[this.ready + 1]) this.absorb(this.records[this.ready + 1]);
    this.outcome ??= outcome;
    this.cache.clear();
    this.absent.clear();
    if (this.finished && this.dropped.size === 0) {
      for (const [i, j] of this.outcome.dropped ?? []) {
        const edge = this.edgeAt(i, j, this.last);
        if (edge >= 0) this.dropped.add(edge);
      }
    }
  }

  absorb(record) {
    const t = ++this.ready;
    let count = this.counts[t - 1];
    for (const [i, j] of record.removed ?? []) {
      if (!this.remove(i, j, t)) continue;
      this.gone++;
      count--;
    }
    for (const [i, j, score] of record.activated) {
      if (!this.add(i, j, t)) continue;
      this.scores.push(score);
      this.norms.push(new History());
      this.features.push(new History());
      count++;
    }
    for (const [i, j, active, possible] of record.features ?? []) this.features[this.latest(i, j)]?.push(t, { active, possible });
    for (const [i, j, norm] of record.weights) this.norms[this.latest(i, j)]?.push(t, norm);
    this.made.push(this.sources.length);
    this.counts.push(count);
    if (record.threshold) this.limits.push(t, record.threshold);
    if (record.layout) this.frames.push(t, record.layout);
    if (record.reservoir) this.scoreTop = Math.max(this.scoreTop, record.reservoir.max);
  }

  /** Whether step t is the end, and the final fit removed an edge. */
  isDropped(edge, t) {
    return this.dropped.has(edge) && this.finished && t === this.last;
  }

  /** Whether step t activated an edge as a whole. */
  isNew(i, j, t) {
    return this.record(t)?.activated.some(([a, b]) => a === i && b === j) ?? false;
  }

  /** The first step after which there are this many edges; null if there is none so far. */
  stepWith(edges) {
    const step = this.counts.findIndex((count) => count >= edges);
    return step < 0 ? null : step;
  }

  /** Edges after step t; at the end those that the final fit left. */
  edgesAt(t) {
    return (this.counts[t] ?? 0) - (this.finished && t === this.last ? this.dropped.size : 0);
  }

  /** Set how often each pair was found in subsamples. */
  setStability(found) {
    const counts = new Map(found.edges.map(([i, j, count]) => [this.key(i, j), count]));
    this.stability = { of: found.of, rows: found.rows, counts };
  }

  /** Number of subsamples in which a pair was found; null if it is unknown. */
  timesFound(i, j) {
    return this.stability && this.stability.of ? this.stability.counts.get(this.key(i, j)) ?? 0 : null;
  }

  /** Copy the first records of a run this one continues. */
  inherit(other, upTo) {
    this.feed(1, other.records.slice(1, upTo + 1), null);
  }

  /** The step at which this run branches off another one, or null. */
  get branchStep() {
    return this.header.branch ? this.header.branch.t : null;
  }

  normAt(edge, t) {
    return this.norms[edge].at(t) ?? 0;
  }

  /** Whether only some of an edge's features are active. */
  isPartial(edge, t) {
    const counts = this.features[edge].at(t);
    return counts !== undefined && counts.active < counts.possible;
  }

  /** The latest step up to t that made an edge, or added a feature to it. */
  grewAt(edge, t) {
    return this.features[edge].since(t) ?? this.born[edge];
  }

  /** Degrees, weight norms, hubs and their maxima after step t; cached for the latest steps. */
  snapshot(t) {
    const cached = this.cache.get(t);
    if (cached) return cached;
    const made = this.made[t];
    const active = [];
    const degrees = new Uint16Array(this.n);
    const norms = new Float32Array(made);
    let topNorm = 0;
    let right = 0;
    let dropped = 0;
    let partial = 0;
    for (let e = 0; e < made; e++) {
      if (!this.isActive(e, t)) continue;
      active.push(e);
      degrees[this.sources[e]]++;
      degrees[this.targets[e]]++;
      norms[e] = this.normAt(e, t);
      topNorm = Math.max(topNorm, norms[e]);
      partial += this.isPartial(e, t);
      if (this.isDropped(e, t)) dropped++;
      else if (this.truth) right += this.isTrue(this.sources[e], this.targets[e]);
    }
    const hubs = hubsOf(degrees);
    const count = active.length - dropped;
    const topDegree = degrees.reduce((a, b) => Math.max(a, b), 0);
    const snapshot = { t, count, active, degrees, norms, hubs, topNorm, topDegree, right, dropped, partial };
    if (this.cache.size > 6) this.cache.delete(this.cache.keys().next().value);
    this.cache.set(t, snapshot);
    return snapshot;
  }

  isTrue(i, j) {
    return this.truth === null ? null : this.truth.has(this.key(i, j));
  }

  /** True edges that are not active after step t; cached for the latest step. */
  missingAt(t) {
    if (!this.absent.has(t)) {
      this.absent.clear();
      this.absent.set(t, this.header.truth.filter(([i, j]) => this.edgeAt(i, j, t) < 0));
    }
    return this.absent.get(t);
  }

  /** Active edge (i, j) after step t, or −1. */
  edgeAt(i, j, t) {
    const lives = this.lives.get(this.key(i, j)) ?? [];
    return lives.find((edge) => this.isActive(edge, t)) ?? -1;
  }

  /** Places of the nodes at the (continuous) playhead: x0, y0, x1, y1, … in 0…10000. */
  positions(p) {
    const { header, frames: { steps, values } } = this;
    if (header.positions) return (this.given ??= Float32Array.from(header.positions.flat()));
    const k = countUpTo(steps, p) - 1;
    const next = Math.min(k + 1, steps.length - 1);
    const f = next > k ? (p - steps[k]) / (steps[next] - steps[k]) : 0;
    const places = new Float32Array(2 * this.n);
    for (let m = 0; m < places.length; m++) places[m] = lerp(values[k][m], values[next][m], f);
    return places;
  }

  /** The value of one curve after step t; step 0 is the model without edges. */
  curve(name, t) {
    if (t === 0) return this.header.start[name] ?? null;
    return this.records[t][name];
  }

  abscissa(axis, t) {
    if (axis === "steps") return t;
    if (t === 0) return 0;
    return axis === "edges" ? this.records[t].edges : this.records[t].seconds;
  }

  // ------------------------------------------------------- facts about nodes, edges and pairs

  nodeFacts(i, t) {
    const { degrees, norms, hubs, active } = this.snapshot(t);
    const partners = [];
    for (const e of active) {
      const other = this.sources[e] === i ? this.targets[e] : this.targets[e] === i ? this.sources[e] : -1;
      if (other >= 0) partners.push({ node: other, name: this.name(other), norm: norms[e] });
    }
    partners.sort((a, b) => b.norm - a.norm);
    const rank = 1 + degrees.reduce((above, d) => above + (d > degrees[i]), 0);
    return { t, name: this.name(i), degree: degrees[i], rank, hub: hubs[i] === 1, partners };
  }

  edgeFacts(i, j, t) {
    const edge = this.edgeAt(i, j, t);
    return {
      t,
      names: [this.name(i), this.name(j)],
      since: this.born[edge],
      norm: this.normAt(edge, t),
      truth: this.isTrue(i, j),
      score_at_activation: this.scores[edge],
      found: this.timesFound(i, j),
      dropped: this.isDropped(edge, t),
      features: this.features[edge].at(t),
      again: this.lives.get(this.key(i, j)).indexOf(edge) > 0,
    };
  }

  /** Facts about an inactive pair: its appearances in the reservoir. */
  pairFacts(i, j, t) {
    const key = this.key(i, j);
    const facts = { t, names: [this.name(i), this.name(j)], truth: this.isTrue(i, j), threshold: this.limitAt(t).value, found: this.timesFound(i, j) };
    const same = ([a, b]) => this.key(a, b) === key;
    let seen = null;
    let left = null;
    for (let s = t; s >= 1 && !seen; s--) {
      const { reservoir, replaced, dropped } = this.records[s];
      if (!left && replaced.some(same)) left = fill(TEXT.history.displaced, { step: s });
      if (!left && dropped.some(same)) left = fill(TEXT.history.dropped, { step: s });
      const place = reservoir ? reservoir.edges.findIndex(same) : -1;
      if (place >= 0) seen = { s, place, reservoir };
    }
    const lives = this.lives.get(key) ?? [];
    const later = lives.find((edge) => this.born[edge] > t);
    const earlier = lives.findLast((edge) => this.died[edge] <= t);
    const words = [];
    if (earlier !== undefined) {
      words.push(fill(TEXT.history.was_edge, { born: this.born[earlier], died: this.died[earlier] }));
    }
    if (seen) {
      const { s, place, reservoir } = seen;
      facts.score = reservoir.scores[place];
      facts.scored = s;
      words.push(fill(TEXT.history.held, { step: s, place: place + 1, count: reservoir.edges.length, score: format(facts.score) }));
      if (left) words.push(left);
      else if (reservoir.skipped.includes(place)) words.push(TEXT.history.skipped);
      else if (facts.score < reservoir.tau) words.push(fill(TEXT.history.below, { tau: format(reservoir.tau) }));
    } else {
      words.push(t ? fill(TEXT.history.never, { step: t }) : TEXT.history.nothing);
    }
    if (later !== undefined) words.push(fill(TEXT.history.later, { step: this.born[later] }));
    return { ...facts, words: words.join(" ") };
  }
}
