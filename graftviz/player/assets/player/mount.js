// The live player in the page.

import { mountedBy } from "../shared/mount.js";

export default mountedBy({
  library: "GraftvizPlayer",
  key: "run",
  once: "header",
  missing: () => ({ from: 1, count: 0 }),
  messages: {
    need: (from, count) => ({ from, count }), ask: (question) => question, beside: (run, from) => ({ run, from }),
    branch: (t) => ({ t }), moved: (t) => ({ t }),
  },
  place: (t) => ({ step: t > 0 ? t : null }),
  show(view, { run, header, step, feed, ghost, answer, stability, late }, before) {
    if (run !== before) {
      const load = (some) => view.load(some, { step: before === null ? step : null, playing: view.playing });
      // The run to compare with is completed, or loaded first, so that it becomes the ghost.
      if (ghost && ghost.header.run !== before) load(ghost.header);
      if (ghost) view.feed(ghost.feed);
      load(header);
    }
    for (const some of [feed, late]) if (some) view.feed(some);
    if (stability) view.stabilise(stability);
    if (answer) view.answer(answer);
  },
});
