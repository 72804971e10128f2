"""Measured parts of the paper on bounded inference: models of both learners."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.experiment import Part
from graftviz.fitting.likelihood_fit import LikelihoodFit, Targets
from graftviz.inference import infer
from graftviz.inference.cost import exact_operations, inference_cost
from graftviz.inference.exact import JunctionTree, plan_elimination
from graftviz.inference.exact.elimination import eliminated
from graftviz.learners.bounded_inference import BoundedInference
from graftviz.learners.nodewise_l1 import NodewiseL1
from graftviz.metrics import ncmll, nll
from graftviz.model import PairwiseMRF
from graftviz.runs import Run, learn
from graftviz.sampling import random_model
from graftviz.table import DiscreteTable

DENSITY = 0.5  # share of all pairs that are edges
MOST_OPERATIONS = 1_000_000_000  # for all marginals by junction trees: some seconds
_MOST_FITTED = 1 << 17  # limit on entries of all cliques for exact fits
_FIT_TOLERANCE = 1e-6
_PSEUDO_COUNT = 1.0  # as in the bounded learner
_SMALLEST_LAM = 0.002
_REPEATS = 5  # of time measurements


class RandomNetwork(NamedTuple):
    """Random network and its rows: each edge with probability 0.5, all weights from N(0, 1).

    Attributes
    ----------
    nodes, rows, held_out : int
    seed : int
    """

    nodes: int
    rows: int
    held_out: int
    seed: int

    @property
    def title(self) -> str:
        """Display name."""
        return f"network {self.seed}"


class NetworkSample(NamedTuple):
    """Network and rows sampled from it exactly."""

    model: PairwiseMRF
    train: DiscreteTable
    test: DiscreteTable


@functools.lru_cache(maxsize=4)
def sample_network(network: RandomNetwork) -> NetworkSample:
    """Return the network and rows sampled by a junction tree."""
    rng = np.random.default_rng(network.seed)
    pairs = np.stack(np.triu_indices(network.nodes, 1), axis=1)
    edges = pairs[rng.random(len(pairs)) < DENSITY]
    model = random_model(
        edges, [2] * network.nodes, node_sigma=1.0, edge_sigma=1.0, seed=network.seed
    )
    codes = JunctionTree(model).sample(network.rows + network.held_out, network.seed)
    rows = DiscreteTable.from_codes(codes.T, cardinalities=model.cardinalities)
    return NetworkSample(
        model,
        rows.rows(np.arange(network.rows)),
        rows.rows(np.arange(network.rows, rows.n_rows)),
    )


@dataclass(frozen=True)
class BoundedPart(Part):
    """Model learned under one bound.

    Attributes
    ----------
    network : Network
    complexity : str
        Name of the cost measure R, see :class:`graftviz.BoundedInference`.
    bound : float
        τ.
    is_penalised : bool
        Whether to use the ℓ₂ penalty of the paper's section 3.3; λ₂ = 1 / (2N) corresponds to the
        prior of the weights.
    """

    network: RandomNetwork
    complexity: str
    bound: float
    is_penalised: bool = False

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        penalised = ", ℓ₂ penalty" * self.is_penalised
        return f"{self.complexity} at most {self.bound:g}{penalised}, {self.network.title}"

    @property
    def work(self) -> int:
        """Approximate amount of work: edges to be learned."""
        return 3 * self.network.nodes

    def learner(self) -> BoundedInference:
        """Return the learner; its other options have defaults."""
        return BoundedInference(
            complexity=self.complexity,
            bound=self.bound,
            lam2=0.5 / self.network.rows if self.is_penalised else 0.0,
            pseudo_count=_PSEUDO_COUNT,
        )

    def settings(self, data: Data) -> dict[str, Any]:
        """Return network, measure and bound."""
        return {
            "part": "bounded inference",
            "network": self.network._asdict(),
            "complexity": self.complexity,
            "bound": self.bound,
            "lam2": self.learner().lam2,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: the timing functions warm up themselves."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn, and return held-out likelihood and inference cost."""
        rows = sample_network(self.network)
        found = learn(rows.train, self.learner(), seed=self.network.seed)
        on_progress(self.work)
        return {
            "points": [_point(found.model, rows.test) | {"bound": self.bound}],
            "stop_reason": found.stop_reason,
            "learning_seconds": found.seconds.total,
        }


