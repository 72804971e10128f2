"""Facts about a finished model: its nodes, edges and marginals, communities, samples, differences.

Logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import networkx as nx
import numpy as np
from scipy.special import entr

from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import freeze, read_only
from graftviz.utils.errors import InputError

_EQUAL = 1e-9  # largest distance of marginals that counts as rounding
MOST_LOUVAIN = 30_000  # edges; Louvain's method takes seconds beyond, label propagation does not
COMMON, LOST, GAINED = "common", "lost", "gained"
STATUS_WORDS = {COMMON: "in both", LOST: "only in the first", GAINED: "only in the second"}
SAMPLES = 4096
MOST_STATES = 1000  # of all variables together
_CHAINS = 512
_MOST_CELLS = 4_000_000  # indicators of the data rows that are compared


def degree_ranks(model: PairwiseModel) -> np.ndarray:
    """Return the rank of every node by degree, 1 for the largest; ties share the better rank."""
    degrees = model.degrees()
    return 1 + np.searchsorted(np.sort(-degrees), -degrees, side="left")


def degree_counts(model: PairwiseModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the degrees that occur, ascending, and the number of nodes with each."""
    return np.unique(model.degrees(), return_counts=True)


def strongest_partners(model: PairwiseModel, strengths: np.ndarray | None = None) -> np.ndarray:
    """Return the edge of every node with the largest strength, int64, shape (n,); −1 for none.

    Parameters
    ----------
    model : PairwiseMRF
    strengths : array, shape (m,), optional
        By default the zero-sum norm ‖w_ij‖₂.
    """
    strengths = model.edge_norms() if strengths is None else strengths
    best = np.full(model.n_variables, -1, dtype=np.int64)
    # Later assignments overwrite: the strongest edges come last, the first of ties after others.
    for e in np.lexsort((-np.arange(len(strengths)), strengths)):
        best[model.edges[e]] = e
    return best


def entropies(marginals: Sequence[np.ndarray]) -> np.ndarray:
    """Return −Σ p log p of every marginal, shape (n,)."""
    return _sums(marginals, entr(np.concatenate([np.zeros(0), *marginals])))


def total_variations(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> np.ndarray:
    """Return ½ Σ |p − q| between two lists of marginals, shape (n,): 0 equal, 1 disjoint."""
    gaps = np.abs(np.concatenate([np.zeros(0), *before]) - np.concatenate([np.zeros(0), *after]))
    return 0.5 * _sums(before, gaps)


class Change(NamedTuple):
    """State of a node whose probability changed most, and this probability before and after."""

    node: int
    state: int
    before: float
    after: float


def changes_by_size(
    before: Sequence[np.ndarray], after: Sequence[np.ndarray], observed: Collection[int] = ()
) -> list[Change]:
    """Return the nodes whose marginals differ, most changed first, without the observed ones."""
    size = total_variations(before, after)
    changes = []
    for i in np.argsort(-size, kind="stable").tolist():
        if i not in observed and size[i] > _EQUAL:
            k = int(np.argmax(np.abs(after[i] - before[i])))
            changes.append(Change(i, k, float(before[i][k]), float(after[i][k])))
    return changes


def mutual_informations(pairs: Sequence[np.ndarray]) -> np.ndarray:
    """Return Σ p(x,y) log p(x,y) / (p(x) p(y)) of every pair marginal, shape (m,), at least 0."""
    result = np.zeros(len(pairs))
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for e, pair in enumerate(pairs):
        by_shape.setdefault(pair.shape, []).append(e)
    for members in by_shape.values():
        stacked = np.stack([pairs[e] for e in members])
        rows = entr(stacked.sum(axis=2)).sum(axis=1)
        columns = entr(stacked.sum(axis=1)).sum(axis=1)
        result[members] = rows + columns - entr(stacked).sum(axis=(1, 2))
    return np.maximum(result, 0.0)


def deviation_from_independence(pair: np.ndarray) -> np.ndarray:
    """Return p(x,y) − p(x) p(y), shape (s_i, s_j); positive if x and y occur together."""
    deviation: np.ndarray = pair - np.outer(pair.sum(axis=1), pair.sum(axis=0))
    return deviation


def _sums(parts: Sequence[np.ndarray], flat: np.ndarray) -> np.ndarray:
    """Return the sum of `flat` over every part; no part is empty."""
    starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]
    sums: np.ndarray = np.add.reduceat(flat, starts) if len(parts) else np.zeros(0)
    return sums


class Communities(NamedTuple):
    """Communities of a graph, largest first; within each, nodes are in the order of their degree.

    Attributes
    ----------
    order : int64 array, shape (n,)
        Nodes in the order of the matrix.
    starts : int64 array, shape (k + 1,)
        Community c has the nodes ``order[starts[c]:starts[c + 1]]``.
    modularity : float
        Share of the edges within communities, minus the share expected at random; nan without
        edges.
    """

    order: np.ndarray
    starts: np.ndarray
    modularity: float


