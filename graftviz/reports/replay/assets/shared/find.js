// Search for a node of a graph by its name: a box over the picture.

import { button, fill, h, icon, integer } from "./core.js";
import { turned } from "./keys.js";

export class Find {
  found = []; // nodes whose names contain the text, the best match first
  place = -1; // of the shown one among them

  constructor(graph) {
    this.graph = graph;
    this.input = h("input", { type: "search", "aria-label": TEXT.find.name, placeholder: TEXT.find.name, autocomplete: "off", spellcheck: "false",
      input: () => this.search(), keydown: (event) => this.press(event) });
    this.words = h("span", { role: "status" });
    this.element = h("div", { class: "gv-find", role: "search", hidden: true }, this.input, this.words, button(TEXT.find.close, icon("close"), () => this.close()));
    this.button = button(TEXT.find.title, icon("find"), () => (this.element.hidden ? this.open() : this.close()), { "aria-expanded": "false", title: `${TEXT.find.title} (f)` });
  }

  open() {
    this.element.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.input.focus();
    this.input.select();
  }

  close() {
    this.element.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    this.graph.canvas.focus({ preventScroll: true });
  }

  search() {
    const { graph, input } = this;
    const text = input.value.trim().toLowerCase();
    const names = graph.at.map((_, i) => String(graph.name(i)).trim().toLowerCase());
    const distance = (i) => (names[i] === text ? 0 : names[i].startsWith(text) ? 1 : 2);
    this.found = text ? [...names.keys()].filter((i) => names[i].includes(text)).sort((a, b) => distance(a) - distance(b) || a - b) : [];
    this.place = -1;
    this.words.textContent = !text ? "" : this.found.length ? fill(TEXT.find.found, { count: integer(this.found.length) }) : TEXT.find.none;
  }

  press(event) {
    event.stopPropagation(); // keys of the timeline are text here
    const step = { Enter: event.shiftKey ? -1 : 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.close();
    else if (step) this.turn(step);
    else return;
    event.preventDefault();
  }

  /** Show the next or previous match. */
  turn(step) {
    if (this.found.length === 0) return;
    this.place = turned(this.place, step, this.found.length);
    this.words.textContent = fill(TEXT.find.place, { place: integer(this.place + 1), count: integer(this.found.length) });
    this.graph.find(this.found[this.place]);
  }
}
