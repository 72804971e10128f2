// Helpers every panel uses: numbers as text, elements, colours, and a canvas that follows its box.
// TEXT, the texts of the view by part, is defined before this script; see reports/replay/bundle.py.

export const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
export const lerp = (a, b, f) => a + (b - a) * f;
export const smooth = (f) => f * f * (3 - 2 * f);

/** A value on its way to a goal, which it reaches once it is near. */
export function approach(value, goal, share, near) {
  const next = lerp(value, goal, share);
  return Math.abs(next - goal) < near ? goal : next;
}

const spanOf = (values) => Math.max(...values) - Math.min(...values) || Math.abs(values[0]);

/** Numbers on their way to goals, which they reach once they are as near as `near(goals)`. */
export class Eased {
  values = null;
  moving = false;

  /** `rate`, in 1/s: how fast they close in. */
  constructor(app, rate, near = (goals) => 1e-3 * spanOf(goals)) {
    Object.assign(this, { app, rate, near });
  }

  /** Go on for some seconds; the first goals are reached at once. */
  advance(goals, seconds) {
    const share = this.app.progress(this.rate, seconds);
    const near = this.near(goals);
    this.values = this.values ? goals.map((goal, k) => approach(this.values[k], goal, share, near)) : goals;
    this.moving = this.values.some((value, k) => value !== goals[k]);
  }
}

const withMinus = (text) => text.replaceAll("-", "−");
const isMissing = (x) => x === null || x === undefined || !Number.isFinite(x);

/** A number with three significant digits, the zeros at the end included, or more from 1 on; "–" for null. */
export function format(x) {
  if (isMissing(x)) return "–";
  const size = Math.abs(x);
  const text = size >= 1e6 || (size < 1e-4 && size > 0) ? x.toExponential(size < 1 ? 1 : 2)
    : size >= 100 ? x.toLocaleString("en", { maximumFractionDigits: 1 })
      : size >= 1 ? x.toFixed(size >= 10 ? 2 : 3) : size ? x.toPrecision(3) : "0";
  return withMinus(text);
}

/** A number in as few characters as possible, for marks, axes and settings. */
export function brief(x, digits = 2) {
  if (isMissing(x)) return "–";
  const value = Number(x.toPrecision(digits));
  return withMinus(Math.abs(x) >= 1000 ? integer(x) : value && Math.abs(value) < 1e-4 ? value.toExponential() : String(value));
}
export const tickText = (x) => brief(x, 4);

/** A number as `format` writes it, with more digits where three do not show on which side of a limit it is. */
export function formatBeside(x, limit) {
  const sideOf = (value) => Math.sign(value - limit);
  const values = Array.from({ length: 14 }, (_, k) => Number(x.toPrecision(3 + k)));
  const found = values.findIndex((value) => sideOf(value) === sideOf(x));
  return found > 0 ? withMinus(String(values[found])) : format(x);
}

