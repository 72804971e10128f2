// The client-side log of one run: everything any panel shows is a function of it and the playhead.

import { clamp, format, lerp } from "../shared/core.js";
import { countUpTo, EdgeLog } from "../shared/log.js";

export class RunLog extends EdgeLog {
  records = [null]; // by t; holes where a message got lost
  ready = 0; // records 1…ready are all here
  outcome = null;
  scores = []; // per edge
  norms = []; // per edge: {t: […], norm: […]}
  features = []; // per edge: null, or {t: […], active: […], possible} of one with features of its own
  made = [0]; // activations up to and with step t
  counts = [0]; // active edges after step t
  dropped = new Set(); // edges that the final fit took out
  gone = 0; // edges taken out so far
  stability = null; // {of, counts: key of a pair → subsamples that found it}
  cache = new Map();
  scoreTop = 0;

  constructor(header) {
    super(header.names.length);
    this.header = header;
    this.frames = header.layout ? [{ t: 0, xy: header.layout }] : []; // layout key frames
    this.truth = header.truth ? new Set(header.truth.map(([i, j]) => this.key(i, j))) : null;
    this.limits = [[0, header.threshold ?? { symbol: "λ", value: header.lam }]]; // from step … on
  }

  name(i) {
    return this.header.names[i] ?? `variable ${i}`;
  }

