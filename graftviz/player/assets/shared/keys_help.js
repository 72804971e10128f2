// The table of keys, shown for "?".

import { button, h, icon } from "./core.js";

export const KEYS_PLAY = [["space", "play, pause"], ["← →", "previous, next step"], ["shift ← →", "ten steps"], ["Home End", "first, last step"], ["?", "this table"]];
export const KEYS_GRAPH = [["↓ ↑ or n p", "next, previous variable"], ["+ − 0", "zoom in, out, fit"], ["shift and arrows", "pan"], ["Esc", "clear selection"]];
export const KEYS_MOVE = [["tab", "next figure or control"]];

export const KEYS_OF_PLAYER = [["Everywhere", [...KEYS_PLAY, ...KEYS_MOVE]], ["In the graph", [...KEYS_GRAPH, ["e, shift e", "next, previous edge of the selected variable"]]],
  ["In the reservoir", [["↓ ↑ or n p", "next, previous candidate"]]]];

/** A dialog with groups of keys: [[title, [[keys, what they do], …]], …]. */
export class KeysHelp {
  constructor(groups) {
    this.button = button("Keys", "?", () => this.show(), { title: "Keys (?)", class: "gv-keys-button", "aria-haspopup": "dialog" });
    const table = ([title, rows]) => h("section", {}, h("h4", {}, title),
      h("dl", {}, rows.map(([keys, text]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, text)]).flat()));
    this.dialog = h("dialog", { class: "gv-keys", "aria-label": "Keys" },
      h("header", {}, h("h3", {}, "Keys"), button("Close", icon("close"), () => this.dialog.close())),
      h("div", {}, groups.map(table)));
    // A click beside the table closes it, too.
    this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.dialog.close(); });
  }

  get isOpen() {
    return this.dialog.open;
  }

  show() {
    this.dialog.showModal();
  }
}
