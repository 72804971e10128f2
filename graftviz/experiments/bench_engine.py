"""Benchmarked work of the engine and its references: counting, propagation and fits."""

from __future__ import annotations

import math

import numpy as np

from graftviz.counts import PairCounts
from graftviz.experiments import plain
from graftviz.experiments.bench import Lab, Sample, Size, timed
from graftviz.fitting.network import ActiveNetwork
from graftviz.fitting.penalty import Penalty
from graftviz.inference.propagation import MessageGraph, message_graph, propagate

LAM, LAM2 = 1e-3, 0.03  # the values for which the goals are set
BINCOUNT_PAIRS, CROSSTAB_PAIRS = 1_000, 20
SWEEPS = 32  # enough to include work that is not done in every sweep
PLAIN_SWEEPS = 8
BP_TOLERANCE = 1e-6
FIT_EVALUATIONS = 500


def count_pairs(lab: Lab, size: Size) -> Sample:
    """Pack the table and count every pair."""
    train = lab.problem(size).train
    return timed(lambda: PairCounts(train).count_all())[1]


def count_by_bincount(lab: Lab, size: Size) -> Sample:
    """Count some pairs by a loop of np.bincount, and extrapolate to all."""
    codes, pairs = lab.problem(size).codes, _some_pairs(size, BINCOUNT_PAIRS)
    _, sample = timed(lambda: plain.bincount_tables(codes, size.states, pairs))
    return sample.scaled(math.comb(size.nodes, 2) / len(pairs))


def count_by_crosstab(lab: Lab, size: Size) -> Sample:
    """Count a few pairs by pandas.crosstab, and extrapolate to all."""
    frame, pairs = lab.problem(size).train.to_frame(), _some_pairs(size, CROSSTAB_PAIRS)
    _, sample = timed(lambda: plain.crosstab_tables(frame, pairs))
    return sample.scaled(math.comb(size.nodes, 2) / len(pairs))


def _some_pairs(size: Size, count: int) -> np.ndarray:
    rng = np.random.default_rng(size.seed)
    count = min(count, math.comb(size.nodes, 2))
    return np.array([rng.choice(size.nodes, size=2, replace=False) for _ in range(count)])


def sweep(lab: Lab, size: Size) -> Sample:
    """Time one sweep, as the mean of many."""
    graph, work = _graph(lab, size)
    n, m = size.nodes, len(graph.edge_nodes)
    sample = timed(lambda: propagate(graph, n, m, SWEEPS, -1.0, 0.0, work))[1]
    return sample.scaled(1.0 / SWEEPS)


def converge(lab: Lab, size: Size) -> Sample:
    """Propagate from uniform messages until none changes by more than 1e-6."""
    graph, work = _graph(lab, size)
    n, m = size.nodes, len(graph.edge_nodes)
    result, sample = timed(lambda: propagate(graph, n, m, 500, BP_TOLERANCE, 0.0, work))
    return sample._replace(facts={"sweeps": float(result[0])})


def _graph(lab: Lab, size: Size) -> tuple[MessageGraph, np.ndarray]:
    return message_graph(lab.problem(size).model), np.empty((5, size.states))


def plain_sweep(lab: Lab, size: Size) -> Sample:
    """Time one synchronous sweep by products in NumPy."""
    propagation = _propagation(lab, size)
    sample = timed(lambda: [propagation.sweep() for _ in range(PLAIN_SWEEPS)])[1]
    return sample.scaled(1.0 / PLAIN_SWEEPS)


def plain_sweep_in_logs(lab: Lab, size: Size) -> Sample:
    """Time one synchronous sweep in NumPy that does not underflow at hubs."""
    propagation = _propagation(lab, size)
    sample = timed(lambda: [propagation.sweep_in_logs() for _ in range(PLAIN_SWEEPS)])[1]
    return sample.scaled(1.0 / PLAIN_SWEEPS)


def textbook_sweep(lab: Lab, size: Size) -> Sample:
    """Time one synchronous sweep in the log domain in NumPy."""
    model = lab.problem(size).model
    weights = plain.uniform_weights(model)
    logs = np.full((2, model.n_edges, size.states), -math.log(size.states))

    def work() -> None:
        messages = logs
        for _ in range(PLAIN_SWEEPS):
            messages = plain.textbook_sweep(*weights, model.edges, messages)

    return timed(work)[1].scaled(1.0 / PLAIN_SWEEPS)


def plain_converge(lab: Lab, size: Size) -> Sample:
    """Sweep synchronously in NumPy until no message changes by more than 1e-6."""
    propagation = _propagation(lab, size)
    sweeps, sample = timed(lambda: propagation.converge(BP_TOLERANCE, 500))
    return sample._replace(facts={"sweeps": float(sweeps)})


def _propagation(lab: Lab, size: Size) -> plain.Propagation:
    model = lab.problem(size).model
    propagation = plain.Propagation(model.n_variables, model.edges, size.states)
    propagation.set_weights(*plain.uniform_weights(model))
    return propagation


def fit(lab: Lab, size: Size) -> Sample:
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


def plain_fit(lab: Lab, size: Size) -> Sample:
    """Fit the same weights by L-BFGS with converged belief propagation."""
    problem = lab.problem(size)
    edges, rows = problem.model.edges, size.rows
    margins = np.stack([np.bincount(c, minlength=size.states) for c in problem.codes]) / rows
    tables = plain.bincount_tables(problem.codes, size.states, edges) / rows
    work = plain.PlainLikelihoodFit(edges, margins, tables, lam=LAM, lam2=LAM2)
    fitted, sample = timed(lambda: work.minimise(most_evaluations=FIT_EVALUATIONS))
    facts = {"objective": fitted.objective, "evaluations": float(fitted.evaluations)}
    return sample._replace(facts=facts)
