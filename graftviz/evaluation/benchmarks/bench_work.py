"""Benchmarked work of the package, and the same work by its references.

Every public function takes a lab and a size, does the work once, and returns its sample;
:func:`learning` makes such a function of a learner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np

from graftviz.data.synthetic.graphs import grid_graph, ising_model
from graftviz.data.synthetic.potentials import random_model
from graftviz.evaluation.benchmarks import plain
from graftviz.evaluation.benchmarks.bench import (
    LAM,
    LAM2,
    Lab,
    Problem,
    Repetition,
    Size,
    Unavailable,
    Work,
    best_f1,
    timed,
)
from graftviz.evaluation.selection.fits import fit as run_learner
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.local.marginal import local_marginal
from graftviz.inference.propagation import message_graph, propagate
from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.edge_grafting import EdgeGrafting
from graftviz.learning.observer import recall_precision_f1
from graftviz.learning.trace import Outcome, Step
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.learning.weights.network import ActiveNetwork
from graftviz.learning.weights.penalty import Penalty
from graftviz.model.pairwise import PairwiseModel

PAPER = "belief score"
BINCOUNT_PAIRS, CROSSTAB_PAIRS = 1_000, 20
SWEEPS = 32  # enough to include work that is not done in every sweep
PLAIN_SWEEPS = 8
BP_TOLERANCE, MOST_SWEEPS = 1e-6, 500
FIT_EVALUATIONS = 500
BAND = 6  # neighbours of each variable of the banded graph on either side
FEW_EDGES = 12  # compared with edge grafting in NumPy
NODEWISE_STRENGTH, NODEWISE_PASSES = 0.05, 8  # more passes do not improve the edges
NODEWISE_MOST, NODEWISE_PART = 50, 10  # above 50 variables, only 10 are regressed
# Local queries run on tori of Ising variables. The large one is tiled with copies of the small
# one, so that a query has the same neighbourhood and the same result in both.
TORUS = (25, 40)
SMALL_NODES = math.prod(TORUS)
SLOWER = f"time over that on {SMALL_NODES:,} nodes"
QUERIES = 25
FIELD, COUPLING = 0.5, 0.25


def _timed_mean(work: Callable[[], Any], times: int) -> Repetition:
    """Do the work many times and return the mean times."""
    return timed(lambda: [work() for _ in range(times)])[1].scaled(1.0 / times)


def count_pairs(lab: Lab, size: Size) -> Repetition:
    """Pack the table and count every pair."""
    train = lab.problem(size).train
    return timed(lambda: PairCounts(train).count_all())[1]


def count_by_bincount(lab: Lab, size: Size) -> Repetition:
    """Count some pairs by a loop of np.bincount, and extrapolate to all."""
    codes, pairs = lab.problem(size).codes, _some_pairs(size, BINCOUNT_PAIRS)
    _, sample = timed(lambda: plain.bincount_tables(codes, size.states, pairs))
    return sample.scaled(math.comb(size.nodes, 2) / len(pairs))


def count_by_crosstab(lab: Lab, size: Size) -> Repetition:
    """Count a few pairs by pandas.crosstab, and extrapolate to all."""
    frame, pairs = lab.problem(size).train.to_frame(), _some_pairs(size, CROSSTAB_PAIRS)
    _, sample = timed(lambda: plain.crosstab_tables(frame, pairs))
    return sample.scaled(math.comb(size.nodes, 2) / len(pairs))


def _some_pairs(size: Size, count: int) -> np.ndarray:
    rng = np.random.default_rng(size.seed)
    count = min(count, math.comb(size.nodes, 2))
    return np.array([rng.choice(size.nodes, size=2, replace=False) for _ in range(count)])


def sweep(lab: Lab, size: Size) -> Repetition:
    """Time one sweep, as the mean of many."""
    return _propagated(lab, size, SWEEPS, -1.0).scaled(1.0 / SWEEPS)


def converge(lab: Lab, size: Size) -> Repetition:
    """Propagate from uniform messages until none changes by more than 1e-6."""
    return _propagated(lab, size, MOST_SWEEPS, BP_TOLERANCE)


def _propagated(lab: Lab, size: Size, sweeps: int, tolerance: float) -> Repetition:
    graph, work = message_graph(lab.problem(size).model), np.empty((6, size.states))
    n, m = size.nodes, len(graph.edge_nodes)
    found, sample = timed(lambda: propagate(graph, n, m, sweeps, tolerance, 0.0, work))
    return sample._replace(facts={"sweeps": float(found[0])})


def plain_sweep(sweep: Callable[[plain.Propagation], float]) -> Work:
    """Return a function that times one synchronous sweep in NumPy."""
    return lambda lab, size: _timed_mean(partial(sweep, _propagation(lab, size)), PLAIN_SWEEPS)


def textbook_sweep(lab: Lab, size: Size) -> Repetition:
    """Time one synchronous sweep in the log domain in NumPy."""
    model = lab.problem(size).model
    weights = plain.uniform_weights(model)
    messages = np.full((2, model.n_edges, size.states), -math.log(size.states))

    def work() -> None:
        messages[:] = plain.textbook_sweep(*weights, model.edges, messages)

    return _timed_mean(work, PLAIN_SWEEPS)


def plain_converge(lab: Lab, size: Size) -> Repetition:
    """Sweep synchronously in NumPy until no message changes by more than 1e-6."""
    propagation = _propagation(lab, size)
    sweeps, sample = timed(lambda: propagation.converge(BP_TOLERANCE, MOST_SWEEPS))
    return sample._replace(facts={"sweeps": float(sweeps)})


def _propagation(lab: Lab, size: Size) -> plain.Propagation:
    model = lab.problem(size).model
    propagation = plain.Propagation(model.n_variables, model.edges, size.states)
    propagation.set_weights(*plain.uniform_weights(model))
    return propagation


def fit(lab: Lab, size: Size) -> Repetition:
    """Fit the weights of the true graph, with pairs counted before."""
    problem = lab.problem(size)
    network = ActiveNetwork(PairCounts(problem.train), problem.train.names, problem.train.labels)
    penalty = Penalty(LAM, LAM2, False, False)
    network.fit_nodes(penalty, tolerance=1e-8)
    for i, j in problem.model.edges:
        network.add_edge(int(i), int(j))
    found, sample = timed(lambda: network.polish(penalty, tolerance=1e-8))
    facts = {"objective": found.objective, "KKT residual": found.kkt_residual}
    return sample._replace(facts=facts)


def plain_fit(lab: Lab, size: Size) -> Repetition:
    """Fit the same weights by L-BFGS with converged belief propagation."""
    problem = lab.problem(size)
    edges = problem.model.edges
    margins, tables = plain.frequencies(problem.codes, size.states, edges)
    work = plain.PlainLikelihoodFit(edges, margins, tables, lam=LAM, lam2=LAM2)
    fitted, sample = timed(lambda: work.minimise(most=FIT_EVALUATIONS))
    facts = {"objective": fitted.objective, "evaluations": float(fitted.evaluations)}
    return sample._replace(facts=facts)


def grid_marginals(_lab: Lab, size: Size) -> Repetition:
    """Compute all marginals and log Z of a square grid without wrap-around."""
    side = math.isqrt(size.nodes)
    return _marginals(grid_graph(side, side).edges, size)


def band_marginals(_lab: Lab, size: Size) -> Repetition:
    """Compute all marginals and log Z of a banded graph, whose cliques have many states."""
    edges = [(i, j) for j in range(size.nodes) for i in range(max(j - BAND, 0), j)]
    return _marginals(np.array(edges), size)


def _marginals(edges: np.ndarray, size: Size) -> Repetition:
    n = int(edges.max()) + 1
    model = random_model(edges, [size.states] * n, seed=size.seed)

    def work() -> int:
        tree = JunctionTree(model)
        tree.beliefs()
        return tree.plan.width

    width, sample = timed(work)
    return sample._replace(facts={"width": float(width)})


def learning(make: Callable[[Size], Learner]) -> Work:
    """Return a function that runs the learner ``make(size)`` to its end."""

    def work(lab: Lab, size: Size) -> Repetition:
        outcome, sample = _learned(make(size), lab, size)
        facts = {"objective": outcome.objective, "KKT residual": outcome.kkt_residual}
        facts |= {"share of pairs": outcome.tables_counted / outcome.tables_possible}
        return sample._replace(model=outcome.model(), facts=facts)

    return work


def _learned(learner: Learner, lab: Lab, size: Size) -> tuple[Outcome, Repetition]:
    train = lab.problem(size).train
    outcome, sample = timed(lambda: run_learner(learner, train, 0))
    assert outcome is not None  # only a run with a limit on edges has none
    return outcome, sample


def defaults(size: Size) -> BestChoice:
    """Return best-choice grafting with its defaults; for a warm-up, with those of many variables.

    A tree stands for very many variables, which are screened and scored by other kernels.
    """
    if size.tree and size.nodes == size.tiny().nodes:
        return BestChoice(screening="sample", score="belief", objective="bethe", refit=False)
    return BestChoice()


def edge_grafting(size: Size) -> EdgeGrafting:
    """Return edge grafting with the settings of the paper."""
    return EdgeGrafting(lam=LAM, lam2=LAM2, max_edges=_three_n(size), preset="paper")


def few_edges(_size: Size) -> EdgeGrafting:
    """Return edge grafting with the settings of the paper for the first few edges."""
    return EdgeGrafting(lam=LAM, lam2=LAM2, max_edges=FEW_EDGES, preset="paper")


def best_choice(alpha: float, *, hubs: bool = True) -> Callable[[Size], BestChoice]:
    """Return a factory of best-choice grafting with the paper's score and n / 2 tests per step."""
    learner = partial(BestChoice, alpha=alpha, hubs=hubs, lam=LAM, lam2=LAM2, preset="paper")
    return lambda size: learner(t_max=math.ceil(size.nodes / 2), max_edges=_three_n(size))


