// The model under a budget in the page.

import { GraphicHost, mountedBy } from "../shared/mount.js";

class BudgetHost extends GraphicHost {
  library = "GraftvizBudget";

  callbacks() {
    return {
      need: ({ from }) => this.trigger("need", { from }),
      moved: (place) => this.trigger("moved", place, place),
    };
  }

  missing() {
    return { from: 0 };
  }
}

export default mountedBy(BudgetHost);
