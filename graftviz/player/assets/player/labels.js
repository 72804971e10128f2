// Names beside nodes: the chosen ones always, then the largest that find room.

import { shorten, writeOver } from "../shared/core.js";

export class NodeLabels {
  constructor(view) {
    this.view = view;
    this.shown = new Set();
    this.widths = new Map();
  }

  clear() {
    this.shown.clear();
    this.widths.clear();
  }

  /** Who should be named: `first` in any case, `rest` in order of importance. */
  order() {
    const { app, log, hover, now, camera, byDegree } = this.view;
    const { selection } = app;
    const first = [];
    if (hover && hover.node !== undefined) first.push(hover.node);
    if (selection) first.push(selection.i, ...(selection.j === undefined ? [] : [selection.j]));
    const region = app.region.lit;
    const near = region ? region.nodes.slice(0, region.size) : selection && selection.kind === "node"
      ? log.nodeFacts(selection.i, now.t).partners.slice(0, 12).map((q) => q.node) : [];
    const few = log.n <= 40;
    const budget = few ? log.n : Math.min(Math.round(7 * camera.zoom ** 2), 160);
    const floor = few || camera.zoom > 2.2 ? 0 : 3;
    // Who is named already stays named a little longer: names should not flicker.
    const weight = (i) => now.degrees[i] + (this.shown.has(i) ? 2.5 : 0);
    const rest = byDegree.filter((i) => now.degrees[i] >= floor && this.onScreen(i));
    rest.sort((a, b) => weight(b) - weight(a) || a - b);
    return { first, rest: [...near, ...rest.slice(0, budget)] };
  }

  onScreen(i) {
    const { screen, surface } = this.view;
    const [x, y] = [screen[2 * i], screen[2 * i + 1]];
    return x > -20 && y > -10 && x < surface.width + 20 && y < surface.height + 10;
  }

  draw(context, palette) {
    const { app } = this.view;
    const { first, rest } = this.order();
    const size = 12 * app.type;
    context.font = app.font(12, "500");
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    const taken = [];
    const shown = new Set();
    const overlaps = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
    for (const [list, always] of [[first, true], [rest, false]]) {
      for (const i of list) {
        if (shown.has(i)) continue;
        const box = this.box(context, i, size);
        if (!always && taken.some((other) => overlaps(box, other))) continue;
        taken.push(box);
        shown.add(i);
        writeOver(context, palette, box.text, box.x, box.y + box.h / 2);
      }
    }
    this.shown = shown;
  }

  box(context, i, size) {
    const { log, radius, screen, surface, now, unit } = this.view;
    const text = shorten(log.name(i), 20);
    const key = `${size} ${text}`;
    if (!this.widths.has(key)) this.widths.set(key, context.measureText(text).width);
    const w = this.widths.get(key);
    const gap = radius[i] + (now.hubs[i] ? unit * 0.35 + 5 : 4);
    const right = screen[2 * i] + gap;
    const x = right + w < surface.width - 4 ? right : screen[2 * i] - gap - w;
    return { text, x, y: screen[2 * i + 1] - size * 0.6, w, h: size * 1.2 };
  }
}
