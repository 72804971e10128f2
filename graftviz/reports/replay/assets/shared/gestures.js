// Pointer, wheel and touch on a graph: pan, zoom, point, choose.

import { clamp } from "./core.js";
import { attachKeys } from "./keys.js";

/** Call the methods of a graph at gestures on its canvas, and at keys; return the function that ends this. */
export function attachGestures(graph) {
  const { canvas } = graph;
  const pointers = new Map();
  const abort = new AbortController();
  const on = (type, listener, options) => canvas.addEventListener(type, listener, { signal: abort.signal, ...options });
  let moved = 0;
  let spread = 0;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, place(event));
    moved = pointers.size > 1 ? 99 : 0;
    spread = 0;
    canvas.setPointerCapture(event.pointerId);
    graph.pointTo(-1);
  });

  on("pointermove", (event) => {
    const now = place(event);
    const last = pointers.get(event.pointerId);
    if (!last) {
      if (event.pointerType !== "touch") graph.pointAt(...now);
      return;
    }
    pointers.set(event.pointerId, now);
    moved += Math.hypot(now[0] - last[0], now[1] - last[1]);
    if (pointers.size === 1) {
      // A hand is never quite still: below 4 px it is a click, not a drag.
      if (moved > 4) graph.panBy(now[0] - last[0], now[1] - last[1]);
      return;
    }
    const [a, b] = [...pointers.values()];
    const distance = Math.hypot(a[0] - b[0], a[1] - b[1]);
    if (spread > 0 && distance > 0) graph.zoomBy(distance / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
    spread = distance;
  });

  const release = (event) => {
    const wasPressed = pointers.delete(event.pointerId);
    spread = 0;
    if (wasPressed && event.type === "pointerup" && moved <= 4) graph.chooseAt(...place(event), event.shiftKey);
  };
  on("pointerup", release);
  on("pointercancel", release);
  // A finger leaves when it lifts: the tooltip of what it has pointed to stays.
  on("pointerleave", (event) => event.pointerType !== "touch" && graph.pointAt(NaN, NaN));
  on("dblclick", (event) => {
    event.preventDefault();
    graph.zoomBy(event.shiftKey ? 0.5 : 2, ...place(event));
  });
  on("wheel", (event) => {
    // Without a modifier key the page scrolls, also after a click on the graph.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    graph.zoomBy(Math.exp(-clamp(event.deltaY * unit, -120, 120) * 0.006), ...place(event));
  }, { passive: false });
  attachKeys(canvas, graph, abort.signal);
  return () => abort.abort();
}
