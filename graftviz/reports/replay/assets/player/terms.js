// Terms of the glossary in the words of a step: the first occurrence of each is a button that opens its definition.
// GLOSSARY is defined before this script; see reports/replay/bundle.py.

import { button, fill, h, icon, replaceChildren } from "../shared/core.js";

const TERM_OF = new Map(GLOSSARY.flatMap((term) => term.forms.map((form) => [form, term])));
const quoted = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const longestFirst = (texts) => [...texts].sort((a, b) => b.length - a.length);
const TERM = new RegExp(`(?<![\\p{L}\\p{N}_-])(?:${longestFirst(TERM_OF.keys()).map(quoted).join("|")})(?![\\p{L}\\p{N}_]|-\\p{L})`, "giu");
const [GAP, TIMELINE] = [5, 70]; // px
const CUTS = [23, 29]; // where sentences may cut a long name

export class Terms {
  constructor(app, panel) {
    this.app = app;
    this.open = null; // the button whose definition is open
    this.names = null; // matches names that contain a term
    this.seen = new Set();
    this.text = h("div", { role: "status" });
    this.note = h("div", { class: "gv-term-note", hidden: true }, this.text,
      button(TEXT.terms.close, icon("close"), () => this.close(true)));
    this.panel = panel;
    panel.append(this.note);
    panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.open) return;
      event.stopPropagation();
      this.close(true);
    });
    panel.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !panel.contains(event.relatedTarget)) this.close();
    });
    panel.addEventListener("click", (event) => {
      if (this.open && !event.composedPath().some((part) => part === this.note || part === this.open)) this.close();
    });
  }

  /** Take the names and labels of a run, in which terms are not linked. */
  setRun({ header: { names, labels } }) {
    const excluded = new Set([...names, ...labels.flat()].map(String).filter((name) => name.search(TERM) >= 0));
    for (const name of [...excluded]) for (const cut of CUTS) excluded.add(name.slice(0, cut));
    this.names = excluded.size ? new RegExp(longestFirst(excluded).map(quoted).join("|"), "gu") : null;
  }

  /** Begin the words of another step. */
  begin() {
    const hadFocus = this.open !== null && this.open.matches(":focus");
    this.close();
    this.seen.clear();
    if (hadFocus) this.app.root.focus({ preventScroll: true });
  }

  /** A text as nodes, with a button for the first occurrence of each term. */
  link(text) {
    const taken = this.names ? [...text.matchAll(this.names)].map((name) => [name.index, name.index + name[0].length]) : [];
    const nodes = [];
    let at = 0;
    for (const found of text.matchAll(TERM)) {
      const [start, end] = [found.index, found.index + found[0].length];
      const term = TERM_OF.get(found[0].toLowerCase());
      if (!term || this.seen.has(term) || taken.some(([from, to]) => start < to && from < end)) continue;
      this.seen.add(term);
      const toggle = ({ currentTarget }) => (this.open === currentTarget ? this.close() : this.explain(currentTarget, term));
      nodes.push(text.slice(at, start), h("button",
        { type: "button", class: "gv-term", "aria-expanded": "false", title: TEXT.terms.ask, click: toggle }, found[0]));
      at = end;
    }
    nodes.push(text.slice(at));
    return nodes;
  }

  explain(node, { name, meaning, formula, read }) {
    this.close();
    // Playback stops while a definition is read.
    this.app.pause();
    this.open = node;
    node.setAttribute("aria-expanded", "true");
    this.note.hidden = false;
    replaceChildren(this.text, h("b", {}, name), h("p", {}, meaning),
      formula && h("p", { class: "gv-term-formula" }, formula), h("p", { class: "gv-muted" }, fill(TEXT.terms.read, { read })));
    // Below the word, or above it where the window or the timeline would cut it off.
    const [word, panel, note] = [node, this.panel, this.note].map((part) => part.getBoundingClientRect());
    const isAbove = word.bottom + note.height + GAP > innerHeight - TIMELINE && word.top - note.height - GAP > 0;
    this.note.style.top = `${(isAbove ? word.top - note.height - GAP : word.bottom + GAP) - panel.top}px`;
  }

  /** Close the definition; with `back`, its term gets the focus again. */
  close(back = false) {
    const node = this.open;
    if (!node) return;
    this.open = null;
    node.setAttribute("aria-expanded", "false");
    this.note.hidden = true;
    this.text.replaceChildren();
    if (back) node.focus();
  }
}
