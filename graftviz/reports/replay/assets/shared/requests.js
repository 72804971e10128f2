// Requests to the server: one at a time, less often while nothing new arrives.

const REQUEST_SOON = 200; // ms between requests while replies have something new
export const REQUEST_PATIENCE = 4000; // ms after which a reply counts as lost

export class Requests {
  /**
   * `name`: the callback of the view that sends them; `soon` and `longest`: least and most ms between requests;
   * `tries`: requests in a row without anything new after which there are no more.
   */
  constructor(view, name = "need", { soon = REQUEST_SOON, longest = REQUEST_PATIENCE, tries = Infinity } = {}) {
    Object.assign(this, { view, name, soon, longest, tries });
    this.reset();
  }

  reset() {
    this.sentAt = null; // time of the request that has no reply yet
    this.pause = this.soon;
    this.notBefore = 0;
    this.tried = 0;
  }

  replied(isNews) {
    this.sentAt = null;
    this.pause = isNews ? this.soon : Math.min(this.pause * 1.6, this.longest);
    this.notBefore = performance.now() + this.pause;
    if (isNews) this.tried = 0;
  }

  /** Send a request if one is due, else wake the view when it is; return whether it was sent. */
  send(...what) {
    const { view, name } = this;
    if (!view.callbacks[name] || document.hidden || this.tried >= this.tries) return false;
    const now = performance.now();
    const due = this.sentAt === null ? this.notBefore : this.sentAt + REQUEST_PATIENCE;
    const isDue = now >= due;
    clearTimeout(view.timers[name]);
    view.timers[name] = setTimeout(() => view.wake(), (isDue ? REQUEST_PATIENCE : due - now) + 5);
    if (!isDue) return false;
    this.sentAt = now;
    this.tried++;
    view.callbacks[name](...what);
    return true;
  }
}
