// A page that leads, or one that follows it: the step and the selection of the player. The page that leads
// writes them to the server, those that follow read them (serving/following.py). A page that follows can be
// used as well; it moves again when the place of the page that leads changes.

const WRITE_AT_MOST_EVERY = 300; // ms
const WRITE_AT_LEAST_EVERY = 5000; // ms; a page that is silent counts as closed
const READ_EVERY = 1000; // ms
const UNMOUNTED_FOR = 2000; // ms without a place in the page after which it ends
const OWN = ["step", "present", "lang", "lesson", "follow"]; // parameters that are not settings of the run
const STYLE = `
.line { display: flex; align-items: center; gap: 12px; margin: 0; font: 400 1rem/1.4 var(--st-font); color: var(--st-text-color); }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--st-border-color); border-radius: 8px; padding: 2px 12px; cursor: pointer; }
button:hover { border-color: var(--st-primary-color); }
button:focus-visible { outline: 2.5px solid var(--st-primary-color); outline-offset: 2px; }
`;

/** The player of the page, once it shows a run. */
function player() {
  const view = find(".gv-grow")?.view;
  return view?.log ? view : null;
}

/** A checksum of the settings in the address (FNV-1a, 32 bits). */
function settings() {
  const query = [...new URLSearchParams(location.search)].filter(([name]) => !OWN.includes(name));
  let sum = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(JSON.stringify(query.sort()))) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
  return sum.toString(16);
}

function placeOf({ shown, selection }) {
  const { kind, i, j } = selection ?? {};
  return { settings: settings(), step: shown, selection: selection && (kind === "node" ? { kind, i } : { kind, i, j }) };
}

class Follow {
  constructor() {
    this.page = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    this.timer = 0;
    this.generation = 0; // number of renders
  }

  /** Lead or follow as the data of the component say; called at every run of the page. */
  begin(data) {
    this.labels = data.labels;
    if (this.code === data.code && (this.timer || this.isOver)) return;
    Object.assign(this, { code: data.code, key: data.key, base: data.base, version: 0, written: "", writtenAt: -Infinity, words: data.first, isOver: false });
    clearInterval(this.timer);
    this.timer = setInterval(() => (this.key ? this.write() : this.read()), this.key ? WRITE_AT_MOST_EVERY : READ_EVERY);
  }

  end() {
    clearInterval(this.timer);
    this.timer = 0;
  }

  async request(options) {
    if (this.isWaiting) return null;
    this.isWaiting = true;
    const { code } = this;
    try {
      const answer = await fetch(`${this.base}/_graftviz/follow/${code}`, { cache: "no-store", ...options });
      if (code !== this.code || !this.timer) return null;
      if (answer.ok) return await answer.json();
      if (answer.status === 404) {
        this.isOver = true;
        this.end();
      }
      this.say({ 404: this.labels[this.key ? "ended" : "closed"], 429: this.labels.full }[answer.status] ?? this.labels.lost);
    } catch {
      this.say(this.labels.lost); // the connection is interrupted; the next request may succeed
    } finally {
      this.isWaiting = false;
    }
    return null;
  }

  async write() {
    const view = player();
    if (view) this.place = JSON.stringify(placeOf(view));
    const { place } = this;
    if (!place || (place === this.written && performance.now() - this.writtenAt < WRITE_AT_LEAST_EVERY)) return;
    const answer = await this.request({ method: "PUT", headers: { "X-Key": this.key }, body: place });
    if (!answer) return;
    [this.written, this.writtenAt] = [place, performance.now()];
    this.say(this.labels[answer.followers === 1 ? "one" : "many"].replace("{count}", answer.followers));
  }

  async read() {
    const answer = await this.request({ headers: { "X-Page": this.page } });
    if (!answer?.place) return;
    const { place, version } = answer;
    const isSame = place.settings === settings();
    this.say(isSame ? this.labels.follows : this.labels.other);
    const view = player();
    if (!isSame || !view || version === this.version) return;
    this.version = version;
    view.playing = false;
    view.seek(place.step);
    const { selection } = place;
    if (!selection || [selection.i, selection.j ?? 0].every((index) => index < view.log.n)) view.select(selection);
  }

  say(words) {
    this.words = words;
    this.describe?.();
  }
}

const follow = (globalThis.graftvizFollow ??= new Follow());

export default ({ parentElement, data, setTriggerValue }) => {
  let line = parentElement.querySelector(".line");
  if (!line) {
    line = Object.assign(document.createElement("p"), { className: "line" });
    const [style, words, button] = ["style", "span", "button"].map((name) => document.createElement(name));
    style.textContent = STYLE;
    words.setAttribute("role", "status");
    button.type = "button";
    line.append(words, button);
    parentElement.append(style, line);
  }
  const [words, button] = line.children;
  button.textContent = data.labels.end;
  button.onclick = () => setTriggerValue("end", true);
  follow.describe = () => { if (words.textContent !== follow.words) words.textContent = follow.words; };
  follow.begin(data);
  follow.describe();
  const generation = ++follow.generation;
  // Another page of the app may mount it again.
  return () => setTimeout(() => { if (generation === follow.generation) follow.end(); }, UNMOUNTED_FOR);
};
