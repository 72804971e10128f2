"""Certified marginal of one variable, computed from a small region around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from graftviz.inference.bethe.consistency import is_possible
from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.local.cuts import Cut
from graftviz.inference.local.expansion import (
    Bound,
    Expansion,
    ExpansionOptions,
    Growth,
    RegionStep,
    expansion_steps,
)
from graftviz.inference.local.local_model import region_model
from graftviz.inference.methods import infer
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.utils.errors import InputError

_HAVE_STATES: WeakKeyDictionary[PairwiseModel, bool] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False, repr=False)
class LocalMarginal:
    """Marginal computed from a local region, with an error bound.

    Attributes
    ----------
    query : int
    marginal : float64 array, shape (s_query,)
    bound : float
        Largest possible difference between a probability in `marginal` and in the whole model;
        1 when vacuous.
    certified : bool
        Whether the bound is proven and at most the tolerance.
    nontrivial_bound : bool
        Whether the bound is proven and not vacuous: inference in the region was exact, and the
        bound is below 1.
    nodes : int64 array
        The region that was used, the query first, in order of addition: of all regions during
        growth the one with the smallest bound, of several the largest.
    cut, expansion : str
    method : {"exact", "bp"}
        Inference method inside the region; "bp" where exact inference needs too much memory.
    stop_reason : str
        Why growth stopped, and remarks on the result, in sentences.
    history : tuple of RegionStep
        From the query alone to the region that was used; growth may have continued.

    Examples
    --------
    >>> answer = gv.local_marginal(model, "commute", max_size=4)
    >>> [model.names[k] for k in answer.nodes], round(answer.bound, 2)
    (['commute', 'home', 'garden', 'pet'], 0.51)
    """

    query: int
    marginal: np.ndarray
    bound: float
    certified: bool
    nontrivial_bound: bool
    nodes: np.ndarray
    cut: Cut
    expansion: Expansion
    method: str
    stop_reason: str
    history: tuple[RegionStep, ...]

    def __repr__(self) -> str:
        probabilities = ", ".join(f"{p:.3g}" for p in self.marginal)
        region = "1 variable" if len(self.nodes) == 1 else f"{len(self.nodes):,} variables"
        word = "certified" if self.certified else "not certified"
        return f"<LocalMarginal ({probabilities}) ± {self.bound:.2g}, {word}, from {region}>"


def grow_region(
    model: HasModel,
    query: int | str,
    *,
    tolerance: float = 1e-3,
    max_size: int = 16,
    cut: Cut = "drop",
    expansion: Expansion = "greedy",
    threshold: float = 0.0,
    seed: int = 0,
    growth: Growth = "detours",
    bound: Bound = "tight",
    evidence: Evidence | None = None,
) -> Iterator[RegionStep]:
    """Yield the region of the query alone, then the region after every added variable.

    Parameters are those of :func:`local_marginal`. Steps are computed as they are consumed.

    Raises
    ------
    InputError
        For a query or evidence that is not in the model, options out of range, and a model of
        which every joint state has probability zero; raised by the call, not by the first step.

    Examples
    --------
    >>> [step.size for step in gv.grow_region(model, "commute", max_size=4)]
    [1, 2, 3, 4]
    """
    options = ExpansionOptions(tolerance, max_size, cut, expansion, threshold, seed, growth, bound)
    own: PairwiseModel = model_of(model)
    rest = _conditional_model(own, checked_evidence(own, evidence))
    return expansion_steps(rest, own.index_of(query), options)


def local_marginal(
    model: HasModel,
    query: int | str,
    *,
    tolerance: float = 1e-3,
    max_size: int = 16,
    cut: Cut = "drop",
    expansion: Expansion = "greedy",
    threshold: float = 0.0,
    seed: int = 0,
    growth: Growth = "detours",
    bound: Bound = "tight",
    evidence: Evidence | None = None,
    max_memory: int | None = None,
) -> LocalMarginal:
    """Compute the marginal of one variable from a small region around it, with a proven bound.

    The cost depends on the region, its neighbours and their neighbours, not on the size of the
    model.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    query : int or str
        The variable, by index or name.
    tolerance : float
        Stop growing when the bound is at most this.
    max_size : int
        Largest number of variables in the region.
    cut : {"drop", "mean-field"}
        Treatment of the edges that leave the region: removed, or replaced by a field on its
        boundary.
    expansion : {"greedy", "random", "norm"}
        Which outside neighbour is added next: the one with the smallest bound; a random one; the
        one with the largest norm of all its edges into the region.
    threshold : float
        Stop growing when no variable improves a bound that is not vacuous by at least this much,
        or, for expansions that do not compute the bounds of candidates, when the last variable did
        not; 0: never.
    seed : int
        Seed of the random expansion.
    growth : {"detours", "algorithm-1"}
        Greedy expansion where no variable improves the bound: continue with the variable of
        largest influence on the query, or stop, as in Algorithm 1 of the paper.
    bound : {"tight", "corollary-2"}
        Form of the error bound: the influence of all neighbours of a variable together is limited,
        or their influences are added up, as in Corollary 2 of the paper, which is never smaller.
    evidence : mapping, optional
        States of observed variables: {variable: state}.
    max_memory : int, optional
        Bytes that the tables of exact inference may take; default: most of what is free.

    Raises
    ------
    InputError
        For a query or evidence that is not in the model, options out of range, evidence of
        probability zero, and a model of which every joint state has probability zero.

    References
    ----------
    Chen, Peng, Liu: Efficient localized inference for large graphical models, Algorithm 1.

    Examples
    --------
    >>> answer = gv.local_marginal(model, "commute", max_size=6)
    >>> answer.marginal.round(2), len(answer.nodes), answer.certified
    (array([0.26, 0.24, 0.36, 0.14]), 4, False)
    """
    options = ExpansionOptions(tolerance, max_size, cut, expansion, threshold, seed, growth, bound)
    own: PairwiseModel = model_of(model)
    observed = checked_evidence(own, evidence)
    rest = _conditional_model(own, observed)
    i = own.index_of(query)
    grown = tuple(expansion_steps(rest, i, options))
    best = min(reversed(grown), key=lambda step: step.bound)
    history = grown[: best.size]
    marginal, is_exact = _query_marginal(rest, best, cut, max_memory)
    proven = best.bound if is_exact else 1.0
    sentences = [grown[-1].reason]
    if best.size < grown[-1].size:
        sentences.append(
            f"The bound was smallest with {_variables(best.size)}, and that region is used."
        )
    if not is_exact:
        sentences.append(
            "Exact inference on it would need too much memory, so belief propagation was used, "
            "and nothing is certified."
        )
    elif proven >= 1.0:
        sentences.append("The bound is vacuous: nothing is certified.")
    if i in observed:
        marginal = np.zeros(int(own.cardinalities[i]))
        marginal[observed[i]] = 1.0
        sentences = ["The query is observed."]
    marginal.flags.writeable = False
    return LocalMarginal(
        query=i,
        marginal=marginal,
        bound=proven,
        certified=proven < 1.0 and proven <= tolerance,
        nontrivial_bound=proven < 1.0,
        nodes=best.nodes,
        cut=cut,
        expansion=expansion,
        method="exact" if is_exact else "bp",
        stop_reason=" ".join(sentences),
        history=history,
    )


def _conditional_model(model: PairwiseModel, observed: dict[int, int]) -> PairwiseModel:
    """Return the model conditioned on evidence; the model itself if there is none.

    A model without a possible state, and evidence of probability zero, are refused, even if the
    contradiction lies far from the query.
    """
    if not observed:
        if not _has_state(model):
            raise InputError(
                "Every joint state of this model has probability zero, so it has no marginals."
            )
        return model
    rest = conditioned(model, observed).model
    if not is_possible(rest):
        raise InputError(
            "The evidence contradicts the model: together its observations have probability zero."
        )
    return rest


def _has_state(model: PairwiseModel) -> bool:
    """Return whether a joint state is possible; searched for once per model."""
    if model not in _HAVE_STATES:
        # Without zero potentials nothing of the size of the model is allocated.
        lowest = model.weights.min(initial=0.0)
        _HAVE_STATES[model] = bool(np.isfinite(lowest)) or is_possible(model)
    return _HAVE_STATES[model]


def _variables(count: int) -> str:
    return "1 variable" if count == 1 else f"{count} variables"


def _query_marginal(
    model: PairwiseModel, step: RegionStep, cut: Cut, max_memory: int | None
) -> tuple[np.ndarray, bool]:
    """Return the marginal of the query in the local model, and whether it is exact."""
    local = region_model(model, step.nodes, cut)
    try:
        tree = JunctionTree(local, max_memory=max_memory)
    except InputError:  # the tables would need too much memory
        return infer(local, "bp").node[0].copy(), False
    return tree.node(0).copy(), True
