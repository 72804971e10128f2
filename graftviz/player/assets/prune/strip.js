// Parameters: untied values above, the K centres they are tied to below.

import { Chart } from "../shared/chart.js";
import { clamp, css, format, h, lerp, plural, smooth, ticks, tickText } from "../shared/core.js";

export class PruneStrip extends Chart {
  constructor(app) {
    super(app, "gv-prune-strip");
    this.count = h("span", { class: "gv-count" });
    this.card("gv-prune-tying", "Tied parameters", "parameters", [h("h3", {}, "Tied parameters"), this.count]);
  }

  paint(context, palette) {
    const { type, shown, part, log } = this.app;
    const record = log.at(shown);
    if (!record || record.values.length === 0) return this.message("no parameters yet");
    const { values, which, centres, parameters } = record;
    const [low, high] = [Math.min(values[0], ...centres), Math.max(values.at(-1), ...centres)];
    this.axes([14, 14 * type, 12 * type, 40], [low, high], [0, 1]);
    const { x, plot: { top, bottom } } = this;
    this.drawAxis(context, palette, ticks(low, high, 6));
    const fall = smooth(clamp(part * 1.4 - 0.2, 0, 1));
    const tick = 6 * type;
    const isTied = centres.length < parameters;
    const colours = [palette.objective, palette.precision];
    values.forEach((value, k) => {
      const colour = colours[which[k] % 2];
      const at = x(value);
      this.line([[at, top - tick], [at, top + tick]], css(colour, 0.85), 1.3);
      if (isTied) this.line([[at, top + tick], [lerp(at, x(centres[which[k]]), fall), lerp(top + tick, bottom, fall)]], css(colour, 0.34), 1.3);
    });
    if (isTied) this.drawCentres(context, palette, record, fall, colours);
    return undefined;
  }

  drawAxis(context, palette, values) {
    const { top, bottom } = this.plot;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = css(palette.muted);
    for (const value of values) {
      const at = Math.round(this.x(value)) + 0.5;
      this.line([[at, top], [at, bottom + 4]], css(palette.hairline), 1);
      context.fillText(tickText(value), at, this.surface.height - 9 * this.app.type);
    }
  }

  /** A disc per centre, its area the number of parameters, with its value where there is room. */
  drawCentres(context, palette, { centres, sizes }, fall, colours) {
    const { type } = this.app;
    const { bottom } = this.plot;
    const most = Math.max(...sizes, 1);
    context.globalAlpha = fall;
    centres.forEach((centre, k) => {
      this.dot(this.x(centre), bottom, (2.5 + 5 * Math.sqrt(sizes[k] / most)) * type, css(colours[k % 2]), css(palette.background), 1.5);
    });
    context.font = this.app.font(11, "600");
    context.fillStyle = css(palette.text);
    let free = -Infinity;
    for (const centre of centres) {
      const text = tickText(Number(centre.toFixed(2)));
      const half = context.measureText(text).width / 2;
      const at = clamp(this.x(centre), half + 1, this.surface.width - half - 1);
      if (at - half < free + 4) continue;
      context.fillText(text, at, bottom + 16 * type);
      free = at + half;
    }
    context.globalAlpha = 1;
  }

  describe() {
    const record = this.app.log.at(this.app.shown);
    const isTied = record && record.centres.length < record.parameters;
    this.count.textContent = !record ? "" : plural(record.parameters, "parameter")
      + (isTied ? ` → K = ${plural(record.centres.length, "value")}` : ", not tied");
    this.describeAs(!record ? "No parameters yet." : [this.count.textContent, isTied
      ? record.centres.map((centre, k) => `${format(centre)} (${record.sizes[k]})`).join(", ") : ""].filter(Boolean).join(": "));
  }
}
