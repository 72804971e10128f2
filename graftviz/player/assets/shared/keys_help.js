// The table of keys, shown for "?".

import { button, h, icon } from "./core.js";

const KEYS_EVERYWHERE = [["space", "play, pause"], ["← →", "previous, next step"], ["shift ← →", "ten steps"],
  ["Home End", "first, last step"], ["?", "this table"], ["tab", "next figure or control"]];
export const KEY_CLEAR = ["Esc", "clear selection"];

/** The keys that go through some items. */
export const turnKeys = (item) => ["↓ ↑ or n p", `next, previous ${item}`];

/** The keys of a graph, whose nodes are called `item`. */
export const graphKeys = (item = "variable") => [turnKeys(item), ["+ − 0", "zoom in, out, fit"], ["shift and arrows", "pan"], ["f", "find by name"], KEY_CLEAR];

/** A dialog with groups of keys, besides those that act everywhere: [[title, [[keys, what they do], …]], …]. */
export class KeysHelp {
  constructor(groups) {
    this.button = button("Keys", "?", () => this.show(), { title: "Keys (?)", class: "gv-keys-button", "aria-haspopup": "dialog" });
    const table = ([title, rows]) => h("section", {}, h("h4", {}, title),
      h("dl", {}, rows.map(([keys, text]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, text)]).flat()));
    this.dialog = h("dialog", { class: "gv-keys", "aria-label": "Keys" },
      h("header", {}, h("h3", {}, "Keys"), button("Close", icon("close"), () => this.dialog.close())),
      h("div", {}, [["Everywhere", KEYS_EVERYWHERE], ...groups].map(table)));
    // A click beside the table closes it, too.
    this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.dialog.close(); });
  }

  show() {
    this.dialog.showModal();
  }
}
