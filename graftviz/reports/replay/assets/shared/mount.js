// Host of a view inside Streamlit, which calls the default export with new data at every run of the page;
// the view is made once. Its script comes from a component of its own (see frame/view.py). What is
// particular about a view is in `host`, which its script exports.
//
// When messages of two runs of the page overlap, Streamlit may remove a component and mount it
// elsewhere. A view without a mount point remains for some time, and moved there.

const HOSTS = new WeakMap(); // by mount point
const UNMOUNTED = (globalThis.graftvizUnmounted ??= new Map()); // hosts without a mount point, by name of the library
const LIBRARY_RETRY = 25; // ms
const SEND_RETRY = 30; // ms
const LOOK_AGAIN = 200; // ms
const RETURN = 60000; // ms a page that is connected again may take to show something
const PATIENCE = 1500; // ms a view waits for a new mount point before the page counts as left

/**
 * Whether the page is idle. A message makes Streamlit run the fragment of its view, and cancels a run of
 * the page that has not been sent yet, including a change to another page. Messages are therefore sent
 * while the page is idle, and some time after its last run or gesture, since another run may follow.
 */
const pageIdle = (globalThis.graftvizPageIdle ??= (() => {
  const [AFTER_GESTURE, AFTER_RUN, OUTDATED] = [700, 200, 250]; // ms
  const elements = new Set(); // of the views
  let marking = 0;
  let until = 0;
  let isOurs = false; // whether a message of a view started the present or next run
  const runs = () => ["running", "rerunRequested"].includes(document.querySelector("[data-testid=stApp]")?.dataset.testScriptState);
  const later = (ms) => { until = Math.max(until, performance.now() + ms); };
  /** Mark the views as outdated while the page runs for some time: their data may change. */
  const mark = () => {
    clearTimeout(marking);
    const isOutdated = runs() && !isOurs;
    marking = setTimeout(() => {
      for (const element of elements) element.classList.toggle("gv-outdated", isOutdated);
    }, isOutdated ? OUTDATED : 0);
  };
  const onState = () => {
    mark();
    if (runs()) return;
    if (!isOurs) later(AFTER_RUN);
    isOurs = false;
  };
  new MutationObserver(onState).observe(document, { subtree: true, attributeFilter: ["data-test-script-state"] });
  const onGesture = (event) => {
    const path = event.composedPath();
    // The page itself handles no keys: a view handles those that are pressed there.
    const isForView = path.some((part) => part.classList?.contains("gv-place"))
      || [document.body, document.documentElement].includes(path[0]) || path[0].classList?.contains("stMain");
    if (!isForView) later(AFTER_GESTURE);
  };
  for (const type of ["pointerdown", "click", "keydown", "input", "change"]) window.addEventListener(type, onGesture, true);
  return {
    get isIdle() { return !runs() && performance.now() >= until; },
    get isBusy() { return runs(); },
    beginOwnRun() { isOurs = true; },
    elements,
  };
})());

/**
 * After a restart of the server, Streamlit requests the address that the server wrote last, without the place
 * to which the view has moved since. After an interrupted connection the server writes the right address by
 * itself. If it does not, the page is loaded again at the address from before.
 */
const returning = (globalThis.graftvizReturning ??= (() => {
  let lost = null; // the address at the loss of the connection
  let until = 0; // end of the return: Infinity without a connection, then some time after it is back
  const look = () => {
    if (lost === null) return;
    if (performance.now() > until) {
      lost = null;
      return;
    }
    setTimeout(look, LOOK_AGAIN);
    const { pathname, search } = lost;
    // Streamlit may have changed the path of the page, which does not matter.
    if (!pageIdle.isIdle || location.search === search) return;
    lost = null;
    history.replaceState(history.state, "", pathname + search);
    location.reload();
  };
  const onState = ([{ target }]) => {
    if (target.dataset.testConnectionState !== "CONNECTED") {
      lost ??= { pathname: location.pathname, search: location.search };
      until = Infinity;
    } else {
      if (until === Infinity) until = performance.now() + RETURN;
      look();
    }
  };
  new MutationObserver(onState).observe(document, { subtree: true, attributeFilter: ["data-test-connection-state"] });
  // Other actions may change the address meanwhile.
  for (const type of ["pointerdown", "keydown"]) window.addEventListener(type, () => { lost = null; }, true);
  // A view also moves without a server; a new server may first send another place.
  return {
    keep() { if (lost && until === Infinity) lost.search = location.search; },
    get isUnderWay() { return performance.now() < until; },
  };
})());

/**
 * One view in the page. `host` in its script has:
 *
 *   key        key of messages in both directions whose value identifies the shown run or data
 *   once       optional: key of the part of a message that is sent once for each `graphId`, else for each value of `key`
 *   missing    optional: function from a message to further values of the request for that part
 *   messages   callbacks of the view: functions from their arguments to the value that is sent
 *   place      function from the arguments of `moved` to parameters of the address
 *   show       optional: function that shows a message, of the view, the message, and the identity shown before
 */
