// Guide of a lesson or of the tour: a card beside the page, and an outline around a control of the page. It
// sends nothing to the server, blocks no control, and stays when another page is opened. Its texts and
// conditions are in reports/words/lessons.py. A stop has a text, a question to predict, something to do, and what
// it shows; the reached stop is in the address.

const LOOK_AGAIN = 200; // ms between two checks of the page
const [MARGIN, NARROW] = [10, 900]; // px; in a narrow window the card lies along its lower edge
const HEADER = 56; // px; it covers the page
const WIDTH = "21rem";
const HEIGHT = "42vh"; // in a narrow window
const PARAMETER = "lesson";
const PRESENT = "present"; // parameter of every address in presenter mode
const TOUR = "tour"; // belongs to one page, and ends with it
const STYLE = `
:host { all: initial; }
.light { position: fixed; z-index: 999999; pointer-events: none; border-radius: 12px; outline: 3px solid var(--primary); transition: all 0.25s ease-out; }
.card { position: fixed; z-index: 1000001; box-sizing: border-box; top: ${HEADER + 8}px; right: ${MARGIN}px; bottom: ${MARGIN}px; width: calc(${WIDTH} - ${2 * MARGIN}px);
  display: flex; flex-direction: column; font: 400 1rem/1.45 var(--font); color: var(--text); background: var(--background);
  border: 1px solid var(--primary); border-radius: 12px; outline: none; }
.text { flex: 1; overflow-y: auto; padding: 14px 16px 4px; }
.count { color: var(--muted); font-size: 0.88em; }
h2 { margin: 0 0 4px; font-size: 1.15em; line-height: 1.25; font-weight: 650; }
p { margin: 0 0 10px; }
.question { margin-bottom: 10px; }
.question p { margin: 0; font-weight: 600; }
.choices button { display: block; width: 100%; margin-top: 4px; padding: 4px 10px; text-align: start; }
.choices button[aria-pressed=true] { border: 2px solid var(--primary); }
.choices button.right::before { content: "✓ "; }
.task { padding-inline-start: 10px; border-inline-start: 4px solid var(--primary); font-weight: 600; }
.task.done::before { content: "✓ "; }
.buttons { display: flex; align-items: center; gap: 8px; padding: 8px 16px 12px; border-top: 1px solid var(--line); }
.buttons span { flex: 1; }
button, a.open { font: inherit; font-size: 0.95em; color: inherit; padding: 5px 14px; cursor: pointer; background: none; border: 1px solid var(--line); border-radius: 8px; }
a.open { display: inline-block; margin-bottom: 10px; color: var(--primary); text-decoration: none; }
button:hover, a.open:hover { border-color: var(--primary); }
:is(button, a):focus-visible { outline: 2.5px solid var(--primary); outline-offset: 2px; }
button.next.ready { color: var(--background); background: var(--primary); border-color: var(--primary); font-weight: 600; }
[hidden] { display: none !important; }
@media (max-width: ${NARROW}px) { .card { top: auto; left: ${MARGIN}px; width: auto; height: calc(${HEIGHT} - ${2 * MARGIN}px); } }
@media (prefers-reduced-motion: reduce) { .light { transition: none; } }
`;
/** The page makes room for the card. */
const PAGE_STYLE = `
@media (min-width: ${NARROW + 1}px) { .gv-guided [data-testid=stMainBlockContainer] { padding-right: ${WIDTH} !important; } }
@media (max-width: ${NARROW}px) { .gv-guided [data-testid=stMainBlockContainer] { padding-bottom: ${HEIGHT} !important; } }
`;
const CARD = `
<div class="light" hidden></div>
<section class="card" role="dialog" aria-labelledby="title" aria-describedby="text" tabindex="-1" data-player-keys>
  <div class="text">
    <div class="count"></div><h2 id="title"></h2><p id="text"></p><a class="open" hidden></a>
    <div class="question" role="group" aria-labelledby="question"><p id="question"></p><div class="choices"></div></div>
    <p class="hint" hidden></p><p class="task" aria-live="polite"></p><div class="reveal" aria-live="polite"><p class="verdict"></p><p class="finding"></p></div>
  </div>
  <div class="buttons"><button type="button" class="end"></button><span></span><button type="button" class="back"></button><button type="button" class="next"></button></div>
</section>
`;

const isSeen = (node) => {
  const box = node?.getBoundingClientRect();
  return Boolean(box && box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth);
};

