// The certified region of the chosen node: settings and display.

import { boundText, Choice, fill, h, isolated, remembered, replaceChildren, shorten } from "../shared/core.js";
import { BoundChart } from "./bound_chart.js";
import { barPart, bars, meter } from "./bars.js";

const REGION_CUTS = [
  ["drop", TEXT.region.drop, TEXT.region.drop_title],
  ["mean-field", TEXT.region.mean_field, TEXT.region.mean_field_title],
];
const REGION_TOLERANCES = [0.1, 0.01, 0.001];
const REGION_LAG = 5; // largest distance in steps of a region that is highlighted from the shown step; more at high speed

export class RegionPanel {
  constructor(app) {
    this.app = app;
    const stored = remembered.get("region", {});
    this.settings = { on: stored.on !== false, cut: REGION_CUTS.some(([key]) => key === stored.cut) ? stored.cut : "drop",
      tolerance: REGION_TOLERANCES.includes(stored.tolerance) ? stored.tolerance : 0.01 };
    this.preview = null; // number of its nodes to highlight; null: all
    const change = (name) => (value) => this.change({ [name]: value });
    const toggle = h("label", { class: "gv-switch", title: TEXT.region.title },
      h("input", { type: "checkbox", role: "switch", checked: this.settings.on, change: ({ target }) => this.change({ on: target.checked }) }), TEXT.region.name);
    const tolerances = REGION_TOLERANCES.map((value) => [value, `±${value}`, fill(TEXT.region.grow_until, { value })]);
    const tolerance = new Choice(TEXT.region.tolerance, tolerances, this.settings.tolerance, change("tolerance"));
    const cut = new Choice(TEXT.region.cut_title, REGION_CUTS, this.settings.cut, change("cut"));
    this.headline = h("p", { class: "gv-region-headline", role: "status" });
    this.details = h("p", { class: "gv-muted", dir: "auto" });
    this.caption = h("p", { class: "gv-caption", "aria-hidden": "true", hidden: true }); // under the picture, where the headline is out of sight
    this.bars = h("div", { class: "gv-bars" });
    this.chart = new BoundChart(app, (size) => {
      this.preview = size;
      app.wake();
    });
    this.parts = [this.chart];
    this.content = h("div", { class: "gv-region-content" }, this.headline, this.details, h("div", { class: "gv-columns" }, this.bars, this.chart.element),
      h("div", { class: "gv-region-choices" }, h("span", {}, `${TEXT.region.tolerance}:`, tolerance.element), h("span", {}, `${TEXT.region.cut}:`, cut.element)));
    this.element = h("section", { class: "gv-region", "aria-label": TEXT.region.name, hidden: true }, toggle, this.content);
  }

  /** Whether a server can be queried. */
  get offered() {
    return Boolean(this.app.callbacks.ask);
  }

  change(settings) {
    Object.assign(this.settings, settings);
    remembered.set("region", this.settings);
    this.preview = null;
    this.app.changed();
  }

  setRun() {
    this.preview = null;
  }

  // ---------------------------------------------------------------------------- which, and what

  /** The node whose region is requested, or null. */
  get node() {
    const { selection } = this.app;
    return this.offered && this.settings.on && selection && selection.kind === "node" ? selection.i : null;
  }

  /** The settings of the region in a question about the node. */
  get options() {
    const { cut, tolerance } = this.settings;
    return { cut, tolerance };
  }

  /** Region to describe: that of the shown step, or the previous one while it is loading; null without one. */
  current() {
    const { app, settings: { cut, tolerance } } = this;
    const region = this.node === null ? null : app.questions.find()?.region ?? null;
    return region?.cut === cut && region.tolerance === tolerance ? { region, fresh: region.t === app.shown } : null;
  }

  /** The region to highlight; null if it belongs to a step too far from the shown one. */
  get lit() {
    const { app } = this;
    const shown = this.current();
    if (!shown || shown.region.error) return null;
    const lag = Math.abs(app.shown - shown.region.t);
    return lag <= REGION_LAG + (app.playing ? 2 * app.speed : 0) ? shown.region : null;
  }

  // ------------------------------------------------------------------------------------ messages

  describe() {
    const { app, offered, settings } = this;
    const { selection } = app;
    this.element.hidden = !offered || !selection || selection.kind !== "node";
    this.content.hidden = !settings.on;
    this.caption.hidden = this.node === null;
    if (this.caption.hidden) return;
    // Screen readers would read a sentence that changes with every step all the time.
    this.headline.setAttribute("aria-live", app.playing ? "off" : "polite");
    const shown = this.current();
    const usable = shown && !shown.region.error ? shown.region : null;
    // In motion every other answer is of a step just past: to fade with each of them would flicker.
    const settled = shown && shown.fresh && !app.playing;
    this.content.classList.toggle("gv-region-old", Boolean(shown && !shown.fresh && !app.playing));
    // Bars that will be replaced stay in the layout, so that the page does not move.
    const coming = !usable && !shown && this.bars.childElementCount > 0;
    this.bars.hidden = this.chart.element.hidden = !usable && !coming;
    this.content.classList.toggle("gv-region-coming", coming);
    if (!usable) {
      this.say(shown && !shown.region.again ? "none" : "", shown ? shown.region.error : TEXT.region.growing, "");
      return;
    }
    const step = settled ? "" : `${fill(TEXT.words.step, { step: usable.t })}: `;
    this.say(usable.verdict, step + usable.headline, usable.words);
    if (usable !== this.drawn) replaceChildren(this.bars, ...regionBars(usable, app.log.header.labels[usable.node]));
    this.drawn = usable;
    this.chart.show(usable, app.log);
  }

  say(verdict, headline, words) {
    for (const node of [this.headline, this.caption]) {
      for (const kind of ["certified", "bounded", "none"]) node.classList.toggle(`gv-verdict-${kind}`, verdict === kind);
      if (node.textContent !== headline) node.textContent = headline;
    }
    this.details.textContent = words;
  }
}

/** Bars of the region's marginal with the certified interval, and marks of the result of BP. */
function regionBars({ marginal, bound, bp, exact, verdict }, labels) {
  const vacuous = verdict === "none";
  const rows = marginal.slice(0, 24).map((value, k) => {
    const bar = meter(value, bp ? bp[k] : undefined);
    bar.classList.add("gv-meter-region");
    bar.append(barPart(vacuous ? "gv-whisker gv-whisker-vacuous" : "gv-whisker", value - bound, value + bound));
    if (exact) bar.append(barPart("gv-truth", exact[k]));
    const values = [`${TEXT.region.region} ${value.toFixed(4)}`, bp && `BP ${bp[k].toFixed(4)}`, exact && `${TEXT.region.exact} ${exact[k].toFixed(4)}`];
    return [isolated(shorten(labels[k] ?? String(k), 24), { class: "gv-label" }), bar,
      h("span", { class: "gv-number", title: values.filter(Boolean).join(" · ") }, value.toFixed(3), vacuous || bound === 0 ? "" : ` ± ${boundText(bound)}`)];
  });
  const proven = TEXT.region[vacuous ? "from_vacuous" : bound === 0 ? "from_exact" : "from"];
  return bars([proven, bp && `▾ ${TEXT.region.bp}`, exact && `▴ ${TEXT.region.truth}`].filter(Boolean).join(" · "), rows);
}