class Host {
  constructor(library) {
    this.library = library;
    this.path = location.pathname;
    this.generation = 0;
    this.view = null;
    this.identity = null; // identity of the part that is sent once
    this.about = {}; // the shown run or data, as `key` and its value
    this.parts = []; // its elements in the page
    this.waiting = []; // messages to the view
    this.unsent = []; // messages to the server
    this.latest = null;
  }

  /**
   * Send a message to the server once the page is idle. A `place` is written into the address at once, and
   * again with the message: a page that runs meanwhile writes the place from before.
   */
  send(name, value, place = null) {
    // An earlier message of the same name is out of date.
    this.unsent = this.unsent.filter((other) => other.name !== name || other.isOwn);
    if (place) this.writeAddress(place);
    this.unsent.push({ name, value, place });
    this.deliver();
  }

  /** Send the waiting messages, one at a time. */
  deliver() {
    if (this.gone || this.unsent.length === 0) return;
    if (![...UNMOUNTED.values()].includes(this) && pageIdle.isIdle) {
      pageIdle.beginOwnRun();
      const { name, value, place } = this.unsent.shift();
      if (place) this.writeAddress(place);
      // Through the latest render, whatever render the view was made in.
      this.latest.setTriggerValue(name, value);
    }
    clearTimeout(this.delivery);
    if (this.unsent.length > 0) this.delivery = setTimeout(() => this.deliver(), SEND_RETRY);
  }

  /** Set parameters of the address without adding to the history; null removes one. */
  writeAddress(place) {
    if (location.pathname !== this.path) return;
    const url = new URL(location.href);
    for (const [name, value] of Object.entries(place)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, String(value));
    }
    history.replaceState(history.state, "", url);
    returning.keep();
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
    this.kind = library.host;
    const { kind } = this;
    const callbacks = Object.entries(kind.messages).map(([name, valueOf]) => [
      name, (...values) => this.send(name, { ...this.about, ...valueOf(...values) }, name === "moved" ? kind.place(...values) : null)]);
    const [style, element] = [document.createElement("style"), document.createElement("div")];
    style.textContent = library.style;
    for (const part of [style, element]) part.classList.add("gv-place");
    this.parts.push(style, element);
    this.root.append(style, element);
    pageIdle.elements.add(element);
    this.element = element;
    this.view = library.mount(element, Object.fromEntries(callbacks));
    return true;
  }

  receive(message) {
    if (message) this.waiting.push(message);
    if (!this.view && !this.mount()) return;
    for (const next of this.waiting.splice(0)) this.show(next);
    this.view.refresh();
  }

  show(message) {
    const { key, once, missing, show } = this.kind;
    const about = { [key]: message.run?.token ?? message[key] };
    const identity = message.graphId ?? about[key];
    const before = this.identity;
    if (once && identity !== before && !message[once]) {
      // The server has sent that part to another mount point. Streamlit ignores messages from within a render.
      setTimeout(() => {
        this.unsent.push({ name: "need", value: { ...about, [once]: true, ...missing?.(message) }, isOwn: true });
        this.deliver();
      });
      return;
    }
    this.identity = identity;
    this.about = about;
    if (show) show(this.view, message, before);
    else this.view.show(message);
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
    clearTimeout(this.delivery);
    this.view?.destroy();
    pageIdle.elements.delete(this.element);
    for (const part of this.parts) part.remove();
  }
}

/** The host of a mount point: its own, one without a mount point, or else a new one. */
function hostOf(library, root) {
  let host = HOSTS.get(root);
  if (!host) {
    host = UNMOUNTED.get(library) ?? new Host(library);
    if (host.root !== root) root.append(...host.parts);
    host.root = root;
    HOSTS.set(root, host);
  }
  if (UNMOUNTED.get(library) === host) UNMOUNTED.delete(library);
  return host;
}

export const mountedBy = (library) => (component) => {
  const root = component.parentElement;
  const host = hostOf(library, root);
  const generation = ++host.generation;
  host.latest = component;
  host.receive(component.data ? JSON.parse(new TextDecoder().decode(component.data)) : null);
  return () => {
    // Also called for a render that has been superseded: only the latest one gives up its mount point.
    if (host.generation !== generation) return;
    HOSTS.delete(root);
    UNMOUNTED.set(library, host);
    const giveUp = () => {
      if (host.generation !== generation) return;
      if ((pageIdle.isBusy || returning.isUnderWay) && location.pathname === host.path) {
        // The same page is still being made.
        setTimeout(giveUp, PATIENCE);
        return;
      }
      if (UNMOUNTED.get(library) === host) UNMOUNTED.delete(library);
      host.destroy();
    };
    setTimeout(giveUp, PATIENCE);
  };
};
