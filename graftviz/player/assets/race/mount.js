// The race in the page.

import { mountedBy } from "../shared/mount.js";

export default mountedBy({
  library: "GraftvizRace",
  key: "race",
  once: "header",
  messages: { need: (wants) => ({ wants }), moved: ({ axis, at }) => ({ axis, at }) },
  place: ({ axis, at }) => ({ axis: axis === "seconds" ? null : axis, at: at === 0 ? null : at }),
  show(view, { race, header, place, feeds, failures, replies }, before) {
    if (race !== before) view.load(header, place);
    view.feed({ feeds, failures, replies });
  },
});
