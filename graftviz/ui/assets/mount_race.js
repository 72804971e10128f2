// Between Streamlit and the race: Streamlit calls the default export again and again with new data;
// the race is made once per mount point and stays. Its script comes from a component of its own.

const HOSTS = new WeakMap();
const LIBRARY_RETRY = 25; // ms
const SUPERSEDED = 100; // ms in which the successor of a cleaned-up render may appear

const decode = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** Put the shown place into the address at once, without adding to the history. */
const writePlace = ({ axis, at }) => {
  const url = new URL(location.href);
  const write = (name, value, usual) => {
    if (value === usual) url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  };
  write("axis", axis, "seconds");
  write("at", at, 0);
  history.replaceState(history.state, "", url);
};

class Host {
  constructor(root) {
    this.root = root;
    this.generation = 0;
    this.race = null;
    this.player = null;
    this.waiting = [];
    this.latest = null;
  }

  trigger(name, value) {
    // Callbacks must go through the latest render, whatever render the race was made in.
    this.latest.setTriggerValue(name, { race: this.race, ...value });
  }

  mount() {
    const library = globalThis.GraftvizRace;
    if (!library) {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        if (!this.gone) this.receive(null);
      }, LIBRARY_RETRY);
      return false;
    }
    this.style = document.createElement("style");
    this.style.textContent = library.style;
    this.place = document.createElement("div");
    this.root.append(this.style, this.place);
    this.player = library.mount(this.place, {
      need: (wants) => this.trigger("need", { wants }),
      moved: (place) => {
        writePlace(place);
        this.trigger("moved", place);
      },
    });
    return true;
  }

  receive(message) {
    if (message) this.waiting.push(message);
    if (!this.player && !this.mount()) return;
    for (const next of this.waiting.splice(0)) this.show(next);
    this.player.refresh();
  }

  show({ race, header, place, feeds, failures, replies }) {
    if (race !== this.race) {
      if (!header) {
        // The server believes that we have this race, but this mount point is new.
        setTimeout(() => this.latest.setTriggerValue("need", { race, header: true }));
        return;
      }
      this.race = race;
      this.player.load(header, place);
    }
    this.player.feed({ feeds, failures, replies });
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
    this.player?.destroy();
    this.place?.remove();
    this.style?.remove();
  }
}

export default function (component) {
  const { parentElement } = component;
  let host = HOSTS.get(parentElement);
  if (!host) {
    host = new Host(parentElement);
    HOSTS.set(parentElement, host);
  }
  const generation = ++host.generation;
  host.latest = component;
  host.receive(component.data ? decode(component.data) : null);
  return () => {
    // Also called for a render that has been superseded: only the latest one tears down.
    setTimeout(() => {
      if (host.generation !== generation) return;
      HOSTS.delete(parentElement);
      host.destroy();
    }, SUPERSEDED);
  };
}
