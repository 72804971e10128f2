// Steps of a growing region: order of the nodes, cut edges, bounds.

import { clamp } from "../shared/core.js";
import { StepLog } from "../shared/log.js";

export class RegionLog extends StepLog {
  constructor(graph, region) {
    super(graph, region, 1); // step 0 is the query alone
    this.region = region;
    this.take({ from: 0, ...region });
    this.joined = new Int32Array(this.n).fill(1 << 30);
    this.from = new Int32Array(this.n).fill(-1); // the neighbour through which a node was added
    this.steps.forEach((step, k) => {
      this.joined[step.added] = k;
      const inside = graph.neighbours[step.added].filter((j) => this.joined[j] < k);
      this.from[step.added] = inside.length ? inside[inside.length - 1] : -1;
    });
    this.best = this.steps[this.ready].best; // step with the smallest bound
    const bounds = this.steps.flatMap((step) => step.bounds.filter((b) => b !== null && b > 0));
    this.least = bounds.length ? Math.min(...bounds) : 0.01;
    this.most = bounds.length ? Math.max(...bounds) : 1;
  }

  has(i, k) {
    return this.joined[i] <= k;
  }

  /** 0 for the largest bound any candidate had, 1 for the smallest; on a logarithmic scale. */
  promise(bound) {
    const span = Math.log(this.most / this.least);
    return span > 1e-9 ? clamp(Math.log(this.most / Math.max(bound, this.least)) / span, 0, 1) : 1;
  }
}
