// A run under a bound: added edges, and the junction tree after each step.

export class BudgetLog {
  constructor(graph, run) {
    this.graph = graph;
    this.run = run;
    this.steps = [];
    this.n = graph.names.length;
    this.last = null;
    this.ready = 0;
    this.finished = false;
    this.pairs = (this.n * (this.n - 1)) / 2;
  }

  /** Append steps, which come in order; steps already here are unchanged. */
  take({ from, steps, done, infeasible }) {
    if (from > this.steps.length) return;
    this.steps.push(...steps.slice(this.steps.length - from));
    this.ready = Math.max(0, this.steps.length - 1);
    this.finished = done;
    this.last = done ? this.ready : null;
    // The pairs that were tried in vain at the end belong to the last step.
    if (done && infeasible !== null) this.steps[this.ready].infeasible = infeasible;
  }

  /** Number of loaded steps, step 0 included. */
  get known() {
    return this.steps.length;
  }

  name(i) {
    return this.graph.names[i];
  }

  edgesAt(k) {
    return k;
  }

  /** Numbers of the cliques that hold a variable after step k. */
  holders(i, k) {
    return this.steps[k].cliques.flatMap((clique, c) => (clique.includes(i) ? [c] : []));
  }
}