/** A bound on a probability with two digits, rounded up, so that it stays valid. */
export function boundText(bound) {
  if (bound <= 0) return "0";
  const unit = 10 ** (Math.floor(Math.log10(bound)) - 1);
  return brief(Math.min(1, Math.ceil(bound / unit - 1e-9) * unit));
}
/** A number with so many decimals; "–" if there is none. */
export const decimals = (x, digits = 3) => (isMissing(x) ? "–" : x.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
export const integer = (x) => (x === null || x === undefined ? "–" : Math.round(x).toLocaleString("en"));
export const plural = (n, one, many = `${one}s`) => `${integer(n)} ${n === 1 ? one : many}`;

/** A text of the catalogue, in parts: values in place of `{name}`, which may be nodes. */
export const textParts = (text, values) => text.split(/\{(\w+)\}/).map((part, k) => (k % 2 ? values[part] : part)).flat();
export const fill = (text, values) => textParts(text, values).join("");
/** Of a text for one and a text for several, the one for n, with n in place of `{n}`. */
export const counted = (n, [one, many], values = {}) => fill(n === 1 ? one : many, { n: integer(n), ...values });

/** The first of some words, and how many more there are. */
export const listed = (words, most, mark = ", ") => (words.length > most
  ? fill(TEXT.lists.more, { names: words.slice(0, most).join(mark), count: words.length - most }) : words.join(mark));

export function percent(part, whole) {
  if (!whole) return "0\u00a0%";
  const p = (100 * part) / whole;
  if (part < whole && p >= 99.5) return `${Math.min(99.9, Math.floor(10 * p) / 10)}\u00a0%`; // 100 means all
  return `${p > 0 && p < 10 ? Number(p.toPrecision(2)) : Math.round(p)}\u00a0%`;
}

/** Round values between low and high, at least two of them, about `count`, for an axis. */
export function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= raw * 0.999) || 10);
  const values = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-6; k++) {
    values.push(Number((k * step).toPrecision(12)));
  }
  return values.length > 1 || count > 8 ? values : ticks(low, high, count + 1);
}

/** An element with attributes (functions are listeners) and children; strings become text nodes. */
export function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else if (key === "style") node.style = value; // a policy for content may forbid the attribute
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** Text from data, isolated from the writing direction of its surroundings. */
export const isolated = (text, attributes) => h("bdi", attributes, String(text));

/** The names of a pair. */
export const pairWords = ([one, other], longest = 40) => [isolated(shorten(one, longest)), " – ", isolated(shorten(other, longest))];

export function replaceChildren(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child));
}

/** Give a panel other parts, whose elements fill a holder. */
export function setParts(panel, holder, parts) {
  for (const part of panel.parts) part.destroy();
  panel.parts = parts;
  holder.replaceChildren(...parts.map(({ element }) => element));
}

const ICONS = {
  play: "M7 4.5v15l12.5-7.5z",
  pause: "M7 5h3.6v14H7zM13.4 5H17v14h-3.6z",
  next: "M6 5v14l9-7zM16 5h2.6v14H16z",
  back: "M18 5v14l-9-7zM5.4 5H8v14H5.4z",
  start: "M4 5h2.4v14H4zM13.2 5v14L7 12zM20.6 5v14l-6.8-7z",
  end: "M17.6 5H20v14h-2.4zM10.8 5v14l6.2-7zM3.4 5v14l6.8-7z",
  plus: "M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z",
  minus: "M5 11h14v2H5z",
  fit: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
  find: "M10 3a7 7 0 0 1 5.600 11.200l5 5-1.400 1.400-5-5A7 7 0 1 1 10 3zm0 2a5 5 0 1 0 0 10 5 5 0 0 0 0-10z",
  close: "M6.4 5 12 10.6 17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6l5.6-5.6L5 6.4z",
  save: "M11 3h2v9.200l3.300-3.300 1.400 1.400L12 16l-5.700-5.700 1.400-1.400 3.300 3.300zM4 18h16v2H4z",
  branch: "M6 3h2v7.5c1-.9 2.4-1.5 4-1.5h2.2L12 6.8 13.4 5.4 18 10l-4.600 4.600L12 13.2l2.200-2.200H12c-2.400 0-4 1.600-4 4V21H6z",
};

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** An SVG picture that screen readers pass over, of shapes given as [tag, attributes]. */
export const drawing = (viewBox, ...shapes) => svg("svg", { viewBox, "aria-hidden": "true" }, ...shapes.map((shape) => svg(...shape)));
export const icon = (name) => drawing("0 0 24 24", ["path", { d: ICONS[name] }]);

export function button(label, content, onclick, extra) {
  const title = extra && extra.title ? extra.title : label;
  return h("button", { type: "button", "aria-label": label, click: onclick, ...extra, title }, content);
}

