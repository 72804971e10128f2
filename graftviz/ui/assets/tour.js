// The tour of the Grow page: a highlighted control, and a card beside it. It sends nothing to the server
// and blocks no control. Its texts are in narrative/tour.py.
//
// The button is a component, which Streamlit may mount again at any time; highlight and card are elements
// of the page itself, until the page is left.

const TAKEN = "graftviz.tour"; // for as long as this tab is open
const PATIENCE = 1500; // ms without its button before the page counts as left
const [MARGIN, GAP] = [10, 14]; // px
const HEADER = 56; // px; it covers the page
const SCROLLED = "[data-testid=stMain]";
const NARROW = 640; // px; there the card lies along an edge of the window
const STYLE = `
:host { all: initial; }
.light { position: fixed; z-index: 1000000; pointer-events: none; border-radius: 12px; outline: 3px solid var(--primary);
  box-shadow: 0 0 0 200vmax rgba(8, 14, 22, 0.42); transition: all 0.25s ease-out; }
.light[hidden] { display: none; }
.card { position: fixed; z-index: 1000001; box-sizing: border-box; width: min(24em, calc(100vw - 20px)); padding: 16px 18px 12px;
  font: 400 1rem/1.45 var(--font); color: var(--text); background: var(--background); border: 1px solid var(--primary); border-radius: 12px;
  box-shadow: 0 12px 40px rgba(0, 0, 0, 0.35); outline: none; }
.count { color: var(--muted); font-size: 0.88em; }
h2 { margin: 0 0 4px; font-size: 1.15em; line-height: 1.25; font-weight: 650; }
p { margin: 0 0 8px; }
.task { padding-inline-start: 10px; border-inline-start: 4px solid var(--primary); font-weight: 600; }
.task.done::before { content: "✓ "; }
.buttons { display: flex; align-items: center; gap: 8px; margin-top: 10px; }
.buttons span { flex: 1; }
button { font: inherit; font-size: 0.95em; color: inherit; padding: 5px 14px; cursor: pointer; background: none; border: 1px solid var(--line); border-radius: 8px; }
button:hover { border-color: var(--primary); }
button:focus-visible { outline: 2.5px solid var(--primary); outline-offset: 2px; }
button.next { color: var(--background); background: var(--primary); border-color: var(--primary); font-weight: 600; }
button[hidden] { display: none; }
@media (prefers-reduced-motion: reduce) { .light { transition: none; } }
`;
const LIGHT_AND_CARD = `
<div class="light"></div>
<section class="card" role="dialog" aria-labelledby="title" aria-describedby="text" tabindex="-1" data-player-keys>
  <div class="count"></div><h2 id="title"></h2><p id="text"></p><p class="hint"></p><p class="task" aria-live="polite"></p>
  <div class="buttons">
    <button type="button" class="end">End</button><span></span>
    <button type="button" class="back">Back</button><button type="button" class="next">Next</button>
  </div>
</section>
`;
const BUTTON_STYLE = `
button { font: 400 0.875rem/1.6 var(--st-font, sans-serif); min-height: 2.2rem; padding: 0.1rem 0.65rem; cursor: pointer; white-space: nowrap;
  color: var(--st-text-color); background: var(--st-background-color); border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.5rem); }
button.new { border-color: var(--st-primary-color); box-shadow: inset 0 0 0 1px var(--st-primary-color); }
button:hover { border-color: var(--st-primary-color); }
button:focus-visible { outline: 2.5px solid var(--st-primary-color); outline-offset: 2px; }
`;

const session = {
  get taken() { try { return sessionStorage.getItem(TAKEN) !== null; } catch { return false; } },
  take() { try { sessionStorage.setItem(TAKEN, "1"); } catch { /* then it is offered once more */ } },
};

/** The player, which is in a shadow root of its own and may be replaced at any run. */
const player = () => {
  for (const node of document.querySelectorAll(".st-key-player_view *")) {
    const found = node.shadowRoot?.querySelector(".gv-player");
    if (found) return found;
  }
  return null;
};
const isSeen = (node) => {
  const box = node?.getBoundingClientRect();
  return Boolean(box && box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth);
};
const isWhole = (node) => {
  const box = node.getBoundingClientRect();
  return box.top >= HEADER && box.bottom <= innerHeight;
};

