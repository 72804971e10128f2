"""Engine of the benchmark: declared measurements, their execution, and result rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import networkx as nx
import numpy as np

from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.data.synthetic.potentials import random_model, sample_exact
from graftviz.data.table import DiscreteTable
from graftviz.inference.likelihood import nlpl
from graftviz.learning.observer import recall_precision_f1
from graftviz.model.pairwise import PairwiseModel

GENERATED = "generated"
LAM, LAM2 = 1e-3, 0.03  # the values for which the goals are set
SECONDS_PER_ROW = 3.0  # processor time after which a row is not repeated
MOST_REPETITIONS = 7
_VERY_MANY, _FEW_CHAINS = 2_000, 1_024
LOWER_IS_BETTER = (
    *("seconds", "wall", "NLPL", "NLPL gap", "objective gap", "KKT residual", "share of pairs"),
    "time over that on 1,000 nodes",
)


class Unavailable(Exception):
    """Error for a yardstick or data set that is not available; the message gives the reason."""


# Errors of one row that do not stop the others; InputError is a ValueError.
FAILURES = (Unavailable, ArithmeticError, ValueError, MemoryError)


@dataclass(frozen=True)
class Size:
    """Data of a measurement.

    Attributes
    ----------
    nodes, rows, states : int
        Variables, training rows (0 if only the generating model is needed), and states of each
        variable.
    held_out : int
        Rows for the NLPL.
    edges : int or None
        Edges of the generating graph; None: the 2 n − 4 of a Barabási–Albert graph, m = 2.
    edge_sigma : float
        Standard deviation of its edge weights.
    source : str
        "generated", or the name of a data set of the lab.
    tree : bool
        Whether the generating graph is a preferential-attachment tree, whose rows are independent.
    """

    nodes: int
    rows: int
    states: int = 5
    held_out: int = 1000
    edges: int | None = None
    edge_sigma: float = 1.0
    source: str = GENERATED
    seed: int = 1
    tree: bool = False

    def tiny(self) -> Size:
        """Return the smallest size that uses the same kernels."""
        edges = None if self.edges is None else 14
        rows = min(self.rows, 500)
        return Size(8, rows, self.states, 50, edges=edges, seed=self.seed, tree=self.tree)


class Problem:
    """Data of one size: generated on first access, or given.

    Parameters
    ----------
    size : Size
    data : tuple of DiscreteTable, optional
        Training rows and held-out rows, of which the true edges are unknown.
    join_hubs : bool
        See :func:`graftviz.data.synthetic.gibbs.sample_gibbs`.
    """

    def __init__(
        self,
        size: Size,
        data: tuple[DiscreteTable, DiscreteTable] | None = None,
        *,
        join_hubs: bool = True,
    ) -> None:
        self.size, self._data, self._join_hubs = size, data, join_hubs

    @cached_property
    def model(self) -> PairwiseModel:
        """Generating model: a Barabási–Albert graph, plus random edges up to ``size.edges``."""
        size = self.size
        if size.tree:
            tree = nx.barabasi_albert_graph(size.nodes, 1, seed=size.seed)
            pairs, states = np.sort(np.array(tree.edges), axis=1), [size.states] * size.nodes
            return random_model(pairs[np.lexsort(pairs.T[::-1])], states, seed=size.seed)
        edges = {(int(i), int(j)) for i, j in scale_free_graph(size.nodes, size.seed).edges}
        rng = np.random.default_rng(size.seed)
        while len(edges) < (size.edges or 0):
            i, j = sorted(rng.choice(size.nodes, size=2, replace=False).tolist())
            edges.add((i, j))
        pairs, states = np.array(sorted(edges)), [size.states] * size.nodes
        return random_model(pairs, states, edge_sigma=size.edge_sigma, seed=size.seed)

    @cached_property
    def tables(self) -> tuple[DiscreteTable, DiscreteTable]:
        """Training rows and held-out rows."""
        if self._data is not None:
            return self._data
        size = self.size
        rows = size.rows + size.held_out
        if size.tree:
            table = sample_exact(self.model, rows, seed=size.seed)
            return table.rows(np.arange(size.rows)), table.rows(np.arange(size.rows, rows))
        # With very many variables, use fewer and longer chains: burn-in dominates the work.
        chains = _FEW_CHAINS if size.nodes > _VERY_MANY else None
        table = sample_gibbs(
            self.model, rows, seed=size.seed, chains=chains, join_hubs=self._join_hubs
        ).table
        order = np.random.default_rng(size.seed).permutation(rows)
        return table.rows(np.sort(order[: size.rows])), table.rows(np.sort(order[size.rows :]))

    @property
    def train(self) -> DiscreteTable:
        """Training rows."""
        return self.tables[0]

    @property
    def test(self) -> DiscreteTable:
        """Held-out rows."""
        return self.tables[1]

    @property
    def truth(self) -> np.ndarray | None:
        """True edges, or None if unknown."""
        return self.model.edges if self._data is None else None

    @cached_property
    def codes(self) -> np.ndarray:
        """Training codes for the NumPy implementations: int64, shape (n, rows)."""
        return self.train.codes.astype(np.int64)


class Repetition(NamedTuple):
    """Result of one repetition.

    Attributes
    ----------
    seconds, wall : float
        Processor time and elapsed time.
    model : PairwiseMRF or None
        The learned model, if any.
    facts : dict
        Further values, by name.
    """

    seconds: float
    wall: float
    model: PairwiseModel | None = None
    facts: dict[str, Any] = {}  # noqa: RUF012 (never written to)

    def scaled(self, factor: float) -> Repetition:
        """Return the sample with its times multiplied, to extrapolate from a part of the work."""
        return self._replace(seconds=self.seconds * factor, wall=self.wall * factor)


def timed(work: Callable[[], Any]) -> tuple[Any, Repetition]:
    """Run `work` and return its result and its times."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Repetition(time.process_time() - cpu, time.perf_counter() - wall)


