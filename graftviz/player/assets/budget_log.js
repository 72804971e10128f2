// What is known of a run under a budget: which edge joined when, and the junction tree after each step.

class BudgetLog {
  constructor(graph, run) {
    this.graph = graph;
    this.run = run;
    this.steps = [];
    this.n = graph.names.length;
    this.last = null;
    this.ready = 0;
    this.finished = false;
    this.branchStep = null; // the timeline it shares with the player asks for these
    this.header = { branch: null };
    this.pairs = (this.n * (this.n - 1)) / 2;
  }

  /** Steps come in order; what is known already is left as it is. */
  take({ from, steps, done }) {
    if (from > this.steps.length) return;
    this.steps.push(...steps.slice(this.steps.length - from));
    this.ready = Math.max(0, this.steps.length - 1);
    this.finished = done;
    this.last = done ? this.ready : null;
  }

  /** How many steps have come; step 0 is one. */
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
