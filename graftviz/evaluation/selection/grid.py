"""Values of λ of a path."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

from graftviz.data.table import DiscreteTable
from graftviz.evaluation.selection.fits import fit
from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.grafting_options import settings_of
from graftviz.utils.errors import InputError
from graftviz.utils.options import OptionSpec, option_specs

VALUES = 20
FLOOR = 0.001  # the smallest λ of a path, in units of the largest
_DIGITS = 3  # significant digits of a λ
_HALVINGS = 40


def lam_option(learner: Learner) -> OptionSpec:
    """Return the option λ of `learner`.

    Raises
    ------
    InputError
        If it has none.
    """
    for spec in option_specs(learner):
        if spec.name == "lam":
            return spec
    raise InputError(f"{learner.title} has no option lam, so there is no λ to choose for it.")


def with_lam(learner: Learner, lam: float) -> Learner:
    """Return `learner` with another λ."""
    return dataclasses.replace(learner, **{lam_option(learner).name: lam})


def with_plain_test(
    learner: Learner, counts: PairCounts, *, keeps_budget: bool
) -> tuple[Learner, float]:
    """Return a learner with the test in which λ decides, and the κ that the given one has instead.

    Parameters
    ----------
    learner : Learner
    counts : PairCounts
    keeps_budget : bool
        Whether the edge budget was chosen for this learner; that of a preset would end all small λ
        alike.

    Raises
    ------
    InputError
        When the options do not go together.
    """
    settings = settings_of(learner, counts)
    if settings is None:
        return learner, 0.0
    changes: dict[str, Any] = {"lam": None}
    if not keeps_budget:
        changes["max_edges"] = counts.tables_possible
    if settings.significance > 0:
        changes["significance"] = 0.0
    return dataclasses.replace(learner, **changes), settings.significance


def lam_values(
    learner: Learner, table: DiscreteTable, lams: int | Iterable[float], seed: int
) -> tuple[float, ...]:
    """Return the λ of a path, largest first.

    Parameters
    ----------
    lams : int or iterable of float
        The values, or their number: then they are evenly spaced on a log scale, from just above
        the largest score of the model without edges, at which no edge is activated, down to
        :data:`FLOOR` times that.

    Raises
    ------
    InputError
        If `learner` has no λ, or a value or their number is out of range.
    """
    lam_option(learner)
    if isinstance(lams, int) and not isinstance(lams, bool):
        if lams < 2:
            raise InputError(f"A path needs at least 2 values of λ; got {lams}.")
        top = largest_useful_lam(learner, table, seed)
        step = FLOOR ** (1.0 / (lams - 1))
        return tuple(dict.fromkeys(_rounded(top * step**k) for k in range(lams)))
    if isinstance(lams, bool) or not isinstance(lams, Iterable):
        raise InputError(f"The values of λ must be numbers, or how many; got {lams!r}.")
    values = sorted({float(with_lam(learner, value).lam) for value in lams}, reverse=True)  # type: ignore[attr-defined]
    if not values:
        raise InputError("A path needs at least one value of λ.")
    return tuple(values)


def largest_useful_lam(learner: Learner, table: DiscreteTable, seed: int) -> float:
    """Return a λ just above the largest score of the model without edges.

    The learner runs once at the largest allowed λ: it activates no edge, and its certificate
    contains the largest score. If the certificate covers no pair, λ is halved until an edge is
    activated.
    """
    maximum = lam_option(learner).maximum
    top = 1.0 if maximum is None else float(maximum)
    outcome = fit(with_lam(learner, top), table, seed, max_edges=0)
    if outcome is None or not outcome.certificate.possible:
        return top
    worst = outcome.certificate.worst_score
    if worst is not None and worst > 0:
        return min(top, _rounded(worst, up=True))
    for _ in range(_HALVINGS):
        if fit(with_lam(learner, top / 2), table, seed, max_edges=0) is None:
            return top
        top /= 2
    return top


def _rounded(value: float, *, up: bool = False) -> float:
    """Return `value` to three significant digits, never 0; with `up`, always above `value`."""
    unit = 10.0 ** (math.floor(math.log10(value)) - _DIGITS + 1)
    digits = math.floor(value / unit) + 1 if up else round(value / unit)
    return float(f"{digits * unit:.{_DIGITS}g}")
