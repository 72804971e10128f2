// Forced pruning in the page.

import { Host, mountedBy } from "../shared/mount.js";

class PruneHost extends Host {
  library = "GraftvizPrune";
  token = null;

  callbacks() {
    return {
      need: (wants) => this.trigger("need", { wants }),
      heuristic: (key) => this.trigger("heuristic", { key }),
      moved: (step) => this.trigger("moved", { step }, { step: step === 0 ? null : step }),
    };
  }

  show(message) {
    const { token, header } = message;
    if (token !== this.token) {
      if (!header) {
        // The server assumes that this view has the runs, but this mount point is new.
        this.sendLater("need", { token, header: true });
        return;
      }
      this.token = token;
    }
    this.view.show(message);
  }
}

export default mountedBy(PruneHost);