/** Kinds of conditions of reports/words/lessons.py: functions of the condition, and of the text at the start of its stop. */
const CONDITIONS = {
  address: ({ what, value }) => new URLSearchParams(location.search).get(what) === value,
  reaches: ({ what, value }) => Number(new URLSearchParams(location.search).get(what) ?? NaN) >= Number(value),
  appears: ({ what }) => find(what) !== null,
  contains: ({ what, value }) => find(what)?.textContent.includes(value) ?? false,
  value: ({ what, value }) => find(what)?.value === value,
  changes({ what }, start) {
    const text = find(what)?.textContent;
    return text !== undefined && text !== (start.text ??= text);
  },
};

class Guide {
  constructor() {
    this.at = -1; // no stop: not under way
    this.stops = [];
    this.chosen = new Map(); // predictions by stop
    this.isDone = false;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.onKey = (event) => this.key(event);
    this.frame = () => this.follow();
  }

  get isUnderWay() { return this.at >= 0; }

  build() {
    this.host = document.createElement("div");
    const root = this.host.attachShadow({ mode: "open" });
    root.innerHTML = `<style>${STYLE}</style>${CARD}`;
    for (const name of ["light", "card", "text", "count", "open", "question", "choices", "hint", "task", "reveal", "verdict", "finding", "end", "back", "next"]) {
      this[name] = root.querySelector(`.${name}`);
    }
    [this.title, this.words, this.questionText] = ["#title", "#text", "#question"].map((selector) => root.querySelector(selector));
    this.end.addEventListener("click", () => this.leave());
    this.back.addEventListener("click", () => this.go(this.at - 1));
    this.next.addEventListener("click", () => this.goOn());
    this.pageStyle = document.createElement("style");
    this.pageStyle.textContent = PAGE_STYLE;
  }

  begin({ key, title, stops, at, labels }) {
    if (this.isUnderWay && this.name === key) return;
    if (!this.host) this.build();
    Object.assign(this, { name: key, heading: title, stops, labels, path: location.pathname });
    this.chosen.clear();
    [this.end.textContent, this.back.textContent] = [labels.end, labels.back];
    document.body.append(this.host);
    document.head.append(this.pageStyle);
    document.documentElement.classList.add("gv-guided");
    window.addEventListener("keydown", this.onKey, true);
    this.go(Math.min(at, stops.length - 1));
    clearInterval(this.watch);
    this.watch = setInterval(() => this.look(), LOOK_AGAIN);
    cancelAnimationFrame(this.raf);
    this.frame();
  }

  leave() {
    if (!this.isUnderWay) return;
    this.at = -1;
    cancelAnimationFrame(this.raf);
    clearInterval(this.watch);
    window.removeEventListener("keydown", this.onKey, true);
    this.host.remove();
    this.pageStyle.remove();
    document.documentElement.classList.remove("gv-guided");
    this.writeAddress(null);
  }

  /** Show the answer of the stop, or go to the next one. */
  goOn() {
    if (this.isShown || !this.stops[this.at].reveal) return this.go(this.at + 1);
    this.isGivenUp = true;
    return this.describe();
  }

  go(at) {
    if (at < 0) return;
    if (at >= this.stops.length) return this.leave();
    this.at = at;
    const stop = this.stops[at];
    this.count.textContent = `${this.heading} · ${at + 1} / ${this.stops.length}`;
    this.title.textContent = stop.title;
    this.words.textContent = stop.text;
    this.open.hidden = !stop.opens;
    this.open.textContent = this.labels.open;
    this.open.href = this.addressOf(stop.opens, at);
    this.questionText.textContent = stop.question;
    this.question.hidden = !stop.question;
    this.choices.replaceChildren(...stop.choices.map((text, k) => this.choice(text, k)));
    this.start = {};
    this.isDone = this.isGivenUp = false;
    this.scrolledTo = this.target = null;
    this.back.hidden = at === 0;
    this.describe();
    this.text.scrollTop = 0;
    this.card.focus({ preventScroll: true });
    this.look();
  }

  /** The address of a prepared view, at this stop, in the mode of the page. */
  addressOf(view, at) {
    const [page, query] = view.split("?");
    const parameters = new URLSearchParams(query);
    const own = new URLSearchParams(location.search);
    if (own.has(PRESENT)) parameters.set(PRESENT, own.get(PRESENT));
    parameters.set(PARAMETER, `${this.name}.${at + 1}`);
    return `./${page}?${parameters}`;
  }