class Goal(NamedTuple):
    """Threshold to reach, and a stricter target.

    Attributes
    ----------
    quantity : str
        A key of :attr:`BenchRow.values`.
    least : float
        Threshold; infinite if only `target` counts.
    """

    quantity: str
    least: float
    target: float

    def verdict(self, value: float) -> str:
        """Return "surpassed", "reached" or "missed"."""
        sign = -1.0 if self.quantity in LOWER_IS_BETTER else 1.0
        if sign * value >= sign * self.target:
            return "surpassed"
        must = math.isfinite(self.least)
        return "reached" if must and sign * value >= sign * self.least else "missed"


def quality(model: PairwiseModel, problem: Problem) -> dict[str, Any]:
    """Return the accuracy of a learned model against the true edges and on held-out rows.

    "NLPL gap" is relative to the NLPL of the generating model on the same rows; "best F1" is the
    largest F1 of any number of edges with the largest weight norms, "path F1" that of any number
    of first activated edges.
    """
    values = {"edges": float(model.n_edges)}
    values["NLPL"] = nlpl(model, problem.test)
    if problem.truth is None:
        return values
    found = recall_precision_f1(model.edges, problem.truth)
    named = {"recall": found.recall, "precision": found.precision, "F1": found.f1}
    values |= {name: value for name, value in named.items() if value is not None}
    norms = [np.linalg.norm(model.edge_weights(e)) for e in range(model.n_edges)]
    ranked = model.edges[np.argsort(norms, kind="stable")[::-1]]
    values["best F1"] = best_f1(ranked, problem.truth)
    values["path F1"] = best_f1(model.edges, problem.truth)
    generating = nlpl(problem.model, problem.test)
    values["NLPL gap"] = values["NLPL"] / generating - 1.0
    return values


Work: TypeAlias = "Callable[[Lab, Size], Repetition]"  # does the work once
Judge: TypeAlias = Callable[[PairwiseModel, Problem], dict[str, Any]]  # values of a learned model
Average: TypeAlias = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class Yardstick:
    """Reference implementation of the same work."""

    name: str
    run: Work
    warm_up: bool = True


@dataclass(frozen=True)
class Measurement:
    """One row of the benchmark, declared.

    Attributes
    ----------
    name : str
        Description of the work.
    size : Size
    run : callable (lab, size) -> Repetition
        Does the work once with this package.
    yardstick : Yardstick, optional
    goals : tuple of Goal
    group : str
        Table of the row: "speed" or "learners".
    warm_up : bool
        Whether to do the work on tiny data first, so that compilation is not timed.
    seeds : tuple of int
        Seeds of samples on which the work is done once each, instead of repeatedly on one sample;
        every number is then the average over the samples.
    average : callable (list of float) -> float
        Median or mean of the numbers of several samples.
    judge : callable (model, problem) -> dict
        Values of a learned model, computed once.
    """

    name: str
    size: Size
    run: Work
    yardstick: Yardstick | None = None
    goals: tuple[Goal, ...] = ()
    group: str = "speed"
    warm_up: bool = True
    seeds: tuple[int, ...] = ()
    average: Average = median
    judge: Judge = quality

    @property
    def title(self) -> str:
        """Name and number of variables."""
        return f"{self.name}, n = {self.size.nodes:,}"


@dataclass(frozen=True)
class BenchRow:
    """Results of one measurement.

    Attributes
    ----------
    values : dict
        "seconds" (median of processor time), "wall", "ratio", and if available the facts of the
        samples and the values of the learned model.
    yardstick_values : dict
        The same for the yardstick; empty if there is none.
    missing : str
        Reason why there is no measurement or no yardstick; empty if there is.
    """

    measurement: Measurement
    repetitions: int = 0
    values: dict[str, Any] = field(default_factory=dict)
    yardstick_values: dict[str, Any] = field(default_factory=dict)
    missing: str = ""

    def verdicts(self) -> list[tuple[Goal, float | None, str]]:
        """Return every goal with the measured value and the verdict."""
        found = [(goal, self.values.get(goal.quantity)) for goal in self.measurement.goals]
        return [(goal, x, "not measured" if x is None else goal.verdict(x)) for goal, x in found]


