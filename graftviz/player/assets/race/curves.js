// Objective, recall, precision and held-out NLPL of all racers over what they cost.

import { clamp, css, drawGrid, h, integer, Surface, ticks } from "../shared/core.js";
import { drawMark, RACER_DASHES, racerWords } from "../shared/marks.js";
import { saveButton } from "../shared/save_picture.js";
import { RACE_AXES } from "./log.js";

const RACE_CHARTS = [
  { name: "recall", title: "Recall", unit: "of true edges, found", range: [0, 1] },
  { name: "precision", title: "Precision", unit: "of found edges, true", range: [0, 1] },
  { name: "nlpl_test", title: "Held-out NLPL", unit: "lower is better", measured: "nats per row" },
  { name: "objective", title: "Objective", unit: "lower is better", measured: "nats per row" },
];

export class RaceCurves {
  constructor(app) {
    this.app = app;
    this.charts = [];
    this.grid = h("div", { class: "gv-race-charts" });
    this.note = h("p", { class: "gv-muted gv-race-apart", hidden: true });
    this.element = h("section", { "aria-label": "Curves" }, this.grid, this.note);
  }

  destroy() {
    for (const { surface } of this.charts) surface.destroy();
  }

  setRace(log) {
    this.destroy();
    this.charts = [];
    this.grid.replaceChildren();
    for (const about of RACE_CHARTS) {
      if (!log.truth && (about.name === "recall" || about.name === "precision")) continue;
      this.charts.push(this.buildChart(about));
    }
  }

  buildChart(about) {
    const holder = h("div", { class: "gv-chart gv-race-curve" });
    const element = h("div", { class: "gv-card" },
      h("header", {}, h("h3", {}, about.title), h("span", { class: "gv-count", title: about.measured }, about.unit), saveButton(this.app, about.name, () => this.legend())), holder);
    this.grid.append(element);
    const surface = new Surface(holder, () => this.app.resized());
    surface.canvas.setAttribute("role", "img");
    surface.canvas.addEventListener("click", (event) => {
      const { left, right } = this.frame(surface);
      const x = event.clientX - surface.canvas.getBoundingClientRect().left;
      this.app.seekShare(clamp((x - left) / Math.max(right - left, 1), 0, 1));
    });
    return { about, surface, element };
  }

  /** Samples and names of all racers, which on the page stand at their graphs. */
  legend() {
    return this.app.graphs.tiles.map(({ racer, element }) => [element.querySelector("svg"), racerWords(racer.name)]);
  }

  /** Racers whose values of a measure can be compared: of objectives only those of the same kind. */
  comparable(name) {
    const { running } = this.app.log;
    if (name !== "objective" || running.length === 0) return running;
    const groups = new Map();
    for (const racer of running) {
      const key = racer.head.yardstick;
      groups.set(key, [...(groups.get(key) ?? []), racer]);
    }
    return [...groups.values()].reduce((a, b) => (b.length > a.length ? b : a));
  }

  frame(surface) {
    const { type } = this.app;
    return { left: 46 * type, right: surface.width - 9, top: 8, bottom: surface.height - 33 * type };
  }

  vertical({ name, range }, racers) {
    if (range) return range;
    let [low, high] = [Infinity, -Infinity];
    for (const { moments } of racers) {
      for (const moment of moments) {
        if (moment[name] === null) continue;
        low = Math.min(low, moment[name]);
        high = Math.max(high, moment[name]);
      }
    }
    if (low > high) return [0, 1];
    const margin = (high - low) * 0.08 || Math.abs(high) * 0.01 || 1;
    return [low - margin, high + margin];
  }

  draw() {
    for (const { about, surface, element } of this.charts) {
      const racers = this.comparable(about.name);
      element.hidden = about.name === "nlpl_test" && racers.length > 0 && !racers.some((racer) => racer.head.tested);
      const context = surface.begin();
      if (context) this.drawChart(context, about, surface, racers);
    }
  }

