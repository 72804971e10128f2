// A system learned row by row, and the evidence of the seeds for a series.

import { StepLog } from "../shared/log.js";

const DYNAMICS_STRONG = 0.95; // quantile of the coefficients at which colours saturate

export class DynamicsLog extends StepLog {
  rows = this.steps; // the row of step t is rows[t − 1]
  counts = [0];
  seeds = [];
  edges = []; // {source, target, value, size, born}, in the order of steps
  full = 1; // size of a coefficient from which on its colour is full

  constructor(graph, run) {
    super(graph, run);
    this.born = new Int32Array(this.n).fill(-1); // step in which each series' row was learned
    this.truth = graph.truth && graph.truth.map(([sources, values], i) => new Map(sources.map((u, p) => [u, this.sized(i, u, values[p])])));
    this.measure();
  }

  take(run) {
    const fresh = super.take(run);
    fresh.forEach((row, k) => this.add(row, this.ready - fresh.length + k + 1));
    if (fresh.length) this.measure();
  }

  add(row, born) {
    this.born[row.node] = born;
    this.counts.push(this.counts[born - 1] + row.parents.length);
    if (row.kind === "seed") this.seeds.push({ node: row.node, born, parents: new Set(row.parents), twoHop: row.twoHop });
    row.parents.forEach((source, p) => {
      const value = row.weights[p];
      this.edges.push({ source, target: row.node, value, size: this.sized(row.node, source, value), born });
    });
  }

  /** A standardised coefficient: in units of the standard deviations of both series. */
  sized(target, source, value) {
    const { sizes } = this.graph;
    return (value * sizes[source]) / sizes[target];
  }

  measure() {
    const sizes = this.edges.map(({ size }) => Math.abs(size));
    if (this.truth) for (const row of this.truth) for (const size of row.values()) sizes.push(Math.abs(size));
    sizes.sort((a, b) => a - b);
    this.full = sizes[Math.floor(DYNAMICS_STRONG * (sizes.length - 1))] || 1;
  }

  edgesAt(k) {
    return this.counts[Math.min(k, this.ready)];
  }

  /** The row of a series, if it is learned by step k. */
  rowOf(i, k) {
    const born = this.born[i];
    return born > 0 && born <= k ? this.rows[born - 1] : null;
  }

  kindOf(i) {
    return this.born[i] > 0 ? this.rows[this.born[i] - 1].kind : null;
  }

  /** Whether u drives j in the true system; null if that is unknown. */
  isTrue(u, j) {
    return this.truth ? this.truth[j].has(u) : null;
  }

  /** The series without a seed, up to step k. */
  uncovered(k) {
    return this.rows.slice(0, k).filter(({ kind }) => kind === "uncovered").map(({ node }) => node);
  }

  /** Evidence for the parents of j at step k: the seeds that j drives, and candidates by score. */
  evidence(j, k) {
    const voters = this.seeds.filter(({ born, parents }) => born <= k && parents.has(j));
    const row = this.rowOf(j, k);
    const taken = new Set(row?.parents);
    const missed = this.truth && row ? [...this.truth[j].keys()].filter((u) => !taken.has(u)) : [];
    const ranked = [];
    if (voters.length) {
      for (let u = 0; u < this.n; u++) {
        const parts = voters.map(({ node, twoHop }) => [node, twoHop[u]]);
        const score = parts.reduce((sum, [, share]) => sum + share, 0);
        if (score > 0) ranked.push({ u, score, parts, taken: taken.has(u), isTrue: this.isTrue(u, j) });
      }
      ranked.sort((a, b) => b.score - a.score || a.u - b.u);
    }
    return { j, voters: voters.map(({ node }) => node), ranked, row, missed };
  }
}
