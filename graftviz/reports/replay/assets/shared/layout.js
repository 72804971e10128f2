// Layout of a view: the main picture, the panels beside it, and the playback bar in a row of its own.

import { h } from "./core.js";

const LAYOUT_LEAST = 360; // px, height of the picture in a short window, where the page scrolls
const LAYOUT_BELOW = 18; // px: the gap above the bar, and the margin of the page below it

export class Layout {
  constructor(view, main, side, bar) {
    this.view = view;
    this.bar = bar;
    this.element = h("div", { class: "gv-layout" }, h("div", { class: "gv-main" }, main), h("div", { class: "gv-side", tabindex: "-1" }, side));
    this.observer = new ResizeObserver(() => this.fit());
    this.onResize = () => this.fit();
    window.addEventListener("resize", this.onResize);
  }

  /** Follow the height of what stands above the view; call once the view is in the page. */
  follow() {
    const { host } = this.view.root.getRootNode();
    const page = host?.closest("[data-testid=stMainBlockContainer]") ?? document.body;
    if (page !== this.page) {
      this.observer.disconnect();
      this.observer.observe(page);
      this.scroller = host?.closest(".stMain") ?? document.scrollingElement;
      this.page = page;
    }
    this.fit();
  }

  /** Set the height that the window has left for it. */
  fit() {
    const box = this.element.getBoundingClientRect();
    if (box.width === 0 || !this.scroller) return;
    const top = box.top + this.scroller.scrollTop;
    const height = Math.max(LAYOUT_LEAST, Math.floor(innerHeight - top - this.bar.offsetHeight - LAYOUT_BELOW));
    if (height === this.height) return;
    this.height = height;
    this.element.style.setProperty("--gv-height", `${height}px`);
  }

  /** Show the picture and one sentence only, while the page is presented. */
  refresh() {
    const isPresenting = getComputedStyle(this.view.root).getPropertyValue("--gv-present").trim() === "1";
    this.view.root.classList.toggle("gv-present", isPresenting);
    this.follow();
  }

  destroy() {
    this.observer.disconnect();
    window.removeEventListener("resize", this.onResize);
  }
}
