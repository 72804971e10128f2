// Steps of a growing region: order of the nodes, cut edges, bounds.

import { clamp } from "../shared/core.js";

/** A probability, or a bound on one, with the digits that matter. */
export function chance(x) {
  if (x === null || x === undefined) return "–";
  if (x !== 0 && Math.abs(x) < 1e-4) return x.toExponential(1).replace("e-", "e−");
  return String(Number(x.toPrecision(3)));
}

/** A bound rounded up, so that it stays valid. */
export function boundText(x) {
  if (x === 0) return "0";
  const power = 10 ** (Math.floor(Math.log10(x)) - 1);
  return chance(Math.min(1, Math.ceil(x / power - 1e-9) * power));
}

export class RegionLog {
  constructor(graph, region) {
    this.graph = graph;
    this.region = region;
    this.steps = region.steps;
    this.n = graph.names.length;
    this.last = region.done ? this.steps.length - 1 : null;
    this.ready = this.steps.length - 1;
    this.finished = region.done;
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

  name(i) {
    return this.graph.names[i];
  }

  edgesAt(k) {
    return k + 1;
  }
}
