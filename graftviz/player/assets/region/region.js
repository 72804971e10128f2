// The growing region: shown step, movement, and messages to the server.

import { boundText, clamp, h } from "../shared/core.js";
import { KEYS_GRAPH, KEYS_MOVE, KEYS_PLAY } from "../shared/keys_help.js";
import { REQUEST_PATIENCE } from "../shared/requests.js";
import { StepView } from "../shared/step_view.js";
import { RegionAnswer } from "./answer.js";
import { RegionCurves } from "./curves.js";
import { RegionGraph } from "./graph.js";
import { RegionLog } from "./log.js";
import { RegionMap } from "./map.js";
import { RegionTransport } from "./transport.js";

const REGION_PATIENCE = 1000; // most ms between requests for parts still being computed

class RegionPlayer extends StepView {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-region", "Growing region", { speedKey: "region.speed", speed: 2, patience: REGION_PATIENCE });
    this.state = 0;
    this.whole = this.rules = null;
    this.pending = [];
    this.build();
  }

  build() {
    this.graph = new RegionGraph(this);
    this.answer = new RegionAnswer(this);
    this.curves = new RegionCurves(this);
    this.map = new RegionMap(this);
    this.transport = new RegionTransport(this);
    this.panels = [this.graph, this.answer, this.curves, this.map, this.transport];
    this.badge = h("span", { class: "gv-badge" });
    this.words = h("p", { class: "gv-sentence", dir: "auto" });
    this.stop = h("span");
    this.toBest = h("button", { type: "button", class: "gv-link", hidden: true, click: () => this.seek(this.log.best) });
    this.assembleLayout("Loading the region…", "gv-region-body", this.graph.element, [
      this.buildHead("gv-region-head", this.badge),
      h("div", { class: "gv-words" }, this.words, h("p", { class: "gv-muted", dir: "auto" }, this.stop, " ", this.toBest)),
      this.answer.element, this.curves.element, this.map.element]);
    this.under.className = "";
  }

  // ----------------------------------------------------------------------------------- messages

  show(message) {
    const { token, graph, region, whole, rules, map, mapId, point, coefficient, pending, visit, page } = message;
    const isFirst = this.log === null;
    if (graph) this.graph.setGraph(this.prepared(graph));
    const isKnown = token === this.token;
    if (!isKnown) this.whole = this.rules = null;
    this.whole = whole ?? this.whole;
    this.rules = rules ?? this.rules;
    if (map || mapId !== this.mapId) this.map.setMap(map ?? null);
    this.mapId = mapId;
    this.map.setPoint(point, coefficient);
    this.sentPlace = JSON.stringify({ step: region.at, state: region.chosen });
    this.take(token, region, isFirst || visit !== this.visit);
    this.visit = visit;
    if (page !== this.page) this.expects = false;
    this.page = page;
    this.pending = pending;
    this.reveal();
    this.curves.setRules();
    this.map.replied();
    this.requests.replied(!isKnown);
    this.changed();
  }

  prepared(graph) {
    const neighbours = graph.names.map(() => []);
    for (const [i, j] of graph.edges) {
      neighbours[i].push(j);
      neighbours[j].push(i);
    }
    const strengths = new Map(graph.edges.map((pair, e) => [pair, graph.norms[e]]));
    return { ...graph, neighbours, strengths, largest: Math.max(1e-12, ...graph.norms) };
  }

  /** Show a region: at the step of a link, from the start for a new query, or at the same step as before. */
  take(token, region, isVisit) {
    const before = this.log;
    const log = new RegionLog(this.graph.graph, region);
    const wasAtEnd = before !== null && before.finished && this.shown === before.ready;
    const isNews = token !== this.token;
    const begins = isVisit ? region.at === null : before.region.query !== region.query;
    this.log = log;
    this.token = token;
    this.state = clamp(region.state, 0, region.labels.length - 1);
    this.transport.setRun(log);
    if (isNews) this.answer.setRegion(log);
    if (begins) this.wanted = this.still ? Infinity : null;
    else if (isVisit) this.wanted = region.at;
    else if (isNews && wasAtEnd && !this.playing) this.wanted = Infinity;
    if (isVisit || begins) {
      this.goTo(0);
      this.playing = this.wanted === null;
    } else this.goTo(Math.min(this.shown, log.ready));
    this.reachWanted();
  }

  /** Request pending parts, but not while the point is being dragged. */
  demand() {
    const isBusy = this.map.dragging || this.map.asked || this.expects;
    if (this.pending.length && !isBusy) this.requests.send({ parts: this.pending });
  }

  ask(i) {
    if (i === this.log.region.query) this.seek(0, !this.still);
    else this.expect(() => this.callbacks.ask(i));
  }

  // Send what changes the controls of the page too. Until these have followed, nothing else is sent:
  // a message carries the state of all controls, and an old one would undo the change.
  expect(send) {
    this.expects = true;
    clearTimeout(this.timers.expects);
    this.timers.expects = setTimeout(() => { this.expects = false; this.wake(); }, REQUEST_PATIENCE);
    send();
  }

  chooseState(state) {
    this.state = state;
    this.answer.domain.values = null;
    this.changed();
    this.sendPlace();
  }

  chooseRule(key) {
    this.expect(() => this.callbacks.rule(key));
  }

  stateWords() {
    const { log, shown } = this;
    const { bound } = log.steps[shown];
    const text = bound === null ? "no bound" : `bound ±${boundText(bound)}`;
    return shown === log.last ? `${text} · finished` : text;
  }

  get keys() {
    return [["Everywhere", [...KEYS_PLAY, ...KEYS_MOVE]], ["In the graph", [...KEYS_GRAPH, ["Enter", "query this variable"]]],
      ["In the map of c", [["arrows", "decrease or increase fields (← →) and couplings (↓ ↑)"]]]];
  }

  // ---------------------------------------------------------------------- words and messages

  write() {
    const { log, shown } = this;
    const step = log.steps[shown];
    this.headline.textContent = step.head;
    const used = log.steps[step.best]; // what a smaller region has proven still holds
    const met = used.certified && used.bound <= log.region.tolerance;
    this.badge.textContent = met ? "✓ certified" : used.certified ? "growing" : "✗ not certified";
    if (used.certified && !met && shown === log.last) this.badge.textContent = "tolerance not reached";
    this.badge.className = `gv-badge ${met ? "gv-good" : used.certified ? "" : "gv-bad"}`;
    this.under.textContent = step.sub;
    this.note.textContent = log.region.note;
    this.words.textContent = step.words;
    this.stop.textContent = shown === log.last ? log.region.stop : "";
    this.toBest.hidden = shown !== log.last || log.best === log.last;
    this.toBest.textContent = `Show size ${log.best + 1}`;
  }

  sentence() {
    return `${this.headline.textContent}. ${this.words.textContent}`;
  }

  address() {
    const { log, shown, state } = this;
    // The last step is sent as null, whatever its number; so is a region that still grows.
    return { step: shown >= log.ready ? null : shown, state: state === log.region.usual ? null : state };
  }

  sendPlace() {
    if (this.expects || this.map.asked) this.timers.moved = setTimeout(() => this.sendPlace(), REGION_PATIENCE / 3);
    else super.sendPlace();
  }
}

export const mount = (host, callbacks = {}) => new RegionPlayer(host, callbacks);