def _three_n(size: Size) -> int:
    return min(3 * size.nodes, math.comb(size.nodes, 2))


def plain_edge_grafting(lab: Lab, size: Size) -> Repetition:
    """Graft the first few edges in NumPy."""
    codes = lab.problem(size).codes
    grafting = plain.edge_grafting(codes, size.states, lam=LAM, lam2=LAM2)
    steps, sample = timed(lambda: list(islice(grafting, FEW_EDGES)))
    return sample._replace(facts={"objective": steps[-1][1].objective, "edges": float(len(steps))})


def nodewise(lab: Lab, size: Size) -> Repetition:
    """Regress every variable on all others; with many variables, extrapolate from some."""
    problem = lab.problem(size)
    count = size.nodes if size.nodes <= NODEWISE_MOST else NODEWISE_PART
    nodes = np.linspace(0, size.nodes - 1, count).astype(int)
    regress = partial(plain.nodewise_l1, strength=NODEWISE_STRENGTH, iterations=NODEWISE_PASSES)
    norms, sample = timed(lambda: regress(problem.codes, size.states, nodes.tolist()))
    if count < size.nodes:
        return sample.scaled(size.nodes / count)
    pairs = np.column_stack(np.triu_indices(size.nodes, 1))
    strengths = np.maximum(norms, norms.T)[pairs[:, 0], pairs[:, 1]]
    ranked = pairs[np.argsort(strengths, kind="stable")[::-1]]
    ranked = ranked[: int((strengths > 0).sum())]
    return sample._replace(facts={"best F1": best_f1(ranked, problem.model.edges)})


