// A model under a bound on inference: shown step, movement, and messages to the server.

import { h } from "../shared/core.js";
import { FedView } from "../shared/fed_view.js";
import { KEYS_GRAPH, KEYS_MOVE, KEYS_PLAY } from "../shared/keys_help.js";
import { Transport } from "../shared/transport.js";
import { BudgetGauge } from "./gauge.js";
import { BudgetGraph } from "./graph.js";
import { BudgetLog } from "./log.js";
import { BudgetTree } from "./tree.js";

class BudgetPlayer extends FedView {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-budget-view", "Model under a bound", { speedKey: "budget.speed", speed: 4 });
    this.hover = null; // {node} or {clique} under the pointer
    this.ghost = null;
    this.graph = new BudgetGraph(this);
    this.tree = new BudgetTree(this);
    this.gauge = new BudgetGauge(this);
    this.transport = new Transport(this);
    this.panels = [this.graph, this.tree, this.gauge, this.transport];
    this.words = h("p", { class: "gv-sentence", dir: "auto" });
    this.stop = h("p", { class: "gv-muted", dir: "auto" });
    this.assembleLayout("Loading the first edge…", "gv-budget-body", [this.graph.element, this.tree.element], [
      this.buildHead(), h("div", { class: "gv-words" }, this.words, this.stop), this.gauge.element]);
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

  get keys() {
    return [["Everywhere", [...KEYS_PLAY, ...KEYS_MOVE]], ["In the graph", KEYS_GRAPH],
      ["In the junction tree", KEYS_GRAPH.map(([keys, text]) => [keys, text.replace("variable", "clique")])]];
  }

  // ------------------------------------------------------------------------------------ movement

  stateWords() {
    const { log, shown } = this;
    return shown === log.last ? "finished" : `width ${log.steps[shown].width}`;
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
    if (hover && hover.node !== undefined) return [hover.node];
    return (hover && cliques[hover.clique]) || cliques[lit];
  }

  // ---------------------------------------------------------------------- words and messages

  write() {
    const { log, shown } = this;
    const step = log.steps[shown];
    if (this.hover && this.hover.clique >= step.cliques.length) this.hover = null;
    this.headline.textContent = log.run.title;
    this.words.textContent = step.words;
    this.stop.textContent = shown === log.last ? log.run.stop : "";
  }

  sentence() {
    return [this.words.textContent, this.stop.textContent].filter(Boolean).join(" ");
  }

  address() {
    const { log, shown } = this;
    return { step: log.finished && shown >= log.ready ? null : shown };
  }
}

export const mount = (host, callbacks = {}) => new BudgetPlayer(host, callbacks);
