// View of steps that are computed while it plays: it requests further steps until the run ends.

import { StepView } from "./step_view.js";

export const FED_LOST = 4000; // ms after which an answer will not come any more

/**
 * A subclass defines `begin(run, isFirst)`, which makes the log of a new run, and `isComplete`, whether
 * all steps are known; `receive(message)` is optional. Its `log` has `run`, `known`, the number of steps
 * received, and `take`, which adds steps.
 */
export class FedView extends StepView {
  constructor(host, callbacks, kind, label, { retry, ...options }) {
    super(host, { branch: null, ...callbacks }, kind, label, options);
    this.retry = retry; // ms between requests for further steps
    this.tries = 0; // consecutive requests without a new step
  }

  show(message) {
    const { graph, run, visit } = message;
    if (graph) this.picture = graph;
    const isFirst = this.log === null;
    const isVisit = isFirst || visit !== this.visit;
    const isNews = isFirst || run.token !== this.log.run.token;
    if (isNews) {
      if (run.from > 0) return this.ask(0);
      this.begin(run, isFirst);
      this.transport.setRun(this.log);
    }
    this.visit = visit;
    this.log.run = run;
    this.log.take(run);
    this.receive(message, isVisit);
    if (isNews || isVisit) this.open(run, isVisit);
    if (this.wanted !== null) this.goTo(Math.min(this.wanted, this.log.ready));
    if (run.done) this.wanted = null;
    this.reveal();
    this.tries = run.steps.length ? 0 : this.tries + 1;
    this.askAgain();
    this.changed();
    return undefined;
  }

  /** Take what else a message has. */
  receive() {}

  /** Whether a followed link that names no step shows the end of the run. */
  opensAtEnd() {
    return false;
  }

  /** Open a new run: at its start, at the step of a link, or with reduced motion at its end. */
  open(run, isVisit) {
    const isAtEnd = isVisit && run.at === null && this.opensAtEnd(run);
    this.wanted = isVisit && run.at !== null ? run.at : this.still || isAtEnd ? Infinity : null;
    this.goTo(0);
    this.playing = this.wanted === null;
  }

  ask(from) {
    this.callbacks.need({ from });
  }

  askAgain() {
    clearTimeout(this.timers.need);
    if (this.isComplete) return;
    this.timers.need = setTimeout(() => {
      this.ask(this.log.known);
      // A reply triggers the next request; this is for a lost reply.
      this.timers.need = setTimeout(() => this.askAgain(), FED_LOST);
    }, this.retry[Math.min(this.tries, this.retry.length - 1)]);
  }

  roll(seconds) {
    super.roll(seconds);
    // The end may be reached before it is known to be one.
    if (!this.playing) this.changed();
  }
}
