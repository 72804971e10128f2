// The growing region in the page.

import { mountedBy } from "../shared/mount.js";

export default mountedBy({
  library: "GraftvizRegion",
  key: "token",
  once: "graph",
  missing: ({ pending }) => ({ parts: pending }),
  messages: {
    need: (wants) => wants, ask: (query) => ({ query }), rule: (key) => ({ key }), strengths: (point) => point, moved: (place) => place,
  },
  place: (place) => place,
});
