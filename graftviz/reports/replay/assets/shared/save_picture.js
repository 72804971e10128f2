// The pictures of a card as one PNG file, with the title of the view, the words around them, and their legend.

import { button, css, h, icon, Picture } from "./core.js";
import { legendKey } from "./legend.js";

const SAVE_FINE = 3; // pixels of the file for each pixel on the page
const SAVE_MARGIN = 14; // px
const SAVE_LEAST = 320; // px, least width of the title
const SAVE_WORDS = "h3, h4, .gv-count, .gv-race-numbers, .gv-readout > *, .gv-answer-row > *, .gv-key, .gv-thinned";
const SAVE_SAMPLES = ":is(.gv-key, .gv-count) > :is(i, svg), .gv-stack > i, svg.gv-racer-sample";
const SAVE_PLACE = /^(--|inset|margin|position|left|right|top|bottom)/; // styles

/** Button that saves the drawing of its card; `legend()` returns entries of a legend outside it, as [sample, words]. */
export function saveButton(app, name, legend = () => []) {
  const save = () => savePicture(app, node.closest(".gv-card, .gv-saved"), name, legend());
  const node = button(TEXT.picture.save, icon("save"), save, { class: "gv-save" });
  return node;
}

/** A copy of an element without text and position, with its computed styles as its own. */
function copyOf(node) {
  const copy = node.cloneNode(false);
  const style = getComputedStyle(node);
  for (const name of style) if (!SAVE_PLACE.test(name)) copy.style.setProperty(name, style.getPropertyValue(name));
  copy.append(...[...node.children].map(copyOf));
  return copy;
}

/** An image of samples of legends as the browser shows them: [element, left, top] with the place in the page of the image's corner. */
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
  const text = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">`
    + `<foreignObject width="100%" height="100%">${content}</foreignObject></svg>`;
  return Object.assign(new Image(), { src: `data:image/svg+xml,${encodeURIComponent(text)}` });
}

/** Draw the text of an element word by word at its places in the page. */
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

/** The heading of a saved picture: title and place of the view, and a legend. */
function headOf({ headline, under, transport }, width, legend) {
  const place = [...(transport?.text.children ?? [])].map((part) => part.textContent).join(" · ");
  const [title, ...about] = [headline?.textContent, under?.textContent, place].filter(Boolean);
  const head = h("div", { class: "gv-picture-head" }, h("h3", {}, title), about.map((text) => h("p", { class: "gv-muted" }, text)),
    h("p", { class: "gv-legend" }, legend.map(([sample, words]) => legendKey(sample?.cloneNode(true), words))));
  head.style.width = `${width}px`;
  return head;
}

function savePicture(app, card, name, legend) {
  const canvases = [...card.querySelectorAll("canvas")].filter((canvas) => canvas.picture && canvas.clientWidth > 1);
  const measure = (fine) => {
    Picture.fine = fine;
    for (const canvas of canvases) canvas.picture.measure();
  };
  measure(SAVE_FINE);
  try {
    draw();
  } finally {
    measure(1);
    app.wake();
  }

  function draw() {
    for (const panel of app.everyPanel) panel.draw?.();
    // Entries that are struck out in the legend are left out, as what they stand for is not drawn.
    const isStruck = (node) => getComputedStyle(node.closest(".gv-key") ?? node).textDecorationLine.includes("line-through");
    const stands = (node) => node.getBoundingClientRect().width && !isStruck(node);
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