/** A row of buttons of which one is pressed; `choose(value)` reports a press; under `key` the value is remembered. */
export class Choice {
  constructor(label, options, value, choose, key = null) {
    this.buttons = new Map();
    this.element = h("div", { class: "gv-choice", role: "group", "aria-label": label });
    const press = (pressed) => {
      this.set(pressed);
      if (key) remembered.set(key, pressed);
      choose(pressed);
    };
    for (const [option, text, title] of options) this.buttons.set(option, h("button", { type: "button", title, click: () => press(option) }, text));
    this.element.append(...this.buttons.values());
    this.set(key ? remembered.get(key, value) : value);
  }

  set(value) {
    this.value = value;
    for (const [key, node] of this.buttons) node.setAttribute("aria-pressed", String(key === value));
  }
}

/** Settings that are stored in the browser, where it permits that. */
export const remembered = {
  get(key, otherwise) {
    try {
      const text = localStorage.getItem(`graftviz.${key}`);
      return text === null ? otherwise : JSON.parse(text);
    } catch {
      return otherwise;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(`graftviz.${key}`, JSON.stringify(value));
    } catch {
      // Private windows and file pages may refuse; the setting then lasts as long as the page.
    }
  },
};

// ---------------------------------------------------------------------------------- colours

const VIRIDIS = [
  [68, 1, 84], [72, 36, 117], [65, 68, 135], [53, 95, 141], [42, 120, 142], [33, 145, 140],
  [34, 168, 132], [68, 191, 112], [122, 209, 81], [189, 223, 38], [253, 231, 37],
];

export function viridis(f) {
  const x = clamp(f, 0, 1) * (VIRIDIS.length - 1);
  const k = Math.min(Math.floor(x), VIRIDIS.length - 2);
  return mix(VIRIDIS[k], VIRIDIS[k + 1], x - k);
}

/** Purple for negative, blue for positive, the paper's colour at zero; f in −1…1. */
export function diverging(f, palette) {
  const end = f < 0 ? palette.repel : palette.attract;
  return mix(palette.background, end, Math.min(Math.abs(f), 1) ** 0.8);
}

function parseColour(text, context) {
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = "#000";
  context.fillStyle = text;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
}

export const css = (c, alpha = 1) => `rgba(${c[0]},${c[1]},${c[2]},${alpha})`;

/** A fill of slanted stripes, for what has no value or no guarantee. */
export function hatching(context, colour, { apart = 5, width = 1, ground = "transparent" } = {}) {
  const size = 2 * apart;
  const tile = h("canvas", { width: size, height: size });
  const stripes = tile.getContext("2d");
  stripes.fillStyle = ground;
  stripes.fillRect(0, 0, size, size);
  stripes.lineWidth = 2 * width;
  stripes.strokeStyle = colour;
  stripes.stroke(new Path2D(`M${-size} ${size}L${size} ${-size}M0 ${size}L${size} 0M0 ${2 * size}L${2 * size} 0`));
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(0.5));
  return pattern;
}

/** Lines of pseudo-code, those that ran marked. */
export const codeLines = (lines, ran) => lines.map(({ key, indent, text }) => (
  h("li", { class: ran.includes(key) ? "gv-ran" : null, "aria-current": ran.includes(key) ? "step" : null, style: `--gv-indent: ${indent}` }, text)));

/** Text with a rim in the colour of the background, which is readable over lines. */
export function writeOver(context, palette, text, x, y, colour = palette.text) {
  context.lineJoin = "round";
  context.lineWidth = 3.5;
  context.strokeStyle = css(palette.background, 0.9);
  context.strokeText(text, x, y);
  context.fillStyle = css(colour);
  context.fillText(text, x, y);
}

