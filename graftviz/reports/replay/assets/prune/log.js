// Runs of forced pruning: edges after each step, and exchanges.

import { integer, percent, shorten } from "../shared/core.js";
import { TrackLog, TracksLog } from "../shared/tracks_log.js";

export const pairKey = (i, j) => (i < j ? `${i},${j}` : `${j},${i}`);

/** One run. Step 0 is the tree alone, step 1 the start, further steps are exchanges. */
class PruneTrack extends TrackLog {
  constructor(run, index, header) {
    super(run, index, header);
    this.heuristic = run.heuristic;
    for (const [i, j] of header.tree) this.add(i, j, 0);
  }

  absorb(record, t) {
    const entering = new Set(record.added.map((pair) => this.key(...pair)));
    // Edges of the tree that the start does not contain are removed.
    const leaving = t > 1 ? record.removed : this.pairsAt(0).filter((pair) => !entering.has(this.key(...pair)));
    for (const [i, j] of leaving) this.remove(i, j, t);
    for (const [i, j] of record.added) this.add(i, j, t);
    const before = this.at(t - 1);
    const sum = before?.sum ?? { tries: 0, accepted: 0, fallbacks: 0, exchanges: 0 };
    record.sum = {
      tries: sum.tries + record.tries,
      accepted: sum.accepted + record.accepted,
      fallbacks: sum.fallbacks + record.fallback,
      exchanges: sum.exchanges + (record.kind === "exchange"),
      bestStep: !before || record.best > before.best ? t : sum.bestStep,
    };
  }

  /** The record of step `t`; null for the tree alone. */
  at(t) {
    return this.records[Math.min(t, this.ready) - 1] ?? null;
  }

  edgesAt(t) {
    return this.pairsAt(t).length;
  }
}

export class PruneLog extends TracksLog {
  constructor(header) {
    super(header, header.runs, PruneTrack);
    this.tree = new Set(header.tree.map(([i, j]) => pairKey(i, j)));
  }

  of(heuristic) {
    return this.tracks.find((track) => track.heuristic === heuristic) ?? this.tracks[0];
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
