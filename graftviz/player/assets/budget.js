// A model under a budget: which step is shown, what moves it, who is told about it.

const BUDGET_ENTRY = 0.5; // seconds an edge takes to arrive
const BUDGET_RETRY = [100, 200, 400, 700]; // ms between questions for steps still to come
const BUDGET_LOST = 4000; // ms after which an answer will not come any more

class BudgetPlayer extends StepView {
  constructor(host, callbacks) {
    super(host, { branch: null, ...callbacks }, "gv-budget-view", "Model under a budget", { key: "budget", speed: 4 });
    this.hover = null; // {node} or {clique} under the pointer
    this.ghost = null;
    this.tries = 0;
    this.graph = new BudgetGraph(this);
    this.tree = new BudgetTree(this);
    this.gauge = new BudgetGauge(this);
    this.transport = new Transport(this);
    this.panels = [this.graph, this.tree, this.gauge, this.transport];
    this.headline = h("h2", { dir: "auto" });
    this.words = h("p", { class: "gv-sentence", dir: "auto" });
    this.stop = h("p", { class: "gv-muted", dir: "auto" });
    this.assemble("Waiting for the first edge…", h("div", { class: "gv-budget-body" },
      h("div", { class: "gv-head gv-budget-head" }, this.headline, this.words, this.stop),
      h("div", { class: "gv-budget-grid" }, this.graph.element, this.tree.element, this.gauge.element),
      this.transport.element));
  }

  // ----------------------------------------------------------------------------------- messages

  show({ graph, run, visit }) {
    if (graph) this.picture = graph;
    const isFirst = this.log === null;
    const isVisit = isFirst || visit !== this.visit;
    const isNews = isFirst || run.token !== this.log.run.token;
    this.visit = visit;
    if (isNews) {
      if (run.from > 0) return this.ask(0);
      this.log = new BudgetLog(this.picture, run);
      this.hover = null;
      this.transport.setRun(this.log);
    }
    this.log.run = run;
    this.ghost = run.ghost;
    this.log.take(run);
    if (isNews || isVisit) this.open(run, isVisit);
    if (this.wanted !== null) this.goTo(Math.min(this.wanted, this.log.ready));
    if (run.done) this.wanted = null;
    this.reveal();
    this.tries = run.steps.length ? 0 : this.tries + 1;
    this.askAgain();
    this.changed();
    return undefined;
  }

  /** Another run plays from its start; a link goes where it says, and who asked for less motion to the end. */
  open(run, isVisit) {
    this.wanted = isVisit && run.at !== null ? run.at : this.still ? Infinity : null;
    this.goTo(0);
    this.playing = this.wanted === null;
  }

  ask(from) {
    this.callbacks.need({ from });
  }

  askAgain() {
    clearTimeout(this.timers.need);
    if (this.log.finished || document.hidden) return;
    this.timers.need = setTimeout(() => {
      this.ask(this.log.steps.length);
      // An answer asks again by itself; this is for one that was lost.
      this.timers.need = setTimeout(() => this.askAgain(), BUDGET_LOST);
    }, BUDGET_RETRY[Math.min(this.tries, BUDGET_RETRY.length - 1)]);
  }

  // ------------------------------------------------------------------------------------ movement

  stateWords() {
    const { log, shown } = this;
    return shown === log.last ? "no other edge fits" : `width ${log.steps[shown].width}`;
  }

  advance(seconds) {
    super.advance(seconds);
    this.gauge.advance(seconds);
  }

  roll(seconds) {
    super.roll(seconds);
    // The end may be reached before it is known to be one.
    if (!this.playing) this.changed();
  }

  // ------------------------------------------------------------------------------------ pointing

  pointTo(found) {
    if (JSON.stringify(found) === JSON.stringify(this.hover)) return;
    this.hover = found;
    this.wake();
  }

  /** The variables that are lit in the graph: those of the clique under the pointer, or of the widest. */
  litClique() {
    const { log, shown, hover } = this;
    const { cliques, lit } = log.steps[shown];
    if (hover && hover.node !== undefined) return [hover.node];
    return (hover && cliques[hover.clique]) || cliques[lit];
  }

  // ----------------------------------------------------------------------------- telling others

  changed() {
    const { log, shown } = this;
    if (!log) return;
    const step = log.steps[shown];
    if (this.hover && this.hover.clique >= step.cliques.length) this.hover = null;
    this.headline.textContent = log.run.title;
    this.words.textContent = step.words;
    this.stop.textContent = shown === log.last ? log.run.stop : "";
    this.stop.hidden = this.stop.textContent === "";
    for (const panel of this.panels) panel.describe();
    clearTimeout(this.timers.moved);
    if (!this.playing) this.timers.moved = setTimeout(() => this.tellPlace(), 350);
    this.announce(() => [this.words.textContent, this.stop.textContent].filter(Boolean).join(" "));
    this.wake();
  }

  tellPlace() {
    const { log, shown } = this;
    const step = log.finished && shown >= log.ready ? null : shown;
    if (step === this.told) return;
    this.told = step;
    this.callbacks.moved({ step });
  }
}

const mount = (host, callbacks = {}) => new BudgetPlayer(host, callbacks);
