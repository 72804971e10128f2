// What part of a picture is seen: zoomed around a place, moved, or all of it.

import { clamp } from "./core.js";

const CAMERA_ZOOM = [0.5, 24]; // least and most

/** A picture that can be zoomed and moved. A subclass has `surface`, with width and height, and `wake`. */
export class CameraView {
  camera = { zoom: 1, x: 0, y: 0 };

  /** Zoom around a place in the picture, given in px; else around its middle. */
  zoomBy(factor, px = this.surface.width / 2, py = this.surface.height / 2) {
    const { camera } = this;
    const zoom = clamp(camera.zoom * factor, ...CAMERA_ZOOM);
    const f = zoom / camera.zoom;
    const [cx, cy] = [this.surface.width / 2, this.surface.height / 2];
    this.camera = { zoom, x: (px - cx) * (1 - f) + camera.x * f, y: (py - cy) * (1 - f) + camera.y * f };
    this.wake();
  }

  panBy(dx, dy) {
    this.camera.x += dx;
    this.camera.y += dy;
    this.wake();
  }

  resetCamera() {
    this.camera = { zoom: 1, x: 0, y: 0 };
    this.wake();
  }
}