  drawChart(context, about, surface, racers) {
    const { app } = this;
    const { palette, axis, value, places } = app;
    const plot = this.frame(surface);
    const [low, high] = this.vertical(about, racers);
    const x = (cost) => plot.left + (plot.right - plot.left) * clamp(app.share(cost), 0, 1);
    const y = (number) => plot.bottom - ((plot.bottom - plot.top) * (number - low)) / (high - low);
    context.font = `${12 * app.type}px ${palette.font}`;
    drawGrid(context, palette, plot, ticks(low, high, 3), y, axisText, (at) => clamp(at, plot.top + 2, plot.bottom - 2));
    this.drawAxis(context, palette, plot, x);
    const now = Math.round(x(value)) + 0.5;
    context.beginPath();
    context.moveTo(now, plot.top);
    context.lineTo(now, plot.bottom);
    context.lineWidth = 1;
    context.strokeStyle = css(palette.text, 0.5);
    context.stroke();
    const colours = palette.racers;
    const ends = [];
    for (const racer of racers) {
      const end = this.trace(context, racer, about.name, places[racer.index], axis, value, x, y, colours[racer.index % 6]);
      if (end) ends.push([racer, end]);
    }
    for (const [racer, [px, py]] of ends) drawMark(context, racer.index, px, py, colours[racer.index % 6], palette.background);
  }

  /** One stair: a racer stands where its last step left it until its next one is paid for. */
  trace(context, racer, name, k, axis, value, x, y, colour) {
    const costs = racer.costs[axis];
    let pen = null;
    context.beginPath();
    for (let m = 0; m <= k; m++) {
      const number = racer.moments[m][name];
      if (number === null) continue;
      const [px, py] = [x(costs[m]), y(number)];
      if (pen) {
        context.lineTo(px, pen[1]);
        context.lineTo(px, py);
      } else context.moveTo(px, py);
      pen = [px, py];
    }
    if (!pen) return null;
    if (!racer.isAtEnd(k)) {
      pen = [Math.max(x(value), pen[0]), pen[1]];
      context.lineTo(pen[0], pen[1]);
    }
    context.lineJoin = "round";
    context.lineWidth = 2;
    context.setLineDash(RACER_DASHES[racer.index % 6]);
    context.strokeStyle = css(colour);
    context.stroke();
    context.setLineDash([]);
    return pen;
  }

  drawAxis(context, palette, plot, x) {
    const { app } = this;
    context.textBaseline = "alphabetic";
    context.fillStyle = css(palette.muted);
    context.textAlign = "right";
    context.fillText(RACE_AXES[app.axis].words, plot.right, plot.bottom + 30 * app.type);
    context.textAlign = "center";
    let taken = -Infinity;
    for (const tick of app.axisTicks()) {
      const text = shortNumber(tick);
      const half = context.measureText(text).width / 2;
      const at = clamp(x(tick), plot.left - 6 + half, plot.right + 8 - half);
      if (at - half < taken + 8) continue;
      context.fillText(text, at, plot.bottom + 15 * app.type);
      taken = at + half;
    }
  }

  describe() {
    const { log, places } = this.app;
    const apart = log.running.filter((racer) => !this.comparable("objective").includes(racer));
    this.note.hidden = apart.length === 0;
    this.note.textContent = apart.length === 0 ? ""
      : `Not shown, because they minimise another objective: ${apart.map((racer) => `${racer.name} (${racer.objective})`).join(", ")}.`;
    for (const { about, surface } of this.charts) {
      const said = this.comparable(about.name).map((racer) => `${racer.name} ${readoutOf(racer.moments[places[racer.index]][about.name])}`);
      surface.canvas.setAttribute("aria-label", `${about.title}: ${said.join(", ")}`);
    }
  }
}

const axisText = (x) => (Math.abs(x) >= 1000 ? integer(x) : String(Number(x.toPrecision(4))));
const readoutOf = (x) => (x === null || x === undefined ? "–" : x.toFixed(3));

/** A round number for an axis: 20k, 1M. */
function shortNumber(x) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (x >= size) return `${Number((x / size).toPrecision(3))}${letter}`;
  }
  return String(Number(x.toPrecision(3)));
}
