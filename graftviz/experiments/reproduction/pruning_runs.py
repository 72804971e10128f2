"""Measured parts of the tables of forced pruning: cells, tree, and nodewise floor."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graftviz.experiments.bench import Size
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.experiment import Part
from graftviz.fitting.nodewise import solve_regression
from graftviz.fitting.softmax import loss_and_gradient
from graftviz.learners.chow_liu import ChowLiu
from graftviz.learners.forced_pruning import ForcedPruning
from graftviz.runs import learn
from graftviz.table import DiscreteTable

_FLOOR_TOLERANCE = 1e-4  # allowed violation in a regression
_SMOOTHING = 0.5  # pseudo-count per state, for the tree and for constant variables


@dataclass(frozen=True)
class CellPart(Part):
    """Forced pruning with m more edges than a tree and exchanges of k.

    Attributes
    ----------
    size : Size
    heuristic : str
    extra : int
        m.
    exchange : int
        k.
    exchanges : int
        Limit on the number of exchanges.
    seed : int
    """

    size: Size
    heuristic: str
    extra: int
    exchange: int
    exchanges: int
    seed: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{self.size.source}, {self.heuristic}, m = {self.extra}, k = {self.exchange}"

    @property
    def work(self) -> int:
        """Approximate amount of work: fitted edges over all exchanges."""
        fits = 1 + (self.exchanges if self.exchange else 0)
        return (self.size.nodes + self.extra) * fits * (1 + self.size.rows // 1000)

    @property
    def source(self) -> str:
        """Data set of the part."""
        return self.size.source

    def learner(self, variables: int) -> ForcedPruning:
        """Return the learner of this cell."""
        most = variables * (variables - 1) // 2
        edges = min(variables - 1 + self.extra, most)
        return ForcedPruning(
            edges=edges,
            exchange=min(self.exchange, edges),
            heuristic=self.heuristic,
            exchanges=self.exchanges,
        )

    def settings(self, data: Data) -> dict[str, Any]:
        """Return data and learner."""
        return {
            "part": "forced pruning",
            "data": dataclasses.asdict(self.size),
            "rows": data.fingerprint(self.size),
            "heuristic": self.heuristic,
            "m": self.extra,
            "k": self.exchange,
            "exchanges": self.exchanges,
            "seed": self.seed,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: times are reported, not compared."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn, and return the scores and the counts of exchanges."""
        problem = data.problem(self.size)
        train, test = problem.train, problem.test
        result = learn(train, self.learner(train.n_variables), seed=self.seed, test=test)
        exchanges = [step.exchange for step in result.trace if step.exchange is not None]
        on_progress(self.work)
        return {
            "edges": result.edges,
            "nlpl_test": result.nlpl_test,
            "nlpl_train": result.nlpl_train,
            "steps": len(exchanges),
            "tries": sum(exchange.tries for exchange in exchanges),
            "accepted": sum(exchange.accepted for exchange in exchanges),
            "fallbacks": sum(exchange.fallback for exchange in exchanges),
            "stop_reason": result.stop_reason,
            "seconds": result.seconds.total,
        }


@dataclass(frozen=True)
class ReferencePart(Part):
    """The Chow–Liu tree, and logistic regression of each variable on all others.

    The regressions share no weights, so they have more parameters than a pairwise model. On data of
    this size a pairwise model is not expected to predict better, although it could.
    """

    size: Size

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{self.size.source}, tree and regressions"

    @property
    def work(self) -> int:
        """Approximate amount of work, in the unit of :class:`CellPart`."""
        return self.size.nodes * (1 + self.size.rows // 1000)

    @property
    def source(self) -> str:
        """Data set of the part."""
        return self.size.source

    def settings(self, data: Data) -> dict[str, Any]:
        """Return the data."""
        return {
            "part": "tree and nodewise floor",
            "data": dataclasses.asdict(self.size),
            "rows": data.fingerprint(self.size),
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: times are not compared."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Fit both, and return their NLPL on the held-out rows."""
        problem = data.problem(self.size)
        tree = learn(problem.train, ChowLiu(pseudo_count=_SMOOTHING), test=problem.test)
        floor = nodewise_floor(problem.train, problem.test)
        on_progress(self.work)
        return {
            "tree": tree.nlpl_test,
            "floor": floor,
            "rows": problem.train.n_rows,
            "rows_test": problem.test.n_rows,
            "variables": problem.train.n_variables,
        }


def nodewise_floor(train: DiscreteTable, test: DiscreteTable) -> float:
    """Return the held-out NLPL of logistic regressions of each variable on all others.

    The penalty is that of forced pruning, a standard normal prior; the tables are coded alike.
    """
    total = 0.0
    for i in range(train.n_variables):
        states = int(train.cardinalities[i])
        counts = np.bincount(train.codes[i], minlength=states)
        if (counts == 0).any():
            shares = (counts + _SMOOTHING) / (train.n_rows + _SMOOTHING * states)
            total -= float(np.log(shares)[test.codes[i]].mean())
            continue
        others = np.array([j for j in range(train.n_variables) if j != i])
        sizes = train.cardinalities[others]
        starts = 1 + np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        weights = np.zeros((int(starts[-1]), states))
        solve_regression(
            train.codes[i],
            _cells(train, others, starts),
            starts,
            np.zeros(len(others)),
            0.5 / train.n_rows,
            _FLOOR_TOLERANCE,
            weights,
        )
        cells = _cells(test, others, starts)
        total += float(loss_and_gradient(test.codes[i], cells, weights, np.empty_like(weights)))
    return total


def _cells(table: DiscreteTable, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the cell of every neighbour in every row, shape (N, A)."""
    cells = table.codes[others].astype(np.int32) + starts[:-1, None].astype(np.int32)
    return np.ascontiguousarray(cells.T)
