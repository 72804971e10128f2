// The graph of a finished model in the page.

import { Host, mountedBy } from "../shared/mount.js";

class InspectHost extends Host {
  library = "GraftvizInspect";

  callbacks() {
    return { picked: (picked) => this.send("picked", picked) };
  }

  show(message) {
    this.view.show(message);
  }
}

export default mountedBy(InspectHost);
