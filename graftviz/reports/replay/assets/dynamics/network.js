// The influence network: an arrow from each parent to its series; seeds are squares.

import { clamp, h, integer, listed, plural, replaceChildren, shorten, smooth } from "../shared/core.js";
import { Graph, lit } from "../shared/graph.js";
import { turned } from "../shared/keys.js";
import { legendKey, lineKey } from "../shared/legend.js";

const NETWORK_MOST = 700; // largest number of arrows drawn, the strongest ones
const NETWORK_ROOM = 40; // px between nodes from which on all names are shown
const NETWORK_SPARE = 3; // rejected candidates shown, besides the chosen ones
const NETWORK_LISTED = 6; // series without a seed that are named

export class DynamicsNetwork extends Graph {
  constructor(app) {
    super(app);
    this.count = h("span", { class: "gv-count" });
    this.silent = h("p", { class: "gv-muted", dir: "auto", hidden: true });
    this.element = this.card("gv-dynamics-network", "Influence network", "network");
  }

  // ------------------------------------------------------------------------------------- pointer

  fact(node) {
    const { log, shown } = this.app;
    const row = log.rowOf(node, shown);
    const kind = { seed: "seed · ", uncovered: "without a seed · " }[log.kindOf(node)] ?? "";
    return kind + (row ? plural(row.parents.length, "parent") : "row not learned yet");
  }

  choose(node) {
    if (node >= 0) this.app.choose(node);
    else this.leave();
  }

  leave() {
    if (this.app.chosen !== null) this.app.choose(null);
  }

  /** By keyboard: the next or previous series. */
  turn(step) {
    const { app } = this;
    if (app.log) app.choose(turned(app.chosen ?? -1, step, app.log.n));
  }

  // ------------------------------------------------------------------------------------- drawing

  /** Evidence for the selected series, unless it is a seed or no seed is driven by it. */
  get evidence() {
    const { log, shown, chosen } = this.app;
    if (chosen === null || !log.run.seeded || log.kindOf(chosen) === "seed") return null;
    const found = log.evidence(chosen, shown);
    return found.voters.length ? found : null;
  }

  scene(palette) {
    const found = this.evidence;
    return [this.arrows(palette, found !== null), found ? this.votes(palette, found) : [], this.nodes(palette), this.namesOf(found)];
  }

  /** Arrows to draw at a step: the strongest, those of the newest row and of the selected series. */
  visible() {
    const { log, shown, chosen } = this.app;
    const all = log.edges.slice(0, log.edgesAt(shown));
    if (all.length <= NETWORK_MOST) return all;
    const least = all.map(({ size }) => Math.abs(size)).sort((a, b) => b - a)[NETWORK_MOST];
    return all.filter(({ size, source, target, born }) => Math.abs(size) > least || born === shown || source === chosen || target === chosen);
  }

  arrows(palette, hasEvidence) {
    const { log, shown, chosen, part } = this.app;
    const edges = this.visible();
    const crowd = clamp(260 / Math.max(edges.length, 1), 0.22, 0.8);
    return edges.map(({ source, target, size, value, born }) => {
      const isNew = born === shown && chosen === null;
      const isOwn = !hasEvidence && (target === chosen || source === chosen);
      const width = (0.7 + 2.6 * clamp(Math.abs(size) / log.full, 0.08, 1)) * Math.min(1, this.unit / 4.5);
      const alpha = chosen === null ? (isNew ? 1 : crowd) : isOwn ? (target === chosen ? 1 : 0.5) : 0.09;
      const arrow = { arrow: [source, target], width, grow: isNew ? smooth(part) : 1 };
      return [isNew && lit(palette, { ...arrow, head: false }, 3.8), { ...arrow, line: value < 0 ? palette.repel : palette.attract, alpha }].flat();
    });
  }