class Tour {
  constructor() {
    this.at = -1; // no stop: not under way
    this.stops = [];
    this.buttons = new Set();
    this.begun = false; // by the address
    this.isPressed = false;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.onKey = (event) => this.key(event);
    this.frame = () => this.follow();
  }

  get isUnderWay() { return this.at >= 0; }

  build() {
    this.host = document.createElement("div");
    const root = this.host.attachShadow({ mode: "open" });
    root.innerHTML = `<style>${STYLE}</style>${LIGHT_AND_CARD}`;
    const part = (selector) => root.querySelector(selector);
    [this.light, this.card, this.count, this.hint, this.task] = [".light", ".card", ".count", ".hint", ".task"].map(part);
    [this.title, this.text, this.back, this.next] = ["#title", "#text", ".back", ".next"].map(part);
    part(".end").addEventListener("click", () => this.end());
    this.back.addEventListener("click", () => this.go(this.at - 1));
    this.next.addEventListener("click", () => this.go(this.at + 1));
    this.card.addEventListener("pointerdown", () => { this.isPressed = true; });
    for (const type of ["pointerup", "pointercancel"]) window.addEventListener(type, () => { this.isPressed = false; }, true);
  }

  begin() {
    if (this.isUnderWay) return;
    session.take();
    if (!this.host) this.build();
    document.body.append(this.host);
    window.addEventListener("keydown", this.onKey, true);
    this.go(0);
    this.frame();
    this.dressButtons();
  }

  end() {
    if (!this.isUnderWay) return;
    this.at = -1;
    cancelAnimationFrame(this.raf);
    window.removeEventListener("keydown", this.onKey, true);
    this.host.remove();
    [...this.buttons].at(-1)?.focus();
  }

  go(at) {
    if (at < 0) return;
    if (at >= this.stops.length) return this.end();
    this.at = at;
    const stop = this.stops[at];
    this.count.textContent = `${at + 1} of ${this.stops.length}`;
    this.title.textContent = stop.title;
    this.text.textContent = stop.text;
    this.task.hidden = !stop.task;
    this.task.classList.remove("done");
    this.task.textContent = stop.task?.wish ?? "";
    this.isDone = false;
    this.before = null;
    this.scrolledTo = null;
    this.back.hidden = at === 0;
    this.next.textContent = at + 1 < this.stops.length ? "Next" : "Done";
    this.card.focus({ preventScroll: true });
  }

  key(event) {
    if (event.key !== "Escape") return;
    event.stopImmediatePropagation();
    event.preventDefault();
    this.end();
  }

  /** Follow the highlighted control in every frame: it may have moved or been replaced. */
  follow() {
    if (!this.isUnderWay) return;
    this.raf = requestAnimationFrame(this.frame);
    const stop = this.stops[this.at];
    const place = stop.in_player ? player() : document;
    const target = place?.querySelector(stop.lit) ?? null;
    this.dress();
    this.notice(stop, stop.in_player ? place : target);
    // In a narrow window the side bar is closed: then the button that opens it is highlighted.
    const isFolded = target !== null && !isSeen(target);
    const lit = isFolded ? document.querySelector("[data-testid=stExpandSidebarButton]") : target;
    this.hint.textContent = isFolded && lit ? "Open the side bar with the highlighted button." : "";
    this.hint.hidden = !this.hint.textContent;
    if (lit && this.scrolledTo !== lit) {
      this.scrolledTo = lit;
      if (!isWhole(lit)) this.bring(lit);
    }
    this.place(lit);
  }

  /** Scroll to the highlighted control: to the middle, or in a narrow window to the top, above the card. */
  bring(lit) {
    const behavior = this.still.matches ? "auto" : "smooth";
    const page = lit.getRootNode().host?.closest(SCROLLED) ?? lit.closest(SCROLLED);
    if (page && innerWidth < NARROW) page.scrollBy({ top: lit.getBoundingClientRect().top - HEADER - MARGIN, behavior });
    else lit.scrollIntoView({ block: "center", inline: "nearest", behavior });
  }

