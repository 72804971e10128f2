// Requests for missing records: one at a time, less often while no record arrives.

const ASKING_SOON = 150; // ms between questions while answers have new records
const ASKING_PATIENCE = 4000; // ms without any reply before asking again

export class Asking {
  constructor(view) {
    this.view = view;
    this.reset();
  }

  reset() {
    this.asked = null; // when the question was sent that has no reply yet
    this.pause = ASKING_SOON;
    this.notBefore = 0;
  }

  replied(isNews) {
    this.asked = null;
    this.pause = isNews ? ASKING_SOON : Math.min(this.pause * 1.6, ASKING_PATIENCE);
    this.notBefore = performance.now() + this.pause;
  }

  /** Ask for `wants` now, or wake the view when it may ask. */
  ask(wants) {
    const { view } = this;
    if (!view.callbacks.need || wants.length === 0 || document.hidden) return;
    const now = performance.now();
    const due = this.asked === null ? this.notBefore : this.asked + ASKING_PATIENCE;
    const isDue = now >= due;
    clearTimeout(view.timers.asking);
    view.timers.asking = setTimeout(() => view.wake(), (isDue ? ASKING_PATIENCE : due - now) + 5);
    if (!isDue) return;
    this.asked = now;
    view.callbacks.need(wants);
  }
}
