// Horizontal bars of shares.

import { clamp, h } from "../shared/core.js";

/** A part of a horizontal bar from one share to another, or a tick at one. */
export function barPart(kind, from, to) {
  const part = h("i", { class: kind });
  const [low, high] = [from, to ?? from].map((share) => 100 * clamp(share, 0, 1));
  part.style.left = `${low}%`;
  if (to !== undefined) part.style.width = `${high - low}%`;
  return part;
}

/** A horizontal bar of the given share, optionally with a tick at another one. */
export const meter = (share, tick) => h("span", { class: "gv-meter", "aria-hidden": "true" },
  barPart("gv-meter-bar", 0, share), tick === undefined ? null : barPart("gv-meter-tick", tick));

/** Bars with names and numbers: rows of [name, bar, number]. */
export const bars = (title, rows) => [h("h4", {}, title), h("div", { class: "gv-bars-rows" }, rows.flat())];
