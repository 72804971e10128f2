// How edges look: active, new, taken out, missing, and how surely they were found.

import { clamp, css, lerp } from "../shared/core.js";

const KINDS = ["right", "wrong", "plain"];
const DOTS = 4000; // drawn for all missing edges together
const FAINTEST = 0.1; // opacity of an edge that no subsample found
const SURE_LEVELS = 7;
const GONE = 0.75; // opacity of an edge that was taken out in the shown step

export class EdgeLayer {
  constructor(view) {
    this.view = view;
    this.fresh = [];
  }

  get log() {
    return this.view.log;
  }

  segment(context, i, j) {
    const { screen } = this.view;
    context.moveTo(screen[2 * i], screen[2 * i + 1]);
    context.lineTo(screen[2 * j], screen[2 * j + 1]);
  }

  /** True edges not found yet. Every dot costs, so many long lines get sparser ones, or become thin lines. */
  drawMissing(context, palette) {
    const { screen, now } = this.view;
    let length = 0;
    context.beginPath();
    for (const [i, j] of this.log.header.truth) {
      if (this.log.edgeAt(i, j, now.t) >= 0) continue;
      this.segment(context, i, j);
      length += Math.abs(screen[2 * i] - screen[2 * j]) + Math.abs(screen[2 * i + 1] - screen[2 * j + 1]);
    }
    const period = Math.max(5, length / DOTS);
    const haze = period > 10;
    this.missingSample.classList.toggle("gv-line-haze", haze);
    context.lineWidth = haze ? 0.8 : 1.6;
    context.setLineDash(haze ? [] : [1.6, period - 1.6]);
    context.strokeStyle = css(palette.muted, (haze ? 0.3 : 0.75) * (1 - 0.6 * this.view.region.light));
    context.stroke();
    context.setLineDash([]);
  }

  kindOf(e) {
    if (!this.log.truth) return 2;
    return this.log.isTrue(this.log.sources[e], this.log.targets[e]) ? 0 : 1;
  }

  isShown(e) {
    const kind = this.kindOf(e);
    return kind === 2 || this.view.show[KINDS[kind]];
  }

  width(e) {
    const { now, then, part, camera } = this.view;
    const share = (snapshot) => (snapshot.norms[e] ?? 0) / (snapshot.topNorm || 1);
    const strength = lerp(share(then), share(now), part);
    const base = clamp(10 / Math.sqrt(this.log.n) + 0.45, 0.7, 2.1) * camera.zoom ** 0.35;
    return base * (0.45 + 1.75 * Math.sqrt(strength));
  }

  /** How surely an edge was found, in levels; the highest where that is not known or not asked. */
  sureness(e) {
    const { log } = this;
    if (!this.view.show.stability || !log.stability || !log.stability.of) return SURE_LEVELS;
    return Math.round((SURE_LEVELS * log.timesFound(log.sources[e], log.targets[e])) / log.stability.of);
  }

  opacity(level) {
    return FAINTEST + (1 - FAINTEST) * (level / SURE_LEVELS) ** 1.5;
  }

