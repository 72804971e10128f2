// Parameters: untied values above, the K centres they are tied to below.

import { clamp, css, format, h, lerp, plural, smooth, Surface, ticks } from "../shared/core.js";
import { saveButton } from "../shared/save_picture.js";

export class PruneStrip {
  constructor(app) {
    this.app = app;
    this.count = h("span", { class: "gv-count" });
    this.holder = h("div", { class: "gv-chart gv-prune-strip" });
    this.element = h("section", { class: "gv-card gv-prune-tying", "aria-label": "Tied parameters" },
      h("header", {}, h("h3", {}, "Tied parameters"), this.count, saveButton(app, "parameters")), this.holder);
    this.surface = new Surface(this.holder, () => app.resized());
    this.surface.canvas.setAttribute("role", "img");
  }

  destroy() {
    this.surface.destroy();
  }

  draw() {
    const context = this.surface.begin();
    const { app } = this;
    if (!context || !app.log) return;
    const { palette, type, shown, part, log } = app;
    const { width, height } = this.surface;
    const record = log.at(shown);
    context.font = `${11.5 * type}px ${palette.font}`;
    context.textBaseline = "middle";
    if (!record || record.values.length === 0) {
      context.textAlign = "center";
      context.fillStyle = css(palette.muted);
      context.fillText("no parameters yet", width / 2, height / 2);
      return;
    }
    const { values, which, centres } = record;
    const [low, high] = [Math.min(values[0], ...centres), Math.max(values[values.length - 1], ...centres)];
    const margin = 14 * type;
    const x = (value) => margin + ((width - 2 * margin) * (value - low)) / (high - low || 1);
    const [top, bottom] = [12 * type, height - 40 * type];
    this.drawAxis(context, palette, [low, high], x, height - 9 * type, top, bottom);
    const fall = smooth(clamp(part * 1.4 - 0.2, 0, 1));
    const tick = 6 * type;
    const isTied = centres.length < record.parameters;
    const colours = [palette.objective, palette.precision];
    values.forEach((value, k) => {
      const colour = colours[which[k] % 2];
      const [from, to] = [x(value), x(centres[which[k]])];
      context.strokeStyle = css(colour, 0.85);
      context.lineWidth = 1.3;
      context.beginPath();
      context.moveTo(from, top - tick);
      context.lineTo(from, top + tick);
      context.stroke();
      if (!isTied) return;
      context.beginPath();
      context.moveTo(from, top + tick);
      context.lineTo(lerp(from, to, fall), lerp(top + tick, bottom, fall));
      context.strokeStyle = css(colour, 0.34);
      context.stroke();
    });
    if (isTied) this.drawCentres(context, palette, record, x, bottom, fall, colours);
  }

  drawAxis(context, palette, [low, high], x, y, top, bottom) {
    context.textAlign = "center";
    context.fillStyle = css(palette.muted);
    context.strokeStyle = css(palette.hairline);
    context.lineWidth = 1;
    for (const value of ticks(low, high, 6)) {
      const at = Math.round(x(value)) + 0.5;
      context.beginPath();
      context.moveTo(at, top);
      context.lineTo(at, bottom + 4);
      context.stroke();
      context.fillText(String(value).replace("-", "−"), at, y);
    }
  }

  /** A disc per centre, its area the number of parameters, with its value where there is room. */
  drawCentres(context, palette, { centres, sizes }, x, y, fall, colours) {
    const { type } = this.app;
    const most = Math.max(...sizes, 1);
    context.globalAlpha = fall;
    let free = -Infinity;
    centres.forEach((centre, k) => {
      context.beginPath();
      context.arc(x(centre), y, (2.5 + 5 * Math.sqrt(sizes[k] / most)) * type, 0, 7);
      context.fillStyle = css(colours[k % 2]);
      context.fill();
      context.lineWidth = 1.5;
      context.strokeStyle = css(palette.background);
      context.stroke();
    });
    context.font = `600 ${11 * type}px ${palette.font}`;
    context.textAlign = "center";
    context.fillStyle = css(palette.text);
    centres.forEach((centre, k) => {
      const text = centre.toFixed(2).replace("-", "−");
      const half = context.measureText(text).width / 2;
      const at = clamp(x(centre), half + 1, this.surface.width - half - 1);
      if (at - half < free + 4) return;
      context.fillText(text, at, y + 16 * type);
      free = at + half;
    });
    context.globalAlpha = 1;
  }

  describe() {
    const { log, shown } = this.app;
    const record = log.at(shown);
    const isTied = record && record.centres.length < record.parameters;
    this.count.textContent = !record ? "" : isTied
      ? `${plural(record.parameters, "parameter")} → K = ${plural(record.centres.length, "value")}`
      : `${plural(record.parameters, "parameter")}, not tied`;
    this.surface.canvas.setAttribute("aria-label", !record ? "No parameters yet."
      : isTied ? `${this.count.textContent}: ${record.centres.map((centre, k) => `${format(centre)} (${record.sizes[k]})`).join(", ")}` : this.count.textContent);
  }
}
