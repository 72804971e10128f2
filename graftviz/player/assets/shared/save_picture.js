// A card's pictures as one PNG file, on the paper of the page: what it is of, the words around it, its legend.

import { button, css, h, icon, Surface } from "./core.js";

const SAVE_FINE = 3; // pixels of the file for each pixel on the page
const SAVE_MARGIN = 14; // px
const SAVE_LEAST = 320; // px that what it is of may be wide
const SAVE_LEADING = 1.4; // times the size of type
const SAVE_APART = 6; // px between what it is of and the card
const SAVE_WORDS = "h3, .gv-count, .gv-race-numbers, .gv-readout > *, .gv-answer-row > *, .gv-key";
const SAVE_SAMPLES = ":is(.gv-key, .gv-count) > :is(i, svg), .gv-stack > i, svg.gv-racer-sample";
const COLOUR_WORDS = /(?:rgba?|color|oklab)\([^()]*\)/g;

/** Button that saves the drawing of its card; `legend()` returns entries of a legend outside it, as [sample, words]. */
export function saveButton(app, name, legend = () => []) {
  const node = button("Save this picture (PNG)", icon("save"), () => savePicture(app, node.closest(".gv-card, .gv-saved"), name, legend()), { class: "gv-save" });
  return node;
}

/** What stands beside words in a legend: a piece of line, a patch of colour, a ramp, a mark. */
function drawSample(context, sample, left, top) {
  const style = getComputedStyle(sample);
  const box = sample.getBoundingClientRect();
  const isTurned = style.transform !== "none";
  const [width, height] = isTurned ? [sample.offsetWidth, sample.offsetHeight] : [box.width, box.height];
  const rim = parseFloat(style.borderTopWidth);
  const middle = height / 2;
  context.save();
  context.translate((box.left + box.right) / 2 - left, (box.top + box.bottom) / 2 - top);
  if (isTurned) {
    const { a, b, c, d } = new DOMMatrix(style.transform);
    context.transform(a, b, c, d, 0, 0);
  }
  context.translate(-width / 2, -middle);
  context.globalAlpha = Number(style.opacity);
  context.lineWidth = rim;
  context.strokeStyle = style.borderTopColor;
  context.beginPath();
  if (sample.localName === "svg") drawShapes(context, sample, box);
  else if (height - rim < 1) {
    context.moveTo(0, middle);
    context.lineTo(width, middle);
    context.setLineDash({ dashed: [6, 3], dotted: [2, 2] }[style.borderTopStyle] ?? []);
    context.stroke();
  } else {
    const round = style.borderTopLeftRadius;
    const corners = [...style.clipPath.matchAll(/([\d.]+)(?:%|px) ([\d.]+)(?:%|px)/g)];
    for (const [, x, y] of corners) context.lineTo((x * width) / 100, (y * height) / 100);
    if (!corners.length) context.roundRect(rim / 2, rim / 2, width - rim, height - rim, round.endsWith("%") ? middle : Math.min(parseFloat(round), middle));
    context.fillStyle = style.backgroundColor;
    context.fill();
    if (rim > 0) context.stroke();
    drawGround(context, style.backgroundImage, width, height);
  }
  context.restore();
}

/** What the style sheet lays into a patch: a ramp, a disc, stripes; all of few colours. */
function drawGround(context, image, width, height) {
  const colours = image.match(COLOUR_WORDS);
  if (!colours) return;
  context.clip();
  context.beginPath();
  if (image.startsWith("linear")) {
    context.fillStyle = context.createLinearGradient(0, 0, width, 0);
    colours.forEach((colour, k) => context.fillStyle.addColorStop(k / Math.max(colours.length - 1, 1), colour));
    context.fillRect(0, 0, width, height);
  } else if (image.startsWith("radial")) {
    context.fillStyle = colours[0];
    context.arc(width / 2, height / 2, Math.max(...image.match(/[\d.]+(?=px)/g)), 0, 7);
    context.fill();
  } else {
    const along = image.includes("90deg");
    context.strokeStyle = colours[0];
    context.lineWidth = along ? height : 1.3;
    if (along) context.setLineDash([8, 2, 2, 2]);
    for (let x = along ? 0 : -height; x < width; x += along ? width : 4) {
      context.moveTo(x, along ? height / 2 : height);
      context.lineTo(along ? width : x + height, along ? height / 2 : 0);
    }
    context.stroke();
  }
}

/** The shapes of a small drawing, each in its own colours. */
function drawShapes(context, svg, box) {
  const numbers = (text) => (text?.match(/[\d.]+/g) ?? []).map(Number);
  const { width, height } = svg.viewBox.baseVal;
  context.scale(box.width / width, box.height / height);
  for (const path of svg.children) {
    const { fill, stroke, strokeWidth, strokeDasharray } = getComputedStyle(path);
    const shape = new Path2D();
    shape.addPath(new Path2D(path.getAttribute("d")), new DOMMatrix().translate(...numbers(path.getAttribute("transform"))));
    context.setLineDash(numbers(strokeDasharray));
    context.lineWidth = parseFloat(strokeWidth);
    [context.strokeStyle, context.fillStyle] = [stroke, fill];
    if (stroke !== "none") context.stroke(shape);
    if (fill !== "none") context.fill(shape);
  }
}

