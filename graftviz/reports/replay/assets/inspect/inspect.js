// The graph of a finished model as a view: clicks are sent to the server.

import { View } from "../shared/view.js";
import { InspectGraph } from "./graph.js";

class InspectView extends View {
  constructor(host, callbacks) {
    super(host, callbacks, "gv-inspect", "Graph of the model");
    this.graph = new InspectGraph(this);
    this.panels = [this.graph];
    this.assemble("Loading the graph…", "gv-inspect-body", this.graph.element);
  }

  show(data) {
    this.log = data;
    this.graph.show(data);
    this.reveal();
    this.wake();
  }
}

/** See shared/mount.js. */
export const host = { key: "token", messages: { picked: (picked) => picked } };

export const mount = (host, callbacks = {}) => new InspectView(host, callbacks);