  /** The button of an answer; after it, keys belong to the page again. */
  choice(text, k) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    button.addEventListener("click", () => {
      this.chosen.set(this.at, k);
      this.describe();
      this.card.focus({ preventScroll: true });
    });
    return button;
  }

  /** Show what belongs to the state of the stop: first the question, then the task, then what it showed. */
  describe() {
    const { labels, isDone, at } = this;
    const stop = this.stops[at];
    const chosen = this.chosen.get(at);
    const isAsked = stop.question !== "" && chosen === undefined;
    const isShown = this.isGivenUp || (!isAsked && (isDone || !stop.wish));
    this.isShown = isShown;
    this.task.hidden = !stop.wish || (isAsked && !isShown);
    this.task.textContent = stop.wish;
    this.task.classList.toggle("done", isDone);
    this.reveal.hidden = !isShown;
    this.verdict.hidden = chosen === undefined;
    this.verdict.textContent = chosen === stop.right ? labels.right : labels.wrong;
    this.finding.textContent = stop.reveal;
    [...this.choices.children].forEach((button, k) => {
      button.setAttribute("aria-pressed", String(k === chosen));
      button.classList.toggle("right", isShown && k === stop.right);
      button.disabled = isShown;
    });
    const isLast = at + 1 === this.stops.length;
    this.next.textContent = isShown ? (isLast ? labels.last : labels.next) : stop.reveal ? labels.answer : labels.skip;
    this.next.classList.toggle("ready", isShown);
    if (isShown && stop.reveal) this.reveal.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    if (event.key !== "Escape") return;
    event.stopImmediatePropagation();
    event.preventDefault();
    this.leave();
  }

  /** Check the condition of the task, and restore the address, which a page writes anew. */
  look() {
    if (this.name === TOUR && location.pathname !== this.path) return this.leave();
    const stop = this.stops[this.at];
    this.writeAddress(`${this.name}.${this.at + 1}`);
    this.dress();
    if (!this.target?.isConnected) this.target = stop.lit ? find(stop.lit) : null;
    if (this.isDone || this.task.hidden || !stop.condition) return undefined;
    this.isDone = CONDITIONS[stop.condition.kind](stop.condition, this.start);
    if (this.isDone) this.describe();
    return undefined;
  }

  writeAddress(value) {
    const url = new URL(location.href);
    if (url.searchParams.get(PARAMETER) === value) return;
    if (value === null) url.searchParams.delete(PARAMETER);
    else url.searchParams.set(PARAMETER, value);
    history.replaceState(history.state, "", url);
  }

  /** Follow the outlined control in every frame: it may have moved. */
  follow() {
    if (!this.isUnderWay) return;
    this.raf = requestAnimationFrame(this.frame);
    const { target } = this;
    // In a narrow window the side bar is closed: then the button that opens it is outlined.
    const isFolded = target !== null && !isSeen(target);
    const lit = isFolded ? document.querySelector("[data-testid=stExpandSidebarButton]") : target;
    this.hint.textContent = isFolded && lit ? this.labels.side_bar : "";
    this.hint.hidden = !this.hint.textContent;
    this.light.hidden = !isSeen(lit);
    if (this.light.hidden) return;
    const box = lit.getBoundingClientRect();
    if (this.scrolledTo !== lit) {
      this.scrolledTo = lit;
      if (box.top < HEADER || box.bottom > innerHeight) lit.scrollIntoView({ block: "nearest", behavior: this.still.matches ? "auto" : "smooth" });
    }
    const [left, top] = [Math.max(box.left - 4, 3), Math.max(box.top - 4, 3)];
    const [right, bottom] = [Math.min(box.right + 4, innerWidth - 3), Math.min(box.bottom + 4, innerHeight - 3)];
    Object.assign(this.light.style, { left: `${left}px`, top: `${top}px`, width: `${Math.max(right - left, 0)}px`, height: `${Math.max(bottom - top, 0)}px` });
  }

  /** Copy the colours of the page, which may change at any time. */
  dress() {
    if (!this.root?.isConnected) return;
    const style = getComputedStyle(this.root);
    const colours = { text: "text-color", background: "background-color", primary: "primary-color", line: "border-color", font: "font" };
    for (const [name, theme] of Object.entries(colours)) this.host.style.setProperty(`--${name}`, style.getPropertyValue(`--st-${theme}`));
    this.host.style.setProperty("--muted", style.color);
  }
}

const guide = (globalThis.graftvizGuide ??= new Guide());

export default ({ parentElement, data }) => {
  guide.root = parentElement.host ?? parentElement;
  if (data.begin !== guide.begun) {
    guide.begun = data.begin;
    guide.begin(data);
  }
};
