// Between Streamlit and a view: Streamlit calls the default export again and again with new data;
// the view is made once per mount point and stays. Its script comes from a component of its own (see
// mounted.py). What differs from view to view stands in mount_*.js, which follow this file.

const HOSTS = new WeakMap();
const LIBRARY_RETRY = 25; // ms
const SUPERSEDED = 100; // ms in which the successor of a cleaned-up render may appear

const decode = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** Put what is shown into the address at once, without adding to the history; null is left out. */
const writeAddress = (place) => {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(place)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  history.replaceState(history.state, "", url);
};

/** One view in the page. A subclass says `library`, `callbacks` and what to `show`. */
class Host {
  constructor(root) {
    this.root = root;
    this.generation = 0;
    this.view = null;
    this.waiting = [];
    this.latest = null;
  }

  /** Callbacks must go through the latest render, whatever render the view was made in. */
  send(name, value) {
    this.latest.setTriggerValue(name, value);
  }

  /** The same from within a render, which Streamlit would not hear. */
  sendLater(name, value) {
    setTimeout(() => this.send(name, value));
  }

  mount() {
    const library = globalThis[this.library];
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
    this.view = library.mount(this.place, this.callbacks());
    return true;
  }

  receive(message) {
    if (message) this.waiting.push(message);
    if (!this.view && !this.mount()) return;
    for (const next of this.waiting.splice(0)) this.show(next);
    this.view.refresh();
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
    this.view?.destroy();
    this.place?.remove();
    this.style?.remove();
  }
}

const mountedBy = (Kind) => (component) => {
  const { parentElement } = component;
  let host = HOSTS.get(parentElement);
  if (!host) {
    host = new Kind(parentElement);
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
};
