"""Regions of localized inference: records of a query, and sentences about growth and bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.structure import plan_elimination
from graftviz.inference.local.local_model import Cut, region_model
from graftviz.inference.local.marginal import Expansion, RegionStep, grow_region
from graftviz.inference.methods import infer
from graftviz.learning.run import LearningRun
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.texts import catalogue
from graftviz.reports.words.judging import history_at
from graftviz.reports.words.phrases import plural, short
from graftviz.utils.errors import InputError

# --- sentences ------------------------------------------------------------------------------------

_SMALLEST_PLAIN = 1e-4


def bound_text(bound: float) -> str:
    """Format a bound with two digits, rounded up so that it stays valid."""
    if bound <= 0.0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(bound)) - 1)
    rounded = min(1.0, math.ceil(bound / unit - 1e-9) * unit)
    return f"{rounded:.1e}" if rounded < _SMALLEST_PLAIN else f"{float(f'{rounded:.3g}'):g}"


def headline(
    bound: float | None, size: int, n: int, *, is_exact: bool = True, is_useless: bool = False
) -> str:
    """Return the headline of a step: the certified error bound, or why there is none.

    Parameters
    ----------
    bound : float or None
        None when it is vacuous.
    size, n : int
        Numbers of nodes in the region and in the network.
    is_exact : bool
        Whether inference inside the region is exact.
    is_useless : bool
        Whether the bound, though below 1, excludes no probability from 0 to 1.
    """
    used = f"with {size:,} of {plural(n, 'node')}"
    if not is_exact:
        return f"Not certified {used}: exact inference in the region needs too much memory"
    if bound is None:
        return f"Not certified {used}: vacuous bound"
    if is_useless:
        return f"Not certified {used}: ±{bound_text(bound)} excludes no probability"
    if bound == 0.0:
        return f"Exact {used}: no edge is cut"
    return f"Certified to ±{bound_text(bound)} {used}"


def meaning(
    bound: float | None, size: int, n: int, *, is_exact: bool = True, is_useless: bool = False
) -> str:
    """Explain :func:`headline`; the parameters are the same."""
    rest = n - size
    if not is_exact:
        return "The estimate comes from belief propagation in the region, which has no error bound."
    if bound is None or is_useless:
        return "The bound is vacuous: the cut-off part could change the answer completely."
    if bound == 0.0:
        return "The region is the whole component, so the answer is exact."
    return (
        f"Regardless of the other {plural(rest, 'node')}, the true probability is within "
        f"{bound_text(bound)} of this estimate."
    )


def shown_bound_words(bound: float | None, size: int) -> str:
    """Describe the bound of the region that is shown, where a smaller region has a better one."""
    if bound is None:
        return f"With the {plural(size, 'node')} shown the bound is vacuous."
    return f"With the {plural(size, 'node')} shown the bound is {bound_text(bound)}."


def joining_words(
    names: Sequence[str],
    added: int,
    candidates: Sequence[int],
    bounds: Sequence[float | None],
    *,
    expansion: Expansion,
) -> str:
    """Name the node that was added to the region, and the reason.

    Parameters
    ----------
    names : sequence of str
        Names of all variables.
    added : int
    candidates, bounds : sequences
        Candidates, and the bound with each of them added; None is vacuous.
    expansion : {"greedy", "random", "norm"}
    """
    name, count = short(names[added]), len(candidates)
    if count <= 1:
        return f"Added {name}, the only candidate."
    if expansion == "random":
        return f"Added {name}, drawn at random from {count:,} candidates."
    if expansion == "norm":
        return f"Added {name}: strongest edge into the region among {count:,} candidates."
    bound_of = dict(zip(candidates, bounds, strict=True))
    own = bound_of.get(added)
    others = sorted(b for i, b in bound_of.items() if i != added and b is not None)
    if own is None and not others:
        return f"Added {name}: the bound stays vacuous with each of the {count:,} candidates."
    if own is None or (others and own > others[0]):
        return (
            f"Added {name}: none of the {count:,} candidates lowers the bound noticeably; "
            f"{name} has the most influence on the query."
        )
    if not others:
        return f"Added {name}: of {count:,} candidates, the only one with a bound below 1."
    return (
        f"Added {name}: smallest bound among {count:,} candidates "
        f"({bound_text(own)}; runner-up {bound_text(others[0])})."
    )


def start_words(name: str, cut: int) -> str:
    """Describe the region that contains only the query."""
    if cut == 0:
        return f"{short(name)} has no edges, so the region contains only this variable."
    edges = "its edge is cut" if cut == 1 else f"its {cut:,} edges are cut"
    return f"The region contains only {short(name)}; {edges}."


def change_words(before: float | None, after: float | None) -> str:
    """Describe the change of the bound; None is vacuous."""
    if after is None:
        return "The bound is vacuous." if before is None else "The bound is vacuous again."
    if before is None:
        return f"The bound is now {bound_text(after)}."
    if bound_text(before) == bound_text(after):
        return f"The bound stays at {bound_text(after)}."
    verb = "fell" if after < before else "rose"
    return f"The bound {verb} from {bound_text(before)} to {bound_text(after)}."


def stop_words(reason: str, bounds: Sequence[float | None]) -> str:
    """Return why growth stopped, and the best size if a smaller region has a smaller bound."""
    proven = [bound for bound in bounds if bound is not None]
    if not reason or not proven or bounds[-1] == min(proven):
        return reason
    size = bounds.index(min(proven)) + 1
    best = bound_text(min(proven))
    return f"{reason} The best bound, {best}, was at size {size}; use that estimate."


def truth_words(width: int, entries: float, most: float) -> str:
    """Explain why exact inference is not run: its cost, and the limit of the page."""
    return (
        f"Exact inference is infeasible here (elimination width {width}, {_large(entries)} states; "
        f"limit {_large(most)}), so the actual error is unknown."
    )


def coefficient_words(c: float, radius: int | None, tolerance: float) -> str:
    """Explain Dobrushin's coefficient of the whole network.

    Parameters
    ----------
    c : float
    radius : int or None
        Distance beyond which edges may be cut for `tolerance`, from c alone; None if c
        gives no such distance.
    tolerance : float
    """
    if c >= 1.0:
        return _unbroken(
            f"c = {c:.2f} (largest total influence on any node). Only c < 1 guarantees that "
            "influence decays with distance; a particular region may still get a useful bound."
        )
    reach = (
        ""
        if radius is None
        else f" From c alone, all nodes within {plural(radius, 'edge')} would be needed for "
        f"±{bound_text(tolerance)}."
    )
    return _unbroken(
        f"c = {c:.2f} < 1 (largest total influence on any node), so influence decays with "
        f"distance.{reach}"
    )


def _unbroken(text: str) -> str:
    """Keep formulas on one line."""
    return text.replace(" = ", "\u00a0=\u00a0").replace(" < ", "\u00a0<\u00a0")


def _large(count: float) -> str:
    for size, word in ((1e15, ""), (1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if count >= size:
            return f"{count / size:.3g}{word}" if word else f"about 10^{math.log10(count):.0f}"
    return f"{count:,.0f}"


# --- a certified region at a step -----------------------------------------------------------------

MAX_SIZE = 16  # nodes; larger regions are hard to recognise in a graph
SMALLEST_TOLERANCE = 1e-4
_WEAK, _VACUOUS = 0.5, 0.99  # bounds from here on are of little use; vacuous
_PATIENCE = 8  # nodes added in a row that did not make the bound smaller
_AFFORDABLE = 500_000  # joint states of all cliques: milliseconds
_FEW_VARIABLES = 64  # up to which exact inference is tried
_BP_TOLERANCE, _BP_SWEEPS = 1e-6, 200
_SMALLEST_GAP = 1e-4  # smaller differences are within the error of belief propagation
Texts = Mapping[str, str]  # a part of the catalogue "answers"


class _Answered(NamedTuple):
    """Region, and the marginal of the query by exact inference in it.

    `steps` are all regions it was chosen from, in order of growth.
    """

    step: RegionStep
    marginal: np.ndarray
    steps: tuple[RegionStep, ...]


def certified_region(
    run: LearningRun,
    i: int,
    t: int,
    *,
    cut: Cut = "drop",
    tolerance: float = 0.01,
) -> dict[str, Any]:
    """Grow the region of variable `i` in the model after step `t`: the dict of docs/player.md.

    It grows greedily, until the bound is within the tolerance, and of the regions on the way the
    one with the smallest bound answers.

    Parameters
    ----------
    run : LearningRun
    i, t : int
        The last step of an ended run means its final model.
    cut : {"drop", "mean-field"}
        Treatment of the edges that leave the region.
    tolerance : float

    Raises
    ------
    InputError
        When there is no such variable, step or cut, or the tolerance is out of range.
    """
    if not SMALLEST_TOLERANCE <= tolerance < 1.0:
        raise InputError(
            f"The tolerance of a region must be at least {SMALLEST_TOLERANCE} and below 1; "
            f"got {tolerance}."
        )
    history = history_at(run, t)
    at_end = run.outcome is not None and t == len(run.steps)
    model = history.state_at(len(history.counts) if at_end else t).model
    found = _answer(model, i, cut, tolerance)
    whole = infer(model, "bp", tolerance=_BP_TOLERANCE, max_sweeps=_BP_SWEEPS)
    exact = _exact(model, i, whole)
    texts: Texts = catalogue("answers")["region"]
    verdict, headline = _verdict(model, found, tolerance, texts)
    return {
        "node": i,
        "t": t,
        "cut": cut,
        "tolerance": tolerance,
        "nodes": found.steps[-1].nodes.tolist(),
        "bounds": [float(step.bound) for step in found.steps],
        "size": found.step.size,
        "bound": float(found.step.bound),
        "marginal": found.marginal.tolist(),
        "bp": whole.node[i].tolist() if whole.converged else None,
        "exact": None if exact is None else exact.tolist(),
        "verdict": verdict,
        "headline": headline,
        "words": _beside(found, whole.node[i] if whole.converged else None, exact, texts),
    }


def region_settings(wish: object) -> dict[str, Any]:
    """Return the options of :func:`certified_region` in a query of the player.

    Raises
    ------
    InputError
        When they are no mapping, or of the wrong kind.
    """
    if not isinstance(wish, Mapping):
        raise InputError("A query of a region needs its settings.")
    settings: dict[str, Any] = {}
    if "cut" in wish:
        settings["cut"] = str(wish["cut"])
    if "tolerance" in wish:
        tolerance = wish["tolerance"]
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
            raise InputError("The tolerance of a region must be a number.")
        settings["tolerance"] = float(tolerance)
    return settings


def _answer(model: PairwiseModel, i: int, cut: Cut, tolerance: float) -> _Answered:
    """Grow the region, and use the size of smallest bound with feasible exact inference."""
    steps = _grown(model, i, cut, tolerance)
    best = min(steps, key=lambda step: step.bound)
    # If the bound is of little use, the largest region is the best guess.
    size = best.size if best.bound < _WEAK else steps[-1].size
    while True:
        step = steps[size - 1]
        local = region_model(model, step.nodes, cut)
        if size == 1 or plan_elimination(local).total_entries <= _AFFORDABLE:
            return _Answered(step, JunctionTree(local).node(0), steps)
        size //= 2


def _grown(model: PairwiseModel, i: int, cut: Cut, tolerance: float) -> tuple[RegionStep, ...]:
    """Return the regions on the way, until the bound is small enough or will not become smaller."""
    steps: list[RegionStep] = []
    best, in_vain = math.inf, 0
    for step in grow_region(model, i, tolerance=tolerance, max_size=MAX_SIZE, cut=cut):
        steps.append(step)
        in_vain = 0 if step.bound < best else in_vain + 1
        if in_vain == _PATIENCE:
            break
        best = min(best, step.bound)
    return tuple(steps)


def _exact(model: PairwiseModel, i: int, whole: Beliefs) -> np.ndarray | None:
    """Return the exact marginal if it is cheap."""
    if whole.log_partition_is == "exact":
        return whole.node[i]
    tree = cheap_tree(model)
    return None if tree is None else tree.node(i)


def cheap_tree(model: PairwiseModel) -> JunctionTree | None:
    """Return the junction tree of a model if exact inference takes milliseconds, else None."""
    if model.n_variables > _FEW_VARIABLES:
        return None
    is_cheap = plan_elimination(model).total_entries <= _AFFORDABLE
    return JunctionTree(model) if is_cheap else None


def _verdict(
    model: PairwiseModel, found: _Answered, tolerance: float, texts: Texts
) -> tuple[str, str]:
    """Return the verdict on the bound and its sentence."""
    step = found.step
    if step.bound > _VACUOUS:
        verdict, kind = "none", "vacuous"
    elif step.bound >= _WEAK:
        verdict, kind = "none", "large"
    elif len(step.boundary) == 0:
        verdict, kind = "certified", "alone" if step.size == 1 else "exact"
    elif step.bound <= tolerance:
        verdict = kind = "certified"
    else:
        verdict = kind = "bounded"
    share = texts["size"].format(size=step.size, n=f"{model.n_variables:,}")
    bound = bound_text(step.bound)
    return verdict, texts[kind].format(bound=bound, share=share, tolerance=f"{tolerance:g}")


def _beside(found: _Answered, bp: np.ndarray | None, exact: np.ndarray | None, texts: Texts) -> str:
    """Compare the region with BP on the whole graph and with the exact marginal."""

    def gap(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.abs(a - b).max())

    if exact is not None:
        off = _off_by(gap(found.marginal, exact), texts)
        if bp is None:
            return texts["no_bp_error"].format(off=off)
        return texts["error"].format(off=off, bp=_off_by(gap(bp, exact), texts))
    if bp is None:
        return texts["no_bp"]
    apart, bound = gap(bp, found.marginal), found.step.bound
    exceeds = apart - bound > _SMALLEST_GAP
    text = texts["bp_error" if exceeds else "differs"]
    return text.format(off=_off_by(apart, texts), least=f"{apart - bound:.1g}")


def _off_by(gap: float, texts: Texts) -> str:
    if gap >= _SMALLEST_GAP:
        return f"{gap:.2g}"
    return texts["least"].format(gap=f"{_SMALLEST_GAP:.4f}")
