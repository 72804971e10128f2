// The live player in the page.

import { Host, mountedBy } from "../shared/mount.js";

class PlayerHost extends Host {
  library = "GraftvizPlayer";
  run = null;

  get about() {
    return { run: this.run };
  }

  callbacks() {
    return {
      need: (from, count) => this.trigger("need", { from, count }),
      ask: (question) => this.trigger("ask", question),
      beside: (run, from) => this.trigger("beside", { run, from }),
      branch: (t) => this.trigger("branch", { t }),
      moved: (t) => this.trigger("moved", { t }, { step: t > 0 ? t : null }),
    };
  }

  show({ run, header, step, feed, ghost, answer, stability, late }) {
    const { view } = this;
    if (run !== this.run) {
      if (!header) {
        // The server assumes that this view has the run, but this mount point is new.
        this.sendLater("need", { run, from: 1, count: 0, header: true });
        return;
      }
      const isFirst = this.run === null;
      // The run to compare with is completed, or loaded first, so that it becomes the ghost.
      if (ghost && ghost.header.run === this.run) view.feed(ghost.feed);
      else if (ghost) this.load(ghost.header, ghost.feed, isFirst ? step : null);
      this.load(header, null, isFirst ? step : null);
    }
    if (feed) view.feed(feed);
    if (late) view.feed(late);
    if (stability) view.stabilise(stability);
    if (answer) view.answer(answer);
  }

  load(header, feed, step) {
    this.run = header.run;
    this.view.load(header, { step, playing: this.view.playing });
    if (feed) this.view.feed(feed);
  }
}

export default mountedBy(PlayerHost);
