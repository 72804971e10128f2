// The model under a budget in the page.

import { mountedBy } from "../shared/mount.js";

export default mountedBy({
  library: "GraftvizBudget",
  key: "token",
  once: "graph",
  missing: () => ({ from: 0 }),
  messages: { need: ({ from }) => ({ from }), moved: ({ step }) => ({ step }) },
  place: ({ step }) => ({ step }),
});