  notice({ task }, place) {
    if (!task || this.isDone || !place) return;
    const watched = place.querySelector(task.watched);
    let isDone;
    if (task.notice === "appears") isDone = watched !== null;
    else if (!watched) isDone = false;
    else if (task.notice === "value") isDone = watched.value === task.value;
    else {
      this.before ??= watched.textContent;
      isDone = watched.textContent !== this.before;
    }
    if (!isDone) return;
    this.isDone = true;
    this.task.classList.add("done");
    this.task.textContent = task.done;
  }

  place(lit) {
    this.light.hidden = !isSeen(lit);
    const card = this.card.getBoundingClientRect();
    const [right, bottom] = [innerWidth - card.width - MARGIN, innerHeight - card.height - MARGIN];
    // A click would be lost if the card moved between press and release.
    const put = ([x, y]) => { if (!this.isPressed) Object.assign(this.card.style, { left: `${x}px`, top: `${y}px` }); };
    if (!isSeen(lit)) return put([right, bottom]);
    const box = lit.getBoundingClientRect();
    const [top, left] = [Math.max(box.top - 4, 3), Math.max(box.left - 4, 3)];
    const size = [Math.min(box.right + 4, innerWidth - 3) - left, Math.min(box.bottom + 4, innerHeight - 3) - top];
    Object.assign(this.light.style, { left: `${left}px`, top: `${top}px`, width: `${Math.max(size[0], 0)}px`, height: `${Math.max(size[1], 0)}px` });
    const clamped = (x, y) => [Math.min(Math.max(x, MARGIN), Math.max(right, MARGIN)), Math.min(Math.max(y, MARGIN), Math.max(bottom, MARGIN))];
    const places = [[box.right + GAP, box.top], [box.left - card.width - GAP, box.top], [box.left, box.bottom + GAP],
      [box.left, box.top - card.height - GAP], [right, bottom], [right, MARGIN], [MARGIN, bottom]];
    // The place that hides least of the highlighted control; the first of equal ones.
    const overlap = (start, size, from, to) => Math.max(0, Math.min(start + size, to) - Math.max(start, from));
    const hidden = ([x, y]) => overlap(x, card.width, box.left, box.right) * overlap(y, card.height, box.top, box.bottom);
    return put(places.map(([x, y]) => clamped(x, y)).reduce((one, other) => (hidden(other) < hidden(one) ? other : one)));
  }

  /** Copy the colours of the page, which may change at any time. */
  dress() {
    const button = [...this.buttons].at(-1);
    if (!button) return;
    const style = getComputedStyle(button);
    const colours = { text: "text-color", background: "background-color", primary: "primary-color", line: "border-color", font: "font" };
    for (const [name, theme] of Object.entries(colours)) this.host.style.setProperty(`--${name}`, style.getPropertyValue(`--st-${theme}`));
    this.host.style.setProperty("--muted", style.color);
  }

  dressButtons() {
    for (const button of this.buttons) {
      button.textContent = session.taken ? "Tour" : "Take the tour";
      button.classList.toggle("new", !session.taken);
    }
  }

  /** Mount the button; return the function that removes it. */
  mount(root, { stops, start }) {
    this.stops = stops;
    clearTimeout(this.leaving);
    let button = root.querySelector("button");
    if (!button) {
      root.append(document.createRange().createContextualFragment(`<style>${BUTTON_STYLE}</style><button type="button"></button>`));
      button = root.querySelector("button");
      button.addEventListener("click", () => this.begin());
    }
    this.buttons.add(button);
    this.dressButtons();
    if (start && !this.begun) {
      this.begun = true;
      this.begin();
    }
    return () => {
      this.leaving = setTimeout(() => {
        for (const some of this.buttons) if (!some.isConnected) this.buttons.delete(some);
        if (this.buttons.size === 0) this.end();
      }, PATIENCE);
    };
  }
}

const tour = (globalThis.graftvizTour ??= new Tour());

export default ({ parentElement, data }) => tour.mount(parentElement, data);
