// The influence network in the page.

import { mountedBy } from "../shared/mount.js";

export default mountedBy({
  library: "GraftvizDynamics",
  key: "token",
  once: "graph",
  missing: () => ({ from: 0 }),
  messages: { need: ({ from }) => ({ from }), moved: ({ step, node, from }) => ({ step, node, from }) },
  place: ({ step, node }) => ({ step, node }),
});
