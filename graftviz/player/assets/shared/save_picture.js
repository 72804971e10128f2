// A card's pictures as one PNG file, on the paper of the page: what it is of, the words around it, its legend.

import { button, css, h, icon, Surface } from "./core.js";

const SAVE_FINE = 3; // pixels of the file for each pixel on the page
const SAVE_MARGIN = 14; // px
const SAVE_LEAST = 320; // px that what it is of may be wide
const SAVE_WORDS = "h3, .gv-count, .gv-race-numbers, .gv-readout > *, .gv-answer-row > *, .gv-key";
const SAVE_SAMPLES = ":is(.gv-key, .gv-count) > :is(i, svg), .gv-stack > i, svg.gv-racer-sample";
const SAVE_PLACE = /^(--|inset|margin|position|left|right|top|bottom)/; // styles

/** Button that saves the drawing of its card; `legend()` returns entries of a legend outside it, as [sample, words]. */
export function saveButton(app, name, legend = () => []) {
  const node = button("Save this picture (PNG)", icon("save"), () => savePicture(app, node.closest(".gv-card, .gv-saved"), name, legend()), { class: "gv-save" });
  return node;
}

/** A copy of an element without words and place, with all its styles of its own. */
function copyOf(node) {
  const copy = node.cloneNode(false);
  const style = getComputedStyle(node);
  for (const name of style) if (!SAVE_PLACE.test(name)) copy.style.setProperty(name, style.getPropertyValue(name));
  copy.append(...[...node.children].map(copyOf));
  return copy;
}

/** An image of what stands beside words, as the browser shows it: of elements at places given as [element, left, top]. */
function imageOf(samples, width, height) {
  const copies = samples.map(([node, left, top]) => {
    const box = node.getBoundingClientRect();
    const { offsetWidth = box.width, offsetHeight = box.height } = node;
    const copy = copyOf(node);
    const [x, y] = [(box.left + box.right - offsetWidth) / 2 - left, (box.top + box.bottom - offsetHeight) / 2 - top];
    Object.assign(copy.style, { position: "absolute", left: `${x}px`, top: `${y}px` });
    return copy;
  });
  const content = new XMLSerializer().serializeToString(h("div", {}, copies));
  const text = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><foreignObject width="100%" height="100%">${content}</foreignObject></svg>`;
  return Object.assign(new Image(), { src: `data:image/svg+xml,${encodeURIComponent(text)}` });
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
    for (const { 0: word, index } of text.data.matchAll(/[^ \n\t]+/g)) put(word, index);
  }
}

/** What stands above a picture, in the page: what it is of, how far the run has come, and a legend. */
function headOf({ headline, under, leader, transport }, width, legend) {
  const place = leader?.textContent ?? [...(transport?.text.children ?? [])].map((part) => part.textContent).join(" · ");
  const [title, ...about] = [headline?.textContent, under?.textContent, place].filter(Boolean);
  const head = h("div", { class: "gv-picture-head" }, h("h3", {}, title), about.map((text) => h("p", {}, text)),
    legend.map(([sample, words]) => h("p", {}, sample?.cloneNode(true), sample && " ", words)));
  head.style.width = `${width}px`;
  return head;
}

function savePicture(app, card, name, legend) {
  const canvases = [...card.querySelectorAll("canvas")].filter((canvas) => canvas.surface && canvas.clientWidth > 1);
  const measure = (fine) => {
    Surface.fine = fine;
    for (const canvas of canvases) canvas.surface.measure();
  };
  measure(SAVE_FINE);
  try {
    draw();
  } finally {
    measure(1);
    app.wake();
  }

  function draw() {
    for (const panel of app.panels) panel.draw?.();
    // What the legend has struck out is not in the picture.
    const stands = (node) => node.getBoundingClientRect().width && !getComputedStyle(node.closest(".gv-key") ?? node).textDecorationLine.includes("line-through");
    const [words, samples] = [SAVE_WORDS, SAVE_SAMPLES].map((which) => [...card.querySelectorAll(which)].filter(stands));
    const boxes = [...canvases, ...words, ...samples].map((node) => node.getBoundingClientRect());
    const [left, above] = ["left", "top"].map((side) => Math.min(...boxes.map((box) => box[side])) - SAVE_MARGIN);
    const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map((box) => box[side])) + SAVE_MARGIN);
    const width = Math.max(right - left, SAVE_LEAST);
    const head = headOf(app, width - 2 * SAVE_MARGIN, legend);
    app.root.append(head);
    const place = head.getBoundingClientRect();
    const top = above - place.height;
    const height = bottom - top;
    const picture = h("canvas", { width: Math.round(width * SAVE_FINE), height: Math.round(height * SAVE_FINE) });
    const context = picture.getContext("2d");
    context.scale(SAVE_FINE, SAVE_FINE);
    context.fillStyle = css(app.palette.background);
    context.fillRect(0, 0, width, height);
    context.textBaseline = "middle";
    for (const canvas of canvases) {
      const box = canvas.getBoundingClientRect();
      context.drawImage(canvas, box.left - left, box.top - top, box.width, box.height);
    }
    const ofHead = [place.left - SAVE_MARGIN, place.top - SAVE_MARGIN];
    drawWords(context, head, ...ofHead);
    for (const node of words) drawWords(context, node, left, top);
    const image = imageOf([...[...head.querySelectorAll("svg")].map((node) => [node, ...ofHead]), ...samples.map((node) => [node, left, top])], width, height);
    head.remove();
    image.decode().then(() => {
      context.drawImage(image, 0, 0, width, height);
      picture.toBlob(download, "image/png");
    });
  }

  function download(blob) {
    const link = h("a", { href: URL.createObjectURL(blob), download: `${name}${app.shown === undefined ? "" : `-step-${Math.round(app.shown)}`}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}
