"""Layout turned and stretched to fill a wide picture."""

from __future__ import annotations

import numpy as np

from graftviz.reports.layout.graph import FRAME

_SPAN = 0.95 * FRAME
_NARROW = 0.5  # height by width below which a layout is stretched, at most so much:
_STEEPEST = 4.0


def level_layout(places: np.ndarray) -> np.ndarray:
    """Return a long and narrow layout turned horizontally and stretched; others are unchanged."""
    centred = places - places.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    spans = np.maximum(np.ptp(turned, axis=0), 1.0)
    if spans[1] > _NARROW * spans[0]:
        return places
    stretch = _SPAN / spans
    stretch[1] = min(stretch[1], _STEEPEST * stretch[0])
    middle = (turned.max(axis=0) + turned.min(axis=0)) / 2
    return np.asarray((turned - middle) * stretch + FRAME / 2)
