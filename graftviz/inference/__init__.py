"""Inference: one module per method, one result type, one entry point."""

from __future__ import annotations

import dataclasses
from typing import Literal

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.methods import METHODS, Method, check_method
from graftviz.inference.settings import InferenceSettings
from graftviz.model import PairwiseMRF
from graftviz.predictor import Predictor, model_of

__all__ = ["METHODS", "Beliefs", "Evidence", "Method", "checked_evidence", "conditioned", "infer"]


def infer(
    model: Predictor,
    method: Method = "bp",
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
    method : {"bp", "exact", "trbp", "mean-field"}
        "bp": loopy belief propagation; exact where the graph is a forest. "exact": a junction
        tree; time and memory grow exponentially with the width of the graph, and a model whose
        tables would not fit into memory is refused at once. "trbp": tree-reweighted belief
        propagation, whose log Z is an upper bound. "mean-field": a product of independent node
        beliefs, whose log Z is a lower bound.
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
    check_method(method)
    settings = InferenceSettings(
        tolerance, max_sweeps, damping, max_memory, reweighting, starts, seed
    )
    settings.check()
    own: PairwiseMRF = model_of(model)
    conditional = conditioned(own, checked_evidence(own, evidence))
    beliefs = conditional.extended(METHODS[method](conditional.model, settings))
    return dataclasses.replace(beliefs, model=own)
