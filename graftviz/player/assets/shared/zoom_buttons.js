// Zoom buttons of graphs.

import { button, h, icon } from "./core.js";
import { saveButton } from "./save_picture.js";

/** Buttons that zoom a view of a graph, and the one that saves it under a name. */
export function zoomButtons(view, app, name) {
  return h("div", { class: "gv-zoom", role: "group", "aria-label": "Zoom" },
    button("Zoom in", icon("plus"), () => view.zoomBy(1.4)),
    button("Zoom out", icon("minus"), () => view.zoomBy(1 / 1.4)),
    button("Show the whole graph", icon("fit"), () => view.resetCamera()), saveButton(app, name));
}