class Lab:
    """Data and finished rows, shared by all measurements of one session.

    Parameters
    ----------
    data : dict, optional
        Training rows and held-out rows by source name.
    seconds_per_row : float
        Processor time that repetitions of one row may take.
    """

    def __init__(
        self,
        data: Mapping[str, tuple[DiscreteTable, DiscreteTable]] | None = None,
        *,
        seconds_per_row: float = SECONDS_PER_ROW,
    ) -> None:
        self._data = data or {}
        self._problems: dict[Size, Problem] = {}
        self.seconds_per_row = seconds_per_row
        self.rows: list[BenchRow] = []

    def problem(self, size: Size) -> Problem:
        """Return the data of a size.

        Raises
        ------
        Unavailable
            If the data set is missing.
        """
        if size not in self._problems:
            if size.source != GENERATED and size.source not in self._data:
                raise Unavailable(f"the data set {size.source} is missing")
            self._problems[size] = Problem(size, self._data.get(size.source))
        return self._problems[size]

    def earlier(self, name: str, size: Size) -> BenchRow:
        """Return the earlier row with this name and size.

        Raises
        ------
        Unavailable
            If there is none.
        """
        for row in self.rows:
            if row.measurement.name == name and row.measurement.size == size and row.values:
                return row
        raise Unavailable(f"{name} was not measured")

    def measure(self, measurement: Measurement) -> BenchRow:
        """Run a measurement and its yardstick, and append the row to :attr:`rows`."""
        self.rows.append(self._measured(measurement))
        return self.rows[-1]

    def _measured(self, measurement: Measurement) -> BenchRow:
        seeds = measurement.seeds or (measurement.size.seed,)
        sizes = [replace(measurement.size, seed=seed) for seed in seeds]
        yardstick = measurement.yardstick
        repetitions = 0
        values: dict[str, Any] = {}
        theirs: dict[str, Any] = {}
        try:
            values, repetitions = self._averages(measurement, sizes, measurement)
            if yardstick is not None:
                theirs, _ = self._averages(yardstick, sizes, measurement)
        except FAILURES as problem:
            reason = str(problem) or type(problem).__name__
            return BenchRow(measurement, repetitions, values, missing=reason)
        if theirs and values["seconds"] > 0:
            values["ratio"] = theirs["seconds"] / values["seconds"]
        if "objective" in values and "objective" in theirs:
            values["objective gap"] = values["objective"] / theirs["objective"] - 1.0
        return BenchRow(measurement, repetitions, values, theirs)

    def _averages(
        self, work: Measurement | Yardstick, sizes: Sequence[Size], measurement: Measurement
    ) -> tuple[dict[str, Any], int]:
        """Return the values, or their averages over several samples, and all repetitions."""
        found, repetitions = [], 0
        for size in sizes:
            sample, times = self._repeated(work, size, 1 if len(sizes) > 1 else None)
            values = {"seconds": sample.seconds, "wall": sample.wall, **sample.facts}
            if sample.model is not None:
                values |= measurement.judge(sample.model, self.problem(size))
            found.append(values)
            repetitions += times
        if len(found) == 1:
            return found[0], repetitions
        shared = [name for name in found[0] if all(name in values for values in found)]
        average = measurement.average
        return {name: average([values[name] for values in found]) for name in shared}, repetitions

    def _repeated(
        self, work: Measurement | Yardstick, size: Size, most: int | None
    ) -> tuple[Repetition, int]:
        """Return the last sample with the median times of all samples, and their number."""
        if work.warm_up:
            work.run(self, size.tiny())
        samples: list[Repetition] = []
        took = [0.0]
        limit = most or MOST_REPETITIONS
        while len(samples) < limit and sum(took) + took[-1] <= self.seconds_per_row:
            started = time.process_time()
            samples.append(work.run(self, size))
            took.append(time.process_time() - started)
        seconds = median(sample.seconds for sample in samples)
        wall = median(sample.wall for sample in samples)
        return samples[-1]._replace(seconds=seconds, wall=wall), len(samples)


def best_f1(ranked: np.ndarray, truth: np.ndarray) -> float:
    """Return the largest F1 of the first k edges of a ranking, over all k."""
    true = set(map(tuple, np.sort(truth, axis=1).tolist()))
    hits = np.cumsum([tuple(edge) in true for edge in np.sort(ranked, axis=1).tolist()])
    return float(np.max(2 * hits / (np.arange(1, len(hits) + 1) + len(true)), initial=0.0))
