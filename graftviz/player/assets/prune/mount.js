// Forced pruning in the page.

import { mountedBy } from "../shared/mount.js";

export default mountedBy({
  library: "GraftvizPrune",
  key: "token",
  once: "header",
  messages: { need: (wants) => ({ wants }), heuristic: (key) => ({ key }), moved: (step) => ({ step }) },
  place: (step) => ({ step: step === 0 ? null : step }),
});
