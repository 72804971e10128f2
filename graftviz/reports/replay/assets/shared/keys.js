// Keyboard control of pictures: key → method of the picture.

const KEY_ZOOM = { "+": 1.4, "=": 1.4, "-": 1 / 1.4 };
const KEY_PAN = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }; // px
const KEY_TURN = { n: 1, p: -1, ArrowDown: 1, ArrowUp: -1 };
const KEY_SIDEWAYS = { ArrowRight: 1, ArrowLeft: -1 }; // without a timeline, which has these keys
const KEY_PLAIN = { 0: "resetCamera", Enter: "enter", Escape: "leave", f: "openSearch" };

/** Method of a picture that a key calls, and its arguments. */
function keyCommand({ key, shiftKey }, isSideways) {
  if (isSideways && KEY_SIDEWAYS[key] && !shiftKey) return ["turn", KEY_SIDEWAYS[key]];
  if (shiftKey && KEY_PAN[key]) return ["panBy", ...KEY_PAN[key]];
  if (KEY_TURN[key]) return ["turn", KEY_TURN[key]];
  if (KEY_ZOOM[key]) return ["zoomBy", KEY_ZOOM[key]];
  if (key.toLowerCase() === "e") return ["turnEdge", shiftKey ? -1 : 1];
  return [KEY_PLAIN[key]];
}

/**
 * Let a canvas have the focus. Of the methods turn(±1), to the next or previous item, turnEdge(±1),
 * enter, leave, zoomBy, panBy, resetCamera and openSearch, a view defines those that it supports.
 */
export function attachKeys(canvas, view, signal) {
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application"); // so that screen readers pass the keys on
  canvas.setAttribute("aria-roledescription", "picture");
  if (view.turn) canvas.setAttribute("aria-keyshortcuts", "N P ArrowDown ArrowUp");
  canvas.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const [method, ...values] = keyCommand(event, view.isSideways);
    if (!view[method]) return;
    view[method](...values);
    event.preventDefault();
  }, { signal });
}

/** The index after (or before) another one, cyclic; from −1, the first (or the last). */
export function turned(place, step, count) {
  return place < 0 ? (step > 0 ? 0 : count - 1) : (place + step + count) % count;
}
