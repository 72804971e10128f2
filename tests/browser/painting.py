"""Recorded drawing calls of a view that saves a picture."""

from __future__ import annotations

from typing import Any

_WATCH = """() => {
  globalThis.painted = [];
  const own = CanvasRenderingContext2D.prototype;
  for (const kind of ["fillText", "drawImage"]) {
    const { [kind]: paint } = own;
    own[kind] = function (...what) {
      const text = kind === "fillText" ? what[0] : decodeURIComponent(what[0].src ?? "");
      if (!this.canvas.isConnected) painted.push(text);
      return paint.apply(this, what);
    };
  }
}"""


def watch_painting(page: Any) -> None:
    """Start to record the texts and images of saved pictures."""
    page.evaluate(_WATCH)


def painted(page: Any) -> list[str]:
    """Return the recorded texts and images in order."""
    return page.evaluate("painted")
