"""Kernels that score inactive edges from pair tables, whatever the score.

A score compares the counts of a pair with those that the model expects: it is the norm of their
difference, as a gradient, divided by d_e, the number of joint states or its root. With a
significance κ an edge must also pass :func:`graftviz.learning.scores.pair_test.judge`. Kernels then
return the *effective* score: s_e if the pair passes, otherwise the smaller of s_e and λ times the
share of its threshold that the pair reaches. One comparison with λ then decides both tests.

The file of a score defines `expect` and `variance` for the type of its state. numba compiles a
kernel for the scores that are used, each apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from graftviz.learning.counts.packed import PackedTable
from graftviz.learning.counts.pair_counts import table_cells
from graftviz.learning.scores.pair_test import ALL_ALIKE, PairTest, UsualLevel, judge, pair_test
from graftviz.learning.weights.noise import impurity_of
from graftviz.utils.compiling import inner_kernel, kernel

COUNT, ROOT = 0, 1
_DEFINED: set[tuple[Callable[..., Any], type]] = set()  # functions with a kernel for a type


class Measure(NamedTuple):
    """Unit and tests of scores.

    Attributes
    ----------
    unit : int
        COUNT: d_e is the number of joint states; ROOT: its square root.
    lam, significance : float
        λ and κ; κ = 0: plain scores.
    usual : UsualLevel
        Variables whose pairs keep the usual κ.
    """

    unit: int = COUNT
    lam: float = 0.0
    significance: float = 0.0
    usual: UsualLevel = ALL_ALIKE


class Scoring(NamedTuple):
    """Kernel-side state of a score.

    Attributes
    ----------
    unit, lam, significance
        See :class:`Measure`.
    factor : float
        The norm of a pair is so many times ‖E − O‖ / N.
    is_plain : bool
        Whether scores are distances of independent beliefs with κ = 0, for which kernels are
        faster and the drift of beliefs bounds the change of scores.
    beliefs : float64 array, flat
        b_i.
    impurity : float64 array, shape (n,)
        1 - Σ_a b_i(a)²: mean squared deviation of the indicators of variable i.
    drift : float64 array, shape (n,)
        Path of every variable, which bounds the change of norms and noise (:func:`slack_of`); empty
        (unused) if scores are cheap or all change at once. If `is_plain` holds, a pair is scored
        again if it has changed at all.
    test : PairTest
        Test at the level of κ; unused with κ = 0.
    own : NamedTuple of arrays
        State of the score itself; its type selects `expect` and `variance`.
    """

    unit: int
    lam: float
    significance: float
    factor: float
    is_plain: bool
    beliefs: np.ndarray
    impurity: np.ndarray
    drift: np.ndarray
    test: PairTest
    own: Any


def new_scoring(
    own: Any,
    packed: PackedTable,
    beliefs: np.ndarray,
    measure: Measure,
    *,
    factor: float = 1.0,
    is_plain: bool = False,
) -> Scoring:
    """Return the scoring at the given node beliefs.

    Raises
    ------
    TypeError
        If no kernels are defined for the type of `own`.
    """
    for function in (expect, variance):
        if (function, type(own)) not in _DEFINED:
            raise TypeError(
                f"There is no kernel {function.__name__} for {type(own).__qualname__}: define one "
                f"with @kernel_for({function.__name__}, {type(own).__qualname__})."
            )
    offsets = packed.node_offsets
    test = pair_test(packed.margins, offsets, packed.rows, measure.significance, measure.usual)
    impurity = impurity_of(beliefs, offsets)
    used = measure.unit, measure.lam, measure.significance
    return Scoring(*used, factor, is_plain, beliefs, impurity, np.zeros(0), test, own)


def workspace(offsets: np.ndarray) -> np.ndarray:
    """Return three rows with room for the joint states of any pair."""
    return np.zeros((3, int(np.diff(offsets).max()) ** 2))


def expect(
    own: Any,
    beliefs: np.ndarray,
    offsets: np.ndarray,
    i: int,
    j: int,
    rows: float,
    out: np.ndarray,
) -> None:
    """Write the expected counts of a pair, row-major; defined by each score for its state.

    Parameters
    ----------
    own : NamedTuple of arrays
    beliefs : float64 array, flat
    offsets : int64 array, shape (n + 1,)
        Where the beliefs of each variable begin.
    i, j : int
    rows : float
        N.
    out : float64 array
        Room for the joint states of any pair.
    """
    raise NotImplementedError


def expect_many(
    own: Any,
    first: np.ndarray,
    second: np.ndarray,
    starts: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the expected counts of many pairs; a score may define it where that is faster.

    Parameters
    ----------
    first, second : int arrays, shape (k,)
    starts : int64 array, shape (k,)
        Where the counts of each pair begin in `out`.
    out : float64 array, flat
    """
    raise NotImplementedError


