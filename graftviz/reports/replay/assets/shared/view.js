// Base of all views: a root that follows theme and visibility, frames on demand, sentences for screen readers.

import { clamp, h, readPalette } from "./core.js";
import { Layout } from "./layout.js";

const VIEW_TYPE = 14.5; // px, of the style sheet's type
const VIEW_LONGEST_FRAME = 0.1; // s; a sleeping tab wakes to a huge gap

/**
 * A subclass fills `panels` in its constructor and calls `assemble`. A panel may have `parts`, which are
 * panels as well. A subclass may define `demand`, which requests what is missing.
 */
export class View {
  constructor(host, callbacks, kind, label) {
    this.callbacks = callbacks;
    this.log = null; // the shown data; nothing is drawn before
    this.type = 1; // how much larger than usual type is
    this.panels = [];
    this.timers = {};
    this.raf = 0;
    this.root = h("section", { class: `gv-player ${kind}`, "aria-label": label, tabindex: "-1" });
    this.root.view = this; // for other scripts of the page, which follow its place
    host.append(this.root);
    this.motion = matchMedia("(prefers-reduced-motion: reduce)");
    this.live = h("p", { class: "gv-live", "aria-live": "polite" });
    this.listening = new AbortController();
    this.listen(document, "visibilitychange", () => { if (!document.hidden) this.wake(); });
    this.listen(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.refresh());
    this.refresh();
  }

  /** Listen to events outside the view until it is destroyed. */
  listen(target, type, listener) {
    target.addEventListener(type, listener, { signal: this.listening.signal });
  }

  /** Assemble the view: a sentence until `reveal` is called, then the parts. */
  assemble(waiting, kind, ...parts) {
    this.loading = h("p", { class: "gv-loading", role: "status" }, waiting);
    this.body = h("div", { class: `gv-body ${kind}`, hidden: true }, ...parts);
    this.root.append(this.loading, this.body, this.live);
  }

  /** Assemble a view of a main picture, panels beside it, and its playback bar. */
  assembleLayout(waiting, kind, main, side) {
    this.layout = new Layout(this, main, side, this.transport.element);
    this.assemble(waiting, kind, this.layout.element, this.transport.element);
  }

  reveal() {
    this.loading.hidden = true;
    this.body.hidden = false;
    this.layout?.follow();
  }

  /** Whether the system requests reduced motion. */
  get still() {
    return this.motion.matches;
  }

  /** The share of the way to a goal that is covered in some seconds: all of it with reduced motion. */
  progress(rate, seconds) {
    return this.still ? 1 : 1 - Math.exp(-rate * seconds);
  }

  // ----------------------------------------------------------------------------------- movement

  wake() {
    if (!this.raf && !this.gone) this.raf = requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.raf = 0;
    if (!this.log || this.gone) return;
    // A frame's time may lie before the last one's.
    this.advance(this.before === undefined ? 0 : clamp((now - this.before) / 1000, 0, VIEW_LONGEST_FRAME));
    this.draw();
    const { moving } = this;
    this.before = moving ? now : undefined;
    if (moving) this.wake();
  }

  /** Panels and their parts. */
  get everyPanel() {
    return this.panels.flatMap((panel) => [panel, ...(panel.parts ?? [])]);
  }

  draw() {
    for (const panel of this.everyPanel) {
      try {
        panel.draw?.();
      } catch (error) {
        // One broken picture must not stop the others, nor fill the console at 60 lines a second.
        if (!this.hasFailed) console.error(error);
        this.hasFailed = true;
      }
    }
  }

  /** Go on by so many seconds; called before every picture. */
  advance(seconds) {
    for (const panel of this.everyPanel) panel.advance?.(seconds);
    this.demand?.();
  }

  /** Whether another frame is wanted. */
  get moving() {
    return this.everyPanel.some((panel) => panel.moving);
  }

  // ------------------------------------------------------------------------- words, type, theme

  /** Headline with a badge, what it is of, more, and a note. */
  buildHead(kind = "", badge = null, ...more) {
    this.headline = h("h2", { dir: "auto" });
    this.under = h("p", { class: "gv-muted", dir: "auto" });
    this.note = h("p", { class: "gv-note", dir: "auto" });
    const title = badge ? h("div", { class: "gv-title" }, this.headline, badge) : this.headline;
    return h("div", { class: `gv-head ${kind}` }, title, this.under, ...more, this.note);
  }

  /** Have screen readers read a text at once. */
  say(text) {
    this.live.textContent = text;
  }

  /** After a change of size: type grows with wide screens, in the pictures as well. */
  resized() {
    this.type = parseFloat(getComputedStyle(this.body).fontSize) / VIEW_TYPE || 1;
    this.wake();
  }

  /** A canvas font at the size of the words around it. */
  font(size, style = "") {
    return `${style} ${size * this.type}px ${this.palette.font}`;
  }

  /** Read the theme again, e.g. after it was switched. */
  refresh() {
    this.palette = readPalette(this.root);
    this.layout?.refresh();
    this.wake();
  }

  destroy() {
    this.gone = true;
    this.layout?.destroy();
    cancelAnimationFrame(this.raf);
    for (const timer of Object.values(this.timers)) clearTimeout(timer);
    this.listening.abort();
    for (const panel of this.everyPanel) panel.destroy?.();
    this.root.remove();
  }
}