def find_communities(n: int, edges: np.ndarray) -> Communities:
    """Return the communities of a graph, by Louvain's method or, of a large graph, by labels.

    Parameters
    ----------
    n : int
    edges : int array, shape (m, 2)
    """
    graph = nx.empty_graph(n)
    graph.add_edges_from(edges.tolist())
    find = nx.community.louvain_communities
    if len(edges) > MOST_LOUVAIN:
        find = nx.community.fast_label_propagation_communities
    found = [sorted(part) for part in find(graph, seed=0)]
    found.sort(key=lambda part: (-len(part), part))
    degrees = np.bincount(edges.reshape(-1), minlength=n)
    order = np.array(
        [i for part in found for i in sorted(part, key=lambda i: (-degrees[i], i))], dtype=np.int64
    )
    starts = np.cumsum([0, *map(len, found)])
    modularity = nx.community.modularity(graph, found) if len(edges) else float("nan")
    freeze(order, starts)
    return Communities(order, starts, modularity)


@dataclass(frozen=True, eq=False)
class ModelDifference:
    """Edges of two models, with the variable indices of the first.

    Attributes
    ----------
    edges : int64 array, shape (k, 2)
        Rows i < j: common edges first, then lost, then gained ones, each by decreasing norm.
    status : tuple of str, length k
        ``"common"``; ``"lost"``: in the first model only; ``"gained"``: in the second only.
    first, second : float64 arrays, shape (k,)
        Zero-sum norm ‖w_ij‖₂ in each model, 0 where it does not have the edge.
    numbers : int64 array, shape (k, 2)
        Of the edge in each model, -1 where it does not have the edge.
    places : int64 array
        Index in the first model of each variable of the second, -1 where there is none.
    note : str
        How the variables were matched.
    """

    edges: np.ndarray
    status: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray
    numbers: np.ndarray
    places: np.ndarray
    note: str

    @property
    def recall(self) -> float:
        """Share of the edges of the second model that the first has; nan if there are none."""
        return _share(self.count(COMMON), self.count(GAINED))

    @property
    def precision(self) -> float:
        """Share of the edges of the first model that the second has; nan if there are none."""
        return _share(self.count(COMMON), self.count(LOST))

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision; nan if neither model has edges."""
        both = self.count(COMMON)
        return _share(2 * both, self.count(LOST) + self.count(GAINED))

    def count(self, status: str) -> int:
        """Return the number of edges with `status`."""
        return self.status.count(status)

    def strengths(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the larger of the strengths of every edge in both models, shape (k,).

        Parameters
        ----------
        first, second : arrays
            One value of at least 0 per edge of each model.
        """
        padded = (np.append(values, 0.0) for values in (first, second))
        columns = [values[at] for values, at in zip(padded, self.numbers.T, strict=True)]
        larger: np.ndarray = np.maximum(*columns)
        return larger


def _share(part: int, others: int) -> float:
    return part / (part + others) if part + others else float("nan")


def marginal_distances(
    difference: ModelDifference,
    models: tuple[PairwiseModel, PairwiseModel],
    marginals: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
) -> np.ndarray:
    """Return the total variation between the marginals of every variable of the first model.

    States are matched by label; if the labels of a variable differ, by index.

    Parameters
    ----------
    difference : ModelDifference
    models : pair of PairwiseMRF
    marginals : pair of sequences of arrays
        Marginals of all variables of each model.

    Returns
    -------
    float64 array, shape (n,)
        nan where the second model lacks the variable, or has it with another number of states.
    """
    first, second = models
    pairs = []
    for j, i in enumerate(difference.places.tolist()):
        if i < 0 or first.cardinalities[i] != second.cardinalities[j]:
            continue
        order = {label: k for k, label in enumerate(second.labels[j])}
        is_named = order.keys() == set(first.labels[i])
        states = [order[label] for label in first.labels[i]] if is_named else slice(None)
        pairs.append((i, marginals[0][i], marginals[1][j][states]))
    found = np.full(first.n_variables, np.nan)
    if pairs:
        chosen, before, after = zip(*pairs, strict=True)
        found[list(chosen)] = total_variations(before, after)
    return found


