// Play, step, scrub: the buttons, the timeline, the speed, and the keys.

import { approach, button, clamp, h, icon, remembered, replaceChildren } from "./core.js";
import { KeysHelp } from "./keys_help.js";

const SPEEDS = [0.5, 1, 2, 4, 8, 16, 32].map((speed) => [speed, `${speed} /s`]);

/**
 * The playback bar. Options: the `keys` of the view (see KeysHelp), other `words`, other `speeds`
 * ([[speed, text], …]), `more` controls, and a `scale`, the place of a share of the timeline and back, {valueAt, share}; without it, places are steps.
 */
export class Transport {
  constructor(app, { keys = [], words = TEXT.transport, speeds = SPEEDS, more = [], scale = null } = {}) {
    this.app = app;
    this.scale = scale;
    this.extent = 1; // steps the timeline spans, eased while the end is open
    this.dragging = false;
    const act = (label, name, key, run) => button(label, icon(name), run, { title: `${label} (${key})` });
    this.toStart = act(words.start, "start", TEXT.keys.home, () => app.seek(0));
    this.back = act(words.back, "back", "←", () => app.stepBy(-1));
    this.play = act(TEXT.transport.play, "play", TEXT.keys.space, () => app.toggle());
    this.play.classList.add("gv-play");
    this.next = act(words.next, "next", "→", () => app.stepBy(1));
    this.toEnd = act(TEXT.transport.end, "end", TEXT.keys.end, () => app.seek(Infinity));
    this.buffered = h("i", { class: "gv-buffered" });
    this.filled = h("i", { class: "gv-filled" });
    this.mark = h("i", { class: "gv-branch-mark", hidden: true, title: TEXT.transport.branch_mark });
    this.thumb = h("i", { class: "gv-thumb" });
    this.track = h("div", { class: "gv-track", role: "slider", tabindex: "0", "aria-label": words.track, "aria-valuemin": "0" },
      h("i", { class: "gv-rail" }), this.buffered, this.filled, this.mark, this.thumb);
    this.text = h("span", { class: "gv-position" });
    this.help = new KeysHelp(keys);
    this.element = h("div", { class: "gv-transport", role: "group", "aria-label": TEXT.transport.playback },
      h("div", { class: "gv-buttons" }, this.toStart, this.back, this.play, this.next, this.toEnd),
      this.track, this.text, more, this.controls(words.speed, speeds), this.help.dialog);
    this.listen();
  }

  /** The elements to the right of the timeline. */
  controls(label, speeds) {
    const { app } = this;
    this.branch = app.callbacks.branch
      ? h("button", { type: "button", class: "gv-branch", title: TEXT.transport.branch_title,
        click: () => app.branchHere() }, icon("branch"), TEXT.transport.branch) : null;
    this.speed = h("select", { "aria-label": label, change: () => this.chooseSpeed() },
      speeds.map(([value, text]) => h("option", { value }, text)));
    const chosen = remembered.get(app.speedKey, app.speed);
    if (speeds.some(([value]) => value === chosen)) app.speed = chosen;
    this.speed.value = String(app.speed);
    return [h("label", { class: "gv-speed" }, this.speed), this.help.button, this.branch];
  }

