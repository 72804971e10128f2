"""Handwritten digits of scikit-learn, with 64 pixels as variables."""

from __future__ import annotations

import gzip
import importlib.resources
import io

import numpy as np

from graftviz.data.table import DiscreteTable

SIDE = 8
_GREY_STEPS = 17  # a pixel is the number of dark points in a 4 × 4 block: 0 … 16
LABELS = {2: ("light", "dark"), 4: ("white", "light", "dark", "black")}


def digits_table(levels: int) -> DiscreteTable:
    """Return the 1,797 images with 2 or 4 grey levels, one variable per pixel.

    The pixel in row r and column c has the name ``r<r>c<c>``. Its states are the grey levels that
    occur; pixels that are always white have one state.
    """
    # The file is read directly: importing scikit-learn takes longer than learning the network.
    packed = importlib.resources.files("sklearn.datasets.data") / "digits.csv.gz"
    numbers = np.loadtxt(io.BytesIO(gzip.decompress(packed.read_bytes())), delimiter=",")
    grey = numbers[:, : SIDE * SIDE].astype(np.int64) * levels // _GREY_STEPS
    codes = np.empty_like(grey)
    labels = []
    for pixel, values in enumerate(grey.T):
        occurring, codes[:, pixel] = np.unique(values, return_inverse=True)
        labels.append([LABELS[levels][level] for level in occurring])
    names = [f"r{row}c{column}" for row in range(SIDE) for column in range(SIDE)]
    return DiscreteTable.from_codes(codes, names=names, labels=labels)
