// The playback bar of the race: the axis it runs along, that axis' scale, and how long it takes.

import { Choice, clamp, h, replaceChildren } from "../shared/core.js";
import { Transport } from "../shared/transport.js";
import { costText, RACE_AXES } from "./log.js";

export const RACE_DURATIONS = [5, 10, 20, 40, 80]; // s from start to finish
const WORDS_OF_RACE = { start: "Restart", back: "Back to the previous change", next: "Forward to the next change", track: "Position in the race" };
const SCALES = [["linear", "linear", "Equal steps"], ["log", "log", "Logarithmic: shows the beginning in detail"]];

export class RaceTransport extends Transport {
  constructor(app) {
    super(app, WORDS_OF_RACE);
    this.element.classList.add("gv-race-transport");
    this.text.classList.add("gv-race-position");
    this.track.setAttribute("aria-valuemax", "100");
  }

  controls() {
    const { app } = this;
    this.axis = new Choice("Advance by", Object.entries(RACE_AXES).map(([key, { choice, title }]) => [key, choice, title]), app.axis, (axis) => app.setAxis(axis));
    this.scale = new Choice("Scale of the axis", SCALES, app.scale, (scale) => app.setScale(scale));
    this.duration = h("select", { "aria-label": "Duration of playback", change: () => app.setDuration(Number(this.duration.value)) },
      RACE_DURATIONS.map((seconds) => h("option", { value: seconds }, `in ${seconds} s`)));
    this.duration.value = String(app.duration);
    return [h("span", { class: "gv-race-axis" }, h("span", { class: "gv-muted" }, "by"), this.axis.element, this.scale.element,
      h("label", { class: "gv-speed" }, this.duration), this.help.button)];
  }

  seekShare(share) {
    this.app.seekShare(share);
  }

  draw() {
    const { app } = this;
    const { axis, log, value } = app;
    const share = (at) => clamp(app.share(at), 0, 1);
    this.drawTrack(share(value), share(Math.min(log.frontier(axis), log.finish(axis))), !log.complete);
  }

  describe() {
    const { app } = this;
    const { axis, value, playing, over, log } = app;
    const total = log.complete ? costText(axis, log.finish(axis)) : "…";
    const state = over ? (log.running.every((racer) => racer.ended) ? "all finished" : "finished") : app.waiting ? "learning…" : "";
    replaceChildren(this.text, h("span", {}, "after ", h("b", {}, costText(axis, value))), h("span", {}, state || `of ${total}`));
    this.describeButtons(playing, { atStart: value === 0, atEnd: over });
    this.axis.set(axis);
    this.scale.set(app.scale);
    this.track.setAttribute("aria-valuenow", String(Math.round(100 * clamp(app.share(value), 0, 1))));
    this.track.setAttribute("aria-valuetext", `after ${costText(axis, value)}`);
  }
}
