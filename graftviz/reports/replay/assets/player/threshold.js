// The threshold τ of the reservoir as a handle: dragging it tries another α at the shown step.

import { clamp, counted, format, h } from "../shared/core.js";

const ALPHA_KEY = 0.05; // change of α by a key
const LEAST_WAY = 80; // px of the pointer from α = 0 to 1, where the chart has fewer
const SETTLE = 4000; // ms for which a choice stays lit while the run is learned again

/** α of a threshold, with two digits; null where all scores are equal. */
const alphaOf = ({ mean, max }, tau) => (max > mean ? Math.round(100 * clamp((tau - mean) / (max - mean), 0, 1)) / 100 : null);

/**
 * The choice of the activation rule at α: edges with a score of at least τ = (1 − α) μ + α max, best first, none
 * adjacent to another; at most `room` of them.
 */
function choiceAt({ edges, scores, mean, max }, alpha, room) {
  const tau = Math.min((1 - alpha) * mean + alpha * max, max);
  const [taken, skipped, touched] = [[], [], new Set()];
  // The records have rounded scores: the largest one always counts.
  const eligible = alpha === 1 ? 1 : Math.max(scores.filter((score) => score >= tau).length, 1);
  for (let k = 0; k < eligible && taken.length < room; k++) {
    if (edges[k].some((i) => touched.has(i))) skipped.push(k);
    else {
      taken.push(k);
      for (const i of edges[k]) touched.add(i);
    }
  }
  return { alpha, tau, taken, skipped };
}

export class Threshold {
  constructor(panel) {
    this.panel = panel;
    this.trial = null; // {alpha, tau, taken, skipped}, places in the reservoir
    this.step = -1;
    this.words = h("p", { class: "gv-trial", role: "status" });
    this.handle = h("div", { class: "gv-threshold", role: "slider", tabindex: "0", hidden: true, "aria-label": TEXT.threshold.label,
      "aria-orientation": "vertical", "aria-valuemin": "0", "aria-valuemax": "1",
      title: TEXT.threshold.title,
      pointerdown: (event) => this.begin(event), pointermove: (event) => this.drag(event),
      pointerup: () => this.release(), pointercancel: () => this.end(), keydown: (event) => this.key(event), blur: () => this.leave() });
    panel.holder.append(this.handle);
    panel.picture.append(this.words);
  }

  get app() {
    return this.panel.app;
  }

  get view() {
    return this.panel.viewAt(this.app.shown);
  }

  /** Edges that may be activated in the shown step. */
  get room() {
    const { log, shown } = this.app;
    return (log.header.learner.options.max_edges ?? Infinity) - log.counts[shown - 1];
  }

  /** α of the shown step, or the one that is tried. */
  get alpha() {
    return this.trial?.alpha ?? (this.view && alphaOf(this.view, this.view.tau));
  }

  /** A step is shown: the handle is that of its reservoir. */
  follow(view) {
    const { log, shown } = this.app;
    if (this.step !== shown) this.end();
    this.step = shown;
    const hasAlpha = log.header.learner.options.alpha !== undefined;
    this.handle.hidden = !view || !hasAlpha || alphaOf(view, view.tau) === null;
    if (!this.handle.hidden) this.describe();
  }

  describe() {
    const { trial, handle } = this;
    const alpha = this.alpha.toFixed(2);
    handle.setAttribute("aria-valuenow", alpha);
    const words = trial ? counted(trial.taken.length, TEXT.threshold[trial.skipped.length ? "trial_skipped" : "trial"],
      { alpha, tau: format(trial.tau), skipped: trial.skipped.length }) : "";
    handle.setAttribute("aria-valuetext", words || `α ${alpha}`);
    this.words.textContent = words && this.isKeyed ? `${words} ${TEXT.threshold.enter}` : words;
    handle.classList.toggle("gv-tried", trial !== null);
    this.panel.count();
  }

  /** Put the handle on the line. */
  place(view) {
    if (!view || this.handle.hidden || !this.panel.plot) return;
    const { plot, app } = this.panel;
    const top = `${Math.round(this.panel.y(this.trial?.tau ?? view.tau))}px`;
    Object.assign(this.handle.style, { top, left: `${plot.left}px`, width: `${plot.right - plot.left}px` });
    this.handle.classList.toggle("gv-playing", app.playing);
  }

  /** Try an α at the shown step. */
  attempt(alpha) {
    clearTimeout(this.timer);
    this.trial = choiceAt(this.view, clamp(alpha, 0, 1), this.room);
    this.describe();
    this.app.wake();
  }

  end() {
    clearTimeout(this.timer);
    this.isDragged = this.isKeyed = false;
    if (!this.trial) return;
    this.trial = null;
    this.describe();
    this.app.wake();
  }

  // ------------------------------------------------------------------------ pointer and keyboard

  begin(event) {
    if (event.button !== 0 || !this.view) return;
    this.app.pause();
    this.isDragged = true;
    this.start = { y: event.clientY, alpha: this.alpha };
    this.handle.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (!this.isDragged) return;
    const { mean, max } = this.view;
    const { panel: { y }, start } = this;
    const way = Math.max(y(mean) - y(max), LEAST_WAY);
    const alpha = Math.round(100 * clamp(start.alpha + (start.y - event.clientY) / way, 0, 1)) / 100;
    if (alpha !== this.alpha) this.attempt(alpha);
  }

  key({ key }) {
    const up = { ArrowUp: 1, ArrowDown: -1 }[key];
    if (up && this.view) {
      this.app.pause();
      this.isKeyed = true;
      this.attempt(Math.round(100 * (this.alpha + up * ALPHA_KEY)) / 100);
    } else if (key === "Enter") this.release();
    else if (key === "Escape") this.end();
    else return;
    arguments[0].preventDefault();
    arguments[0].stopPropagation();
  }

  leave() {
    if (this.isKeyed) this.end();
  }

  /** Learn again with the tried α; the choice stays lit until the new run is there. */
  release() {
    this.isDragged = this.isKeyed = false;
    const { trial, app } = this;
    if (!trial) return;
    const isOther = trial.alpha !== alphaOf(this.view, this.view.tau);
    if (!isOther || !app.callbacks.alpha) {
      this.end();
      return;
    }
    this.describe();
    app.callbacks.alpha(trial.alpha);
    this.timer = setTimeout(() => this.end(), SETTLE);
  }
}
