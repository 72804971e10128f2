// View of several runs on the same data: it requests steps ahead of the shown place.

import { StepView } from "./step_view.js";

/**
 * A subclass defines `begin(header)`, which makes `runs`, a TracksLog; `receive(message)`, which moves to the
 * place in a message; and `placeOf(track)`, the shown step of a run.
 */
export class RunsView extends StepView {
  /** `ahead`: steps of every run that should be available beyond the shown one. */
  constructor(host, callbacks, kind, label, { ahead, ...options }) {
    super(host, callbacks, kind, label, options);
    this.ahead = ahead;
    this.runs = null;
  }

  show(message) {
    const { header, replies } = message;
    const wasAtEnd = this.log !== null && this.isAtEnd;
    const isFirst = this.runs === null;
    if (header) {
      this.requests.reset();
      this.under.textContent = header.facts.join(" · ");
      this.note.textContent = header.note;
      this.begin(header);
    }
    const isNews = this.runs.feed(message);
    if (replies) this.requests.replied(isNews);
    this.receive(message, { isFirst, wasAtEnd });
    this.reachWanted();
    this.reveal();
    this.changed();
  }

  demand() {
    const wants = this.runs.wants((track) => (this.wanted === null ? this.placeOf(track) : track.ready) + this.ahead);
    if (wants.length) this.requests.send(wants);
  }
}
