// The growing region in the page.

import { GraphicHost, mountedBy } from "../shared/mount.js";

class RegionHost extends GraphicHost {
  library = "GraftvizRegion";

  callbacks() {
    return {
      need: (wants) => this.trigger("need", wants),
      ask: (query) => this.trigger("ask", { query }),
      rule: (key) => this.trigger("rule", { key }),
      strengths: (point) => this.trigger("strengths", point),
      moved: (place) => this.trigger("moved", place, place),
    };
  }

  tokenOf(message) {
    return message.token;
  }

  missing(message) {
    return { parts: message.pending };
  }
}

export default mountedBy(RegionHost);
