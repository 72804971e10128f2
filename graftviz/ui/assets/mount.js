// Between Streamlit and the player: Streamlit calls the default export again and again with new
// data; the player is made once per mount point and stays. The player itself comes from a component
// of its own (see player_component.py), so that this little text is all that travels with every
// message.

const HOSTS = new WeakMap();
const LIBRARY_RETRY = 25; // ms
const SUPERSEDED = 100; // ms in which the successor of a cleaned-up render may appear

const decode = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** Put the shown step into the address at once, without adding to the history. */
const writeStep = (t) => {
  const url = new URL(location.href);
  if (t > 0) url.searchParams.set("step", String(t));
  else url.searchParams.delete("step");
  history.replaceState(history.state, "", url);
};

class Host {
  constructor(root) {
    this.root = root;
    this.generation = 0;
    this.run = null;
    this.player = null;
    this.waiting = [];
    this.latest = null;
  }

  trigger(name, value) {
    // Callbacks must go through the latest render, whatever render the player was made in.
    this.latest.setTriggerValue(name, { run: this.run, ...value });
  }

  mount() {
    const library = globalThis.GraftvizPlayer;
    if (!library) {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        if (!this.gone) this.receive(null);
      }, LIBRARY_RETRY);
      return false;
    }
    const style = document.createElement("style");
    style.textContent = library.style;
    this.place = document.createElement("div");
    this.root.append(style, this.place);
    this.style = style;
    this.player = library.mount(this.place, {
      need: (from, count) => this.trigger("need", { from, count }),
      ask: (question) => this.trigger("ask", question),
      beside: (run, from) => this.trigger("beside", { run, from }),
      branch: (t) => this.trigger("branch", { t }),
      moved: (t) => {
        writeStep(t);
        this.trigger("moved", { t });
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

  show({ run, header, step, feed, ghost, answer, stability, late }) {
    if (run !== this.run) {
      if (!header) {
        // The server believes that we have this run, but this mount point is new.
        setTimeout(() => this.latest.setTriggerValue("need", { run, from: 1, count: 0, header: true }));
        return;
      }
      const isFirst = this.run === null;
      // The run to compare with is completed, or shown for a moment to become the one before.
      if (ghost && ghost.header.run === this.run) this.player.feed(ghost.feed);
      else if (ghost) this.load(ghost.header, ghost.feed, isFirst ? step : null);
      this.load(header, null, isFirst ? step : null);
    }
    if (feed) this.player.feed(feed);
    if (late) this.player.feed(late);
    if (stability) this.player.stabilise(stability);
    if (answer) this.player.answer(answer);
  }

  load(header, feed, step) {
    this.run = header.run;
    this.player.load(header, { step, playing: this.player.playing });
    if (feed) this.player.feed(feed);
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
