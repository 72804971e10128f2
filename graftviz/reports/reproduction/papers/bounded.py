"""Figures of the paper on bounded inference: likelihood against cost and error.

Das Gupta, Srinivasan, Sharma and Greiner, "Learning Markov networks with bounded inference
complexity" (ICML workshop on inferning, 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from graftviz.data.synthetic.potentials import random_model
from graftviz.data.table import DiscreteTable
from graftviz.inference.cost import exact_operations, inference_cost
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.ordering import eliminated
from graftviz.inference.exact.structure import EliminationPlan, plan_elimination
from graftviz.inference.likelihood import ncmll, ncmll_by_half, nll
from graftviz.inference.methods import infer
from graftviz.learning.bounded.bounded_inference import BoundedInference, Complexity
from graftviz.learning.bounded.likelihood_fit import LikelihoodFit, Targets
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.edge_grafting import EdgeGrafting
from graftviz.learning.nodewise.nodewise_l1 import NodewiseL1
from graftviz.learning.run import LearningRun, learn_network
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILION
from graftviz.reports.reproduction.claims import Checks, Claim, Frame, Row, Series, rank_correlation
from graftviz.reports.reproduction.experiment import Experiment, MeasuringTask, Paper, Part
from graftviz.reports.reproduction.figures import Look, line_figure
from graftviz.reports.words.outcomes import remark_words

_PAPER = Paper("bounded", "Bounded inference complexity")
BOUNDED, PENALISED, STAGE_WISE = "bounded", "bounded, ℓ₂ penalty", "bounded, small steps"
PATH, REFITTED, JOINT = "ℓ₁", "ℓ₁, fitted by likelihood", "ℓ₁, joint"
_LOOKS = {
    BOUNDED: Look(BLUE, "solid", "circle"),
    PENALISED: Look(GREEN, "longdash", "triangle-up"),
    STAGE_WISE: Look(BLACK, "longdashdot", "star"),
    PATH: Look(VERMILION, "dash", "diamond"),
    REFITTED: Look(ORANGE, "dot", "square"),
    JOINT: Look(PURPLE, "dashdot", "cross"),
}
_TITLES = {
    "nll": "held-out NLL, nats per row",
    "ncmll": "held-out NCMLL, nats per row",
    "exact_seconds": "junction tree: seconds of all marginals",
    "trbp_seconds": "TRBP: seconds of all marginals",
    "log_partition_error": "error of TRBP's log Z, %",
}
_TABLE = (
    *("network", "learner", "bound", "lambda", "edges", "width", "nll", "ncmll", "ncmll_total"),
    *("exact_seconds", "exact_operations", "trbp_seconds", "trbp_operations", "trbp_sweeps"),
    *("trbp_converged", "log_partition_error"),
)
_DENSITY = 0.5  # share of all pairs that are edges
_MOST_OPERATIONS = 1_000_000_000  # for all marginals by junction trees: some seconds
_MOST_FITTED = 1 << 17  # limit on entries of all cliques for exact fits
_FIT_TOLERANCE = 1e-6
_PSEUDO_COUNT = 1.0  # as in the bounded learner
_SMALLEST_LAM = 0.002
_STAGE_STEP = 0.05  # ε
_REPEATS = 5  # of time measurements
_LEAST_COST = 1e-9  # smaller errors are rounding


Bounds: TypeAlias = Mapping[str, tuple[int, ...]]


class RandomNetwork(NamedTuple):
    """Random network and its rows: each edge with probability 0.5, all weights from N(0, 1)."""

    nodes: int
    rows: int
    held_out: int
    seed: int


class NetworkSample(NamedTuple):
    """Network and rows sampled from it exactly."""

    model: PairwiseModel
    train: DiscreteTable
    test: DiscreteTable


@lru_cache(maxsize=4)
def sample_network(network: RandomNetwork) -> NetworkSample:
    """Return the network and rows sampled by a junction tree."""
    rng = np.random.default_rng(network.seed)
    pairs = np.stack(np.triu_indices(network.nodes, 1), axis=1)
    edges = pairs[rng.random(len(pairs)) < _DENSITY]
    model = random_model(
        edges, [2] * network.nodes, node_sigma=1.0, edge_sigma=1.0, seed=network.seed
    )
    codes = JunctionTree(model).sample(network.rows + network.held_out, network.seed)
    rows = DiscreteTable.from_codes(codes.T, cardinalities=model.cardinalities)
    train, test = np.split(np.arange(rows.n_rows), [network.rows])
    return NetworkSample(model, rows.rows(train), rows.rows(test))


def bounded_parts(
    seed: int,
    nodes: int,
    rows: int,
    networks: int,
    bounds: Bounds,
    path: int,
    *,
    complexity: Complexity,
) -> Iterator[Part]:
    """Yield one part for every network and bound, and one for the path of each network.

    Parameters
    ----------
    bounds : dict
        By cost measure, and "penalised" those of the treewidth with the ℓ₂ penalty.
    path : int
        Number of λ.
    complexity : str
        Cost measure R, see :class:`graftviz.BoundedInference`.
    """
    chosen = [(name, bound) for name in (BOUNDED, STAGE_WISE) for bound in bounds[complexity]]
    if complexity == "treewidth":
        chosen += [(PENALISED, bound) for bound in bounds["penalised"]]
    for k in range(networks):
        network = RandomNetwork(nodes, rows, rows, seed * networks + k)
        size = {"nodes": nodes, "rows": rows}
        for name, bound in chosen:
            # The ℓ₂ penalty of the paper's section 3.3, which corresponds to the weights' prior.
            lam2 = 0.5 / rows if name == PENALISED else 0.0
            learner = BoundedInference(
                complexity=complexity,
                bound=float(bound),
                lam2=lam2,
                stage_step=_STAGE_STEP if name == STAGE_WISE else None,
                pseudo_count=_PSEUDO_COUNT,
            )
            columns = {"network": network.seed, "learner": name, "bound": bound, "lambda": None}
            measure = partial(_measure_bounded, network, learner)
            yield Part(columns, measure, 3 * nodes, {**size, "complexity": complexity})
        columns = {"network": network.seed, "bound": None}
        work = 3 * nodes * max(path // 4, 1)
        yield Part(columns, partial(_measure_path, network, path), work, {**size, "path": path})


def _measure_bounded(
    network: RandomNetwork, learner: BoundedInference, task: MeasuringTask
) -> list[Row]:
    """Learn, and return held-out likelihood and inference cost."""
    rows = sample_network(network)
    found = learn_network(rows.train, learner, seed=network.seed)
    reason = remark_words(found.trace.stop_reason)
    about = {"stop_reason": reason, "learning_seconds": found.seconds.total}
    return [_point(found.model, rows.test) | about]


def _measure_path(network: RandomNetwork, path: int, task: MeasuringTask) -> Iterator[Row]:
    """Follow the path of λ while exact inference is feasible, and measure three models for each λ.

    These are nodewise ℓ₁ with the weights of the path and with maximum-likelihood weights, and the
    joint problem.
    """
    model, train, test = sample_network(network)
    run = LearningRun(train, NodewiseL1(lam=_SMALLEST_LAM, path=path), seed=network.seed)
    truth = {"true_nll": nll(model, test), "true_ncmll": ncmll(model, test)}
    while run.advance():
        step = run.steps[-1]
        found = step.model()
        plan = _affordable_plan(found)
        if plan is None:
            break
        assert step.test is not None
        more = {"lambda": step.test.lam, **truth, "true_edges": model.n_edges}
        yield {"learner": PATH, **_point(found, test), **more}
        if plan.total_entries <= _MOST_FITTED:
            fitted = most_likely(train, found.edges, plan.order)
            yield {"learner": REFITTED, **_point(fitted, test), **more}
        joint = learn_network(train, joint_l1(step.test.lam), seed=network.seed).model
        if _affordable_plan(joint) is not None:
            yield {"learner": JOINT, **_point(joint, test), **more}
        task.progress(3 * network.nodes * max(path // 4, 1) * step.index // path)


def _affordable_plan(model: PairwiseModel) -> EliminationPlan | None:
    """Return the plan of exact inference; None if all marginals take too many operations."""
    plan = plan_elimination(model)
    if not plan.is_affordable or exact_operations(model, plan) > _MOST_OPERATIONS:
        return None
    return plan


def joint_l1(lam: float) -> EdgeGrafting:
    """Return the learner that minimises the pseudo-likelihood with one group penalty per edge.

    An edge has one weight table for both of its conditionals, so its gradient is about twice that
    of a regression: the penalty is twice that of nodewise ℓ₁.
    """
    return EdgeGrafting(
        preset="paper",
        objective="pseudo-likelihood",
        score="pseudo-likelihood",
        lam=min(2.0 * lam, 1.0),
        lam2=0.0,
    )


def most_likely(table: DiscreteTable, edges: np.ndarray, order: np.ndarray) -> PairwiseModel:
    """Fit a structure by maximum likelihood, as the bounded learner does."""
    fit = LikelihoodFit(Targets(PairCounts(table), _PSEUDO_COUNT))
    found = eliminated(edges, fit.cardinalities, order)
    for i, j in edges.tolist():
        fit.add_edge(i, j, found)
    fit.fit(_FIT_TOLERANCE)
    weights = np.concatenate([fit.node_weights, fit.edge_weights])
    return PairwiseModel(table.cardinalities, fit.edges, weights, table.names, table.labels)


def _point(model: PairwiseModel, test: DiscreteTable) -> Row:
    """Return held-out likelihood, inference cost and approximation error of a model."""
    costs = {name: inference_cost(model, name, repeats=_REPEATS) for name in ("exact", "trbp")}
    approximate = infer(model, "trbp")
    log_partition = JunctionTree(model).log_partition
    error = abs(approximate.log_partition - log_partition) / (log_partition - mean_score(model))
    hidden = ncmll_by_half(model, test)
    return {
        "edges": model.n_edges,
        "width": plan_elimination(model).width,
        "nll": nll(model, test),
        "ncmll": hidden.mean,
        "ncmll_total": hidden.total,
        **{f"{name}_seconds": cost.seconds for name, cost in costs.items()},
        **{f"{name}_operations": cost.operations for name, cost in costs.items()},
        "trbp_sweeps": approximate.sweeps,
        "trbp_converged": costs["trbp"].converged,
        "log_partition_error": 100.0 * error,
    }


def mean_score(model: PairwiseModel) -> float:
    """Return the mean of log p(x) + log Z over all joint states.

    Adding a constant to all weights of a group adds it to log Z without changing the distribution,
    so relative errors of log Z are not meaningful. The difference of log Z and the mean score is
    at least Σ log s_i and does not depend on the parametrisation.
    """
    means = [
        np.add.reduceat(model.weights[: starts[-1]], starts[:-1]) / np.diff(starts)
        for starts in (model.node_offsets, model.edge_offsets)
        if len(starts) > 1
    ]
    return float(sum(part.sum() for part in means))


# --- figure and table ---------------------------------------------------------------------------


def _frontier_table(rows: Frame) -> Frame:
    """Return one row for every model, by network and learner."""
    order = {name: k for k, name in enumerate(_LOOKS)}
    networks = [here for _, here in rows.groupby("network", sort=False)]
    found = [
        here.sort_values("learner", key=lambda names: names.map(order), kind="stable")
        for here in networks
    ]
    return pd.concat(found)[[*_TABLE]]


def _all_models(rows: Frame) -> list[Row]:
    """Return the measured rows; learners have different columns."""
    missing = rows.map(lambda value: value is not None and pd.isna(value))
    return [row[~missing.loc[k]].to_dict() for k, row in rows.astype(object).iterrows()]


# --- claims -------------------------------------------------------------------------------------


class CostComparison(NamedTuple):
    """Models of bounded inference against another learner at the same cost.

    Attributes
    ----------
    gains : dict
        For each model: the other learner's value at its cost minus its own; positive if better.
    beyond : int
        Number of models cheaper than all of the other learner, which are not compared.
    """

    gains: dict[float, float]
    beyond: int


def compare_at_cost(
    ours: Frame, others: Frame, cost: str, value: str, *, log: bool = True
) -> CostComparison:
    """Compare every model of `ours` with the best value of `others` at most at its cost.

    Values of `others` are interpolated linearly between models, in the logarithm of the cost if
    `log`. Lower is better for both.
    """

    def axis(costs: Series) -> Any:
        return np.log(costs.astype(float).clip(lower=_LEAST_COST)) if log else costs

    if others.empty:
        return CostComparison({}, len(ours))
    frontier = others.sort_values([cost, value])
    compared = ours[ours[cost] >= frontier[cost].min()]
    best = np.interp(axis(compared[cost]), axis(frontier[cost]), frontier[value].cummin())
    gains = best - compared[value]
    return CostComparison(
        dict(zip(compared["bound"], gains, strict=True)), len(ours) - len(compared)
    )


def _comparisons(
    rows: Frame, ours: str, which: str, cost: str, value: str, *, log: bool = True
) -> dict[str, CostComparison]:
    return {
        f"network {network}": compare_at_cost(
            here[here["learner"] == ours], here[here["learner"] == which], cost, value, log=log
        )
        for network, here in rows.groupby("network", sort=False)
    }


def better_at_equal_cost(
    rows: Frame, *, which: str, value: str, method: str, cost: str, ours: str = BOUNDED
) -> Checks:
    """Check that bounded inference is more likely than `which` at the same operations or seconds.

    Counted operations have no noise.
    """
    found = _comparisons(rows, ours, which, f"{method}_{cost}", value)
    words = f"{value} of {which} less that of {ours} at the same {cost} by bound"
    yield words, {name: one.gains for name, one in found.items()}, "above 0"


def less_error_at_equal_likelihood(rows: Frame, *, which: str) -> Checks:
    """Check that the error of log Z is smaller with bounded inference at the same likelihood."""
    found = _comparisons(rows, BOUNDED, which, "nll", "log_partition_error", log=False)
    words = f"error of {which} less that of bounded inference with the same NLL by bound"
    yield words, {name: one.gains for name, one in found.items()}, "above 0"
    beyond = {name: one.beyond for name, one in found.items()}
    yield "models that are more likely than any of the others", beyond


def likelihood_rises_with(rows: Frame, *, cost: str, value: str, word: str) -> Checks:
    """Check that with both learners models of higher cost or error are more likely."""
    correlations: Row = {}
    for name in (BOUNDED, PATH):
        networks = rows[rows["learner"] == name].groupby("network", sort=False)
        correlations[name] = {
            f"network {network}": rank_correlation(models[cost], -models[value])
            for network, models in networks
            if len(models) >= 3
        }
    yield f"rank correlation of {word} and likelihood", correlations, "at least 0.5"


_IF_REFITTED = (
    "Not in the paper: the same if the graphs of ℓ₁ have the weights of maximum likelihood."
)
_AT_COST = {"operations": "number of operations of inference", "seconds": "inference time"}


def _claims(loss: str, word: str, method: str) -> Iterator[Claim]:
    """Yield the claims about one loss and the cost of one inference method."""
    for cost, words in _AT_COST.items():
        yield from _claims_at_cost(
            f"at the same {words}",
            word,
            partial(better_at_equal_cost, value=loss, method=method, cost=cost),
            method,
        )
    yield Claim(
        f"With both, a structure of higher inference time has a higher {word}.",
        partial(likelihood_rises_with, cost=f"{method}_seconds", value=loss, word="inference time"),
    )


def _claims_at_cost(
    at_cost: str, word: str, better: Callable[..., Checks], method: str
) -> Iterator[Claim]:
    """Yield the claims about models of the same cost, one for each opponent."""
    start = f"A{at_cost[1:]}, bounded inference learns models of a higher {word} than"
    yield Claim(
        f"{start} ℓ₁-regularised structure learning (nodewise).", partial(better, which=PATH)
    )
    yield Claim(
        f"{start} ℓ₁-regularised structure learning (joint, one penalty per edge).",
        partial(better, which=JOINT),
    )
    for which, words in ((PATH, "nodewise ℓ₁"), (JOINT, "joint ℓ₁")):
        yield Claim(
            "Not in the paper's experiments: with small steps (a stage-wise descent), "
            f"{at_cost} as {words}.",
            partial(better, which=which, ours=STAGE_WISE),
        )
    if method == "exact":
        yield Claim(
            "Not in the paper's experiments: with the ℓ₂ penalty of its section 3.3, "
            f"{at_cost} as nodewise ℓ₁.",
            partial(better, which=PATH, ours=PENALISED),
        )
    yield Claim(f"{_IF_REFITTED[:-1]}, {at_cost}.", partial(better, which=REFITTED))


_OPPONENT = (
    "ℓ₁ is nodewise group-ℓ₁ pseudo-likelihood with the weights of the path; joint ℓ₁ has one "
    "table of weights and one penalty per edge, as the paper's optimiser, at twice the λ. The "
    "graphs of the former with maximum-likelihood weights are shown too, where exact fits are fast "
    "enough."
)
_PENALTY = (
    "Without a penalty the learner adds edges until none keeps the bound, also those that only fit "
    "the noise of 500 rows. The ℓ₂ penalty shown too is that of the prior N(0, 1), λ₂ = 1 / (2N)."
)
_STAGES = (
    "The paper calls its optimisation a stage-wise gradient descent, while its algorithm maximises "
    "the likelihood after every edge. Both are shown: small steps end where active edges have the "
    f"gradient of the last one, so that they hardly fit noise (stage_step={_STAGE_STEP:g})."
)
_COST = (
    "A pair that is not an edge needs inference given each state of one variable: P(X_i, X_j) = "
    "P(X_i) P(X_j | X_i). Times are processor times after a warm-up, the median of five; "
    "operations, which do not depend on the load of the machine, are judged too."
)
_SWEEPS = (
    "R is the number of TRBP sweeps, which the paper uses as the estimate of its time: a bound "
    "on seconds would give different models in every run."
)
_PERCENT = (
    "log Z depends on the parametrisation; its error is given in percent of log Z minus the mean "
    "score of all joint states, which does not."
)


_BOUNDS = (
    {"treewidth": (1, 2, 3), "penalised": (2,), "trbp-sweeps": (10, 30)},
    {"treewidth": (1, 2, 3, 4, 6), "penalised": (1, 2, 3), "trbp-sweeps": (10, 20, 40, 80)},
    {
        "treewidth": tuple(range(1, 11)),
        "penalised": (1, 2, 3, 4),
        "trbp-sweeps": (10, 15, 20, 30, 40, 60, 80, 120),
    },
)


def _experiment(
    number: int, title: str, complexity: Complexity, loss: str, cost: str, **more: Any
) -> Experiment:
    return Experiment(
        **_PAPER.item(f"figure {number}", "4"),
        title=title,
        sizes={
            **{"nodes": (7, 30, 30), "rows": (80, 500, 500), "networks": (1, 3, 5)},
            **{"bounds": _BOUNDS, "path": (4, 12, 40)},
        },
        parts=partial(bounded_parts, complexity=complexity),
        figure=partial(
            line_figure,
            x=loss,
            x_title=_TITLES[loss],
            y={cost: _TITLES[cost]},
            looks=_LOOKS,
            line="learner",
            panel="network",
            share_y=True,
            log_y=True,
        ),
        table=_frontier_table,
        summary=_all_models,
        settings={
            "network": f"binary variables, each pair an edge with probability {_DENSITY:g}, all "
            "weights from N(0, 1); as many held-out rows as training rows, sampled exactly",
            "bounded": f"bounded-inference with complexity={complexity}, otherwise defaults",
            "path": "nodewise-l1, λ logarithmically spaced from the largest score downwards, as "
            f"long as all marginals by junction trees take at most {_MOST_OPERATIONS:,} operations",
            "inference": "all unconditional marginals of one and of two variables",
            "hidden": "5 random halves of the variables",
        },
        cost=("2 min", "15 min"),
        **more,
    )


def _frontier(number: int, complexity: Complexity, loss: str, method: str) -> Experiment:
    """Return one of the figures 1 to 4."""
    word = "likelihood" if loss == "nll" else "conditional marginal likelihood"
    by = "treewidth" if complexity == "treewidth" else "TRBP's sweeps"
    return _experiment(
        number,
        f"{loss.upper()} against inference time, {by} bounded",
        *(complexity, loss, f"{method}_seconds"),
        claims=tuple(_claims(loss, word, method)),
        notes=(_OPPONENT, _STAGES, _COST, _PENALTY if complexity == "treewidth" else _SWEEPS),
    )


EXPERIMENTS = (
    _frontier(1, "treewidth", "nll", "exact"),
    _frontier(2, "treewidth", "ncmll", "exact"),
    _frontier(3, "trbp-sweeps", "nll", "trbp"),
    _frontier(4, "trbp-sweeps", "ncmll", "trbp"),
    _experiment(
        5,
        "NLL against the error of TRBP's log Z",
        "trbp-sweeps",
        "nll",
        "log_partition_error",
        claims=(
            Claim(
                "For the same likelihood, models of bounded inference have a smaller error than "
                "those of ℓ₁-regularised structure learning.",
                partial(less_error_at_equal_likelihood, which=PATH),
            ),
            Claim(_IF_REFITTED, partial(less_error_at_equal_likelihood, which=REFITTED)),
            Claim(
                "With both, complex models of higher likelihood have a higher error.",
                partial(
                    likelihood_rises_with, cost="log_partition_error", value="nll", word="error"
                ),
            ),
        ),
        notes=(_OPPONENT, _STAGES, _SWEEPS, _PERCENT),
    ),
)
