// Play, restart, scrub and the axis the race is run along.

const RACE_DURATIONS = [5, 10, 20, 40, 80]; // s from start to finish

class RaceTransport {
  constructor(app) {
    this.app = app;
    const act = (label, name, key, run) => button(label, icon(name), run, { title: `${label} (${key})` });
    this.restart = act("Restart", "start", "Home", () => app.seek(0));
    this.back = act("Back to the previous change", "back", "←", () => app.step(-1));
    this.play = act("Play", "play", "space", () => app.toggle());
    this.play.classList.add("gv-play");
    this.next = act("Forward to the next change", "next", "→", () => app.step(1));
    this.toEnd = act("To the end", "end", "End", () => app.seek(Infinity));
    this.buffered = h("i", { class: "gv-buffered" });
    this.filled = h("i", { class: "gv-filled" });
    this.thumb = h("i", { class: "gv-thumb" });
    this.track = h("div", { class: "gv-track", role: "slider", tabindex: "0", "aria-label": "Position in the race", "aria-valuemin": "0", "aria-valuemax": "100" },
      h("i", { class: "gv-rail" }), this.buffered, this.filled, this.thumb);
    this.text = h("span", { class: "gv-position gv-race-position" });
    this.axis = new Choice("Advance by", Object.entries(RACE_AXES).map(([key, { choice, title }]) => [key, choice, title]), app.axis, (axis) => app.setAxis(axis));
    this.scale = new Choice("Scale of the axis", [["linear", "linear", "Equal steps"], ["log", "log", "Logarithmic: shows the beginning in detail"]], app.scale, (scale) => app.setScale(scale));
    this.duration = h("select", { "aria-label": "Duration of playback", change: () => app.setDuration(Number(this.duration.value)) },
      RACE_DURATIONS.map((seconds) => h("option", { value: seconds }, `in ${seconds} s`)));
    this.duration.value = String(app.duration);
    this.help = new KeysHelp(app.keys);
    this.element = h("div", { class: "gv-transport gv-race-transport", role: "group", "aria-label": "Playback" },
      h("div", { class: "gv-buttons" }, this.restart, this.back, this.play, this.next, this.toEnd),
      this.track, this.text,
      h("span", { class: "gv-race-axis" }, h("span", { class: "gv-muted" }, "by"), this.axis.element, this.scale.element, h("label", { class: "gv-speed" }, this.duration), this.help.button), this.help.dialog);
    this.listen();
  }

  listen() {
    const { app, track } = this;
    const scrub = (event) => {
      const box = track.getBoundingClientRect();
      app.seekShare(clamp((event.clientX - box.left - 8) / Math.max(box.width - 16, 1), 0, 1));
    };
    track.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.dragging = true;
      track.setPointerCapture(event.pointerId);
      scrub(event);
    });
    track.addEventListener("pointermove", (event) => this.dragging && scrub(event));
    for (const type of ["pointerup", "pointercancel"]) track.addEventListener(type, () => { this.dragging = false; });
    this.onKey = (event) => this.key(event);
    document.addEventListener("keydown", this.onKey);
    app.root.addEventListener("pointerdown", () => { this.byKeyboard = false; });
    app.root.addEventListener("pointerenter", () => { this.over = true; });
    app.root.addEventListener("pointerleave", () => { this.over = false; });
  }

  /** Whether a key press is meant for the race. */
  concerns(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.help.isOpen) return false;
    const [target] = event.composedPath();
    if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName || "")) return false;
    if (event.composedPath().includes(this.app.root)) return true;
    if (target === document.body || target === document.documentElement || target.matches?.(".stMain")) return true;
    return this.over && !target.closest?.("button, a, [role=slider], [role=tab], [role=option], [role=combobox]");
  }

  key(event) {
    if (event.key === "Tab") this.byKeyboard = true;
    if (!this.concerns(event)) return;
    const { app } = this;
    const [target] = event.composedPath();
    if (event.key === " ") {
      if (target.tagName === "BUTTON" && target !== this.play && this.byKeyboard) return;
      app.toggle();
    } else if (event.key === "ArrowRight") app.step(1);
    else if (event.key === "ArrowLeft") app.step(-1);
    else if (event.key === "Home") app.seek(0);
    else if (event.key === "End") app.seek(Infinity);
    else if (event.key === "?") this.help.show();
    else return;
    event.preventDefault();
  }

  draw() {
    const { app } = this;
    const { log } = app;
    const at = clamp(app.share(app.value), 0, 1);
    this.filled.style.transform = `scaleX(${at})`;
    this.buffered.style.transform = `scaleX(${clamp(app.share(Math.min(log.frontier(app.axis), log.finish(app.axis))), 0, 1)})`;
    this.thumb.style.left = `calc((100% - 16px) * ${at})`;
    this.track.classList.toggle("gv-open", !log.complete);
  }

  describe() {
    const { app } = this;
    const { axis, value, playing, over, log } = app;
    const total = log.complete ? costText(axis, log.finish(axis)) : "…";
    const state = over ? (log.running.every((racer) => racer.ended) ? "all finished" : "finished") : app.waiting ? "learning…" : "";
    replaceChildren(this.text, h("span", {}, "after ", h("b", {}, costText(axis, value))), h("span", {}, state || `of ${total}`));
    const label = playing ? "Pause" : "Play";
    this.play.replaceChildren(icon(playing ? "pause" : "play"));
    this.play.setAttribute("aria-label", label);
    this.play.title = `${label} (space)`;
    for (const [node, off] of [[this.restart, value === 0], [this.back, value === 0], [this.next, over], [this.toEnd, over]]) {
      node.setAttribute("aria-disabled", String(off));
    }
    this.axis.set(axis);
    this.scale.set(app.scale);
    this.track.setAttribute("aria-valuenow", String(Math.round(100 * clamp(app.share(value), 0, 1))));
    this.track.setAttribute("aria-valuetext", `after ${costText(axis, value)}`);
  }

  destroy() {
    document.removeEventListener("keydown", this.onKey);
  }
}
