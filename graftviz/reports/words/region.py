"""Certified region of a node at a step: its marginal with a proven error bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.structure import plan_elimination
from graftviz.inference.local.local_model import Cut, region_model
from graftviz.inference.local.marginal import RegionStep, grow_region
from graftviz.inference.methods import infer
from graftviz.learning.run import LearningRun
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.texts import catalogue
from graftviz.reports.words.answers import history_at
from graftviz.reports.words.regions import bound_text
from graftviz.utils.errors import InputError

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
