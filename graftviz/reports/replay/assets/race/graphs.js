// The graphs of all racers side by side, every variable at the same place in each.

import { clamp, decimals, h, integer, isolated, plural, replaceChildren, setParts } from "../shared/core.js";
import { Graph } from "../shared/graph.js";
import { lineKey } from "../shared/legend.js";
import { racerSample, racerWords } from "../shared/marks.js";
import { degreesOf } from "../shared/tracks_log.js";

const RACE_MANY = 1000; // nodes from which on they are opaque

/** The graph of one racer; all share the camera and the variable pointed at. */
class RaceTile extends Graph {
  margins = [10, 10];
  constructor(app, racer, graphs) {
    super(app);
    this.racer = racer;
    this.graphs = graphs;
    this.camera = graphs.camera;
    this.numbers = h("span");
    this.badge = h("span", { class: "gv-badge gv-good", hidden: true }, "✓", h("span", { class: "gv-race-done" }, " done"));
    this.trouble = h("p", { class: "gv-message", dir: "auto" });
    this.element = h("div", { class: "gv-card gv-race-tile" },
      h("header", {}, racerSample(racer.index), h("h3", { dir: "auto", title: racer.title }, isolated(racerWords(racer.title)))),
      h("p", { class: "gv-race-numbers" }, this.numbers, this.badge), this.trouble, this.holder);
    const { positions, given } = app.runs.header;
    this.unitRange = [0.3, clamp(60 / Math.sqrt(positions.length), 0.8, 1.5), 4.5];
    this.fit(positions, { isGiven: given });
  }

  get place() {
    return this.app.places[this.racer.index];
  }

  fact(i) {
    return `${plural(this.racer.pairsAt(this.place).filter((pair) => pair.includes(i)).length, "edge")} here`;
  }

  /** Point to a variable in all tiles; the tooltip is in this one. */
  pointed(i) {
    for (const tile of this.graphs.parts) {
      tile.hover = i;
      if (tile !== this) tile.tip.hide();
    }
  }

  scene(palette) {
    const { racer, graphs } = this;
    const { log } = this.app;
    const found = racer.pairsAt(this.place);
    const key = ([i, j]) => racer.key(i, j);
    const held = racer.keysAt(this.place);
    if (this.known?.held !== held) {
      this.known = { held, degrees: degreesOf(found, log.n), missing: (log.header.truth ?? []).filter((pair) => !held.has(key(pair))) };
    }
    const { degrees, missing } = this.known;
    const strengths = found.map((pair) => racer.strengths.get(key(pair)) ?? 0);
    const largest = strengths.reduce((a, b) => Math.max(a, b), 0) || 1;
    const edges = this.strongest(found, { strength: (k) => strengths[k] / largest, words: (some, all) => `the strongest ${some} of ${all} edges` });
    const isShared = (pair) => graphs.agreed.has(key(pair));
    const shared = edges.filter(isShared);
    const own = edges.filter((pair) => !isShared(pair));
    const isTrue = (pair) => log.truth.has(key(pair));
    const thin = clamp(16 / Math.sqrt(log.n), 0.5, 2);
    const colour = palette.racers[racer.index];
    const faint = { line: palette.muted, alpha: palette.dark ? 0.5 : 0.45, width: 0.5 * thin };
    const plain = { line: colour, alpha: 0.95, width: 1.3 * thin };
    const wrong = [4, 2.5];
    return [
      log.truth && { edges: this.strongest(missing, { share: 0.08, words: (some, all) => `${some} of ${all} missing edges` }), line: palette.muted, alpha: palette.dark ? 0.5 : 0.45, width: 0.8, dash: [1, 3] },
      ...[[shared, faint], [own, plain]].flatMap(([some, look]) => (log.truth
        ? [{ ...look, edges: some.filter(isTrue) }, { ...look, edges: some.filter((pair) => !isTrue(pair)), dash: wrong }] : [{ ...look, edges: some }])),
      { nodes: [...degrees.keys()], size: (i) => this.unit * (0.8 + 0.16 * Math.sqrt(degrees[i])), fill: palette.text, alpha: log.n > RACE_MANY ? 1 : 0.88 },
      this.hover >= 0 && { nodes: [this.hover], size: this.unit + 6, line: palette.primary, width: 2.2 },
    ];
  }

  describe() {
    const { racer, place } = this;
    const { truth } = this.app.log;
    const moment = racer.moments[place];
    this.badge.hidden = !racer.takesPart || !racer.isAtEnd(place);
    this.trouble.textContent = racer.trouble;
    const ofTruth = () => [`recall ${decimals(moment.recall, 2)}`, `precision ${decimals(moment.precision, 2)}`];
    const parts = moment ? [plural(moment.edges, "edge"), ...(truth ? ofTruth() : [])] : ["waiting for its first step"];
    this.numbers.hidden = !moment && racer.trouble !== "";
    this.numbers.textContent = parts.join(" · ");
    this.describeAs(`Graph of ${racer.title}: ${this.numbers.textContent}`);
  }
}

export class RaceGraphs {
  constructor(app) {
    this.app = app;
    this.parts = []; // a tile for every racer
    this.camera = { zoom: 1, x: 0, y: 0 };
    this.grid = h("div", { class: "gv-race-graphs" });
    this.keys = h("div", { class: "gv-legend gv-race-keys" });
    this.element = h("section", { class: "gv-race-all gv-saved", "aria-label": "Graphs" }, this.grid, this.keys);
  }

  setRace(log) {
    this.grid.dataset.racers = log.tracks.length;
    setParts(this, this.grid, log.tracks.map((racer) => new RaceTile(this.app, racer, this)));
    this.agreedCount = h("b");
    const kinds = !log.truth ? [lineKey("edge", "plain")]
      : [lineKey("true", "plain"), lineKey("false", "plain", { style: "dashed" }), lineKey("true, missing", "muted", { width: 1, style: "dotted" })];
    replaceChildren(this.keys,
      log.tracks.length > 1 && [lineKey(["all racers have it ", this.agreedCount], "muted", { width: 1 }), h("span", { class: "gv-key" }, "colour: not all racers have it")],
      ...kinds, this.parts[0]?.tools("race"));
  }

  draw() {
    const { log, places } = this.app;
    this.agreed = log.running.length > 1 ? log.agreed(places) : new Set();
    this.agreedCount.textContent = integer(this.agreed.size);
  }
}
