// What the pointer rests on in the growing graph, the tip that names it, and what a click chooses.

import { format, h, isolated, shorten } from "../shared/core.js";
import { turned } from "../shared/keys.js";

export class GraphPointer {
  constructor(view) {
    this.view = view;
    this.over = null; // {node} or {edge: [i, j]}
    this.around = null; // the variable whose edges are gone through by keyboard
  }

  choose(x, y, shift) {
    const { app, log } = this.view;
    if (!log) return;
    const node = this.view.nodeAt(x, y);
    const first = app.selection;
    if (node >= 0) {
      if (shift && first && first.kind === "node" && first.i !== node) app.selectPair(first.i, node);
      else app.select({ kind: "node", i: node });
      return;
    }
    const pair = this.view.pairAt(x, y);
    if (pair) app.selectPair(pair.i, pair.j);
    else app.select(null);
  }

  /** By keyboard: the next or the last variable, in the order of the table. */
  turn(step) {
    const { app, log } = this.view;
    const i = turned(app.selection ? app.selection.i : -1, step, log.n);
    app.select({ kind: "node", i });
    this.say(this.aboutNode(i));
  }

  /** By keyboard: the next or the last edge, of the chosen variable if there is one. */
  turnEdge(step) {
    const { app, log } = this.view;
    const { selection } = app;
    if (selection === null || selection.kind === "node") this.around = selection && selection.i;
    const pairs = log.snapshot(app.shown).active.map((e) => [log.sources[e], log.targets[e]])
      .filter((pair) => this.around === null || pair.includes(this.around));
    if (pairs.length === 0) return app.say("No edges here at this step.");
    const now = selection && selection.j !== undefined ? pairs.findIndex((pair) => pair.includes(selection.i) && pair.includes(selection.j)) : -1;
    const [i, j] = pairs[turned(now, step, pairs.length)];
    app.selectPair(i, j);
    return this.say(this.aboutPair({ i, j }));
  }

  say(parts) {
    this.view.app.say(h("p", {}, ...parts).textContent);
  }

  moveTo(x, y) {
    const { view } = this;
    const { app, log } = view;
    if (!log || !view.now) return;
    const node = view.nodeAt(x, y);
    const pair = node < 0 ? view.pairAt(x, y) : null;
    const over = node >= 0 ? { node } : pair ? { edge: [pair.i, pair.j] } : null;
    const changed = JSON.stringify(over) !== JSON.stringify(this.over);
    this.over = over;
    view.canvas.classList.toggle("gv-pointing", over !== null);
    if (changed) app.wake();
    if (!over) return this.hide();
    this.tip.show(x, y, ...(node >= 0 ? this.aboutNode(node) : this.aboutPair(pair)));
  }

  aboutNode(node) {
    const { app, log } = this.view;
    const { degree, hub } = log.nodeFacts(node, app.shown);
    return [h("b", {}, isolated(shorten(log.name(node), 60))), ` · degree ${degree}${hub ? " · hub" : ""}`];
  }

  aboutPair({ i, j }) {
    const { app, log } = this.view;
    const t = app.shown;
    const status = { true: " · true edge", false: " · not a true edge", null: "" }[String(log.isTrue(i, j))];
    const edge = log.edgeAt(i, j, t);
    const fact = edge < 0 ? " · not active" : ` · since step ${log.born[edge]} · weight ${format(log.normAt(edge, t))}`;
    const times = log.timesFound(i, j);
    const found = times === null ? "" : ` · in ${times} of ${log.stability.of} subsamples`;
    return [h("b", {}, isolated(shorten(log.name(i), 30)), " – ", isolated(shorten(log.name(j), 30))), fact + status + found];
  }

  hide() {
    this.tip.hide();
    if (this.over) {
      this.over = null;
      this.view.app.wake();
    }
  }
}
