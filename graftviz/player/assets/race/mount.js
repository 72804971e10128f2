// The race in the page.

import { Host, mountedBy } from "../shared/mount.js";

class RaceHost extends Host {
  library = "GraftvizRace";
  race = null;

  get about() {
    return { race: this.race };
  }

  callbacks() {
    return {
      need: (wants) => this.trigger("need", { wants }),
      moved: ({ axis, at }) => this.trigger(
        "moved", { axis, at }, { axis: axis === "seconds" ? null : axis, at: at === 0 ? null : at },
      ),
    };
  }

  show({ race, header, place, feeds, failures, replies }) {
    if (race !== this.race) {
      if (!header) {
        // The server assumes that this view has the race, but this mount point is new.
        this.sendLater("need", { race, header: true });
        return;
      }
      this.race = race;
      this.view.load(header, place);
    }
    this.view.feed({ feeds, failures, replies });
  }
}

export default mountedBy(RaceHost);
