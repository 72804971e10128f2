"""Plain twins: the formulas as they stand in the papers, slow and obvious, for tests to compare with."""

from __future__ import annotations

import itertools

import numpy as np
