"""A learner that learns nothing, and small tables: for tests of everything that watches a run."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graftviz.errors import InputError
from graftviz.history import Changes, History, flat_positions
from graftviz.learners.base import CodeLine, Learner
from graftviz.model import PairwiseMRF
from graftviz.options import option
from graftviz.table import DiscreteTable
from graftviz.trace import (
    ADMITTED,
    NO_PAIRS,
    PASSED,
    Certificate,
    EdgeTests,
    Outcome,
    ReservoirView,
    ScoredEdge,
    Seconds,
    Step,
)


def random_table(seed: int, n: int, rows: int, most_states: int = 4) -> DiscreteTable:
    """Return a table of `n` independent variables with 1 to `most_states` states each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most_states + 1, size=n)
    codes = np.stack([rng.integers(0, size, size=rows) for size in sizes], axis=1)
    return DiscreteTable.from_codes(codes, cardinalities=sizes)


@dataclass(frozen=True)
class ScriptedLearner(Learner):
    """Activates random pairs and draws random weights, so every part of a Step has content."""

    name: ClassVar[str] = "scripted"
    title: ClassVar[str] = "Scripted"
    idea: ClassVar[str] = "Draws everything from the seed. For tests."
    source: ClassVar[str] = "nowhere"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("draw", 0, "draw edges and weights"),
        CodeLine("repeat", 0, "repeat"),
    )

    lam: float = option(1e-3, "Threshold λ.", above=0.0, scale="log")
    max_edges: int | None = option(None, "Edge budget.", minimum=1, none_means="12 edges")
    per_step: int = option(2, "Edges in one step.", minimum=1, maximum=10)
    scale: float = option(1.0, "Standard deviation of the weights.", minimum=0.0)
    reservoir: bool = option(True, "Whether steps show a reservoir.")

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Yield steps until the budget or the pairs run out."""
        n = table.n_variables
        options = self
        rng = np.random.default_rng(seed)
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        order = rng.permutation(len(pairs))
        start = _independent_model(table)
        history = History(start, np.exp(start.weights))
        objective = 10.0
        while True:
            done = history.counts[-1] if history.counts else 0
            limit = min(options.max_edges or 12, len(pairs))
            if done >= limit:
                break
            count = min(options.per_step, limit - done)
            new = [pairs[k] for k in order[done : done + count]]
            changes = _random_changes(rng, history, new, options.scale)
            history.append(new, changes)
            previous, objective = objective, objective - float(rng.uniform(0.01, 0.1))
            step = _step(options, history, new, objective, previous, len(pairs), rng)
            sent = yield step
            if sent is not None:
                if not isinstance(sent, ScriptedLearner):
                    raise InputError("Only a scripted learner can take over a scripted run.")
                options = sent
        history.append([], _random_changes(rng, history, [], options.scale))
        inactive = len(pairs) - len(history.activations)
        return Outcome(
            stop_reason=f"The budget of {limit} edges is used up.",
            converged=False,
            certificate=Certificate(
                inactive, inactive, 0.5 if inactive else None, None, options.lam, "drawn", "none"
            ),
            objective=objective - 0.001,
            kkt_residual=1e-9,
            bp_restart_gap=1e-12,
            tests=3 * len(history.activations),
            tables_counted=len(history.activations),
            tables_possible=len(pairs),
            seconds=Seconds(0.4, 0.1, 0.1, 0.1, 0.1),
            history=history,
        )


def _independent_model(table: DiscreteTable) -> PairwiseMRF:
    weights = []
    for codes, size in zip(table.codes, table.cardinalities, strict=True):
        counts = np.bincount(codes, minlength=size) + 0.5
        weights.append(np.log(counts / counts.sum()))
    return PairwiseMRF(
        table.cardinalities, np.zeros((0, 2)), np.concatenate(weights), table.names, table.labels
    )


def _random_changes(
    rng: np.random.Generator, history: History, new: list[tuple[int, int]], scale: float
) -> Changes:
    """Give the new edges, some older ones and some nodes other weights."""
    cardinalities = history.start.cardinalities
    edges = np.array([*history.activations, *new], dtype=np.int64).reshape(-1, 2)
    older = np.flatnonzero(rng.random(len(history.activations)) < 0.2)
    changed = np.concatenate([older, np.arange(len(history.activations), len(edges))])
    nodes = np.flatnonzero(rng.random(len(cardinalities)) < 0.2)
    size = int(cardinalities[edges[changed]].prod(axis=1).sum()) if len(changed) else 0
    node_size = len(flat_positions(history.start.node_offsets, nodes))
    return Changes(
        nodes=nodes,
        edges=changed,
        node_weights=scale * rng.normal(size=node_size),
        node_beliefs=rng.random(node_size),
        edge_weights=scale * rng.normal(size=size),
    )


def _step(
    options: ScriptedLearner,
    history: History,
    new: list[tuple[int, int]],
    objective: float,
    previous: float,
    possible: int,
    rng: np.random.Generator,
) -> Step:
    index = len(history.counts)
    scores = np.sort(rng.uniform(0.01, 0.05, size=len(new)))[::-1]
    array = np.array(new, dtype=np.int32)
    none = np.zeros((0, 2), dtype=np.int32)
    degrees = np.bincount(np.array(history.activations).reshape(-1))
    view = ReservoirView(
        array, scores, float(scores.mean()), float(scores.min()), float(scores.max()), len(new)
    )
    verdicts = np.array([ADMITTED if k else PASSED for k in range(len(new))], dtype=np.int8)
    return Step(
        index=index,
        activated=tuple(ScoredEdge(i, j, float(s)) for (i, j), s in zip(new, scores, strict=True)),
        edges=len(history.activations),
        removed=NO_PAIRS,
        objective=objective,
        previous_objective=previous,
        kkt_residual=1e-4,
        reservoir=view if options.reservoir else None,
        skipped_adjacent=none,
        replaced=none,
        dropped=none,
        queue=5,
        frozen=index,
        unseen=possible - len(history.activations),
        tests=3 * len(new),
        tests_total=3 * len(history.activations),
        test_limit=4,
        tables_counted=len(history.activations),
        tables_possible=possible,
        hubs=np.flatnonzero(degrees > 2).astype(np.int32),
        seconds=Seconds(0.01 * index, 0.002 * index, 0.003 * index, 0.004 * index, 0.001 * index),
        tested=EdgeTests(array, scores, verdicts),
        lines=("draw", "repeat"),
        notes=(),
        changes=history.changes[-1],
        history=history,
    )
