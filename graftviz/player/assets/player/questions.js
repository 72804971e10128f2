// Questions about the selected node, edge or pair at the shown step, and their answers, which are kept.

import { Requests } from "../shared/requests.js";

const QUESTION_SOON = 400; // least ms between questions
const ANSWERS_KEPT = 500;

export class Questions {
  constructor(app) {
    this.app = app;
    this.requests = new Requests(app, "ask", { soon: QUESTION_SOON });
    this.setRun();
  }

  /** Forget the answers: they are about another run. */
  setRun() {
    this.answers = new Map(); // by key of the question: {question, answer, region}
    this.begin();
  }

  /** Another selection: the question about it need not wait for the answer to the last one. */
  begin() {
    this.last = null; // the latest answer about the selection, which stands in until the next one has come
    this.requests.reset();
  }

  /** The question about the selection at the shown step, or null. */
  get current() {
    const { log, selection, shown, region } = this.app;
    if (!selection) return null;
    const question = { run: log.header.run, kind: this.app.questionKind(selection), i: selection.i, t: shown };
    if (selection.j !== undefined) question.j = selection.j;
    if (region.node !== null) question.region = region.wish;
    return question;
  }

  /** The last step stands for the final fit, once that is available. */
  keyOf({ kind, i, j, t, region }) {
    const { log } = this.app;
    return [kind, i, j, t, log.finished && t === log.last, region?.cut, region?.tolerance].join();
  }

  /** Ask what is asked now, unless that is answered. */
  demand() {
    const { current } = this;
    if (current && !this.answers.has(this.keyOf(current)) && this.requests.send(current)) this.sent = this.keyOf(current);
  }

  receive({ question, answer }) {
    const { log, shown } = this.app;
    if (!question || (question.run ?? log.header.run) !== log.header.run) return;
    const region = question.region && answer?.region ? { ...answer.region, ...question.region, node: question.i, t: question.t } : null;
    const found = { question, answer, region };
    const key = this.keyOf(question);
    const isDone = !region?.again;
    // An answer may come twice, the second time when the next question is already on its way.
    if (key === this.sent) this.requests.replied(isDone);
    if (this.answers.size >= ANSWERS_KEPT) this.answers.delete(this.answers.keys().next().value);
    if (isDone) this.answers.set(key, found);
    const { current } = this;
    const isSame = current?.kind === question.kind && current.i === question.i && current.j === question.j;
    const lag = (other) => Math.abs(shown - other.question.t);
    if (isSame && (!this.last || lag(found) <= lag(this.last))) this.last = found;
  }

  /** The answer to what is asked now, or else the last one about the selection; null without one. */
  find() {
    const { current } = this;
    const found = current && this.answers.get(this.keyOf(current));
    if (found) this.last = found;
    return this.last;
  }
}
