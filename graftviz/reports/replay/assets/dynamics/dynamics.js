// A system learned row by row: shown row, selected series, and messages to the server.

import { FedView } from "../shared/fed_view.js";
import { graphKeys, KEY_CLEAR, turnKeys } from "../shared/keys_help.js";
import { REQUEST_PATIENCE } from "../shared/requests.js";
import { Transport } from "../shared/transport.js";
import { DynamicsEvidence } from "./evidence.js";
import { DynamicsLog } from "./log.js";
import { DynamicsMatrix } from "./matrix.js";
import { DynamicsNetwork } from "./network.js";
import { DynamicsSeries } from "./series.js";

const DYNAMICS_TRIES = 4; // messages without the prediction after which it is not requested any more

class DynamicsPlayer extends FedView {
  constructor(host, callbacks) {
    const moved = (place) => callbacks.moved({ ...place, from: this.log.count });
    super(host, { ...callbacks, moved }, "gv-dynamics", "System learned row by row", { speedKey: "dynamics.speed", speed: 8, change: 0.45 });
    this.chosen = null; // the series that was clicked
    this.series = null;
    this.network = new DynamicsNetwork(this);
    this.matrix = new DynamicsMatrix(this);
    this.evidence = new DynamicsEvidence(this);
    this.window = new DynamicsSeries(this);
    this.transport = new Transport(this, { keys: [["In the network", graphKeys("series")],
      ["In the matrix", [turnKeys("row"), KEY_CLEAR]], ["In the prediction", [turnKeys("point in time")]]] });
    this.panels = [this.network, this.matrix, this.evidence, this.window, this.transport];
    this.assembleLayout("Loading the first row…", "gv-dynamics-body", this.network.element, [
      this.buildHead(), this.buildWords(),
      this.evidence.element, this.matrix.element, this.window.element, this.evidence.algorithm]);
  }

  // ----------------------------------------------------------------------------------- messages

  begin(run, isFirst) {
    const isOther = isFirst || this.picture.id !== this.log.graph.id;
    this.log = new DynamicsLog(this.picture, run);
    if (isOther) {
      this.chosen = null;
      this.network.fit(this.picture.positions, { isGiven: this.picture.given });
    }
    this.matrix.pointTo(null);
  }

  receive({ run, series }, isVisit) {
    this.series = series;
    if (isVisit) this.chosen = run.node;
  }

  /** A link to a series opens at the end, where its prediction is available. */
  opensAtEnd({ node }) {
    return node !== null;
  }

  get isComplete() {
    return this.log.finished && (this.series !== null || this.tries >= DYNAMICS_TRIES);
  }

  // ------------------------------------------------------------------------------------ choosing

  /** Select a series, or none; update its evidence and prediction. */
  choose(node) {
    this.chosen = node === this.chosen ? null : node;
    this.changed();
    clearTimeout(this.timers.moved);
    this.sendPlace();
    clearTimeout(this.timers.lost);
    this.timers.lost = setTimeout(() => this.sendPlaceAgain(), REQUEST_PATIENCE);
  }

  /** Send the selection again if its prediction is missing: the message may have been lost. */
  sendPlaceAgain() {
    if (this.chosen === null || !this.series || this.series.node === this.chosen) return;
    this.sentPlace = null;
    this.sendPlace();
  }

  // ---------------------------------------------------------------------- words and messages

  write() {
    const { log: { run, rows }, shown } = this;
    this.headline.textContent = run.title;
    this.words.textContent = shown === 0 ? run.opening : rows[shown - 1].words;
    this.stop.textContent = this.isAtEnd ? run.closing : "";
  }

  sentence() {
    return `${super.sentence()} ${this.evidence.summary}`;
  }

  address() {
    return { step: this.isAtEnd || this.playing ? null : this.shown, node: this.chosen };
  }
}

/** See shared/mount.js. */
export const host = {
  key: "token",
  once: "graph",
  missing: () => ({ from: 0 }),
  messages: { need: ({ from }) => ({ from }), moved: ({ step, node, from }) => ({ step, node, from }) },
  place: ({ step, node }) => ({ step, node }),
};

export const mount = (host, callbacks = {}) => new DynamicsPlayer(host, callbacks);