@dataclass(frozen=True)
class PathPart(Part):
    """Models along the path of λ of ℓ₁-regularised structure learning.

    Attributes
    ----------
    network : Network
    steps : int
        Number of λ values.
    """

    network: RandomNetwork
    steps: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"path of λ, {self.network.title}"

    @property
    def work(self) -> int:
        """Approximate amount of work, in the unit of :class:`BoundedPart`."""
        return 3 * self.network.nodes * max(self.steps // 4, 1)

    def settings(self, data: Data) -> dict[str, Any]:
        """Return network and path."""
        return {
            "part": "path of lambda",
            "network": self.network._asdict(),
            "steps": self.steps,
            "smallest_lam": _SMALLEST_LAM,
            "most_operations": MOST_OPERATIONS,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: the timing functions warm up themselves."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Follow the path while exact inference is feasible, and measure each graph twice.

        Once with the weights of the path, and once with maximum-likelihood weights.
        """
        rows = sample_network(self.network)
        learner = NodewiseL1(lam=_SMALLEST_LAM, path=self.steps)
        run = Run(rows.train, learner, seed=self.network.seed)
        plain, refitted = [], []
        while run.advance():
            step = run.steps[-1]
            model = step.model()
            plan = plan_elimination(model)
            if not plan.is_affordable or exact_operations(model, plan) > MOST_OPERATIONS:
                break
            assert step.test is not None
            lam = {"lam": step.test.lam}
            plain.append(_point(model, rows.test) | lam)
            if plan.total_entries <= _MOST_FITTED:
                fitted = most_likely(rows.train, model.edges, plan.order)
                refitted.append(_point(fitted, rows.test) | lam)
            on_progress(self.work * step.index // self.steps)
        true_nll, true_ncmll = nll(rows.model, rows.test), ncmll(rows.model, rows.test)
        return {
            "points": plain,
            "refitted": refitted,
            "true_nll": true_nll,
            "true_ncmll": true_ncmll.mean,
            "true_edges": rows.model.n_edges,
        }


def most_likely(table: DiscreteTable, edges: np.ndarray, order: np.ndarray) -> PairwiseMRF:
    """Fit a structure by maximum likelihood, as the bounded learner does."""
    counts = PairCounts(table)
    fit = LikelihoodFit(Targets(counts, _PSEUDO_COUNT))
    found = eliminated(edges, fit.cardinalities, order)
    for i, j in edges.tolist():
        fit.add_edge(i, j, found)
    fit.fit(_FIT_TOLERANCE)
    return PairwiseMRF(
        table.cardinalities,
        fit.edges,
        np.concatenate([fit.node_weights, fit.edge_weights]),
        table.names,
        table.labels,
    )


def _point(model: PairwiseMRF, test: DiscreteTable) -> dict[str, Any]:
    """Return held-out likelihood, inference cost and approximation error of a model."""
    exact, messages = (
        inference_cost(model, method, repeats=_REPEATS) for method in ("exact", "trbp")
    )
    approximate = infer(model, "trbp")
    log_partition = JunctionTree(model).log_partition
    hidden = ncmll(model, test)
    return {
        "edges": model.n_edges,
        "width": plan_elimination(model).width,
        "nll": nll(model, test),
        "ncmll": hidden.mean,
        "ncmll_total": hidden.total,
        "exact_seconds": exact.seconds,
        "exact_operations": exact.operations,
        "trbp_seconds": messages.seconds,
        "trbp_operations": messages.operations,
        "trbp_converged": messages.converged,
        "trbp_sweeps": approximate.sweeps,
        "log_partition_error": 100.0
        * abs(approximate.log_partition - log_partition)
        / (log_partition - mean_score(model)),
    }


def mean_score(model: PairwiseMRF) -> float:
    """Return the mean of log p(x) + log Z over all joint states.

    Adding a constant to all weights of a group adds it to log Z without changing the distribution,
    so relative errors of log Z are not meaningful. The difference of log Z and the mean score is
    at least Σ log s_i and does not depend on the parametrisation.
    """
    nodes, edges = model.node_offsets, model.edge_offsets
    means = [
        np.add.reduceat(model.weights[: starts[-1]], starts[:-1]) / np.diff(starts)
        for starts in (nodes, edges)
        if len(starts) > 1
    ]
    return float(sum(part.sum() for part in means))
