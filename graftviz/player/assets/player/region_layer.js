// How the certified region looks in the graph: lit ground under its nodes and edges, bars where edges are cut.

import { css, lerp, mix } from "../shared/core.js";

const GLOW_RATE = 9; // 1/s: how fast a node lights up or goes dark
const REVEAL_RATE = 26; // nodes per second in which a new region grows
const CUT_MARKS = 150; // more would hide what they mark
const OUTSIDE = 0.42; // opacity of nodes outside the region

export class RegionLayer {
  constructor(view) {
    this.view = view;
    this.clear(0);
  }

  clear(n) {
    this.glow = new Float32Array(n);
    this.target = new Float32Array(n);
    this.light = 0; // how far all others are dimmed, 0…1
    this.reveal = 0;
    this.of = null; // the node the reveal belongs to
    this.verdict = null;
  }

  get shown() {
    return this.view.app.region.lit;
  }

  /** What every node's glow and the dimming are heading for. */
  aim() {
    const region = this.shown;
    this.target.fill(0);
    if (!region) {
      this.of = null;
      return 0;
    }
    this.verdict = region.verdict;
    if (this.of !== region.node) [this.of, this.reveal] = [region.node, 1];
    const size = this.view.app.region.preview ?? Math.min(Math.floor(this.reveal), region.size);
    for (const i of region.nodes.slice(0, size)) this.target[i] = 1;
    return 1;
  }

  advance(seconds) {
    const aim = this.aim();
    const still = this.view.app.still;
    if (aim) this.reveal = still ? Infinity : Math.min(this.reveal + seconds * REVEAL_RATE, this.shown.size);
    const f = still ? 1 : 1 - Math.exp(-GLOW_RATE * seconds);
    this.moving = false;
    const approach = (now, goal) => {
      const next = Math.abs(goal - now) < 0.02 ? goal : lerp(now, goal, f);
      if (next !== goal) this.moving = true;
      return next;
    };
    for (let i = 0; i < this.glow.length; i++) this.glow[i] = approach(this.glow[i], this.target[i]);
    this.light = approach(this.light, aim);
    if (aim && this.reveal < this.shown.size) this.moving = true;
  }

  /** Opacity of a node: those outside the region step back. */
  opacity(i) {
    return 1 - (1 - OUTSIDE) * this.light * (1 - this.glow[i]);
  }

  /** How much farther out the ring of the chosen node lies, for the lit ground to end inside it. */
  get margin() {
    return this.light * (0.4 * this.view.unit + 3);
  }

  /** Whether an edge lies inside, or null where no region is on show. */
  holds(e) {
    const { log } = this.view;
    return this.light < 0.5 ? null : this.glow[log.sources[e]] > 0.5 && this.glow[log.targets[e]] > 0.5;
  }

  /** Colour of rim and cuts, and how strongly it fills: a region that proves nothing is grey and all but empty. */
  tone(palette) {
    const strength = { certified: 0.3, bounded: 0.17 }[this.verdict];
    return strength ? [palette.region, palette.dark ? strength + 0.1 : strength] : [palette.muted, 0.07];
  }

  /** One lit shape: discs under the nodes, bands under the edges between them, and a rim around both. */
  drawGround(context, palette) {
    if (this.light <= 0) return;
    const { log, now, screen, radius, unit, app } = this.view;
    const rim = 1.6 * app.type;
    const inside = [];
    for (let i = 0; i < log.n; i++) if (this.glow[i] > 0) inside.push(i);
    const inner = now.active.filter((e) => this.glow[log.sources[e]] > 0 && this.glow[log.targets[e]] > 0 && !log.isDropped(e, now.t));
    const size = (i) => (radius[i] + unit * 0.75 + 3.5) * this.glow[i];
    const [edge, strength] = this.tone(palette);
    for (const [extra, colour] of [[rim, edge], [0, mix(palette.background, edge, strength)]]) {
      context.fillStyle = context.strokeStyle = css(colour);
      context.lineCap = "round";
      for (const e of inner) {
        const [i, j] = [log.sources[e], log.targets[e]];
        context.beginPath();
        context.moveTo(screen[2 * i], screen[2 * i + 1]);
        context.lineTo(screen[2 * j], screen[2 * j + 1]);
        context.lineWidth = (unit * 0.9 + 4) * Math.min(this.glow[i], this.glow[j]) + 2 * extra;
        context.stroke();
      }
      context.beginPath();
      for (const i of inside) {
        context.moveTo(screen[2 * i] + size(i) + extra, screen[2 * i + 1]);
        context.arc(screen[2 * i], screen[2 * i + 1], size(i) + extra, 0, 7);
      }
      context.fill();
    }
    context.lineCap = "butt";
  }

  /** A bar across every edge that leaves the region, where it leaves. */
  drawCuts(context, palette) {
    if (this.light <= 0) return;
    const { log, now, screen, radius, unit, app } = this.view;
    const leaving = now.active.filter((e) => this.holds(e) === false && this.touches(e) && !log.isDropped(e, now.t));
    context.strokeStyle = css(this.tone(palette)[0], this.light);
    context.lineWidth = 2.2 * app.type;
    context.beginPath();
    for (const e of leaving.slice(0, CUT_MARKS)) {
      const [i, j] = this.glow[log.sources[e]] > 0.5 ? [log.sources[e], log.targets[e]] : [log.targets[e], log.sources[e]];
      const [dx, dy] = [screen[2 * j] - screen[2 * i], screen[2 * j + 1] - screen[2 * i + 1]];
      const length = Math.hypot(dx, dy) || 1;
      const away = radius[i] + unit * 0.75 + 3.5 + 4.5 * app.type;
      const half = 4 * app.type;
      const [x, y] = [screen[2 * i] + (dx / length) * away, screen[2 * i + 1] + (dy / length) * away];
      context.moveTo(x - (dy / length) * half, y + (dx / length) * half);
      context.lineTo(x + (dy / length) * half, y - (dx / length) * half);
    }
    context.stroke();
  }

  touches(e) {
    const { log } = this.view;
    return this.glow[log.sources[e]] > 0.5 || this.glow[log.targets[e]] > 0.5;
  }
}
