// Entries of legends.

import { h } from "./core.js";

/** An entry of a legend: a sample, given as element or class, and words. */
export function legendKey(sample, words, title) {
  return h("span", { class: "gv-key", title }, typeof sample === "string" ? h("i", { class: sample, "aria-hidden": "true" }) : sample, words);
}

/** An entry of a legend for lines: their colour by its name, and how they are drawn. */
export const lineKey = (words, colour, { style = "solid", width = 3, title } = {}) =>
  legendKey(h("i", { class: "gv-line", style: `border-top: ${width}px ${style} var(--gv-${colour})`, "aria-hidden": "true" }), words, title);

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