def half_more_edges(lab: Lab, size: Size) -> Repetition:
    """Learn 1.5 n edges with the defaults, and evaluate them in order of activation."""
    outcome, sample = _learned(BestChoice(max_edges=3 * size.nodes // 2), lab, size)
    model, truth = outcome.model(), lab.problem(size).model.edges
    facts = {
        "precision of n": recall_precision_f1(model.edges[: size.nodes], truth).precision,
        "recall of 1.5 n": recall_precision_f1(model.edges, truth).recall,
    }
    available = {name: value for name, value in facts.items() if value is not None}
    return sample._replace(model=model, facts=available)


def chow_liu(_size: Size) -> ChowLiu:
    """Return the Chow–Liu tree with its defaults."""
    return ChowLiu()


def first_edges(share: float, make: Callable[[Size], Learner] = defaults) -> Work:
    """Return a function that learns this share of n edges, by the defaults without a final fit."""
    return lambda lab, size: _first(lab, size, make(size), max(1, int(share * size.nodes)))


def _first(lab: Lab, size: Size, learner: Learner, target: int) -> Repetition:
    train = lab.problem(size).train

    def work() -> Step | None:
        last = None
        for last in learner.steps(train, seed=0):
            if last.n_edges >= target:
                break
        return last

    step, sample = timed(work)
    if step is None:
        raise Unavailable("no pair passes the test")
    share = step.tables_counted / step.tables_possible
    return sample._replace(model=step.model(), facts={"share of pairs": share})


def of_edges(model: PairwiseModel, problem: Problem) -> dict[str, float]:
    """Return the accuracy of the edges alone; predictions of very many variables take minutes."""
    assert problem.truth is not None
    found = recall_precision_f1(model.edges, problem.truth)
    named = {"edges": float(model.n_edges), "recall": found.recall, "precision": found.precision}
    return {name: value for name, value in named.items() if value is not None}


def edge_grafting_row(lab: Lab, size: Size) -> Repetition:
    """Return the row of edge grafting of the same size as a yardstick."""
    values = lab.earlier(f"edge grafting, {PAPER}", size).values
    return Repetition(values["seconds"], values["wall"], None, {"objective": values["objective"]})


def local_queries(_lab: Lab, size: Size) -> Repetition:
    """Time one local query, as the mean of many, on the torus of this size and on the small one."""
    tiles = max(1, round(math.sqrt(size.nodes / SMALL_NODES)))
    large, small = (_queried(*torus(side, size.seed)) for side in (tiles, 1))
    ratio = large.seconds / small.seconds if small.seconds > 0 else 1.0
    return large._replace(facts={SLOWER: ratio})


def _queried(model: PairwiseModel, columns: int) -> Repetition:
    """Time a query of one of many variables in the first tile."""
    places = [divmod(k * 37 % SMALL_NODES, TORUS[1]) for k in range(QUERIES)]
    local_marginal(model, 0, tolerance=0.0)  # the index of a model is built on first use
    _, sample = timed(
        lambda: [local_marginal(model, r * columns + c, tolerance=0.0) for r, c in places]
    )
    return sample.scaled(1.0 / QUERIES)


@cache
def torus(tiles: int, seed: int) -> tuple[PairwiseModel, int]:
    """Return a torus of tiles × tiles copies of 25 × 40 Ising variables, and its columns."""
    rng = np.random.default_rng(seed)
    field = np.tile(rng.uniform(-FIELD, FIELD, TORUS), (tiles, tiles))
    coupling = np.tile(rng.uniform(-COUPLING, COUPLING, (2, *TORUS)), (1, tiles, tiles))
    nodes = np.arange(field.size).reshape(field.shape)
    following = np.array([np.roll(nodes, -1, axis=axis) for axis in (0, 1)])
    ends = np.stack([np.broadcast_to(nodes, following.shape), following]).reshape(2, -1)
    return ising_model(np.sort(ends, axis=0).T, field, coupling), field.shape[1]
