// The influence network in the page.

import { GraphicHost, mountedBy } from "../shared/mount.js";

class DynamicsHost extends GraphicHost {
  library = "GraftvizDynamics";

  callbacks() {
    return {
      need: ({ from }) => this.trigger("need", { from }),
      moved: ({ step, node, from }) => this.trigger("moved", { step, node, from }, { step, node }),
    };
  }

  missing() {
    return { from: 0 };
  }
}

export default mountedBy(DynamicsHost);
