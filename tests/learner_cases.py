"""Tables and recorded runs that the tests of the learners share."""

from __future__ import annotations

import functools
import hashlib
from typing import Any, NamedTuple

import naive
import numpy as np

from graftviz import DiscreteTable, PairwiseMRF, Step, infer
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.features.run import FeatureOptions
from graftviz.learning.grafting.grafting_options import GraftingOptions
from graftviz.learning.registry import learner_class, learner_names
from graftviz.learning.scores.pair_test import usual_significance
from graftviz.learning.trace import Outcome, Remark
from graftviz.learning.weights.conditionals import columns_of
from graftviz.utils.options import option_specs


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


@functools.cache
def followers_table(n: int, rows: int = 800, seed: int = 0) -> DiscreteTable:
    """Variables of 2 or 3 states in a tree: each mostly copies an earlier one."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((rows, n), dtype=np.int64)
    for i in range(n):
        states = 2 + i % 2
        codes[:, i] = rng.integers(0, states, size=rows)
        if i:
            copies = rng.random(rows) < 0.7
            codes[copies, i] = np.minimum(codes[copies, (i - 1) // 2], states - 1)
    return DiscreteTable.from_codes(codes)


# The paper's method: the contract is checked where it can be checked to the last digit.
PAPER: dict[str, Any] = {
    "score": "belief",
    "objective": "bethe",
    "significance": 0.0,
    "refit": False,
    "lam": 1e-3,
    "lam2": 0.03,
    "screening": "none",
}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "scale-free": (lambda: scale_free_table(10, 3, 1000), {"lam": 5e-3}),
    "mixed": (mixed_table, {"lam": 4e-3, "group_weight": "sqrt"}),
    "penalised nodes": (mixed_table, {"lam": 3e-3, "penalise_nodes": True}),
    "budget": (lambda: scale_free_table(15, 3, 1000), {"lam": 1e-3, "max_edges": 16}),
    "everything passes": (mixed_table, {"lam": 1e-7, "lam2": 0.1, "max_edges": 20}),
    "best": (
        lambda: scale_free_table(15, 3, 1000),
        {"preset": "best", "fit": "pseudo-likelihood"},
    ),
    "best, mixed": (
        lambda: mixed_table(10, 3000),
        {"preset": "best", "group_weight": "sqrt", "fit": "pseudo-likelihood"},
    ),
    "best, penalised nodes": (
        lambda: mixed_table(10, 3000),
        {"preset": "best", "penalise_nodes": True},
    ),
    "rows": (lambda: scale_free_table(15, 3, 1000), {"score": "pseudo-likelihood", "lam": 1e-2}),
    "rows, noise": (
        lambda: mixed_table(10, 3000),
        {"score": "pseudo-likelihood", "significance": 3.0, "group_weight": "sqrt"},
    ),
    "rows, penalised nodes": (
        mixed_table,
        {"score": "pseudo-likelihood", "lam": 6e-3, "penalise_nodes": True},
    ),
}
# Cases of the paper's score and objective.
PAPER_CASES = [
    case for case, (_, options) in CASES.items() if not {"preset", "score"} & set(options)
]
NAMES = learner_names()
GRAFTING = [name for name in NAMES if issubclass(learner_class(name), GraftingOptions)]
BY_FEATURE = [name for name in NAMES if issubclass(learner_class(name), FeatureOptions)]
# Other learners have neither scores nor presets.
RUNS = [(name, case) for name in NAMES for case in (CASES if name in GRAFTING else PAPER_CASES)]


class Recorded(NamedTuple):
    """A finished run; each of `models` was computed while its step was the newest."""

    table: DiscreteTable
    learner: Learner
    steps: list[Step]
    models: list[Any]
    outcome: Outcome


def make(name: str, **options: Any) -> Learner:
    """Return a learner with those of the options that it has.

    Grafting learners are those of the paper, unless `options` contain a preset.
    """
    cls = learner_class(name)
    if issubclass(cls, GraftingOptions) and "preset" not in options:
        options = PAPER | options
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


def branched(
    data: DiscreteTable, learner: Learner, at: int, other: Learner, seed: int = 0
) -> Recorded:
    """Drain a run that is sent `other` after step `at`."""
    generator = learner.steps(data, seed=seed)
    steps, models = [next(generator)], []
    while True:
        models.append(steps[-1].model())
        try:
            steps.append(generator.send(other if len(steps) == at else None))
        except StopIteration as stop:
            return Recorded(data, other, steps, models, stop.value)


@functools.cache
def recorded(name: str, case: str, seed: int = 0) -> Recorded:
    """Return the run of a learner on one of the cases."""
    make_table, options = CASES[case]
    return drain(make_table(), make(name, **options), seed)


def picks(run: Recorded) -> list[tuple[int, int]]:
    """All activated edges, in order."""
    return [tuple(edge[:2]) for step in run.steps for edge in step.activated]


def parts_of(remark: Remark) -> dict[str, Any]:
    """Return the values of a remark, and of those in it, by kind."""
    parts: dict[str, Any] = {remark.kind: remark.values}
    for value in remark.values.values():
        if isinstance(value, Remark):
            parts |= parts_of(value)
    return parts


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
    beliefs = infer(model, "bp", tolerance=1e-12, max_sweeps=5000)
    assert beliefs.converged
    weights = plain.weights_of(model)
    assert plain.violation(weights, [*beliefs.node, *beliefs.edge]) <= 1e-6
    objective = plain.objective(weights, beliefs.log_partition)
    assert abs(run.outcome.objective - objective) < 1e-8


class PlainScore(NamedTuple):
    """The score of a pair, divided by d_e, and what its test needs."""

    value: float
    expected: np.ndarray
    observed: np.ndarray
    variance: float

    def tested(self, significance: float) -> tuple[float, float, float]:
        """Return multiple of its noise, threshold, and share of the threshold."""
        return naive.judged(self.expected, self.observed, self.variance, significance)

    def effective(self, lam: float, significance: float) -> float:
        """Return the value that is compared with λ: the score, reduced if it is not significant."""
        share = self.tested(significance)[2] if significance else np.inf
        return self.value if share > 1.0 else min(self.value, lam * share)


def plain_scores(
    table: DiscreteTable, model: PairwiseMRF, score: str, square_root: bool
) -> dict[tuple[int, int], PlainScore]:
    """Score every pair that is no edge of the model, by formulas that go through every row."""
    codes, sizes = table.codes, model.cardinalities.tolist()
    rows = table.n_rows
    active = {tuple(edge) for edge in model.edges.tolist()}
    chances = naive.conditionals(model, codes)
    beliefs = infer(model, "bp", tolerance=1e-13, max_sweeps=5000)
    found = {}
    for j in range(len(sizes)):
        for i in range(j):
            if (i, j) in active:
                continue
            b_i, b_j = beliefs.node[i], beliefs.node[j]
            factor = 2.0 if score == "pseudo-likelihood" else 1.0
            expected, observed = naive.pseudo_expected(chances, codes, i, j, sizes)
            if score == "pseudo-likelihood":
                variance = naive.pseudo_variance(chances, codes, i, j)
            else:
                expected, variance = rows * np.outer(b_i, b_j), naive.belief_variance(b_i, b_j)
            norm = factor * float(np.linalg.norm(expected - observed)) / rows
            dimension = observed.size**0.5 if square_root else observed.size
            found[i, j] = PlainScore(norm / dimension, expected, observed, variance)
    return found


def conditionals_of(rows, i):
    """Return p(x_i | rest) of a variable with columns, shape (R, s_i)."""
    shares = columns_of(rows, i)[:-1] * rows.inverse
    return shares[:, : rows.codes.shape[1]].T


def significance_of(table):
    """Return the κ that about one pair in 50 variables passes by chance, to three digits."""
    packed = PairCounts(table).packed
    return float(f"{usual_significance(packed.margins, packed.node_offsets):.3g}")
