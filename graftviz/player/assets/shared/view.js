// Base of all views: a root that follows theme and visibility, frames on demand, sentences for screen readers.

import { clamp, h, plural, readPalette, remembered } from "./core.js";
import { Layout } from "./layout.js";

const VIEW_TYPE = 14.5; // px, of the style sheet's type
const VIEW_LONGEST_FRAME = 0.1; // s; a sleeping tab wakes to a huge gap
const VIEW_MOVED = 350; // ms of rest before the shown place is sent
const VIEW_SAY = { playing: 3000, still: 350 }; // ms before the next sentence for screen readers

/**
 * A subclass fills `panels` in its constructor and calls `assemble`. It may define `demand`, which requests
 * what is missing, `write`, which writes its own words, and `address`, the shown place.
 */
export class View {
  constructor(host, callbacks, kind, label) {
    this.callbacks = callbacks;
    this.log = null; // what is shown; no frames before it is there
    this.playing = false;
    this.type = 1; // how much larger than usual type is
    this.panels = [];
    this.timers = {};
    this.raf = 0;
    this.root = h("section", { class: `gv-player ${kind}`, "aria-label": label, tabindex: "-1" });
    host.append(this.root);
    this.motion = matchMedia("(prefers-reduced-motion: reduce)");
    this.live = h("p", { class: "gv-live", "aria-live": "polite" });
    this.onVisible = () => { if (!document.hidden) this.becameVisible(); };
    document.addEventListener("visibilitychange", this.onVisible);
    this.schemes = matchMedia("(prefers-color-scheme: dark)");
    this.onScheme = () => this.refresh();
    this.schemes.addEventListener("change", this.onScheme);
    this.refresh();
  }

  /** Put together what is shown: a sentence until `reveal` is called, then the parts. */
  assemble(waiting, kind, ...parts) {
    this.loading = h("p", { class: "gv-loading", role: "status" }, waiting);
    this.body = h("div", { class: `gv-body ${kind}`, hidden: true }, ...parts);
    this.root.append(this.loading, this.body, this.live);
  }

  /** Put together a view of a main picture, panels beside it, and its playback bar. */
  assembleLayout(waiting, kind, main, side) {
    this.layout = new Layout(this, main, side, this.transport.element);
    this.assemble(waiting, kind, this.layout.element, this.transport.element);
  }

  reveal() {
    this.loading.hidden = true;
    this.body.hidden = false;
    this.layout?.follow();
  }

  /** No tweening: the reader asked for it. */
  get still() {
    return this.motion.matches;
  }

  /** The share of the way to a goal that is made in some seconds: all of it where nothing should move. */
  progress(rate, seconds) {
    return this.still ? 1 : 1 - Math.exp(-rate * seconds);
  }

  // ----------------------------------------------------------------------------------- movement

  /** The window, or the tab, is visible again. */
  becameVisible() {
    this.wake();
  }

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

  draw() {
    for (const panel of this.panels) {
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
    for (const panel of this.panels) panel.advance?.(seconds);
    this.demand();
  }

  demand() {}

  /** Whether another frame is wanted. */
  get moving() {
    return this.playing || this.panels.some((panel) => panel.moving);
  }

  setSpeed(speed) {
    this.speed = speed;
    remembered.set(this.speedKey, speed);
    this.wake();
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

  /** The shown place for the playback bar: the words around it, and the state in a second line. */
  placeWords() {
    const { log, shown } = this;
    const state = [plural(log.edgesAt(shown), "edge"), this.stateWords()].filter(Boolean).join(" · ");
    return { before: "step ", now: String(shown), after: ` of ${log.last === null ? `${log.ready}+` : log.last}`, state };
  }

  /** Something other than the moving playhead changed. */
  changed() {
    if (!this.log) return;
    this.write();
    for (const panel of this.panels) panel.describe();
    clearTimeout(this.timers.moved);
    if (this.isAtRest) this.timers.moved = setTimeout(() => this.sendPlace(), VIEW_MOVED);
    this.announce(() => this.sentence());
    this.wake();
  }

  write() {}

  /** Whether the shown place is no place on the way to another one. */
  get isAtRest() {
    return !this.playing;
  }

  /** Send the shown place, unless it was sent before. */
  sendPlace() {
    const place = this.address();
    if (JSON.stringify(place) === this.sentPlace) return;
    this.sentPlace = JSON.stringify(place);
    this.callbacks.moved?.(place);
  }

  /** Tell screen readers something at once. */
  say(text) {
    this.live.textContent = text;
  }

  /** Tell screen readers what `words` returns by then, no faster than it can be read out. */
  announce(words) {
    this.timers.live ||= setTimeout(() => {
      this.timers.live = 0;
      const text = words();
      if (this.live.textContent !== text) this.live.textContent = text;
    }, this.playing ? VIEW_SAY.playing : VIEW_SAY.still);
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
    document.removeEventListener("visibilitychange", this.onVisible);
    this.schemes.removeEventListener("change", this.onScheme);
    for (const panel of this.panels) panel.destroy?.();
    this.root.remove();
  }
}