  /** For the selected series: the seeds it drives, and their two-step ancestors. */
  votes(palette, { j, voters, ranked }) {
    const top = ranked.length ? ranked[0].score : 1;
    const spare = ranked.filter(({ taken }) => !taken).slice(0, NETWORK_SPARE);
    const colour = (isTrue) => (isTrue === false ? palette.wrong : isTrue ? palette.right : palette.text);
    return [
      ...voters.filter((seed) => seed !== j).map((seed) => ({ arrow: [j, seed], line: palette.region, alpha: 0.9, width: 3 })),
      ...[...spare, ...ranked.filter(({ taken }) => taken)].map(({ u, score, taken, isTrue }) => ({ arrow: [u, j], width: 1 + (3 * score) / top,
        ...(taken ? { line: colour(isTrue), alpha: 0.95, dash: [7, 4] } : { line: palette.muted, alpha: 0.7, dash: [1.5, 4] }) })),
    ];
  }

  nodes(palette) {
    const { log, shown, chosen } = this.app;
    const newest = shown > 0 && chosen === null ? [log.rows[shown - 1].node] : [];
    const halo = { size: this.unit * 1.75 + 2, width: 1.2 };
    const discs = Array.from({ length: log.n }, (_, i) => {
      const isLearned = log.born[i] > 0 && log.born[i] <= shown;
      const kind = log.kindOf(i);
      const [shape, share, colour] = kind === "seed" ? ["square", 0.92, palette.text]
        : kind === "uncovered" ? [isLearned ? "diamond" : "disc", isLearned ? 1.25 : 1, palette.precision] : ["disc", 1, palette.plain];
      const look = isLearned ? { fill: i === this.hover ? palette.primary : colour, line: palette.background }
        : { fill: palette.background, line: kind === "seed" ? palette.text : palette.faint };
      return { nodes: [i], shape, size: share * this.unit, width: 1.5, ...look };
    });
    return [{ ...halo, nodes: newest, fill: palette.step, line: palette.rim },
      { ...halo, nodes: chosen === null ? [] : [chosen], fill: palette.primary }, ...discs];
  }

  namesOf(found) {
    const { log, shown, chosen } = this.app;
    const newest = shown > 0 ? log.rows[shown - 1] : null;
    const always = [chosen, this.hover, chosen === null && newest ? newest.node : null].filter((i) => i !== null && i >= 0);
    const near = found ? [...found.voters, ...found.ranked.filter(({ taken }) => taken).map(({ u }) => u)]
      : log.rowOf(chosen ?? newest?.node ?? 0, shown)?.parents ?? [];
    return { names: [...near.slice(0, 14), ...(this.spacing >= NETWORK_ROOM ? log.graph.names.keys() : [])], always, size: 11.5 };
  }

  // --------------------------------------------------------------------------------------- words

  describe() {
    const { log, shown } = this.app;
    const total = log.edgesAt(shown);
    this.count.textContent = total > NETWORK_MOST ? `${integer(NETWORK_MOST)} strongest of ${integer(total)} arrows` : "";
    this.count.hidden = total <= NETWORK_MOST;
    this.describeKeys();
    const silent = log.uncovered(shown).map((i) => log.name(i));
    this.silent.hidden = silent.length === 0;
    this.silent.title = silent.join(", ");
    this.silent.textContent = `Series without a seed: ${listed(silent.map((name) => shorten(name, 24)), NETWORK_LISTED)}.`;
    this.describeAs(`Influence network of ${plural(log.n, "series", "series")}: ${plural(total, "arrow")}, ${plural(Math.min(shown, log.ready), "row")} learned, `
      + `${plural(log.seeds.filter(({ born }) => born <= shown).length, "seed")}.`);
  }

  describeKeys() {
    const { log } = this.app;
    const hasEvidence = this.evidence !== null;
    const taken = "two-step ancestor: chosen";
    const dashed = { style: "dashed" };
    const chosen = log.truth ? [lineKey(`${taken}, true`, "right", dashed), lineKey("chosen, false", "wrong", dashed)] : [lineKey(taken, "text", dashed)];
    const keys = hasEvidence ? [lineKey("drives this seed", "region"), ...chosen, lineKey("not chosen", "muted", { style: "dotted", width: 2 })]
      : [lineKey("positive", "attract"), lineKey("negative", "repel"), legendKey("gv-dynamics-loop", "drives itself")];
    const seeds = log.run.seeded ? [legendKey("gv-dynamics-seed", "seed"), legendKey("gv-dynamics-uncovered", "series without a seed")] : [];
    replaceChildren(this.legend, ...keys, ...seeds, this.count, this.silent);
  }
}
