// Between Streamlit and the growing region: Streamlit calls the default export again and again with
// new data; the view is made once per mount point and stays. Its script comes from a component of its own.

const HOSTS = new WeakMap();
const LIBRARY_RETRY = 25; // ms
const SUPERSEDED = 100; // ms in which the successor of a cleaned-up render may appear

const decode = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** Put the shown place into the address at once, without adding to the history. */
const writePlace = (place) => {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(place)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  history.replaceState(history.state, "", url);
};

class Host {
  constructor(root) {
    this.root = root;
    this.generation = 0;
    this.graph = null;
    this.player = null;
    this.waiting = [];
    this.latest = null;
  }

  trigger(name, value) {
    // Callbacks must go through the latest render, whatever render the view was made in.
    this.latest.setTriggerValue(name, { token: this.token, ...value });
  }

  mount() {
    const library = globalThis.GraftvizRegion;
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
      need: (wants) => this.trigger("need", wants),
      ask: (query) => this.trigger("ask", { query }),
      rule: (key) => this.trigger("rule", { key }),
      strengths: (point) => this.trigger("strengths", point),
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

  show(message) {
    this.token = message.token;
    if (message.graphId !== this.graph) {
      if (!message.graph) {
        // The server believes that we have this graph, but this mount point is new.
        setTimeout(() => this.trigger("need", { graph: true, parts: message.pending }));
        return;
      }
      this.graph = message.graphId;
    }
    this.player.show(message);
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