def compare_models(first: PairwiseModel, second: PairwiseModel) -> ModelDifference:
    """Compare the edges of two models.

    Variables are matched by name; if the models share no name, by index, if there are as many.

    Raises
    ------
    InputError
        If the variables cannot be matched.
    """
    places, note = _matched(first, second)
    own = {(i, j): e for e, (i, j) in enumerate(first.edges.tolist())}
    other: dict[tuple[int, int], int] = {}
    for e, (i, j) in enumerate(second.edges.tolist()):
        a, b = int(places[i]), int(places[j])
        if a >= 0 and b >= 0:
            other[min(a, b), max(a, b)] = e
    groups = (
        (COMMON, [edge for edge in own if edge in other]),
        (LOST, [edge for edge in own if edge not in other]),
        (GAINED, [edge for edge in other if edge not in own]),
    )
    # The number -1 of an edge that is not in a model has the norm 0.
    norms = [np.append(model.edge_norms(), 0.0) for model in (first, second)]
    rows = []
    for status, edges in groups:
        found = [(edge, status, own.get(edge, -1), other.get(edge, -1)) for edge in edges]
        rows += sorted(found, key=lambda row: (-max(norms[0][row[2]], norms[1][row[3]]), row[0]))
    table = np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, 2)
    numbers = np.array([row[2:] for row in rows], dtype=np.int64).reshape(-1, 2)
    columns = [values[at] for values, at in zip(norms, numbers.T, strict=True)]
    freeze(table, numbers, places, *columns)
    statuses = tuple(row[1] for row in rows)
    return ModelDifference(table, statuses, columns[0], columns[1], numbers, places, note)


def _matched(first: PairwiseModel, second: PairwiseModel) -> tuple[np.ndarray, str]:
    """Return the index in `first` of each variable of `second` (−1: none), and a note."""
    index = {name: i for i, name in enumerate(first.names)}
    indices = np.array([index.get(name, -1) for name in second.names], dtype=np.int64)
    shared = int((indices >= 0).sum())
    if shared == 0:
        if first.n_variables != second.n_variables:
            raise InputError(
                f"These models have no variable of the same name, and {first.n_variables:,} and "
                f"{second.n_variables:,} variables: there is nothing to compare."
            )
        note = "No name is in both models, so their variables are matched by number."
        return np.arange(second.n_variables), note
    missing = (first.n_variables - shared, second.n_variables - shared)
    if missing == (0, 0):
        return indices, ""
    return indices, (
        f"{shared:,} variables are in both models by name; {missing[0]:,} are only in the first, "
        f"{missing[1]:,} only in the second, and edges of these are ignored."
    )


@dataclass(frozen=True, eq=False)
class SampleComparison:
    """Samples of a model and rows of a table, with the probabilities of all pairs of states.

    Attributes
    ----------
    model : PairwiseMRF
    data, drawn : DiscreteTable
        The compared rows, and the samples.
    states : int array, shape (k, 4)
        Of every pair of states of two variables i < j: i, j, and the states of both.
    in_data, in_model : float array, shape (k,)
        Their relative frequencies.
    is_edge : bool array, shape (k,)
        Whether the variables are joined in the model.
    split_rhat : float
        The largest of the mixing diagnostic; near 1 if the chains agree.
    """

    model: PairwiseModel
    data: DiscreteTable
    drawn: DiscreteTable
    states: np.ndarray
    in_data: np.ndarray
    in_model: np.ndarray
    is_edge: np.ndarray
    split_rhat: float

    @property
    def noise(self) -> float:
        """The largest standard error of a difference, of independent rows and samples."""
        return 0.5 * float(np.sqrt(1 / self.data.total_weight + 1 / self.drawn.n_rows))

    @property
    def largest(self) -> int:
        """Index of the pair of states whose frequencies differ most."""
        return int(np.argmax(np.abs(self.in_model - self.in_data)))


def compare_samples(
    model: PairwiseModel, table: DiscreteTable, *, seed: int = 0
) -> SampleComparison:
    """Draw `SAMPLES` samples of a model, and compare them with rows of a table.

    Parameters
    ----------
    model : PairwiseMRF
    table : DiscreteTable
        Of the variables of the model; of a large table the first rows are compared.
    seed : int
        The same seed gives the same samples.

    Raises
    ------
    InputError
        For more than `MOST_STATES` states in all, or fewer than two variables, and as
        :func:`graftviz.data.synthetic.gibbs.sample_gibbs`.
    """
    total = int(model.cardinalities.sum())
    if total > MOST_STATES or model.n_variables < 2:
        raise InputError(
            f"Samples are compared for at least two variables of at most {MOST_STATES:,} states "
            f"in all; this model has {model.n_variables:,} of {total:,}."
        )
    sample = sample_gibbs(model, SAMPLES, seed=seed, chains=_CHAINS)
    rows = min(table.n_rows, _MOST_CELLS // total)
    data = table.rows(slice(rows))
    of = np.repeat(np.arange(model.n_variables), model.cardinalities)
    first, second = np.nonzero(of[:, None] < of[None, :])
    starts = np.cumsum(model.cardinalities) - model.cardinalities
    states = np.column_stack([of[first], of[second], first - starts[of[first]]])
    states = np.column_stack([states, second - starts[of[second]]])
    joined = np.zeros((model.n_variables, model.n_variables), dtype=bool)
    joined[model.edges[:, 0], model.edges[:, 1]] = True
    return SampleComparison(
        model,
        data,
        sample.table,
        read_only(states),
        read_only(data.joint_shares()[first, second]),
        read_only(sample.table.joint_shares()[first, second]),
        read_only(joined[of[first], of[second]]),
        float(np.nanmax(sample.diagnostic.split_rhat, initial=1.0)),
    )
