"""Runs on small data that compile the kernels of each view, the most likely first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any, NamedTuple, get_args

import numpy as np

from graftviz.counts import PairCounts
from graftviz.datasets import load_dataset
from graftviz.datasets.networks import dense_network
from graftviz.dynamics import LEARNERS, dynamics_learner, has_seeds
from graftviz.dynamics.all_regressions import regress_all
from graftviz.dynamics.measuring import Counts, DynamicsPlan, measuring_curves
from graftviz.dynamics.prepared import generated_series
from graftviz.dynamics.solving import SolverOptions
from graftviz.errors import InputError
from graftviz.fitting.network import ActiveNetwork
from graftviz.fitting.penalty import Penalty
from graftviz.fitting.pseudo_network import PseudoNetwork
from graftviz.inspection.answers import METHODS, answer_steps
from graftviz.layout import static_layout
from graftviz.learners.base import Learner
from graftviz.learners.best_choice import BestChoice
from graftviz.learners.bounded_inference import BoundedInference, Complexity
from graftviz.learners.forced_pruning import ForcedPruning, Heuristic
from graftviz.learners.registry import learner_class, learner_names
from graftviz.material import PAGE_PRESET, automatic_values, prepare
from graftviz.model import PairwiseMRF
from graftviz.narrative.region import SMALLEST_TOLERANCE
from graftviz.options import option_specs
from graftviz.player.budget_records import bounded_run
from graftviz.player.dynamics_records import run_progress
from graftviz.player.recorders import RunRecorder, compiled
from graftviz.player.records import answer
from graftviz.player.region_records import RegionQuery, Rule, answering, growing
from graftviz.racing import rehearse, small_data
from graftviz.ranks import ranked_steps, simulated_ranks
from graftviz.regions import CUTS, local_marginal
from graftviz.regions.overview import influence_of, promising_query
from graftviz.runs import Run
from graftviz.sampling.graphs import grid_graph
from graftviz.sampling.ising import ising_grid
from graftviz.sampling.potentials import random_model
from graftviz.search.reservoir import ReservoirSearch
from graftviz.tradeoff import BOUNDS, measuring_path

SAMPLED_DATA = "karate"  # its rows are drawn when it is loaded


class Rehearsal(NamedTuple):
    """Run that compiles kernels.

    Attributes
    ----------
    name : str
        What is compiled, for users.
    run : callable
    seconds : float
        Processor time with nothing compiled, on the machine of the measurements in the
        documentation, after the jobs before it.
    parts : tuple of str
        Names of the jobs of `parts_of_runs` that compile some of its kernels.
    """

    name: str
    run: Callable[[], Any]
    seconds: float = 1.0
    parts: tuple[str, ...] = ()

    def __call__(self) -> None:
        """Run the job; options that do not go together leave nothing to compile."""
        with suppress(InputError):
            self.run()


def first_jobs() -> list[Rehearsal]:
    """Return the jobs that compile the kernels of the default run: best-choice, preset paper."""
    parts = ("the solver", "belief propagation", "the edge queue")
    return [Rehearsal("the default run", _rehearse_default, 33.0, parts)]


def parts_of_runs() -> list[Rehearsal]:
    """Return jobs for other processes, each with a part of the kernels of a run.

    The run itself needs them last.
    """
    return [
        Rehearsal("the solver", _rehearse_solver, 8.0),
        Rehearsal("belief propagation", _rehearse_propagation, 8.0),
        Rehearsal("the edge queue", _rehearse_queue, 5.0),
        Rehearsal("the solver of the pseudo-likelihood", _rehearse_rows, 8.0),
    ]


def later_jobs() -> list[Rehearsal]:
    """Return the jobs that compile further kernels of the page, the most likely first."""
    best = BestChoice(preset="best")
    return [
        Rehearsal("sampled data", partial(load_dataset, SAMPLED_DATA), 3.0),
        Rehearsal("preset best", partial(_rehearse_all, [best]), 30.0),
        Rehearsal("certified regions", _rehearse_certified, 43.0),
        *(
            Rehearsal(cls.title, partial(_rehearse_all, list(_others(cls))), 10.0)
            for cls in map(learner_class, learner_names())
        ),
    ]


def page_jobs() -> dict[str, Rehearsal]:
    """Return the jobs that compile the kernels of single pages, by page."""
    return {
        "regions": Rehearsal("page Regions", rehearse_regions, 1.0),
        "prune": Rehearsal("page Prune", rehearse_pruning, 2.0),
        "budget": Rehearsal("page Budget", rehearse_budget, 7.0),
        "dynamics": Rehearsal("page Dynamics", rehearse_dynamics, 1.0),
        "reservoir": Rehearsal("page Reservoir", rehearse_reservoir, 1.0),
        "inspect": Rehearsal("page Inspect", rehearse_inspection, 5.0),
    }


def every_job() -> list[Rehearsal]:
    """Return the jobs that together compile all kernels."""
    return [*first_jobs(), *later_jobs(), *page_jobs().values()]


def _rehearse_default() -> None:
    _rehearse_all([BestChoice(preset=PAGE_PRESET)])


def _small_network() -> tuple[ActiveNetwork, Penalty]:
    """Return a network of one edge, and the penalty of the default run."""
    table = small_data().table
    counts = PairCounts(table)
    network = ActiveNetwork(counts, table.names, table.labels)
    network.add_edge(0, 1)
    return network, BestChoice(preset=PAGE_PRESET).settings(counts, has_rows=True).penalty


def _rehearse_solver() -> None:
    network, penalty = _small_network()
    network.fit(penalty, tolerance=0.1)


def _rehearse_rows() -> None:
    table = small_data().table
    counts = PairCounts(table)
    network = PseudoNetwork(table, counts)
    network.add_edge(0, 1)
    network.fit(BestChoice(preset="best").settings(counts).penalty, tolerance=0.1)


def _rehearse_propagation() -> None:
    _small_network()[0].restart_gap()


def _rehearse_queue() -> None:
    counts = PairCounts(small_data().table)
    search = ReservoirSearch(counts, capacity=2, seed=0)
    hubs = np.arange(counts.n_variables) < 1
    search.boost(hubs, cumulative=True, threshold=0.1)


def _others(cls: type[Learner]) -> Iterator[Learner]:
    """Yield a learner by each preset, and with each of its switches and choices otherwise."""
    choices = {
        spec.name: spec.choices or (True, False)
        for spec in option_specs(cls)
        if spec.kind in ("choice", "bool")
    }
    presets = choices.pop("preset", ())
    for start in [{"preset": preset} for preset in presets] or [{}]:
        plain = cls(**start)
        yield plain
        for name, values in choices.items():
            for value in values:
                # Options that do not go together leave nothing to compile.
                with suppress(InputError):
                    if value != getattr(plain, name):
                        yield cls(**start, **{name: value})


def _rehearse_all(learners: Iterable[Learner]) -> None:
    """Rehearse learners without known true edges, and the first one with them as well.

    Measures of true edges are the same for all options of a learner.
    """
    for number, learner in enumerate(learners):
        for knows_truth in (True, False) if number == 0 else (False,):
            with suppress(InputError):
                _rehearse(learner, knows_truth=knows_truth)


def _rehearse(learner: Learner, *, knows_truth: bool) -> None:
    """Perform all operations of the page on a run, once and on a few rows."""
    material = prepare(small_data(knows_truth=knows_truth), seed=0)
    run = Run(material.train, learner.for_rehearsal(), test=material.test, truth=material.truth)
    recorder = RunRecorder(run, material, "warm-up")
    automatic_values(learner, material)
    steps = len(list(recorder.records()))
    recorder.answer({"kind": "node", "i": 0, "t": steps})
    recorder.answer({"kind": "pair", "i": 0, "j": 1, "t": 0})
    recorder.result()


def _rehearse_certified() -> None:
    """Grow certified regions, and compute effects; until this is done, the player waits."""
    learner = BestChoice(preset=PAGE_PRESET, lam=1e-6, lam2=0.01)  # that leaves no pair out
    run = Run(small_data().table, learner)
    try:
        while run.advance():
            pass
        for t, cut in product((1, len(run.steps)), CUTS):
            for i in range(run.table.n_variables):
                wish = {"cut": cut, "tolerance": SMALLEST_TOLERANCE}
                answer(run, {"kind": "node", "i": i, "t": t, "region": wish})
        for t, step in enumerate(run.steps, start=1):
            i, j, _ = step.activated[0]
            answer(run, {"kind": "edge", "i": i, "j": j, "t": t, "effect": True})
    finally:
        compiled.set()


def rehearse_inspection() -> None:
    """Compute marginals by every method, with and without evidence, and local ones."""
    models = []
    for corner in (0.5, -np.inf):  # a zero potential takes other kernels
        table = np.array([[corner, 0.0, -0.5], [0.0, 0.2, 0.0]])
        tables = {(0, 1): table, (1, 2): table.T, (2, 3): table, (0, 3): table}
        nodes = [np.zeros(states) for states in (2, 3, 2, 3)]
        models.append(PairwiseMRF.from_tables(nodes, tables))
    for method, model, evidence in product(METHODS, models, ({}, {0: 1})):
        deque(answer_steps(model, evidence, method), maxlen=0)
    for evidence, model in product(({1: 1}, {}), models):
        local_marginal(model, 0, evidence=evidence)


def rehearse_regions() -> None:
    """Grow regions by every rule, and compute marginals of the whole model."""
    rules: tuple[Rule, ...] = (("greedy", "drop"), ("greedy", "mean-field"), ("norm", "drop"))
    sizes = np.random.default_rng(0).integers(2, 4, size=9)
    grid = ising_grid(3, 3, field=1.0, coupling=0.3, seed=0)
    for model in (grid, random_model(grid_graph(3, 3).edges, sizes, seed=0)):
        for expansion, cut in rules:
            deque(growing(model, RegionQuery(4, expansion, cut, 0.0, 4, 0)), maxlen=0)
        promising_query(model)
        influence_of(model)
        deque(answering(model), maxlen=0)
    static_layout(3, np.array([[0, 1], [1, 2]]))


def rehearse_pruning() -> None:
    """Prune by every heuristic."""
    for heuristic in get_args(Heuristic):
        rehearse(ForcedPruning(heuristic=heuristic))
    static_layout(3, np.array([[0, 1], [1, 2]]))


def rehearse_budget() -> None:
    """Learn under every measure of complexity, and measure a λ path."""
    data, _ = dense_network(0, variables=5, rows=60)
    train, test = data.table.split(test_fraction=data.test_fraction, seed=0)
    places = static_layout(5, np.array([[0, 1]]))
    for complexity, lam2 in product(get_args(Complexity), (0.0, 0.01)):
        learner = BoundedInference(complexity, BOUNDS[complexity].usual, lam2=lam2, lam1=lam2)
        deque(bounded_run(train, test, places, learner), maxlen=0)
    for method in sorted({bounds.method for bounds in BOUNDS.values()}):
        deque(measuring_path(train, test, method=method), maxlen=0)


def rehearse_dynamics() -> None:
    """Learn by every learner and solver, and measure curves over k and |S|."""
    small = generated_series(6, 0.3, 60, 0.2, seed=0, test_fraction=0.2)
    for solver, name in product(("sgd", "coordinate"), LEARNERS):
        cls = dynamics_learner(name)
        sparse: dict[str, Any] = {"solver": solver, "parents": 2}
        learner = cls(**(sparse if issubclass(cls, SolverOptions) else {}))
        wiring = "truth" if name == "enforcing" else ""
        deque(run_progress(small, DynamicsPlan(learner, 0, wiring)), maxlen=0)
        if has_seeds(learner):
            counts = Counts(learner, (1, 2), (1, 2))
            for regressions in filter(None, regress_all(small.train, learner)):
                deque(measuring_curves(small, regressions, counts), maxlen=0)


def rehearse_reservoir() -> None:
    """Simulate reservoirs, and rank all pairs in two runs."""
    deque(simulated_ranks(3, 2, 1), maxlen=0)
    data = load_dataset("karate")
    for size, tests in ((20, 60), (1, 1)):
        lam = data.suggested.get("lam")
        deque(ranked_steps(data.table, reservoir=size, t_max=tests, lam=lam), maxlen=0)
