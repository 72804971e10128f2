"""Methods of inference by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.exact.junction_tree import exact_beliefs
from graftviz.inference.exact.structure import plan_elimination, too_expensive
from graftviz.inference.mean_field import mean_field_beliefs
from graftviz.inference.propagation import loopy_beliefs
from graftviz.inference.reweighted import tree_reweighted_beliefs
from graftviz.inference.settings import InferenceSettings
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

Method = Literal["bp", "exact", "trbp", "mean-field"]
METHODS: dict[str, Callable[[PairwiseModel, InferenceSettings], Beliefs]] = {
    "bp": loopy_beliefs,
    "exact": exact_beliefs,
    "trbp": tree_reweighted_beliefs,
    "mean-field": mean_field_beliefs,
}


def check_method(method: object) -> None:
    """Raise an InputError for a method that does not exist."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(
            f"Inference method must be one of {', '.join(METHODS)}, not {quoted(method)}."
        )


def infer(
    model: HasModel,
    method: Method | Literal["auto"] = "auto",
    *,
    evidence: Evidence | None = None,
    tolerance: float = 1e-9,
    max_sweeps: int = 500,
    damping: float | Literal["auto"] = "auto",
    max_memory: int | None = None,
    reweighting: int = 0,
    starts: int = 5,
    seed: int = 0,
) -> Beliefs:
    """Compute the marginals of a model, given evidence or none.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    method : {"auto", "bp", "exact", "trbp", "mean-field"}
        "auto": exact if it takes at most about two seconds, else belief propagation, whose
        beliefs may be far off even where it converges; the notes of the result say so. "bp":
        loopy belief propagation; exact where the graph is a forest. "exact": a junction tree; time
        and memory grow exponentially with the width of the graph, and a model whose tables would
        not fit into memory is refused at once. "trbp": tree-reweighted belief propagation, whose
        log Z is an upper bound. "mean-field": a product of independent node beliefs, whose log Z is
        a lower bound.
    evidence : mapping, optional
        States of observed variables: {variable: state}, variables by index or name, states by
        index or label.
    tolerance : float
        Largest relative change of a message at convergence (mean field: largest change of a
        belief).
    max_sweeps : int
        At least 1. When it is reached, the result has ``converged=False`` and the beliefs of the
        last sweep.
    damping : float or "auto"
        Weight of the old message in each update, 0 ≤ damping < 1. "auto": 0 while the residual
        decreases, and larger whenever it stops decreasing.
    max_memory : int, optional
        Bytes that tables may take; default: 80 % of the free memory.
    reweighting : int
        "trbp" only: number of steps that optimise the edge appearance probabilities for a tighter
        bound; each runs message passing again.
    starts : int
        "mean-field" only: number of initial beliefs; the highest local maximum is returned.
    seed : int
        "mean-field" only: seed of the random initial beliefs.

    Raises
    ------
    InputError
        For an unknown method, evidence that is not in the model, or a setting out of range.

    Examples
    --------
    >>> gv.infer(model, "exact")["pet"].round(2).to_dict()
    {'cat': 0.21, 'dog': 0.48, 'none': 0.31}
    >>> gv.infer(model, "exact", evidence={"exercise": "never"})["pet"].round(2).to_dict()
    {'cat': 0.36, 'dog': 0.17, 'none': 0.47}
    """
    if method != "auto":
        check_method(method)
    settings = InferenceSettings(
        tolerance, max_sweeps, damping, max_memory, reweighting, starts, seed
    )
    settings.check()
    own: PairwiseModel = model_of(model)
    conditional = conditioned(own, checked_evidence(own, evidence))
    chosen = _automatic_beliefs if method == "auto" else METHODS[method]
    beliefs = conditional.extended(chosen(conditional.model, settings))
    return dataclasses.replace(beliefs, model=own)


def _automatic_beliefs(model: PairwiseModel, settings: InferenceSettings) -> Beliefs:
    """Return exact beliefs if they take little time, else those of belief propagation."""
    plan = plan_elimination(model)
    reason = too_expensive(plan)
    if not reason:
        return exact_beliefs(model, settings, plan)
    note = (
        f"Belief propagation was used, as {reason}; its beliefs may be far off even where it "
        "converges."
    )
    beliefs = loopy_beliefs(model, settings)
    return dataclasses.replace(beliefs, notes=(note, *beliefs.notes))