  /** What a score must exceed in step t: {symbol, value}; a branch may change it. */
  limitAt(t) {
    return this.limits.findLast(([from]) => from <= Math.max(t, 1))[1];
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
    const before = this.ready;
    records.forEach((record, k) => {
      const t = record.t ?? from + k;
      if (t >= 1 && !this.records[t]) this.records[t] = record;
    });
    while (this.records[this.ready + 1]) this.absorb(this.records[this.ready + 1]);
    if (outcome && !this.outcome) {
      this.outcome = outcome;
      this.cache.clear();
    }
    if (this.finished && this.dropped.size === 0) {
      for (const [i, j] of this.outcome.dropped ?? []) {
        const edge = this.edgeAt(i, j, this.last);
        if (edge >= 0) this.dropped.add(edge);
      }
    }
    if (this.ready !== before) this.cache.clear();
    return this.ready !== before;
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
      this.norms.push({ t: [], norm: [] });
      this.features.push(null);
      count++;
    }
    for (const [i, j, active, possible] of record.features ?? []) {
      const edge = this.latest(i, j);
      if (edge < 0) continue;
      const history = (this.features[edge] ??= { t: [], active: [], possible });
      history.t.push(t);
      history.active.push(active);
    }
    this.made.push(this.sources.length);
    this.counts.push(count);
    for (const [i, j, norm] of record.weights) {
      const history = this.norms[this.latest(i, j)];
      if (history) {
        history.t.push(t);
        history.norm.push(norm);
      }
    }
    if (record.threshold) this.limits.push([t, record.threshold]);
    if (record.layout) this.frames.push({ t, xy: record.layout });
    if (record.reservoir) this.scoreTop = Math.max(this.scoreTop, record.reservoir.max);
  }

  /** Whether the final fit took an edge out, and the end is what step t is. */
  isDropped(edge, t) {
    return this.dropped.has(edge) && this.finished && t === this.last;
  }

  /** Edges after step t; at the end those that the final fit left. */
  edgesAt(t) {
    return (this.counts[t] ?? 0) - (this.finished && t === this.last ? this.dropped.size : 0);
  }

  /** Take how often each pair was found over subsamples. */
  setStability(found) {
    const counts = new Map(found.edges.map(([i, j, count]) => [this.key(i, j), count]));
    this.stability = { of: found.of, rows: found.rows, counts };
  }

  /** In how many subsamples a pair was found; null when that is not known. */
  timesFound(i, j) {
    return this.stability && this.stability.of ? this.stability.counts.get(this.key(i, j)) ?? 0 : null;
  }

  /** Copy the first records of a run this one continues. */
  inherit(other, upTo) {
    this.feed(1, other.records.slice(1, upTo + 1), null);
  }

  /** Where this run leaves the one it continues, if it continues one. */
  get branchStep() {
    return this.header.branch ? this.header.branch.t : null;
  }

  normAt(edge, t) {
    const history = this.norms[edge];
    const count = countUpTo(history.t, t);
    return count ? history.norm[count - 1] : 0;
  }

  /** How many features of an edge are active after step t, of how many; null: it is active as a whole. */
  featuresAt(edge, t) {
    const history = this.features[edge];
    const count = history ? countUpTo(history.t, t) : 0;
    return count ? { active: history.active[count - 1], possible: history.possible } : null;
  }

  isPartial(edge, t) {
    const counts = this.featuresAt(edge, t);
    return counts !== null && counts.active < counts.possible;
  }

  /** The latest step up to t that made an edge, or added a feature to it. */
  grewAt(edge, t) {
    const history = this.features[edge];
    const count = history ? countUpTo(history.t, t) : 0;
    return count ? history.t[count - 1] : this.born[edge];
  }

  /** Degrees, weight norms, hubs and their maxima after step t; kept for the latest steps asked. */
  snapshot(t) {
    const kept = this.cache.get(t);
    if (kept) return kept;
    const made = this.made[t];
    const active = [];
    const degrees = new Uint16Array(this.n);
    const norms = new Float32Array(made);
    const hubs = new Uint8Array(this.n);
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
    for (const hub of t ? this.records[t].hubs : []) hubs[hub] = 1;
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

  /** Active edge (i, j) after step t, or −1. */
  edgeAt(i, j, t) {
    const lives = this.lives.get(this.key(i, j)) ?? [];
    return lives.find((edge) => this.isActive(edge, t)) ?? -1;
  }

  /** Node places at the (continuous) playhead into `out`: x0, y0, x1, y1, … in 0…10000. */
  positions(p, out) {
    const fixed = this.header.positions;
    if (fixed) {
      for (let i = 0; i < this.n; i++) {
        out[2 * i] = fixed[i][0];
        out[2 * i + 1] = fixed[i][1];
      }
    } else if (this.frames.length === 0) {
      sunflower(this.n, out);
    } else {
      let k = 0;
      while (k + 1 < this.frames.length && this.frames[k + 1].t <= p) k++;
      const a = this.frames[k];
      const b = this.frames[Math.min(k + 1, this.frames.length - 1)];
      const f = b.t > a.t ? clamp((p - a.t) / (b.t - a.t), 0, 1) : 0;
      for (let m = 0; m < 2 * this.n; m++) out[m] = lerp(a.xy[m], b.xy[m], f);
    }
    return out;
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

  // ------------------------------------------------------------ what the log itself can answer

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
      features: this.featuresAt(edge, t),
      again: this.lives.get(this.key(i, j)).indexOf(edge) > 0,
    };
  }

  /** What the records say about an inactive pair: its appearances in the reservoir. */
  pairFacts(i, j, t) {
    const key = this.key(i, j);
    const facts = { t, names: [this.name(i), this.name(j)], truth: this.isTrue(i, j), threshold: this.limitAt(t).value, found: this.timesFound(i, j) };
    const same = ([a, b]) => this.key(a, b) === key;
    let seen = null;
    let left = null;
    for (let s = t; s >= 1 && !seen; s--) {
      const { reservoir, replaced, dropped } = this.records[s];
      if (!left && replaced.some(same)) left = `was displaced by a better pair in step ${s}`;
      if (!left && dropped.some(same)) left = `no longer violated after the refit before step ${s}`;
      const place = reservoir ? reservoir.edges.findIndex(same) : -1;
      if (place >= 0) seen = { s, place, reservoir };
    }
    const lives = this.lives.get(key) ?? [];
    const later = lives.find((edge) => this.born[edge] > t);
    const earlier = lives.findLast((edge) => this.died[edge] <= t);
    const words = [];
    if (earlier !== undefined) {
      words.push(`It was an edge from step ${this.born[earlier]} until it was removed in step ${this.died[earlier]}.`);
    }
    if (seen) {
      const { s, place, reservoir } = seen;
      facts.score = reservoir.scores[place];
      facts.scored = s;
      words.push(`It was in the reservoir in step ${s}: place ${place + 1} of ${reservoir.edges.length} with score ${format(facts.score)}.`);
      if (left) words.push(`It ${left}.`);
      else if (reservoir.skipped.includes(place)) words.push("It reached τ, but shares a variable with an edge chosen in the same step.");
      else if (facts.score < reservoir.tau) words.push(`It did not reach τ = ${format(reservoir.tau)}.`);
    } else {
      words.push(t ? `It has not been in the reservoir up to step ${t}.` : "Nothing has been tested yet.");
    }
    if (later !== undefined) words.push(`It is activated later, in step ${this.born[later]}.`);
    return { ...facts, words: words.join(" ") };
  }
}

/** An even spread over a disc, for the moment before any layout is known. */
function sunflower(n, out) {
  for (let i = 0; i < n; i++) {
    const radius = 4300 * Math.sqrt((i + 0.5) / n);
    out[2 * i] = 5000 + radius * Math.cos(2.399963 * i);
    out[2 * i + 1] = 5000 + radius * Math.sin(2.399963 * i);
  }
}
