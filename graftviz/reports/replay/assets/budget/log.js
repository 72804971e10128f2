// A run under a bound: added edges, and the junction tree after each step.

import { StepLog } from "../shared/log.js";

export class BudgetLog extends StepLog {
  constructor(graph, run) {
    super(graph, run, 1); // step 0 is the model without edges
    this.pairs = (this.n * (this.n - 1)) / 2;
  }

  take(run) {
    super.take(run);
    // The pairs that were tried in vain at the end belong to the last step.
    if (this.finished && run.infeasible !== null) this.steps[this.ready].infeasible = run.infeasible;
  }

  edgesAt(k) {
    return k;
  }

  /** Numbers of the cliques that hold a variable after step k. */
  holders(i, k) {
    return this.steps[k].cliques.flatMap((clique, c) => (clique.includes(i) ? [c] : []));
  }
}
