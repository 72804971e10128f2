"""Statistics of measured values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from graftviz.utils.errors import InputError


class NotMeasured(InputError):
    """Error for a claim whose measurements are missing."""


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the rank correlation, or 0 if one side is constant."""
    if min(first) == max(first) or min(second) == max(second):
        return 0.0
    return float(spearmanr(first, second).statistic)


def trend(values: Sequence[float]) -> float:
    """Return the rank correlation of values with their positions."""
    return rank_correlation(range(len(values)), values)


def standard_errors(differences: Any) -> float:
    """Return the mean of differences in standard errors; 0 for a single one."""
    count = len(differences)
    if count < 2:
        return 0.0
    return float(np.mean(differences) / max(np.std(differences, ddof=1) / count**0.5, 1e-12))


def power(counts: Mapping[float, float]) -> float:
    """Return the exponent of a power law, fitted to logarithms by least squares.

    Raises
    ------
    NotMeasured
        With a single size.
    """
    if len(counts) < 2:
        raise NotMeasured("A power needs two sizes.")
    return float(np.polyfit(np.log(list(counts)), np.log(list(counts.values())), 1)[0])


def mean(values: Sequence[Any]) -> float:
    """Return the mean; infinite if a value is None, as forecasts of unstable systems are."""
    return float("inf") if None in values else float(np.mean(values))
