// Between Streamlit and a view: Streamlit calls the default export again and again with new data;
// the view is made once and stays. Its script comes from a component of its own (see mounted.py).
// What differs from view to view stands in mount_*.js, which follow this file.
//
// When messages of two runs of the page meet, Streamlit takes a component out of the page and puts it
// in again somewhere else. Its view waits for that for a while, and goes on where it was.

const HOSTS = new WeakMap(); // by mount point
const WITHOUT_PLACE = (globalThis.graftvizWithoutPlace ??= new Map()); // hosts that were taken out, by kind
const LIBRARY_RETRY = 25; // ms
const PATIENCE = 1500; // ms a view waits for a new place, before it is believed that the page was left

const decode = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** One view in the page. A subclass says `library`, `callbacks` and what to `show`. */
class Host {
  constructor() {
    this.path = location.pathname;
    this.generation = 0;
    this.view = null;
    this.parts = []; // what it puts into the page
    this.waiting = []; // messages for the view
    this.unsent = []; // what it said while it had no place
    this.latest = null;
  }

  /** Take a place in the page: the first one, or another. */
  moveTo(root) {
    if (root === this.root) return this;
    this.root = root;
    root.append(...this.parts);
    return this;
  }

  /** Callbacks must go through the latest render, whatever render the view was made in. */
  send(name, value) {
    if (this.isWithoutPlace) this.unsent.push([name, value]);
    else this.latest.setTriggerValue(name, value);
  }

  /** The same from within a render, which Streamlit would not hear. */
  sendLater(name, value) {
    setTimeout(() => this.send(name, value));
  }

  get isWithoutPlace() {
    return [...WITHOUT_PLACE.values()].includes(this);
  }

  /** Put what is shown into the address at once, without adding to the history; null is left out. */
  writeAddress(place) {
    if (location.pathname !== this.path) return;
    const url = new URL(location.href);
    for (const [name, value] of Object.entries(place)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, String(value));
    }
    history.replaceState(history.state, "", url);
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
    const style = document.createElement("style");
    style.textContent = library.style;
    const place = document.createElement("div");
    this.add(style, place);
    this.view = library.mount(place, this.callbacks());
    return true;
  }

  add(...parts) {
    this.parts.push(...parts);
    this.root.append(...parts);
  }

  receive(message) {
    if (message) this.waiting.push(message);
    if (!this.view && !this.mount()) return;
    for (const next of this.waiting.splice(0)) this.show(next);
    for (const [name, value] of this.unsent.splice(0)) this.sendLater(name, value);
    this.view.refresh();
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
    this.view?.destroy();
    for (const part of this.parts) part.remove();
  }
}

/** The host of a mount point: the one that is there, one that lost its place, or else a new one. */
function hostOf(Kind, root) {
  let host = HOSTS.get(root);
  if (!host) {
    host = (WITHOUT_PLACE.get(Kind.name) ?? new Kind()).moveTo(root);
    HOSTS.set(root, host);
  }
  if (WITHOUT_PLACE.get(Kind.name) === host) WITHOUT_PLACE.delete(Kind.name);
  return host;
}

const mountedBy = (Kind) => (component) => {
  const root = component.parentElement;
  const host = hostOf(Kind, root);
  const generation = ++host.generation;
  host.latest = component;
  host.receive(component.data ? decode(component.data) : null);
  return () => {
    // Also called for a render that has been superseded: only the latest one gives up its place.
    if (host.generation !== generation) return;
    HOSTS.delete(root);
    WITHOUT_PLACE.set(Kind.name, host);
    setTimeout(() => {
      if (host.generation !== generation) return;
      if (WITHOUT_PLACE.get(Kind.name) === host) WITHOUT_PLACE.delete(Kind.name);
      host.destroy();
    }, PATIENCE);
  };
};
