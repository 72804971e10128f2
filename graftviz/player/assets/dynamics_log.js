// What is known of a system that is learned row by row, and what the seeds say about a series.

const DYNAMICS_STRONG = 0.95; // share of the coefficients whose colour is not cut off

class DynamicsLog {
  constructor(graph, run) {
    this.graph = graph;
    this.run = run;
    this.n = graph.names.length;
    this.rows = []; // the row of step t is rows[t − 1]
    this.born = new Int32Array(this.n).fill(-1); // step in which each series' row was learned
    this.counts = [0];
    this.seeds = [];
    this.edges = []; // {source, target, value, size, born}, in the order of steps
    this.ready = 0;
    this.last = null;
    this.finished = false;
    this.branchStep = null; // the timeline it shares with the player asks for these
    this.header = { branch: null };
    this.full = 1; // size of a coefficient from which on its colour is full
    this.truth = graph.truth && graph.truth.map(([sources, values], i) => new Map(sources.map((u, p) => [u, this.sized(i, u, values[p])])));
    this.measure();
  }

  /** Rows come in order; what is known already is left as it is. */
  take({ from, steps, done }) {
    if (from > this.rows.length) return;
    const fresh = steps.slice(this.rows.length - from);
    for (const row of fresh) this.add(row);
    this.ready = this.rows.length;
    this.finished = done;
    this.last = done ? this.ready : null;
    if (fresh.length) this.measure();
  }

  /** How many rows have come. */
  get known() {
    return this.rows.length;
  }

  add(row) {
    this.rows.push(row);
    const born = this.rows.length;
    this.born[row.node] = born;
    this.counts.push(this.counts[born - 1] + row.parents.length);
    if (row.kind === "seed") this.seeds.push({ node: row.node, born, parents: new Set(row.parents), twoHop: row.twoHop });
    row.parents.forEach((source, p) => {
      const value = row.weights[p];
      this.edges.push({ source, target: row.node, value, size: this.sized(row.node, source, value), born });
    });
  }

  /** A coefficient in units of both series: by how much a usual swing of the source moves the target. */
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

  name(i) {
    return this.graph.names[i];
  }

  edgesAt(k) {
    return this.counts[Math.min(k, this.ready)];
  }

  /** The row of a series, if step k knows it. */
  rowOf(i, k) {
    const born = this.born[i];
    return born > 0 && born <= k ? this.rows[born - 1] : null;
  }

  kindOf(i) {
    return this.born[i] > 0 ? this.rows[this.born[i] - 1].kind : null;
  }

  /** Whether u truly drives j; null where the truth is not known. */
  isTrue(u, j) {
    return this.truth ? this.truth[j].has(u) : null;
  }

  /** The series without a seed that speaks for them, as far as step k tells. */
  unspoken(k) {
    return this.rows.slice(0, k).filter(({ kind }) => kind === "unspoken").map(({ node }) => node);
  }

  /** What the seeds of step k say about the parents of j: who speaks, and every source by its score. */
  evidence(j, k) {
    const voters = this.seeds.filter(({ born, parents }) => born <= k && parents.has(j));
    const row = this.rowOf(j, k);
    const taken = new Set(row ? row.parents : []);
    const ranked = [];
    if (voters.length) {
      for (let u = 0; u < this.n; u++) {
        const parts = voters.map(({ node, twoHop }) => [node, twoHop[u]]);
        const score = parts.reduce((sum, [, share]) => sum + share, 0);
        if (score > 0) ranked.push({ u, score, parts, taken: taken.has(u), isTrue: this.isTrue(u, j) });
      }
      ranked.sort((a, b) => b.score - a.score || a.u - b.u);
    }
    return { j, voters: voters.map(({ node }) => node), ranked, row };
  }
}
