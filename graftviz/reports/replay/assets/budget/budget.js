// A model under a bound on inference: shown step, movement, and messages to the server.

import { FedView } from "../shared/fed_view.js";
import { graphKeys } from "../shared/keys_help.js";
import { Transport } from "../shared/transport.js";
import { BudgetGauge } from "./gauge.js";
import { BudgetGraph } from "./graph.js";
import { BudgetLog } from "./log.js";
import { BudgetTree } from "./tree.js";

class BudgetPlayer extends FedView {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-budget-view", "Model under a bound", { speedKey: "budget.speed", speed: 4, change: 0.5 });
    this.hover = null; // {node} or {clique} under the pointer
    this.ghost = null;
    this.graph = new BudgetGraph(this);
    this.tree = new BudgetTree(this);
    this.gauge = new BudgetGauge(this);
    this.transport = new Transport(this, { keys: [["In the graph", graphKeys()], ["In the junction tree", graphKeys("clique")]] });
    this.panels = [this.graph, this.tree, this.gauge, this.transport];
    this.assembleLayout("Loading the first edge…", "gv-budget-body", [this.graph.element, this.tree.element], [
      this.buildHead(), this.buildWords(), this.gauge.element]);
  }

  // ----------------------------------------------------------------------------------- messages

  begin(run) {
    this.log = new BudgetLog(this.picture, run);
    this.hover = null;
  }

  receive({ run }) {
    this.ghost = run.ghost;
  }

  get isComplete() {
    return this.log.finished;
  }

  stateWords() {
    return this.isAtEnd ? "finished" : `width ${this.log.steps[this.shown].width}`;
  }

  // ------------------------------------------------------------------------------------ pointing

  pointTo(found) {
    if (JSON.stringify(found) === JSON.stringify(this.hover)) return;
    this.hover = found;
    this.wake();
  }

  /** Highlighted variables: those of the clique under the pointer, or of the widest. */
  litClique() {
    const { log, shown, hover } = this;
    const { cliques, lit } = log.steps[shown];
    return hover?.node === undefined ? cliques[hover?.clique ?? lit] : [hover.node];
  }

  // ---------------------------------------------------------------------- words and messages

  write() {
    const { log, shown } = this;
    const step = log.steps[shown];
    if (this.hover?.clique >= step.cliques.length) this.hover = null;
    this.headline.textContent = log.run.title;
    this.words.textContent = step.words;
    this.stop.textContent = this.isAtEnd ? log.run.stop : "";
  }

  address() {
    return { step: this.isAtEnd ? null : this.shown };
  }
}

/** See shared/mount.js. */
export const host = {
  key: "token",
  once: "graph",
  missing: () => ({ from: 0 }),
  messages: { need: ({ from }) => ({ from }), moved: ({ step }) => ({ step }) },
  place: ({ step }) => ({ step }),
};

export const mount = (host, callbacks = {}) => new BudgetPlayer(host, callbacks);
