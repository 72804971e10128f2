// Requests for details of the selected node, edge or pair at the shown step, and a cache of their answers.

import { Requests } from "../shared/requests.js";

const QUESTION_SOON = 400; // least ms between questions
const ANSWERS_KEPT = 500;
const REST = 700; // ms that a step is shown before the question about its new edge, as steps may follow quickly

export class Questions {
  constructor(app) {
    this.app = app;
    this.requests = new Requests(app, "ask", { soon: QUESTION_SOON });
    this.setRun();
  }

  /** Clear the cache, whose answers belong to another run. */
  setRun() {
    this.answers = new Map(); // by key of the question: {question, answer, region}
    this.begin();
  }

  /** Begin with another selection: its request does not wait for the reply to the last one. */
  begin() {
    this.refused = null; // key of a question that was not answered yet
    this.last = null; // the latest answer about the selection, shown until the next one is available
    this.requests.reset();
  }

  /** The question about the selection at the shown step, else about its first new edge while paused; or null. */
  get current() {
    const { log, shown, region, subject } = this.app;
    if (!subject) return null;
    const question = { run: log.header.run, kind: this.app.questionKind(subject), i: subject.i, t: shown };
    if (subject.j !== undefined) question.j = subject.j;
    if (region.node !== null) question.region = region.options;
    if (question.kind === "edge" && log.isNew(subject.i, subject.j, shown)) question.effect = true;
    return question;
  }

  /** Key of a question in the cache: answers for the last step change with the final fit. */
  keyOf({ kind, i, j, t, region }) {
    const { log } = this.app;
    return [kind, i, j, t, log.finished && t === log.last, region?.cut, region?.tolerance].join();
  }

  /** Whether the shown step has rested; questions about a selection need not wait. */
  get isAtRest() {
    const { app } = this;
    if (app.selection) return true;
    if (this.rested !== app.shown) {
      this.rested = app.shown;
      this.until = performance.now() + REST;
      clearTimeout(app.timers.rest);
      app.timers.rest = setTimeout(() => app.wake(), REST + 5);
    }
    return performance.now() >= this.until;
  }

  /** Send the current question, unless its answer is cached. */
  demand() {
    const { current } = this;
    if (!current || !this.isAtRest) return;
    const key = this.keyOf(current);
    if (!this.answers.has(key) && (this.app.selection || this.refused !== key) && this.requests.send(current)) this.sent = key;
  }

  receive({ question, answer }) {
    const { log, shown } = this.app;
    if (!question || (question.run ?? log.header.run) !== log.header.run) return;
    const region = question.region && answer?.region ? { ...answer.region, ...question.region, node: question.i, t: question.t } : null;
    const found = { question, answer, region };
    const key = this.keyOf(question);
    const isDone = !(region ?? answer?.effect ?? answer)?.again;
    // An answer may arrive twice, the second time after the next question was sent.
    if (key === this.sent) this.requests.replied(isDone);
    if (this.answers.size >= ANSWERS_KEPT) this.answers.delete(this.answers.keys().next().value);
    if (isDone) this.answers.set(key, found);
    // Without a selection a paused page does not ask again: the engine is still being compiled.
    else if (!this.app.selection) this.refused = key;
    const { current } = this;
    const isSame = current?.kind === question.kind && current.i === question.i && current.j === question.j;
    const lag = (other) => Math.abs(shown - other.question.t);
    if (isSame && (!this.last || lag(found) <= lag(this.last))) this.last = found;
  }

  /** The answer to the current question, or else the last one about the selection; null without one. */
  find() {
    const { current } = this;
    const found = current && this.answers.get(this.keyOf(current));
    if (found) this.last = found;
    return found ?? (this.app.selection ? this.last : null);
  }
}
