// Objective, recall, precision and held-out NLPL of all racers over what they cost.

import { Chart, paddedRange, stairs } from "../shared/chart.js";
import { clamp, css, decimals, h, ticks, tickText } from "../shared/core.js";
import { drawMark, RACER_DASHES, racerWords } from "../shared/marks.js";
import { saveButton } from "../shared/save_picture.js";
import { RACE_AXES } from "./log.js";

const RACE_CHARTS = [
  { name: "recall", title: "Recall", unit: "of true edges, found", range: [0, 1] },
  { name: "precision", title: "Precision", unit: "of found edges, true", range: [0, 1] },
  { name: "nlpl_test", title: "Held-out NLPL", unit: "lower is better", measured: "nats per row" },
  { name: "objective", title: "Objective", unit: "lower is better", measured: "nats per row" },
];

class RaceChart extends Chart {
  constructor(panel, about) {
    super(panel.app, "gv-race-curve");
    this.panel = panel;
    this.about = about;
    const header = [h("h3", {}, about.title), h("span", { class: "gv-count", title: about.measured }, about.unit), saveButton(this.app, about.name, () => panel.legend())];
    this.element = h("div", { class: "gv-card" }, h("header", {}, header), this.holder);
    this.on("click", (x) => this.app.seekShare(this.valueAt(x)));
  }

  draw() {
    this.racers = this.panel.comparable(this.about.name);
    this.element.hidden = this.about.name === "nlpl_test" && this.racers.length > 0 && !this.racers.some((racer) => racer.head.tested);
    super.draw();
  }

  paint(context, palette) {
    const { app, racers, about: { name, range } } = this;
    const { axis, cost, places } = app;
    const [low, high] = range ?? paddedRange(racers.flatMap(({ moments }) => moments.map((moment) => moment[name])));
    this.axes([46, 9, 8, 18], [0, 1], [low, high]);
    const { x } = this;
    this.x = (value) => x(clamp(app.share(value), 0, 1));
    this.grid(ticks(low, high, 3));
    this.below(app.axisTicks(), RACE_AXES[axis].words, shortNumber);
    this.upright(cost);
    const ends = racers.map((racer) => {
      const k = places[racer.index];
      const passed = racer.moments.slice(0, k + 1).map((moment, m) => [racer.costs[axis][m], moment[name]]).filter(([, number]) => number !== null);
      // A racer stays where its last step left it until its next one is paid for.
      if (passed.length && !racer.isAtEnd(k)) passed.push([Math.max(cost, passed.at(-1)[0]), passed.at(-1)[1]]);
      const points = stairs(passed.map(([value, number]) => [this.x(value), this.y(number)]));
      this.line(points, css(palette.racers[racer.index]), 2, RACER_DASHES[racer.index]);
      return points.at(-1);
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
    this.charts = [];
    this.grid = h("div", { class: "gv-race-charts" });
    this.note = h("p", { class: "gv-muted gv-race-apart", hidden: true });
    this.element = h("section", { "aria-label": "Curves" }, this.grid, this.note);
  }

  destroy() {
    for (const chart of this.charts) chart.destroy();
  }

  setRace(log) {
    this.destroy();
    this.charts = RACE_CHARTS.filter(({ range }) => log.truth || !range).map((about) => new RaceChart(this, about));
    this.grid.replaceChildren(...this.charts.map(({ element }) => element));
  }

  /** Samples and names of all racers, which on the page stand at their graphs. */
  legend() {
    return this.app.graphs.tiles.map(({ racer, element }) => [element.querySelector("svg"), racerWords(racer.title)]);
  }

  /** Racers whose values of a measure can be compared: of objectives only those of the same kind. */
  comparable(name) {
    const { running } = this.app.log;
    if (name !== "objective" || running.length === 0) return running;
    const groups = running.map(({ head }) => running.filter((other) => other.head.yardstick === head.yardstick));
    return groups.reduce((a, b) => (b.length > a.length ? b : a));
  }

  draw() {
    for (const chart of this.charts) chart.draw();
  }

  describe() {
    const { log } = this.app;
    const apart = log.running.filter((racer) => !this.comparable("objective").includes(racer));
    this.note.hidden = apart.length === 0;
    this.note.textContent = apart.length === 0 ? ""
      : `Not shown, because they minimise another objective: ${apart.map((racer) => `${racer.title} (${racer.objective})`).join(", ")}.`;
    for (const chart of this.charts) chart.describe();
  }
}

/** A round number for an axis: 20k, 1M. */
function shortNumber(x) {
  const [size, letter] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([least]) => x >= least) ?? [1, ""];
  return tickText(x / size) + letter;
}
