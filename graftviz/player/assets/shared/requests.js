// Requests for missing records: one at a time, less often while no record arrives.

const REQUEST_SOON = 200; // ms between requests while replies have new records
export const REQUEST_PATIENCE = 4000; // ms after which a reply counts as lost

export class Requests {
  /** `longest`: most ms between requests while replies have no new records. */
  constructor(view, longest = REQUEST_PATIENCE) {
    this.view = view;
    this.longest = longest;
    this.reset();
  }

  reset() {
    this.sentAt = null; // time of the request that has no reply yet
    this.pause = REQUEST_SOON;
    this.notBefore = 0;
  }

  replied(isNews) {
    this.sentAt = null;
    this.pause = isNews ? REQUEST_SOON : Math.min(this.pause * 1.6, this.longest);
    this.notBefore = performance.now() + this.pause;
  }

  /** Request what is missing now, or wake the view when that is due. */
  send(...what) {
    const { view } = this;
    if (!view.callbacks.need || document.hidden) return;
    const now = performance.now();
    const due = this.sentAt === null ? this.notBefore : this.sentAt + REQUEST_PATIENCE;
    const isDue = now >= due;
    clearTimeout(view.timers.request);
    view.timers.request = setTimeout(() => view.wake(), (isDue ? REQUEST_PATIENCE : due - now) + 5);
    if (!isDue) return;
    this.sentAt = now;
    view.callbacks.need(...what);
  }
}