def variance(own: Any, impurity: np.ndarray, i: int, j: int) -> float:
    """Return M, the mean of ‖E − O‖² / N of a pair that is independent given all others."""
    raise NotImplementedError


def has_batches(scoring: Scoring) -> bool:
    """Return whether the score can be computed for many pairs at once by :func:`score_batch`."""
    return (expect_many, type(scoring.own)) in _DEFINED


def kernel_for(function: Callable[..., Any], own: type) -> Callable[[Any], Any]:
    """Decorate the kernel that is one of the functions above for one type of state."""

    def register(kernel: Any) -> Any:
        _DEFINED.add((function, own))

        @overload(function, strict=False)
        def choose(state: Any, *_: Any) -> Any:
            return kernel if getattr(state, "instance_class", None) is own else None

        return kernel

    return register


@kernel
def belief_distance(cells, start, scale, beliefs, at_i, states_i, at_j, states_j):
    """Return ‖b_i b_jᵀ - p_D(e)‖₂ of one pair.

    Parameters
    ----------
    cells : float64 array
        ``cells[start:]`` holds the counts, row-major; times `scale` they are p_D(e).
    beliefs : float64 array, flat
        b_i begins at `at_i`, b_j at `at_j`.
    """
    total = 0.0
    at = start
    for a in range(states_i):
        weight = beliefs[at_i + a]
        for b in range(states_j):
            gap = weight * beliefs[at_j + b] - scale * cells[at]
            total += gap * gap
            at += 1
    return np.sqrt(total)


@inner_kernel
def expect_independent(beliefs, offsets, i, j, rows, out):
    """Write N b_i b_jᵀ, row-major."""
    k = 0
    for a in range(offsets[i], offsets[i + 1]):
        for b in range(offsets[j], offsets[j + 1]):
            out[k] = rows * beliefs[a] * beliefs[b]
            k += 1


@inner_kernel
def slack_of(multiple, needed, spread, factor, rows):
    """Return the drift up to which a pair that is below its threshold provably stays below it.

    A drift D changes the norm by at most D, and M, which is the mean of the product of two
    impurities plus a quarter of products of mean impurities, by at most 5 D / 2. With the noise
    σ = f √(M / N), and as √(1 - x) ≥ 1 - x, the pair stays below while
    norm + D ≤ needed σ (1 - 5 D / 2 M).

    Parameters
    ----------
    multiple, needed : float
        Norm as a multiple of its noise, and the threshold.
    spread : float
        M.
    factor : float
        f, see :class:`Scoring`.
    """
    sigma = factor * np.sqrt(spread / rows)
    return max((needed - multiple) * sigma / (1.0 + 2.5 * needed * sigma / spread), 0.0)


@inner_kernel
def _general_score(scoring, i, j, cells, start, rows, offsets):
    """Return score, norm and slack of a pair if `is_plain` does not hold."""
    expected = np.empty((offsets[i + 1] - offsets[i]) * (offsets[j + 1] - offsets[j]))
    expect(scoring.own, scoring.beliefs, offsets, i, j, rows, expected)
    return _judged(scoring, i, j, expected, np.int64(0), cells, start, rows)


