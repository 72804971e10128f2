// A drawing of positions 0 … 10000 that fills its box; base of the graph and the junction tree.

import { clamp, h, smooth, Surface } from "../shared/core.js";
import { attachKeys, turned } from "../shared/keys.js";
import { saveButton } from "../shared/save_picture.js";
import { Tip } from "../shared/tip.js";

const BUDGET_ENTRY = 0.5; // seconds of the animation of an added edge

/** A subclass defines `kind`, the kind of its items, and `things`, their positions. */
export class BudgetPlane {
  constructor(app, kind, title) {
    this.app = app;
    this.count = h("span", { class: "gv-count" });
    this.holder = h("div", { class: "gv-stage" });
    this.element = h("section", { class: `gv-card ${kind}`, "aria-label": title },
      h("header", {}, h("h3", {}, title), this.count, saveButton(app, title.toLowerCase().replace(" ", "-"))), this.holder);
    this.surface = new Surface(this.holder, () => app.resized());
    this.tip = new Tip(this.holder);
    this.abort = new AbortController();
    const on = (type, listener) => this.surface.canvas.addEventListener(type, listener, { signal: this.abort.signal });
    on("pointermove", (event) => this.pointAt(event));
    on("pointerdown", (event) => this.pointAt(event));
    on("blur", () => this.leave());
    attachKeys(this.surface.canvas, this, this.abort.signal);
    on("pointerleave", (event) => { if (event.pointerType !== "touch") this.leave(); });
  }

  destroy() {
    this.abort.abort();
    this.surface.destroy();
  }

  /** Screen coordinates of a position, with a margin in px on every side. */
  project([x, y], [across, down]) {
    const { width, height } = this.surface;
    const part = (value, size, margin) => margin + (value / 10000) * Math.max(1, size - 2 * margin);
    return [part(x, width, across), part(y, height, down)];
  }

  /** Highlight the item under the pointer, here and in the other drawing. */
  pointAt(event) {
    if (!this.app.log) return;
    const box = this.surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    this.pointTo(this.find(x, y), x, y);
  }

  /** By keyboard: the next or previous item. */
  turn(step) {
    const { log, hover } = this.app;
    if (!log) return;
    const places = this.things();
    const k = turned(hover?.[this.kind] ?? -1, step, places.length);
    this.pointTo({ [this.kind]: k }, ...places[k]);
    this.app.say(this.tip.text);
  }

  pointTo(found, x, y) {
    this.app.pointTo(found);
    if (found) this.tip.show(x, y, this.wordsFor(found));
    else this.tip.hide();
  }

  leave() {
    this.tip.hide();
    this.app.pointTo(null);
  }

  get moving() {
    return !this.app.still && this.app.age < BUDGET_ENTRY;
  }

  /** Progress of the animation, 0 … 1. */
  get entry() {
    return this.app.still ? 1 : smooth(clamp(this.app.age / BUDGET_ENTRY, 0, 1));
  }
}