export const mix = (a, b, f) => [0, 1, 2].map((k) => Math.round(lerp(a[k], b[k], f)));
export const luminance = (c) => {
  const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

// Okabe–Ito, darkened on light and lightened on dark backgrounds where the original has too little contrast.
// New items are bright: `step` inside a `rim` with contrast to the background.
const ON_LIGHT = {
  step: [240, 168, 0], rim: [158, 98, 0], right: [0, 138, 100], wrong: [202, 84, 0], plain: [92, 104, 122],
  objective: [0, 104, 168], precision: [176, 88, 142],
  attract: [0, 114, 178], repel: [158, 72, 118], region: [0, 114, 178], leaving: [196, 38, 46], arriving: [0, 130, 84],
};
const ON_DARK = {
  step: [255, 190, 46], rim: [255, 190, 46], right: [38, 190, 146], wrong: [244, 130, 56], plain: [150, 164, 184],
  objective: [98, 188, 240], precision: [222, 146, 190],
  attract: [86, 180, 233], repel: [196, 90, 150], region: [86, 180, 233], leaving: [255, 122, 112], arriving: [64, 208, 150],
};
const RACERS_ON_LIGHT = [[0, 104, 168], [202, 84, 0], [0, 138, 100], [176, 88, 142], [92, 98, 110], [148, 108, 0]];
const RACERS_ON_DARK = [[98, 188, 240], [244, 130, 56], [38, 190, 146], [222, 146, 190], [190, 198, 210], [240, 196, 70]];

/** Read the theme's colours from the style sheet as numbers a canvas can mix. */
export function readPalette(root) {
  const style = getComputedStyle(root);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const read = (name) => parseColour(style.getPropertyValue(name).trim(), context).slice(0, 3);
  const background = read("--gv-background");
  const text = read("--gv-text");
  const primary = read("--gv-primary");
  const dark = luminance(background) < 0.35;
  const series = dark ? ON_DARK : ON_LIGHT;
  const racers = dark ? RACERS_ON_DARK : RACERS_ON_LIGHT;
  for (const [name, colour] of Object.entries(series)) root.style.setProperty(`--gv-${name}`, css(colour));
  racers.forEach((colour, k) => root.style.setProperty(`--gv-racer-${k}`, css(colour)));
  root.style.setProperty("--gv-on-primary", luminance(primary) > 0.3 ? "#16181d" : "#ffffff");
  root.classList.toggle("gv-dark", dark);
  return {
    ...series,
    racers,
    dark,
    background,
    text,
    primary,
    muted: mix(background, text, 0.7),
    faint: mix(background, text, 0.5),
    outline: mix(background, text, 0.62),
    hairline: mix(background, text, 0.13),
    font: style.fontFamily || "sans-serif",
  };
}

/** A canvas that fills its holder and draws in CSS pixels at the screen's own resolution. */
export class Picture {
  static fine = 1; // times the screen's resolution: more while a picture is saved

  /** `kind` is the class of the holder. */
  constructor(app, kind) {
    this.app = app;
    this.canvas = h("canvas");
    this.canvas.picture = this;
    this.context = this.canvas.getContext("2d");
    this.width = this.height = 0;
    this.holder = h("div", { class: kind }, this.canvas);
    this.observer = new ResizeObserver(() => {
      if (this.measure()) app.resized();
    });
    this.observer.observe(this.holder);
    this.measure();
  }

  /** Set the text for screen readers. */
  describeAs(text) {
    this.canvas.setAttribute("aria-label", text);
  }

  measure() {
    const width = Math.floor(this.holder.clientWidth);
    const height = Math.floor(this.holder.clientHeight);
    const ratio = this.wantedRatio;
    if (width === this.width && height === this.height && ratio === this.ratio) return false;
    [this.width, this.height, this.ratio] = [width, height, ratio];
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    return true;
  }

  get wantedRatio() {
    return clamp((window.devicePixelRatio || 1) * Picture.fine, 1, 3);
  }

  /** A cleared context, or null while there is nothing to draw on. */
  begin() {
    if (this.wantedRatio !== this.ratio) this.measure();
    if (this.width < 2 || this.height < 2) return null;
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }

  destroy() {
    this.observer.disconnect();
  }
}

export function shorten(text, length) {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}