  draw(context, palette, p, before) {
    const { log, view } = this;
    const { now, part } = view;
    const chosen = view.app.selection;
    const buckets = new Map();
    const fresh = [];
    const gone = [];
    for (let e = 0; e < log.made[now.t]; e++) {
      if (!this.isShown(e)) continue;
      // Taken out in the shown step, or by the final fit: fading, and marked while it is shown.
      if (log.died[e] >= before && log.died[e] <= now.t) gone.push(e);
      else if (log.isDropped(e, now.t)) gone.push(e);
      if (log.died[e] <= now.t || log.isDropped(e, now.t)) continue;
      // Lit while it arrives or grows and while its step is shown, fading as the next one comes.
      if (log.grewAt(e, now.t) >= before) fresh.push(e);
      if (log.born[e] > before) continue;
      const touches = view.region.holds(e) ?? (!chosen || this.touches(e, chosen));
      const level = Math.min(Math.round(this.width(e) * 2.5), 63);
      const key = (((this.kindOf(e) * 64 + level) * 8 + this.sureness(e)) * 2 + this.isPartial(e)) * 2 + touches;
      const bucket = buckets.get(key);
      if (bucket) bucket.push(e);
      else buckets.set(key, [e]);
    }
    for (const [key, edges] of [...buckets].sort((a, b) => (a[0] & 1) - (b[0] & 1))) {
      const alpha = (key & 1 ? 0.82 : 0.16) * this.opacity((key >> 2) & 7);
      this.stroke(context, palette, edges, key >> 11, ((key >> 5) & 63) / 2.5, alpha);
    }
    for (const e of gone) {
      const dropped = log.isDropped(e, now.t);
      const leaving = !dropped && log.died[e] > before;
      const after = dropped ? 0 : clamp(p - log.died[e], 0, 1);
      this.drawGone(context, palette, e, leaving ? 1 - part : 0, (leaving ? part : 1) * (1 - after));
    }
    for (const e of fresh) {
      const arriving = log.born[e] > before;
      const since = log.grewAt(e, now.t);
      const light = since > before ? part : 1 - clamp(p - since, 0, 1);
      context.beginPath();
      this.segment(context, log.sources[e], log.targets[e]);
      for (const [colour, wider] of [[palette.rim, 1.8], [palette.step, 0]]) {
        context.strokeStyle = css(colour, light);
        context.lineWidth = this.width(e) + 4 + 4 * light + wider;
        context.stroke();
      }
      if (arriving || light > 0.5) {
        this.stroke(context, palette, [e], this.kindOf(e), this.width(e), arriving ? part : 1);
      }
    }
    this.fresh = fresh;
    this.drawChosenPair(context, palette);
  }

  /** An edge on its way out: the edge it was, as far as it is still there, then dashes with a cross. */
  drawGone(context, palette, e, left, mark) {
    const { screen } = this.view;
    const [i, j] = [this.log.sources[e], this.log.targets[e]];
    if (left > 0) this.stroke(context, palette, [e], this.kindOf(e), this.width(e), 0.82 * left);
    if (mark <= 0) return;
    context.beginPath();
    this.segment(context, i, j);
    context.setLineDash([3, 5]);
    context.lineWidth = 1.6;
    context.strokeStyle = css(palette.muted, GONE * mark);
    context.stroke();
    context.setLineDash([]);
    const [x, y] = [(screen[2 * i] + screen[2 * j]) / 2, (screen[2 * i + 1] + screen[2 * j + 1]) / 2];
    context.beginPath();
    for (const slope of [1, -1]) {
      context.moveTo(x - 5, y - 5 * slope);
      context.lineTo(x + 5, y + 5 * slope);
    }
    context.lineWidth = 2.4;
    context.strokeStyle = css(palette.text, 0.9 * mark);
    context.stroke();
  }

  /** Whether only some of its joint states are active. */
  isPartial(e) {
    return this.log.isPartial(e, this.view.now.t);
  }

  touches(e, { kind, i, j }) {
    const [a, b] = [this.log.sources[e], this.log.targets[e]];
    return kind === "node" ? a === i || b === i : (a === i && b === j) || (a === j && b === i);
  }

  /** Edges of one look, all partial or none: false ones are dashed, of partial ones every gap holds a dot. */
  stroke(context, palette, edges, kind, width, alpha) {
    const dash = 6 + 2 * width;
    const gap = kind === 1 ? 3 + 1.5 * width : 2 + 0.7 * width;
    const dotted = this.isPartial(edges[0]) ? [dash, gap, 1.2 + 0.3 * width, gap] : null;
    context.beginPath();
    for (const e of edges) this.segment(context, this.log.sources[e], this.log.targets[e]);
    context.lineWidth = Math.max(width, 0.5);
    context.setLineDash(dotted ?? (kind === 1 ? [dash, gap] : []));
    context.strokeStyle = css(palette[KINDS[kind]], alpha);
    context.stroke();
    context.setLineDash([]);
  }

  /** The pair being inspected, or the one under the pointer. */
  drawChosenPair(context, palette) {
    const { app, hover, now } = this.view;
    const { selection } = app;
    const pairs = [];
    if (selection && selection.kind !== "node") pairs.push([selection.i, selection.j, 1]);
    if (hover && hover.edge) pairs.push([...hover.edge, 0.6]);
    for (const [i, j, alpha] of pairs) {
      const active = this.log.edgeAt(i, j, now.t) >= 0;
      context.beginPath();
      this.segment(context, i, j);
      context.setLineDash(active ? [] : [2, 5]);
      context.lineWidth = active ? 3 : 2;
      context.strokeStyle = css(palette.text, alpha);
      context.stroke();
      context.setLineDash([]);
    }
  }
}
