// The table of keys, shown for "?".

import { button, fill, h, icon } from "./core.js";

export const KEY_CLEAR = ["Esc", TEXT.keys.clear];

/** The keys that go through some items. */
export const turnKeys = (item) => [TEXT.keys.turn_keys, fill(TEXT.keys.turn, { item })];

/** The keys of a graph, whose nodes are called `item`. */
export const graphKeys = (item = TEXT.keys.variable) => [turnKeys(item), ...TEXT.keys.graph, KEY_CLEAR];

/** A dialog with groups of keys, besides those that act everywhere: [[title, [[keys, what they do], …]], …]. */
export class KeysHelp {
  constructor(groups) {
    this.button = button(TEXT.keys.title, "?", () => this.show(), { title: `${TEXT.keys.title} (?)`, class: "gv-keys-button", "aria-haspopup": "dialog" });
    const table = ([title, rows]) => h("section", {}, h("h4", {}, title),
      h("dl", {}, rows.map(([keys, text]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, text)]).flat()));
    this.dialog = h("dialog", { class: "gv-keys", "aria-label": TEXT.keys.title },
      h("header", {}, h("h3", {}, TEXT.keys.title), button(TEXT.keys.close, icon("close"), () => this.dialog.close())),
      h("div", {}, [[TEXT.keys.everywhere, TEXT.keys.always], ...groups].map(table)));
    // A click beside the table closes it, too.
    this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.dialog.close(); });
  }

  show() {
    this.dialog.showModal();
  }
}
