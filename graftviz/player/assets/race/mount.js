// The race in the page.

import { mountedBy } from "../shared/mount.js";

export default mountedBy({
  library: "GraftvizRace",
  key: "race",
  once: "header",
  messages: { need: (wants) => ({ wants }), moved: ({ axis, at }) => ({ axis, at }) },
  place: ({ axis, at }) => ({ axis: axis === "tests" ? null : axis, at: at === 0 ? null : at }),
});
