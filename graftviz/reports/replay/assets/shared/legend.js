// Entries of legends.

import { h } from "./core.js";

/** An entry of a legend: a sample, given as element or class, and words. */
export function legendKey(sample, words, title) {
  return h("span", { class: "gv-key", title }, typeof sample === "string" ? h("i", { class: sample, "aria-hidden": "true" }) : sample, words);
}

/** The border of an element that looks like a line: its colour by its name, and how it is drawn. */
export const lineBorder = (colour, { style = "solid", width = 3 } = {}) => `border-top: ${width}px ${style} var(--gv-${colour})`;

/** A short piece of line, for legends. */
export const lineSample = (colour, look) => h("i", { class: "gv-line", style: lineBorder(colour, look), "aria-hidden": "true" });

/** An entry of a legend for lines. */
export const lineKey = (words, colour, { title, ...look } = {}) => legendKey(lineSample(colour, look), words, title);

/** An entry of a legend for a scale of colours, with the words of its ends; `kind` is the class of its sample. */
export class Ramp {
  constructor(words = "", title = null, kind = "gv-ramp") {
    this.ends = [h("span"), h("span")];
    this.element = h("span", { class: "gv-key", title }, words, this.ends[0], h("i", { class: kind, "aria-hidden": "true" }), this.ends[1]);
  }

  set(...ends) {
    ends.forEach((text, k) => { this.ends[k].textContent = text; });
  }
}
