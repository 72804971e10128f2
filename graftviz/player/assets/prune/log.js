// Runs of forced pruning: edges after each step, and exchanges.

import { clamp, integer, percent, shorten } from "../shared/core.js";
import { EdgeLog } from "../shared/log.js";

export const pairKey = (i, j) => (i < j ? `${i},${j}` : `${j},${i}`);

/** One run. Step 0 is the tree alone, step 1 the start, further steps are exchanges. */
class PruneTrack extends EdgeLog {
  records = []; // of step t at t − 1
  outcome = null;
  trouble = "";
  before = null; // pseudo-likelihood without edges

  constructor({ run, heuristic, name }, index, n, tree) {
    super(n);
    Object.assign(this, { run, heuristic, name, index });
    for (const [i, j] of tree) this.add(i, j, 0);
  }

  get ready() {
    return this.records.length;
  }

  get finished() {
    return this.outcome !== null || this.trouble !== "";
  }

  get last() {
    return this.finished ? this.ready : null;
  }

  feed(head, { from, records, outcome }) {
    if (head) this.before = head.before;
    const known = this.ready;
    records.forEach((record, k) => {
      if (from + k === this.ready + 1) this.absorb(record);
    });
    if (outcome && outcome.steps === this.ready) this.outcome = outcome;
    return this.ready > known || this.finished;
  }

  absorb(record) {
    const entering = new Set(record.added.map(([i, j]) => this.key(i, j)));
    // Edges of the tree that the start does not contain are removed.
    const leaving = record.t > 1 ? record.removed
      : this.edges.map(({ i, j }) => [i, j]).filter(([i, j]) => !entering.has(this.key(i, j)));
    for (const [i, j] of leaving) this.remove(i, j, record.t);
    for (const [i, j] of record.added) this.add(i, j, record.t);
    const before = this.records.at(-1);
    const isBest = !before || record.best > before.best;
    const { tries, accepted, fallbacks, exchanges, bestStep } = before?.sum
      ?? { tries: 0, accepted: 0, fallbacks: 0, exchanges: 0, bestStep: 1 };
    record.sum = {
      tries: tries + record.tries,
      accepted: accepted + record.accepted,
      fallbacks: fallbacks + record.fallback,
      exchanges: exchanges + (record.kind === "exchange"),
      bestStep: isBest ? record.t : bestStep,
    };
    this.records.push(record);
  }

  /** The record of step `t`; null for the tree alone. */
  at(t) {
    return this.records[clamp(t, 0, this.ready) - 1] ?? null;
  }

  get edges() {
    return this.sources.map((i, e) => ({ i, j: this.targets[e], born: this.born[e], died: this.died[e] }));
  }

  edgesAt(t) {
    return this.activeAt(t).length;
  }
}

export class PruneLog {
  constructor(header) {
    this.header = header;
    this.n = header.names.length;
    this.tree = new Set(header.tree.map(([i, j]) => pairKey(i, j)));
    this.tracks = header.runs.map((run, index) => new PruneTrack(run, index, this.n, header.tree));
  }

  feed({ feeds, failures }) {
    let isNews = false;
    for (const { head, feed } of feeds) {
      const track = this.tracks.find(({ run }) => run === feed.run);
      if (track) isNews = track.feed(head, feed) || isNews;
    }
    for (const track of this.tracks) track.trouble = failures[track.run] ?? "";
    return isNews;
  }

  of(heuristic) {
    return this.tracks.find((track) => track.heuristic === heuristic) ?? this.tracks[0];
  }

  name(i) {
    return this.header.names[i];
  }

  pair(i, j) {
    return `${shorten(this.name(i), 24)} – ${shorten(this.name(j), 24)}`;
  }
}

/** The share of drawn subsets that was accepted, as text. */
export function acceptance(accepted, tries) {
  if (!tries) return "–";
  return accepted / tries < 0.001 ? `${integer(accepted)} of ${integer(tries)}` : percent(accepted, tries);
}