  listen() {
    this.track.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.dragging = true;
      this.track.setPointerCapture(event.pointerId);
      this.scrub(event);
    });
    this.track.addEventListener("pointermove", (event) => this.dragging && this.scrub(event));
    for (const type of ["pointerup", "pointercancel"]) {
      this.track.addEventListener(type, () => {
        this.dragging = false;
        this.app.wake();
      });
    }
    this.app.listen(document, "keydown", (event) => this.key(event));
    // A button pressed with the mouse keeps the focus; the space bar should then still play.
    this.app.root.addEventListener("pointerdown", () => { this.byKeyboard = false; });
    this.app.root.addEventListener("pointerenter", () => { this.over = true; });
    this.app.root.addEventListener("pointerleave", () => { this.over = false; });
  }

  chooseSpeed() {
    this.app.setSpeed(Number(this.speed.value));
    // Chosen with the mouse, the list should not go on catching the arrow keys.
    if (!this.byKeyboard) this.speed.blur();
  }

  scrub(event) {
    const box = this.track.getBoundingClientRect();
    this.seekShare(clamp((event.clientX - box.left - 8) / Math.max(box.width - 16, 1), 0, 1));
  }

  /** Move to a place of the timeline, given as a share of its length. */
  seekShare(share) {
    this.app.seek(this.scale ? this.scale.valueAt(share) : Math.round(share * this.extent));
  }

  /** Whether a key press is meant for the player. */
  concerns(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.help.dialog.open) return false;
    const [target] = event.composedPath();
    const inside = event.composedPath().includes(this.app.root);
    if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName || "")) return false;
    if (inside) return true;
    // The page has the focus, not one of its controls.
    if (target === document.body || target === document.documentElement || target.matches?.(".stMain, [data-player-keys]")) return true;
    const busy = target.closest && target.closest("button, a, [role=slider], [role=tab], [role=option], [role=combobox]");
    return this.over && !busy;
  }

  key(event) {
    if (event.key === "Tab") this.byKeyboard = true;
    if (!this.concerns(event)) return;
    const { app } = this;
    const [target] = event.composedPath();
    if (event.key === " ") {
      const pressed = target.tagName === "BUTTON" && target !== this.play && this.byKeyboard;
      if (pressed) return;
      app.toggle();
    } else if (event.key === "ArrowRight") app.stepBy(event.shiftKey ? 10 : 1);
    else if (event.key === "ArrowLeft") app.stepBy(event.shiftKey ? -10 : -1);
    else if (event.key === "Home") app.seek(0);
    else if (event.key === "End") app.seek(Infinity);
    else if (event.key === "?") this.help.show();
    else return;
    event.preventDefault();
  }

  setRun(log) {
    this.extent = this.goal(log);
    this.mark.hidden = (log.branchStep ?? null) === null;
    if (log.header?.branch) this.mark.title = log.header.branch.text;
  }

  /** Number of steps on the timeline: all of them, or some more than are available so far. */
  goal(log) {
    if (this.scale) return this.extent;
    return log.last === null ? Math.max(24, Math.ceil(log.ready * 1.12)) : Math.max(log.last, 1);
  }

  advance(seconds) {
    if (!this.dragging) this.extent = approach(this.extent, this.goal(this.app.log), this.app.progress(8, seconds), 0.02);
  }

  get moving() {
    return !this.dragging && this.extent !== this.goal(this.app.log);
  }

  /** Share of the timeline up to a place. */
  share(place) {
    return clamp(this.scale ? this.scale.share(place) : place / this.extent, 0, 1);
  }

  draw() {
    const { log, head } = this.app;
    this.filled.style.transform = `scaleX(${this.share(head)})`;
    this.buffered.style.transform = `scaleX(${this.share(log.ready)})`;
    this.thumb.style.left = `calc((100% - 16px) * ${this.share(head)})`;
    this.track.classList.toggle("gv-open", log.last === null);
    if (!this.mark.hidden) this.mark.style.left = `calc((100% - 16px) * ${this.share(log.branchStep)})`;
  }

  /** Show whether it plays, and which buttons have no effect. */
  describeButtons() {
    const { log, shown, playing, isAtEnd } = this.app;
    const label = TEXT.transport[playing ? "pause" : "play"];
    if (this.playing !== playing) {
      this.playing = playing;
      this.play.replaceChildren(icon(playing ? "pause" : "play"));
      this.play.setAttribute("aria-label", label);
      this.play.title = `${label} (${TEXT.keys.space})`;
    }
    const disable = (isOff, ...buttons) => buttons.forEach((node) => node.setAttribute("aria-disabled", String(isOff)));
    disable(shown === 0, this.toStart, this.back);
    disable(isAtEnd, this.next, this.toEnd);
    disable(log.last === 0, this.play);
  }

  describe() {
    const { app } = this;
    const { log, shown } = app;
    const { before, now, after, state } = app.placeWords();
    replaceChildren(this.text, h("span", {}, before, h("b", {}, now), after), h("span", {}, state));
    this.describeButtons();
    this.track.setAttribute("aria-valuenow", String(this.scale ? Math.round(100 * this.share(shown)) : shown));
    this.track.setAttribute("aria-valuemax", String(this.scale ? 100 : log.last ?? log.ready));
    this.track.setAttribute("aria-valuetext", [before + now + after, state].filter(Boolean).join(", "));
  }
}
