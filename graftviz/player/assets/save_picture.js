// A card's pictures as one PNG file, on the paper of the page, with the words above and beside them.

const SAVE_FINE = 3; // pixels of the file for each pixel on the page
const SAVE_MARGIN = 14; // px
const SAVE_WORDS = "h3, .gv-count, .gv-race-numbers, .gv-readout > *";

/** A button that saves what is drawn in the card it stands in. */
function saveButton(app, name) {
  const node = button("Save this picture (PNG)", icon("save"), () => savePicture(app, node.closest(".gv-card, .gv-saved"), name), { class: "gv-save" });
  return node;
}

/** The piece of line that stands beside words in a legend. */
function drawSample(context, sample, left, middle) {
  const { borderTopColor, borderTopStyle, borderTopWidth } = getComputedStyle(sample);
  const box = sample.getBoundingClientRect();
  context.beginPath();
  context.moveTo(box.left - left, middle);
  context.lineTo(box.right - left, middle);
  context.setLineDash(borderTopStyle === "solid" ? [] : [6, 3]);
  context.lineWidth = parseFloat(borderTopWidth);
  context.strokeStyle = borderTopColor;
  context.stroke();
  context.setLineDash([]);
}

function savePicture(app, card, name) {
  const canvases = [...card.querySelectorAll("canvas")].filter((canvas) => canvas.surface && canvas.clientWidth > 1);
  let file;
  Surface.fine = SAVE_FINE;
  try {
    file = draw();
  } finally {
    Surface.fine = 1;
    for (const canvas of canvases) canvas.surface.measure();
    app.wake();
  }
  file.toBlob((blob) => {
    const link = h("a", { href: URL.createObjectURL(blob), download: `${name}-step-${Math.round(app.shown ?? 0)}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }, "image/png");

  function draw() {
    for (const canvas of canvases) canvas.surface.measure();
    for (const panel of app.panels) panel.draw?.();
    const words = [...card.querySelectorAll(SAVE_WORDS)].filter((node) => node.offsetWidth && node.innerText.trim());
    const boxes = [...canvases, ...words].map((node) => node.getBoundingClientRect());
    const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map((box) => box[side])) - SAVE_MARGIN);
    const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map((box) => box[side])) + SAVE_MARGIN);
    const picture = h("canvas", { width: Math.round((right - left) * SAVE_FINE), height: Math.round((bottom - top) * SAVE_FINE) });
    const context = picture.getContext("2d");
    context.scale(SAVE_FINE, SAVE_FINE);
    context.fillStyle = css(app.palette.background);
    context.fillRect(0, 0, right - left, bottom - top);
    for (const canvas of canvases) {
      const box = canvas.getBoundingClientRect();
      context.drawImage(canvas, box.left - left, box.top - top, box.width, box.height);
    }
    context.textBaseline = "middle";
    for (const node of words) {
      const box = node.getBoundingClientRect();
      const style = getComputedStyle(node);
      context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      context.fillStyle = style.color;
      const sample = node.querySelector(".gv-line");
      const middle = (box.top + box.bottom) / 2 - top;
      if (sample) drawSample(context, sample, left, middle);
      const start = sample ? sample.getBoundingClientRect().right + 6 : box.left;
      context.fillText(node.innerText.replace(/\s+/g, " ").trim(), start - left, middle);
    }
    return picture;
  }
}
