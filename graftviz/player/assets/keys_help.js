// The table of keys, shown for "?".

const KEYS_PLAY = [["space", "play, pause"], ["← →", "one step back, one step on"], ["shift ← →", "ten steps"], ["Home End", "to the start, to the end"], ["?", "this table"]];
const KEYS_GRAPH = [["↓ ↑ or n p", "the next variable, the one before"], ["+ − 0", "nearer, farther, all of it"], ["shift and arrows", "move the picture"], ["Esc", "choose nothing"]];
const KEYS_MOVE = [["tab", "from picture to picture, and to all controls"]];

const KEYS_OF_PLAYER = [["Everywhere", [...KEYS_PLAY, ...KEYS_MOVE]], ["In the graph", [...KEYS_GRAPH, ["e, shift e", "the next edge of the chosen variable, the one before"]]],
  ["In the reservoir", [["↓ ↑ or n p", "the next candidate, the one before"]]]];

/** A dialog with groups of keys: [[title, [[keys, what they do], …]], …]. */
class KeysHelp {
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
