"""Runs of a learner for its outcome; the steps are yielded so that callers can pause."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Generator, Iterable
from typing import Any, Literal, get_args

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner, drained
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.grafting_options import settings_of
from graftviz.learning.trace import Outcome, Step
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError
from graftviz.utils.options import OptionSpec, checked_seed, option_specs


def fit_steps(
    learner: Learner, table: DiscreteTable, seed: int, *, max_edges: int | None = None
) -> Generator[Step, None, Outcome | None]:
    """Run `learner`, yielding its steps, and return its outcome.

    The run is stopped, and None returned, as soon as more than `max_edges` edges are active.
    """
    steps = learner.steps(table, seed=seed)
    try:
        while True:
            step = next(steps)
            if max_edges is not None and step.n_edges > max_edges:
                return None
            yield step
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome
    finally:
        steps.close()


def fit(
    learner: Learner, table: DiscreteTable, seed: int, *, max_edges: int | None = None
) -> Outcome | None:
    """Run `learner` to its end and return its outcome; see :func:`fit_steps`."""
    if max_edges is None:
        return learner.outcome(table, seed=seed)
    return drained(fit_steps(learner, table, seed, max_edges=max_edges))


def stream(seed: int, *path: int) -> np.random.Generator:
    """Return the random generator of `seed` for a spawn key; all are independent."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


def seed_of(seed: int, *path: int) -> int:
    """Return the seed of a learner for a spawn key; all are independent."""
    return int(np.random.SeedSequence(seed, spawn_key=path).generate_state(1)[0])


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


Method = Literal["complementary-pairs", "stars", "bootstrap"]
METHODS: tuple[str, ...] = get_args(Method)
FEWEST_ROWS = 2  # required by every learner

_ROWS = 0  # spawn key of the generator that draws rows
_SEEDS = 1  # spawn key of the seeds of learners
_STARS_FROM = 144  # rows up to which 10 √N would be most or all of the table
_STARS_SHARE = 0.8


def subsample_rows(
    rows: int, index: int, *, method: Method, size: int, seed: int = 0
) -> np.ndarray:
    """Return the rows of one subsample, int64, ascending, shape (size,).

    Complementary pairs: subsamples 2b and 2b + 1 are the two disjoint halves of one random
    permutation; if the number of rows is odd, one random row is in neither. StARS: every subsample
    is drawn without replacement, independently of the others. Bootstrap: with replacement.
    """
    if method == "bootstrap":
        return np.sort(stream(seed, _ROWS, index).integers(rows, size=size))
    pairs = method == "complementary-pairs"
    order = stream(seed, _ROWS, index // 2 if pairs else index).permutation(rows)
    start = size * (index % 2) if pairs else 0
    return np.sort(order[start : start + size])


def learner_seed(index: int, *, seed: int = 0) -> int:
    """Return the seed of the learner on one subsample."""
    return seed_of(seed, _SEEDS, index)


def subsample_size(rows: int, method: str, size: int | None = None) -> int:
    """Return the size of a subsample.

    ⌊N/2⌋ for complementary pairs, N for the bootstrap, ⌊10 √N⌋ for StARS, but 80 % of the rows of
    tables of at most 144 rows.

    Raises
    ------
    InputError
        If the method is unknown, a size is given for another method than StARS or not below the
        number of rows, or the table is too small.
    """
    if method not in METHODS:
        raise InputError(
            f"There is no subsampling method {method!r}; the methods are {', '.join(METHODS)}."
        )
    if method != "stars":
        if size is not None:
            raise InputError(
                "Complementary pairs are halves of the table and bootstrap samples have its size; "
                "only stars takes another size."
            )
        size = rows // 2 if method == "complementary-pairs" else rows
    elif size is None:
        small = rows <= _STARS_FROM
        size = math.floor(_STARS_SHARE * rows if small else 10 * math.sqrt(rows))
    elif not FEWEST_ROWS <= size < rows:
        raise InputError(
            f"A subsample must have at least {FEWEST_ROWS} rows and fewer than the table's "
            f"{rows:,}; got {size:,}."
        )
    if size < FEWEST_ROWS:
        raise InputError(
            f"{rows:,} rows are too few to learn from parts of them; stability needs at least "
            f"{2 * FEWEST_ROWS}."
        )
    return size


def check_subsamples(subsamples: int, method: str, seed: int) -> None:
    """Raise :class:`InputError` if the number of subsamples or the seed is invalid."""
    checked_seed(seed)
    try:
        number = operator.index(subsamples)
    except TypeError:
        raise InputError(
            f"The number of subsamples must be a whole number, not {subsamples!r}."
        ) from None
    if number < 2:
        raise InputError(f"Stability needs at least 2 subsamples; got {number}.")
    if method == "complementary-pairs" and number % 2:
        raise InputError(
            f"Complementary pairs come in twos: take {number + 1} subsamples instead of {number}."
        )


GAMMA = 0.5


def free_weights(model: PairwiseModel) -> int:
    """Return Σ (s_i − 1)(s_j − 1) over the edges, the number of identifiable edge weights."""
    return int((model.cardinalities[model.edges] - 1).prod(axis=1).sum())


def extended_bic(model: PairwiseModel, nlpl: float, rows: float, *, gamma: float = GAMMA) -> float:
    """Return the EBIC of a model; smaller is better.

    It is the criterion of Barber and Drton for the regression of one variable on its neighbours,
    −2 log L_i + df_i log N + 2 γ deg(i) log n, summed over the variables. An edge is in two
    regressions, and so are its free weights; hence

        EBIC_γ = 2 N · NLPL + 2 df log N + 4 γ |E| log n,   df = Σ_E (s_i − 1)(s_j − 1).

    The first penalty counts weights. The second counts graphs: there are about n^(2|E|) graphs
    with |E| edges, whatever the numbers of states. Node weights are in every model and omitted.
    Divided by 2 N it is on the scale of NLPL (nats per row).

    Parameters
    ----------
    model : PairwiseMRF
    nlpl : float
        Negative log pseudo-likelihood of the training rows (nats per row).
    rows : int
        Number of training rows, N.
    gamma : float
        γ ≥ 0: 0 is the ordinary BIC, 0.5 the usual choice, 1 the strictest.

    Raises
    ------
    InputError
        If γ is negative or not finite.

    References
    ----------
    R. Foygel and M. Drton, Extended Bayesian information criteria for Gaussian graphical models,
    NeurIPS 2010. R. F. Barber and M. Drton, High-dimensional Ising model selection with Bayesian
    information criteria, Electronic Journal of Statistics 9, 2015.
    """
    check_gamma(gamma)
    weights = 2.0 * free_weights(model) * math.log(rows)
    graphs = 4.0 * gamma * model.n_edges * math.log(model.n_variables)
    return 2.0 * rows * nlpl + weights + graphs


def check_gamma(gamma: float) -> None:
    """Raise :class:`InputError` unless γ is a finite number of at least 0."""
    if not (np.isfinite(gamma) and gamma >= 0):
        raise InputError(f"γ of the EBIC must be at least 0; got {gamma:g}.")
