"""Tables and recorded runs that the tests of the learners share."""

from __future__ import annotations

import functools
import hashlib
from typing import Any, NamedTuple

import naive
import numpy as np

from graftviz.inference import infer
from graftviz.learners.base import Learner
from graftviz.learners.registry import learner_class
from graftviz.options import option_specs
from graftviz.sampling import random_model, sample_gibbs, scale_free_graph
from graftviz.table import DiscreteTable
from graftviz.trace import Outcome, Step


@functools.cache
def scale_free_table(n: int, states: int, rows: int, seed: int = 1) -> DiscreteTable:
    """Rows of the paper's synthetic model, smaller."""
    graph = scale_free_graph(n, seed)
    model = random_model(graph.edges, [states] * n, seed=seed)
    return sample_gibbs(model, rows, seed=seed).table


@functools.cache
def mixed_table(n: int = 10, rows: int = 500) -> DiscreteTable:
    """Followers of a hidden variable, with 1 to 4 states; one constant, one state never seen."""
    rng = np.random.default_rng(7)
    sizes = rng.integers(2, 5, size=n)
    sizes[3] = 1
    hidden = rng.integers(0, 4, size=rows)
    codes = np.stack(
        [
            np.where(rng.random(rows) < 0.7, rng.integers(0, size, rows), hidden % size)
            for size in sizes
        ],
        axis=1,
    )
    codes[:, 5] = 1
    sizes[5] = 2
    sizes[0] += 1
    return DiscreteTable.from_codes(codes, cardinalities=sizes)


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "scale-free": (lambda: scale_free_table(15, 3, 1000), {"lam": 5e-3}),
    "mixed": (mixed_table, {"lam": 4e-3, "group_weight": "sqrt"}),
    "penalised nodes": (mixed_table, {"lam": 3e-3, "penalise_nodes": True}),
    "budget": (lambda: scale_free_table(15, 3, 1000), {"lam": 1e-3, "max_edges": 7}),
    "everything passes": (mixed_table, {"lam": 1e-7, "lam2": 0.1, "max_edges": 20}),
}


class Recorded(NamedTuple):
    """A drained run; `models` were asked for while their step was the newest."""

    table: DiscreteTable
    learner: Learner
    steps: list[Step]
    models: list[Any]
    outcome: Outcome


def make(name: str, **options: Any) -> Learner:
    """Return a learner with those of the options that it has."""
    cls = learner_class(name)
    known = {spec.name for spec in option_specs(cls)}
    return cls(**{key: value for key, value in options.items() if key in known})


def drain(table: DiscreteTable, learner: Learner, seed: int = 0) -> Recorded:
    generator = learner.steps(table, seed=seed)
    steps, models = [], []
    while True:
        try:
            steps.append(next(generator))
        except StopIteration as stop:
            return Recorded(table, learner, steps, models, stop.value)
        models.append(steps[-1].model())


@functools.cache
def recorded(name: str, case: str, seed: int = 0) -> Recorded:
    """Return the run of a learner on one of the cases."""
    make_table, options = CASES[case]
    return drain(make_table(), make(name, **options), seed)


def picks(run: Recorded) -> list[tuple[int, int]]:
    """All activated edges, in order."""
    return [tuple(edge[:2]) for step in run.steps for edge in step.activated]


def fingerprint(run: Recorded) -> str:
    """A hash of what was activated when, and of the bits of every objective."""
    digest = hashlib.sha256()
    for step in run.steps:
        digest.update(repr([tuple(edge) for edge in step.activated]).encode())
        digest.update(np.float64(step.objective).tobytes())
    digest.update(np.float64(run.outcome.objective).tobytes())
    digest.update(run.outcome.model().weights.tobytes())
    return digest.hexdigest()


def twin(run: Recorded, learner: Any = None) -> naive.PenalisedLikelihood:
    """The objective of a run's final structure, in plain code."""
    options = learner or run.learner
    return naive.PenalisedLikelihood(
        run.table.codes,
        run.table.cardinalities.tolist(),
        run.outcome.model().edges,
        options.lam,
        options.lam2,
        options.group_weight == "sqrt",
        options.penalise_nodes,
    )


def final_beliefs(run: Recorded) -> list[np.ndarray]:
    """The node beliefs that the learner ended with."""
    history = run.outcome.history
    flat = history.state_at(len(history.counts)).node_beliefs
    return np.split(flat, history.start.node_offsets[1:-1])


def inactive_scores(run: Recorded, square_root: bool) -> dict[tuple[int, int], float]:
    """Plain scores of all inactive pairs at the final beliefs."""
    beliefs, codes = final_beliefs(run), run.table.codes
    sizes = run.table.cardinalities.tolist()
    active = {tuple(edge) for edge in run.outcome.model().edges.tolist()}
    return {
        (i, j): naive.belief_score(
            naive.count_pair(codes[i], codes[j], sizes[i], sizes[j]),
            beliefs[i],
            beliefs[j],
            square_root,
        )
        for j in range(len(sizes))
        for i in range(j)
        if (i, j) not in active
    }


def assert_optimal(run: Recorded, learner: Any = None) -> None:
    """Check the final fit with inference and optimality conditions of its own."""
    plain = twin(run, learner)
    model = run.outcome.model()
    beliefs = infer(model, tolerance=1e-12, max_sweeps=5000)
    assert beliefs.converged
    weights = plain.weights_of(model)
    assert plain.violation(weights, [*beliefs.node, *beliefs.edge]) <= 1e-6
    objective = plain.objective(weights, beliefs.log_partition)
    assert abs(run.outcome.objective - objective) < 1e-8
