// View of steps that are computed while it plays: it requests further steps until the run ends.

import { StepView } from "./step_view.js";

const FED_PATIENCE = 700; // most ms between requests for further steps

/**
 * A subclass defines `begin(run, isFirst)`, which makes the log of a new run, and `isComplete`, whether
 * all steps are available. It may define `receive(message, isVisit)`, which takes further parts of a message,
 * and `opensAtEnd(run)`, whether a followed link that names no step shows the end of the run. Its `log` has
 * `run`, `count`, the number of available steps, and `take`, which adds steps.
 */
export class FedView extends StepView {
  tries = 0; // consecutive messages without a step

  constructor(host, callbacks, kind, label, options) {
    super(host, callbacks, kind, label, { patience: FED_PATIENCE, ...options });
  }

  show(message) {
    const { graph, run, visit } = message;
    if (graph) this.picture = graph;
    const isFirst = this.log === null;
    const isVisit = isFirst || visit !== this.visit;
    const isNews = isFirst || run.token !== this.log.run.token;
    if (isNews) {
      if (run.from > 0) return this.callbacks.need({ from: 0 });
      this.requests.reset();
      this.begin(run, isFirst);
      this.transport.setRun(this.log);
    }
    this.visit = visit;
    this.log.run = run;
    this.log.take(run);
    this.receive?.(message, isVisit);
    if (isNews || isVisit) this.open(isVisit ? run.at ?? (this.opensAtEnd?.(run) ? Infinity : null) : null);
    else this.reachWanted();
    this.reveal();
    this.tries = run.steps.length ? 0 : this.tries + 1;
    this.requests.replied(run.steps.length > 0);
    this.changed();
    return undefined;
  }

  demand() {
    if (!this.isComplete) this.requests.send({ from: this.log.count });
  }
}
