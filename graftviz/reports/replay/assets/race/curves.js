// Objective, recall, precision and held-out NLPL of all racers over their cost.

import { Chart, paddedRange, stairs } from "../shared/chart.js";
import { clamp, css, decimals, h, setParts, ticks } from "../shared/core.js";
import { drawMark, RACER_DASHES, racerWords } from "../shared/marks.js";
import { RACE_AXES } from "./log.js";

const RACE_CHARTS = [
  { name: "objective", title: "Objective", unit: "lower is better", measured: "nats per row" },
  { name: "recall", title: "Recall", unit: "of true edges, found", range: [0, 1] },
  { name: "precision", title: "Precision", unit: "of found edges, true", range: [0, 1] },
  { name: "nlpl_test", title: "Held-out NLPL", unit: "lower is better", measured: "nats per row" },
];

class RaceChart extends Chart {
  constructor(panel, about) {
    super(panel.app, "gv-race-curve");
    this.panel = panel;
    this.about = about;
    this.card("", about.title, about.name, [h("h3", {}, about.title), h("span", { class: "gv-count", title: about.measured }, about.unit)], this.holder);
    this.on("click", (x) => this.app.seekShare(this.valueAt(x)));
  }

  /** Samples and names of all racers, which the page shows at their graphs. */
  legend() {
    return this.app.graphs.parts.map(({ racer, element }) => [element.querySelector("svg"), racerWords(racer.title)]);
  }

  draw() {
    this.racers = this.panel.comparable(this.about.name);
    this.element.hidden = this.about.name === "nlpl_test" && this.racers.length > 0 && !this.racers.some((racer) => racer.head.tested);
    super.draw();
  }

  paint(context, palette) {
    const { app, racers, about: { name, range } } = this;
    const { axis, head, places } = app;
    const [low, high] = range ?? paddedRange(racers.flatMap(({ moments }) => moments.map((moment) => moment[name])));
    this.axes([46, 9, 8, 18], [0, 1], [low, high]);
    const { x } = this;
    this.x = (value) => x(clamp(app.share(value), 0, 1));
    this.grid(ticks(low, high, 3));
    this.below(app.axisTicks(), RACE_AXES[axis].words, shortNumber);
    this.upright(head);
    const ends = racers.map((racer) => {
      const k = places[racer.index];
      const passed = racer.moments.slice(0, k + 1).map((moment, m) => [racer.costs[axis][m], moment[name]]).filter(([, number]) => number !== null);
      // The value of a racer holds until the cost of its next step.
      if (passed.length && !racer.isAtEnd(k)) passed.push([Math.max(head, passed.at(-1)[0]), passed.at(-1)[1]]);
      const points = stairs(passed.map(([value, number]) => [this.x(value), this.y(number)]));
      this.line(points, css(palette.racers[racer.index]), 2, RACER_DASHES[racer.index]);
      // A racer that has ended keeps its value, so that equal ends meet at the right.
      const end = points.at(-1);
      if (end && racer.isAtEnd(k)) this.line([end, [this.x(Math.max(head, passed.at(-1)[0])), end[1]]], css(palette.racers[racer.index]), 0.8);
      return end;
    });
    ends.forEach((end, k) => end && drawMark(context, racers[k].index, ...end, palette.racers[racers[k].index], palette.background));
  }

  describe() {
    const { places } = this.app;
    const words = this.panel.comparable(this.about.name).map(({ title, index, moments }) => `${title} ${decimals(moments[places[index]][this.about.name])}`);
    this.describeAs(`${this.about.title}: ${words.join(", ")}`);
  }
}

export class RaceCurves {
  constructor(app) {
    this.app = app;
    this.parts = []; // the charts
    this.grid = h("div", { class: "gv-race-charts" });
    this.order = h("p", { class: "gv-muted" }, "Order changes path and cost, not the optimum; a budget cuts the path short.");
    this.note = h("p", { class: "gv-muted", hidden: true });
    this.element = h("section", { "aria-label": "Curves" }, this.order, this.grid, this.note);
  }

  setRace(log) {
    setParts(this, this.grid, RACE_CHARTS.filter(({ range }) => log.truth || !range).map((about) => new RaceChart(this, about)));
  }

  /** Racers whose values of a measure can be compared: of objectives only those of the same kind. */
  comparable(name) {
    const { running } = this.app.log;
    if (name !== "objective" || running.length === 0) return running;
    const groups = running.map(({ head }) => running.filter((other) => other.head.yardstick === head.yardstick));
    return groups.reduce((a, b) => (b.length > a.length ? b : a));
  }

  describe() {
    const { log } = this.app;
    const apart = log.running.filter((racer) => !this.comparable("objective").includes(racer));
    this.note.hidden = apart.length === 0;
    this.note.textContent = apart.length === 0 ? ""
      : `Not shown, because they minimise another objective: ${apart.map((racer) => `${racer.title} (${racer.objective})`).join(", ")}.`;
  }
}

/** A round number for an axis: 20K, 1M. */
const shortNumber = (x) => x.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 4 });
