// Pointer, wheel and touch on the graph: pan, zoom, hover, choose. Returns the function that undoes it.

function attachGestures(view) {
  const { canvas, app } = view;
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
    hideTip();
  });

  on("pointermove", (event) => {
    const now = place(event);
    const last = pointers.get(event.pointerId);
    if (!last) {
      if (event.pointerType !== "touch") hoverAt(now);
      return;
    }
    pointers.set(event.pointerId, now);
    moved += Math.hypot(now[0] - last[0], now[1] - last[1]);
    if (pointers.size === 1) {
      // A hand is never quite still: below 4 px it is a click, not a drag.
      if (moved > 4) view.panBy(now[0] - last[0], now[1] - last[1]);
      return;
    }
    const [a, b] = [...pointers.values()];
    const distance = Math.hypot(a[0] - b[0], a[1] - b[1]);
    if (spread > 0 && distance > 0) view.zoomBy(distance / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
    spread = distance;
  });

  const release = (event) => {
    const known = pointers.delete(event.pointerId);
    spread = 0;
    if (known && event.type === "pointerup" && moved <= 4) chooseAt(place(event), event.shiftKey);
  };
  on("pointerup", release);
  on("pointercancel", release);
  on("pointerleave", hideTip);
  on("dblclick", (event) => view.zoomBy(event.shiftKey ? 0.5 : 2, ...place(event)));
  on("wheel", (event) => {
    // A page that scrolls must go on scrolling: zoom only when asked for, or after a click here.
    const focused = canvas.getRootNode().activeElement === canvas;
    if (!event.ctrlKey && !focused) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    view.zoomBy(Math.exp(-clamp(event.deltaY * unit, -120, 120) * (event.ctrlKey ? 0.006 : 0.0022)), ...place(event));
  }, { passive: false });
  on("keydown", (event) => {
    const keys = { "+": 1.4, "=": 1.4, "-": 1 / 1.4 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (keys[event.key]) view.zoomBy(keys[event.key]);
    else if (event.key === "0") view.resetCamera();
    else if (event.key === "Escape") app.select(null);
    else return;
    event.preventDefault();
  });

  function chooseAt([x, y], shift) {
    if (!view.log) return;
    const node = view.nodeAt(x, y);
    const first = app.selection;
    if (node >= 0) {
      if (shift && first && first.kind === "node" && first.i !== node) app.selectPair(first.i, node);
      else app.select({ kind: "node", i: node });
      return;
    }
    const pair = view.pairAt(x, y);
    if (pair) app.selectPair(pair.i, pair.j);
    else app.select(null);
  }

  function hoverAt([x, y]) {
    if (!view.log || !view.now) return;
    const node = view.nodeAt(x, y);
    const pair = node < 0 ? view.pairAt(x, y) : null;
    const hover = node >= 0 ? { node } : pair ? { edge: [pair.i, pair.j] } : null;
    const changed = JSON.stringify(hover) !== JSON.stringify(view.hover);
    view.hover = hover;
    canvas.classList.toggle("gv-pointing", hover !== null);
    if (changed) app.wake();
    if (!hover) return hideTip();
    const { log } = view;
    const t = app.shown;
    if (node >= 0) {
      const { degree, hub } = log.nodeFacts(node, t);
      replaceChildren(view.tip, h("b", {}, isolated(shorten(log.name(node), 60))), ` · degree ${degree}${hub ? " · hub" : ""}`);
    } else {
      const status = { true: " · true edge", false: " · not a true edge", null: "" }[String(log.isTrue(pair.i, pair.j))];
      const edge = log.edgeAt(pair.i, pair.j, t);
      const fact = edge < 0 ? " · not active" : ` · since step ${log.born[edge]} · weight ${format(log.normAt(edge, t))}`;
      const times = log.timesFound(pair.i, pair.j);
      const found = times === null ? "" : ` · in ${times} of ${log.stability.of} subsamples`;
      replaceChildren(view.tip, h("b", {}, isolated(shorten(log.name(pair.i), 30)), " – ", isolated(shorten(log.name(pair.j), 30))), fact + status + found);
    }
    view.tip.hidden = false;
    const { width, height } = view.surface;
    const { offsetWidth, offsetHeight } = view.tip;
    view.tip.style.left = `${clamp(x + 14, 4, Math.max(4, width - offsetWidth - 4))}px`;
    view.tip.style.top = `${y + 18 + offsetHeight > height ? y - offsetHeight - 10 : y + 18}px`;
  }

  function hideTip() {
    view.tip.hidden = true;
    if (view.hover) {
      view.hover = null;
      app.wake();
    }
  }

  return () => abort.abort();
}