@inner_kernel
def _judged(scoring, i, j, expected, at, cells, start, rows):
    """Return score, norm and slack of a pair from the counts that are expected and observed."""
    offsets, total = scoring.test.offsets, 0.0
    joint = (offsets[i + 1] - offsets[i]) * (offsets[j + 1] - offsets[j])
    for k in range(joint):
        gap = expected[at + k] - cells[start + k]
        total += gap * gap
    norm = scoring.factor * np.sqrt(total) / rows
    dimension = np.sqrt(joint) if scoring.unit == ROOT else float(joint)
    score, slack = norm / dimension, max(scoring.lam * dimension - norm, 0.0)
    if scoring.significance > 0.0:
        spread = variance(scoring.own, scoring.impurity, i, j)
        seen = cells[start:]
        multiple, needed, share = judge(scoring.test, i, j, total, spread, expected[at:], seen)
        if share <= 1.0:
            score = min(score, scoring.lam * share)
        if multiple < needed:
            slack = max(slack, slack_of(multiple, needed, spread, scoring.factor, rows))
    return score, norm, slack


@kernel(inline="always")
def plain_score(i, j, cells, start, scale, offsets, beliefs, unit):
    """Return the score of a counted pair if `is_plain` holds.

    It takes plain arrays: extracting an array from a tuple costs a reference count, which is more
    than the score, so loops extract them beforehand.
    """
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    norm = belief_distance(cells, start, scale, beliefs, at_i, states_i, at_j, states_j)
    joint = states_i * states_j
    return norm / (np.sqrt(joint) if unit == ROOT else float(joint))


@kernel(inline="always")
def score_slot(slot, packed, store, scoring, scratch):
    """Return the score of the pair of a slot, counting its table if necessary.

    Inlined, because passing the nested state to a function costs more than the score.
    """
    i, j = np.int64(store.pairs.first[slot]), np.int64(store.pairs.second[slot])
    offsets = packed.node_offsets
    cells, start = table_cells(packed, store, slot, scratch)
    if scoring.is_plain:
        scale = 1.0 / packed.rows
        score = plain_score(i, j, cells, start, scale, offsets, scoring.beliefs, scoring.unit)
    else:
        score, _, _ = _general_score(scoring, i, j, cells, start, packed.rows, offsets)
    return score


@kernel(inline="always")
def score_with_slack(slot, packed, store, scoring, scratch):
    """Return score, norm and slack of the pair of a slot; `is_plain` must not hold."""
    i, j = np.int64(store.pairs.first[slot]), np.int64(store.pairs.second[slot])
    cells, start = table_cells(packed, store, slot, scratch)
    return _general_score(scoring, i, j, cells, start, packed.rows, packed.node_offsets)


@kernel
def score_batch(first, second, starts, cells, packed, scoring, out):
    """Write score, norm and slack of counted pairs to the rows of `out`, shape (3, k).

    The kernel reads only; several threads may score different pairs at the same time.
    """
    offsets, places = packed.node_offsets, np.zeros(len(first) + 1, dtype=np.int64)
    for k in range(len(first)):
        i, j = np.int64(first[k]), np.int64(second[k])
        places[k + 1] = places[k] + (offsets[i + 1] - offsets[i]) * (offsets[j + 1] - offsets[j])
    expected = np.zeros(places[-1])
    expect_many(scoring.own, first, second, places, expected)
    for k in range(len(first)):
        i, j = np.int64(first[k]), np.int64(second[k])
        found = _judged(scoring, i, j, expected, places[k], cells, starts[k], packed.rows)
        out[0, k], out[1, k], out[2, k] = found


@kernel
def score_slots(slots, packed, store, scoring, scratch, out):
    """Write the scores of `slots` to `out`."""
    first, second, cell_offsets = store.pairs.first, store.pairs.second, store.cell_offsets
    offsets, cells, scale = packed.node_offsets, store.cells, 1.0 / packed.rows
    is_plain, beliefs, unit = scoring.is_plain, scoring.beliefs, scoring.unit
    for k in range(len(slots)):
        slot = slots[k]
        start = cell_offsets[slot]
        if is_plain and start >= 0:
            i, j = first[slot], second[slot]
            out[k] = plain_score(i, j, cells, start, scale, offsets, beliefs, unit)
        else:
            out[k] = score_slot(slot, packed, store, scoring, scratch)
