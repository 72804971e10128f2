// The growing region: shown step, movement, and messages to the server.

import { boundText, clamp, h } from "../shared/core.js";
import { graphKeys } from "../shared/keys_help.js";
import { REQUEST_PATIENCE } from "../shared/requests.js";
import { StepView } from "../shared/step_view.js";
import { Transport } from "../shared/transport.js";
import { RegionAnswer } from "./answer.js";
import { RegionCurves } from "./curves.js";
import { RegionGraph } from "./graph.js";
import { RegionLog } from "./log.js";
import { RegionMap } from "./map.js";

const REGION_PATIENCE = 1000; // most ms between requests for parts still being computed

class RegionPlayer extends StepView {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-region", "Growing region", { speedKey: "region.speed", speed: 2, change: 1.1, patience: REGION_PATIENCE });
    this.state = 0;
    this.whole = this.rules = null;
    this.pending = [];
    this.graph = new RegionGraph(this);
    this.answer = new RegionAnswer(this);
    this.curves = new RegionCurves(this);
    this.map = new RegionMap(this);
    this.transport = new Transport(this, { keys: [["In the graph", [...graphKeys(), ["Enter", "query this variable"]]],
      ["In the map of c", [["arrows", "decrease or increase fields (← →) and couplings (↓ ↑)"]]]] });
    this.panels = [this.graph, this.answer, this.curves, this.map, this.transport];
    this.badge = h("span", { class: "gv-badge" });
    this.toBest = h("button", { type: "button", class: "gv-link", hidden: true, click: () => this.seek(this.log.best) });
    this.assembleLayout("Loading the region…", "gv-region-body", this.graph.element, [
      this.buildHead("gv-region-head", this.badge), this.buildWords(),
      this.answer.element, this.curves.element, this.map.element]);
    this.words.parentElement.append(this.toBest);
    this.under.className = "";
  }

  // ----------------------------------------------------------------------------------- messages

  show(message) {
    const { token, graph, region, whole, rules, map, mapId, point, coefficient, pending, visit, page } = message;
    if (graph) this.graph.setGraph(graph);
    const isKnown = token === this.token;
    if (!isKnown) this.whole = this.rules = null;
    this.whole = whole ?? this.whole;
    this.rules = rules ?? this.rules;
    if (map || mapId !== this.mapId) this.map.setMap(map ?? null);
    this.mapId = mapId;
    this.map.setPoint(point, coefficient);
    this.sentPlace = JSON.stringify({ step: region.at, state: region.chosen });
    this.take(token, region, this.log === null || visit !== this.visit);
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

  /** Show a region: at the step of a link, from the start for a new query, or at the same step as before. */
  take(token, region, isVisit) {
    const { log } = this;
    const isNews = token !== this.token;
    const wasAtEnd = log !== null && this.isAtEnd && isNews && !this.playing;
    this.log = new RegionLog(this.graph.graph, region);
    this.token = token;
    this.state = clamp(region.state, 0, region.labels.length - 1);
    this.transport.setRun(this.log);
    if (isNews) this.answer.setRegion(this.log);
    if (isVisit || log.region.query !== region.query) this.open(isVisit ? region.at : null);
    else if (wasAtEnd) this.wanted = Infinity;
    this.reachWanted();
  }

  /** Request pending parts, but not while the point is being dragged. */
  demand() {
    if (this.pending.length && !this.map.dragging && !this.isBusy) this.requests.send({ parts: this.pending });
  }

  ask(i) {
    if (i === this.log.region.query) this.seek(0, !this.still);
    else {
      this.expect();
      this.callbacks.ask(i);
    }
  }

  /**
   * Send nothing until the controls of the page have followed a message that changes them: every message
   * carries the state of all controls, and an old one would undo the change.
   */
  expect() {
    this.expects = true;
    clearTimeout(this.timers.expects);
    this.timers.expects = setTimeout(() => { this.expects = false; this.wake(); }, REQUEST_PATIENCE);
  }

  get isBusy() {
    return this.expects || this.map.requests.sentAt !== null;
  }

  chooseState(state) {
    this.state = state;
    this.changed();
    this.sendPlace();
  }

  chooseRule(key) {
    this.expect();
    this.callbacks.rule(key);
  }

  placeWords() {
    const { log, shown } = this;
    const { bound } = log.steps[shown];
    const text = bound === null ? "no bound" : `bound ±${boundText(bound)}`;
    const total = log.last === null ? `${log.ready + 1}+` : log.last + 1;
    return { before: "", now: String(shown + 1), after: ` of ${total} nodes`, state: this.isAtEnd ? `${text} · finished` : text };
  }

  // ---------------------------------------------------------------------- words and messages

  write() {
    const { log, shown } = this;
    const step = log.steps[shown];
    this.headline.textContent = step.head;
    const used = log.steps[step.best]; // the bound of a smaller region remains valid
    const met = used.certified && used.bound <= log.region.tolerance;
    this.badge.textContent = met ? "✓ certified" : used.certified ? "growing" : "✗ not certified";
    if (used.certified && !met && this.isAtEnd) this.badge.textContent = "tolerance not reached";
    this.badge.className = `gv-badge ${met ? "gv-good" : used.certified ? "" : "gv-bad"}`;
    this.under.textContent = step.sub;
    this.note.textContent = log.region.note;
    this.words.textContent = step.words;
    this.stop.textContent = this.isAtEnd ? log.region.stop : "";
    this.toBest.hidden = !this.isAtEnd || log.best === log.last;
    this.toBest.textContent = `Show size ${log.best + 1}`;
  }

  sentence() {
    return `${this.headline.textContent}. ${super.sentence()}`;
  }

  address() {
    const { log, shown, state } = this;
    // The last step is sent as null, whatever its number; so is a region that still grows.
    return { step: shown >= log.ready ? null : shown, state: state === log.region.usual ? null : state };
  }

  sendPlace() {
    if (this.isBusy) this.timers.moved = setTimeout(() => this.sendPlace(), REGION_PATIENCE / 3);
    else super.sendPlace();
  }
}

/** See shared/mount.js. */
export const host = {
  key: "token",
  once: "graph",
  missing: ({ pending }) => ({ parts: pending }),
  messages: {
    need: (wants) => wants, ask: (query) => ({ query }), rule: (key) => ({ key }), strengths: (point) => point, moved: (place) => place,
  },
  place: (place) => place,
};

export const mount = (host, callbacks = {}) => new RegionPlayer(host, callbacks);
