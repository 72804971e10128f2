// Play, step and scrub a growing region: the player's timeline, counted in nodes.

import { h, plural, replaceChildren } from "../shared/core.js";
import { Transport } from "../shared/transport.js";

export class RegionTransport extends Transport {
  describe() {
    super.describe();
    const { app } = this;
    const { log, shown } = app;
    const total = log.last === null ? `${log.ready + 1}+` : String(log.last + 1);
    replaceChildren(this.text, h("span", {}, h("b", {}, shown + 1), ` of ${total} nodes`), h("span", {}, app.stateWords()));
    this.track.setAttribute("aria-valuetext", `${plural(shown + 1, "node")} in the region`);
  }

  goal(log) {
    return Math.max(log.ready, 1);
  }
}