/** The words of an element where they stand, line by line as on the page. */
function drawWords(context, node, left, top) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const style = getComputedStyle(text.parentElement);
    context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    context.fillStyle = style.color;
    const put = (word, from) => {
      range.setStart(text, from);
      range.setEnd(text, from + word.length);
      const [box, more] = range.getClientRects();
      if (more && word.length > 1) {
        let at = from;
        for (const letter of word) {
          put(letter, at);
          at += letter.length;
        }
      } else if (box?.width) context.fillText(word, box.left - left, (box.top + box.bottom) / 2 - top);
    };
    for (const { 0: word, index } of text.data.matchAll(/\S+/g)) put(word, index);
  }
}

/** A text in lines of at most so many pixels; words that are longer are divided. */
function linesOf(context, text, width) {
  const lines = [""];
  for (const word of text.split(/[ \n\t]+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (context.measureText(longer).width <= width) {
      lines[lines.length - 1] = longer;
      continue;
    }
    if (lines.at(-1)) lines.push("");
    for (const letter of word) {
      if (context.measureText(lines.at(-1) + letter).width > width) lines.push("");
      lines[lines.length - 1] += letter;
    }
  }
  return lines;
}

/** Lines above a picture: what it is of, how far the run has come, and a legend; the first one is bold. */
function headOf(app, context, width, legend) {
  const size = 13 * app.type;
  const { headline, under, leader, transport } = app;
  const place = leader?.textContent ?? [...(transport?.text.children ?? [])].map((part) => part.textContent).join(" · ");
  const about = [headline?.textContent, under?.textContent, place].filter(Boolean);
  const entries = [...about.map((text) => [null, text]), ...legend];
  return entries.flatMap(([sample, text], k) => {
    const font = `${k === 0 ? 650 : 400} ${k === 0 ? 1.15 * size : size}px ${app.palette.font}`;
    const colour = css(k === 0 ? app.palette.text : app.palette.muted);
    const indent = sample ? sample.getBoundingClientRect().width + SAVE_APART : 0;
    context.font = font;
    return linesOf(context, text, width - indent).map((line, m) => ({ sample: m === 0 && sample, line, indent, font, colour, high: size * SAVE_LEADING }));
  });
}

function savePicture(app, card, name, legend) {
  const canvases = [...card.querySelectorAll("canvas")].filter((canvas) => canvas.surface && canvas.clientWidth > 1);
  const measure = (fine) => {
    Surface.fine = fine;
    for (const canvas of canvases) canvas.surface.measure();
  };
  let file;
  measure(SAVE_FINE);
  try {
    file = draw();
  } finally {
    measure(1);
    app.wake();
  }
  file.toBlob((blob) => {
    const link = h("a", { href: URL.createObjectURL(blob), download: `${name}${app.shown === undefined ? "" : `-step-${Math.round(app.shown)}`}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }, "image/png");

  function draw() {
    for (const panel of app.panels) panel.draw?.();
    // What the legend has struck out is not in the picture.
    const stands = (node) => node.getBoundingClientRect().width && !getComputedStyle(node.closest(".gv-key") ?? node).textDecorationLine.includes("line-through");
    const [words, samples] = [SAVE_WORDS, SAVE_SAMPLES].map((which) => [...card.querySelectorAll(which)].filter(stands));
    const boxes = [...canvases, ...words, ...samples].map((node) => node.getBoundingClientRect());
    const [left, above] = ["left", "top"].map((side) => Math.min(...boxes.map((box) => box[side])) - SAVE_MARGIN);
    const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map((box) => box[side])) + SAVE_MARGIN);
    const picture = h("canvas");
    const context = picture.getContext("2d");
    const width = Math.max(right - left, SAVE_LEAST);
    const head = headOf(app, context, width - 2 * SAVE_MARGIN, legend);
    const top = above - head.reduce((sum, { high }) => sum + high, head.length && SAVE_APART);
    [picture.width, picture.height] = [width, bottom - top].map((size) => Math.round(size * SAVE_FINE));
    context.scale(SAVE_FINE, SAVE_FINE);
    context.fillStyle = css(app.palette.background);
    context.fillRect(0, 0, width, bottom - top);
    context.textBaseline = "middle";
    let at = SAVE_MARGIN;
    for (const { sample, line, indent, font, high, colour } of head) {
      [context.font, context.fillStyle] = [font, colour];
      context.fillText(line, SAVE_MARGIN + indent, at + high / 2);
      if (sample) {
        const box = sample.getBoundingClientRect();
        drawSample(context, sample, box.left - SAVE_MARGIN, (box.top + box.bottom) / 2 - at - high / 2);
      }
      at += high;
    }
    for (const canvas of canvases) {
      const box = canvas.getBoundingClientRect();
      context.drawImage(canvas, box.left - left, box.top - top, box.width, box.height);
    }
    for (const sample of samples) drawSample(context, sample, left, top);
    for (const node of words) drawWords(context, node, left, top);
    return picture;
  }
}
