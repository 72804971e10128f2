"""The front door: a certified marginal of one variable, from a small region around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graftviz.errors import InputError
from graftviz.inference import Evidence, checked_evidence, conditioned, infer
from graftviz.inference.consistency import is_possible
from graftviz.inference.exact import JunctionTree
from graftviz.model import PairwiseMRF
from graftviz.regions.expansion import ExpansionOptions, RegionStep, expansion_steps
from graftviz.regions.local_model import region_model


@dataclass(frozen=True, eq=False)
class LocalMarginal:
    """A marginal from a local region, and how wrong it can be.

    Attributes
    ----------
    query : int
    marginal : float64 array, shape (s_query,)
    bound : float
        No probability in `marginal` is further than this from that of the whole model; 1 when
        vacuous.
    certified : bool
        Whether the bound is proven and says something: the region was answered exactly, and the
        bound is below 1.
    nodes : int64 array
        The region that answers, the query first, in order of addition: of all regions on the way
        the one with the smallest bound, and of several the largest.
    cut, expansion : str
    method : {"exact", "bp"}
        What answered inside the region; "bp" where exact inference needs too much memory.
    reached_tolerance : bool
    stop_reason : str
        Why the region grew no further, and what there is to know about the answer: sentences.
    history : tuple of RegionStep
        From the query alone to the region that answers; growth may have gone on.
    """

    query: int
    marginal: np.ndarray
    bound: float
    certified: bool
    nodes: np.ndarray
    cut: str
    expansion: str
    method: str
    reached_tolerance: bool
    stop_reason: str
    history: tuple[RegionStep, ...]


def grow_region(
    model: PairwiseMRF,
    query: int | str,
    *,
    tolerance: float = 1e-3,
    max_size: int = 16,
    cut: str = "drop",
    expansion: str = "greedy",
    threshold: float = 0.0,
    seed: int = 0,
    evidence: Evidence | None = None,
) -> Iterator[RegionStep]:
    """Yield the region of the query alone, then the region after every added variable.

    Parameters are those of :func:`local_marginal`. Taking no further step costs nothing.

    Raises
    ------
    InputError
        For a query or evidence the model knows nothing of, and for options out of range; at once,
        not with the first step.
    """
    options = ExpansionOptions(tolerance, max_size, cut, expansion, threshold, seed)
    rest = _given(model, checked_evidence(model, evidence))
    return expansion_steps(rest, model.index_of(query), options)


def local_marginal(
    model: PairwiseMRF,
    query: int | str,
    *,
    tolerance: float = 1e-3,
    max_size: int = 16,
    cut: str = "drop",
    expansion: str = "greedy",
    threshold: float = 0.0,
    seed: int = 0,
    evidence: Evidence | None = None,
    max_memory: int | None = None,
) -> LocalMarginal:
    """Compute the marginal of one variable from a small region around it, with a proven bound.

    The cost depends on the region, its neighbours and theirs, not on the size of the model.

    Parameters
    ----------
    model : PairwiseMRF
    query : int or str
        The variable, by index or name.
    tolerance : float
        Stop growing when the bound is at most this.
    max_size : int
        Variables in the region at most.
    cut : {"drop", "mean-field"}
        What becomes of the edges that leave the region: nothing, or a field on its boundary.
    expansion : {"greedy", "random", "norm"}
        Which outside neighbour comes next: the one that gives the smallest bound; any; the one with
        the largest norm of all its edges into the region.
    threshold : float
        Stop growing when no variable improves a bound that is not vacuous by this much, or, where
        the expansion does not look ahead, when the last one did not; 0: never.
    seed : int
        Of the random expansion.
    evidence : mapping, optional
        States of observed variables: {variable: state}.
    max_memory : int, optional
        Bytes that the tables of exact inference may take; default: most of what is free.

    Raises
    ------
    InputError
        For a query or evidence the model knows nothing of, options out of range, and evidence of
        probability zero.

    References
    ----------
    Chen, Peng, Liu: Efficient localized inference for large graphical models, Algorithm 1.
    """
    options = ExpansionOptions(tolerance, max_size, cut, expansion, threshold, seed)
    observed = checked_evidence(model, evidence)
    rest = _given(model, observed)
    i = model.index_of(query)
    grown = tuple(expansion_steps(rest, i, options))
    best = min(reversed(grown), key=lambda step: step.bound)
    history = grown[: best.size]
    marginal, is_exact = _answer(rest, best, cut, max_memory)
    bound = best.bound if is_exact else 1.0
    sentences = [grown[-1].reason]
    if best.size < grown[-1].size:
        sentences.append(
            f"Of all regions on the way that of {best.size} has the smallest bound, and answers."
        )
    if not is_exact:
        sentences.append(
            "Exact inference on it would need too much memory, so belief propagation answered, "
            "and nothing is certified."
        )
    elif bound >= 1.0:
        sentences.append("The bound is vacuous: nothing is certified.")
    if i in observed:
        marginal = np.zeros(int(model.cardinalities[i]))
        marginal[observed[i]] = 1.0
        sentences = ["The query is observed."]
    marginal.flags.writeable = False
    return LocalMarginal(
        query=i,
        marginal=marginal,
        bound=bound,
        certified=is_exact and bound < 1.0,
        nodes=best.nodes,
        cut=cut,
        expansion=expansion,
        method="exact" if is_exact else "bp",
        reached_tolerance=bound <= tolerance,
        stop_reason=" ".join(sentences),
        history=history,
    )


def _given(model: PairwiseMRF, observed: dict[int, int]) -> PairwiseMRF:
    """Return the model of what is not observed; where nothing is, at no cost.

    Evidence that zero potentials rule out is refused, though they may lie far from the query.
    """
    if not observed:
        return model
    rest = conditioned(model, observed).model
    if not is_possible(rest):
        raise InputError(
            "The evidence contradicts the model: together its observations have probability zero."
        )
    return rest


def _answer(
    model: PairwiseMRF, step: RegionStep, cut: str, max_memory: int | None
) -> tuple[np.ndarray, bool]:
    """Return the marginal of the query in the local model, and whether it is exact."""
    local = region_model(model, step.nodes, cut)
    try:
        tree = JunctionTree(local, max_memory=max_memory)
    except InputError:  # the tables would need too much memory
        return infer(local, "bp").node[0].copy(), False
    return tree.node(0).copy(), True
