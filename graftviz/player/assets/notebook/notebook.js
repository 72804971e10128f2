// The player in an output cell of a notebook: its messages to and from the kernel, and controls below it.

import { button, fill, h } from "../shared/core.js";
import { host, mount } from "../player/player.js";

const NOTEBOOK_PATIENCE = 8000; // ms without an answer after which the kernel counts as busy
const NOTEBOOK_SETTLE = 250; // ms of rest before a chosen α is sent
const NOTEBOOK_CLEAR = /^(transparent|rgba\(.*, 0\))$/; // a background through which the next one is seen

/** The colours around an element, for which front ends have names of their own. */
function coloursAround(element) {
  let around = element;
  while (around && NOTEBOOK_CLEAR.test(getComputedStyle(around).backgroundColor)) around = around.parentElement ?? around.getRootNode().host;
  const styles = getComputedStyle(element);
  const named = (name) => styles.getPropertyValue(name).trim();
  return {
    "--st-text-color": styles.color,
    "--st-background-color": around ? getComputedStyle(around).backgroundColor : "#ffffff",
    "--st-primary-color": named("--jp-brand-color1") || named("--vscode-focusBorder"),
  };
}

async function unpacked(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** A view of the widget's model; see graftviz/notebook/player.py for the other side. */
class Cell {
  constructor(model, element) {
    Object.assign(this, { model, run: null, from: null, saved: { records: [] }, received: Promise.resolve() });
    this.buildControls();
    this.place = h("div");
    this.root = h("div", { class: "gv-notebook", keydown: (event) => this.key(event) }, this.place, this.controls);
    element.append(this.root);
    const callbacks = Object.entries(host.messages).map(([name, valueOf]) => [name, (...values) => this.send(name, valueOf(...values))]);
    this.view = mount(this.place, { ...Object.fromEntries(callbacks), best: null,
      moved: (t) => this.moved(t), branch: (t) => this.branch(t), alpha: (value) => this.chooseAlpha(value) });
    this.followTheme(element);
    this.onMessage = (_content, [packed]) => {
      this.received = this.received.then(async () => this.receive(await unpacked(packed))).catch(console.error);
    };
    model.on("msg:custom", this.onMessage);
    this.restore();
    this.send("open", {});
  }

  buildControls() {
    this.slider = h("input", { type: "range", min: "0", max: "1", step: "0.05", "aria-label": "α",
      input: () => this.showAlpha(), change: () => this.chooseAlpha(Number(this.slider.value)) });
    this.value = h("output");
    this.scope = h("span", { class: "gv-muted" });
    this.whole = button(TEXT.notebook.whole_title, TEXT.notebook.whole, () => this.branch(null), { class: "gv-branch", title: TEXT.notebook.whole_title });
    this.alpha = h("span", { class: "gv-alpha", hidden: true }, h("label", {}, "α ", this.slider), this.value, this.scope, this.whole);
    this.reset = button(TEXT.notebook.reset_title, TEXT.notebook.reset, () => this.resetRun(), { class: "gv-branch", title: TEXT.notebook.reset_title });
    this.status = h("p", { class: "gv-status", role: "status" });
    this.controls = h("div", { class: "gv-player gv-controls" }, this.alpha, this.reset, this.status);
  }

  /** Follow the theme of the front end. */
  followTheme(element) {
    const apply = () => {
      for (const [name, value] of Object.entries(coloursAround(element))) {
        if (value) this.root.style.setProperty(name, value);
      }
      this.view.refresh();
    };
    this.themes = new MutationObserver(() => requestAnimationFrame(apply));
    for (const node of [document.documentElement, document.body]) this.themes.observe(node, { attributeFilter: ["class", "style", "data-jp-theme-light", "data-theme"] });
    requestAnimationFrame(apply);
  }

  // ---------------------------------------------------------------------------------- messages

  send(name, value) {
    this.model.send({ name, value: { run: this.run, ...value } });
    if (["need", "open", "alpha"].includes(name)) {
      this.silence ??= setTimeout(() => this.say(TEXT.notebook.silent), NOTEBOOK_PATIENCE);
    }
  }

  say(text, isProblem = false) {
    this.status.textContent = text;
    this.status.classList.toggle("gv-message", isProblem);
  }

  receive(message) {
    if (this.gone) return;
    clearTimeout(this.silence);
    this.silence = undefined;
    const { run, header, alpha, feed, status, problem } = message;
    if (!message.answer) this.say(problem ?? status ?? "", Boolean(problem));
    if (problem) {
      this.view.loading.hidden = true;
      this.view.pause();
    }
    if (run !== this.run && !header) {
      if (problem === undefined && status === undefined) this.send("open", {});
      return;
    }
    if (header) this.introduce(header, alpha);
    host.show(this.view, message, this.run);
    this.run = run;
    if (feed) this.keep(feed);
  }

  /** Begin with a run; α is null for a learner without it. */
  introduce(header, alpha) {
    if (header.run !== this.run) this.saved = { header, alpha, records: [] };
    this.from = header.branch ? header.branch.t : null;
    this.alpha.hidden = alpha === null;
    this.slider.value = String(alpha);
    this.showAlpha();
  }

  // ----------------------------------------------------------------------- the saved notebook

  /** Remember the records for the front end, which may save them with the notebook. */
  keep({ from, records, outcome }) {
    records.forEach((record, k) => { this.saved.records[from - 1 + k] = record; });
    if (outcome) {
      this.saved.outcome = outcome;
      this.save();
    }
  }

  save() {
    const whole = this.saved.records.findIndex((record) => record === undefined);
    const records = whole < 0 ? this.saved.records : this.saved.records.slice(0, whole);
    this.model.set("_saved", { ...this.saved, records: [...records], step: this.view.shown });
  }

  /** Show the run that was saved with the notebook; if there is a kernel, it sends its own. */
  restore() {
    const { header, alpha, records, outcome, step } = this.model.get("_saved");
    if (!header) return;
    this.receive({ run: header.run, header, alpha, step: step || null, feed: { run: header.run, from: 1, records, outcome } });
  }

  // ---------------------------------------------------------------------------------- controls

  /** Handle keys here: the notebook would delete or add cells by them. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.view.transport.key(event);
    event.stopPropagation();
  }

  moved(t) {
    this.send("moved", { t });
    this.save();
  }

  /** Let α apply from step t on; null: to the whole run. */
  branch(t) {
    this.from = t;
    this.showAlpha();
  }

  showAlpha() {
    const { from } = this;
    this.value.textContent = Number(this.slider.value).toFixed(2);
    this.scope.textContent = from === null ? TEXT.notebook.for_run : fill(TEXT.notebook.from_step, { step: from });
    this.whole.hidden = from === null;
  }

  chooseAlpha(value) {
    this.slider.value = String(value);
    this.showAlpha();
    // A key that is held down chooses many.
    clearTimeout(this.choice);
    this.choice = setTimeout(() => this.send("alpha", { value, at: this.from }), NOTEBOOK_SETTLE);
  }

  resetRun() {
    this.view.pause();
    this.view.seek(0);
    this.send("reset", {});
  }

  destroy() {
    this.gone = true;
    for (const timer of [this.silence, this.choice]) clearTimeout(timer);
    this.themes.disconnect();
    this.model.off("msg:custom", this.onMessage);
    this.view.destroy();
    this.root.remove();
  }
}

export default {
  render({ model, el }) {
    const cell = new Cell(model, el);
    return () => cell.destroy();
  },
};
