// Tooltip: words beside the item under the pointer.

import { clamp, h, replaceChildren } from "./core.js";

export class Tip {
  constructor(holder) {
    this.holder = holder;
    this.element = h("div", { class: "gv-tip", hidden: true });
    holder.append(this.element);
  }

  /** Show words beside a point of the holder: to its right and below it, where there is room. */
  show(x, y, ...words) {
    const { element, holder } = this;
    replaceChildren(element, ...words);
    element.hidden = false;
    const { offsetWidth, offsetHeight } = element;
    element.style.left = `${clamp(x + 14, 4, Math.max(4, holder.clientWidth - offsetWidth - 4))}px`;
    element.style.top = `${y + 18 + offsetHeight > holder.clientHeight ? Math.max(2, y - offsetHeight - 10) : y + 18}px`;
  }

  hide() {
    this.element.hidden = true;
  }
}
