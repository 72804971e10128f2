"""Runs on small data that compile the kernels of each view, the most likely first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any, NamedTuple, get_args

import numpy as np

from graftviz.app.jobs import Executor
from graftviz.app.material import PAGE_PRESET, automatic_values, prepare
from graftviz.app.runs import PlayerRun, compiled
from graftviz.data.sets.registry import dense_network, load_dataset
from graftviz.data.synthetic.graphs import grid_graph, ising_grid
from graftviz.data.synthetic.potentials import random_model
from graftviz.dynamics.learners import LEARNERS, SolverOptions, dynamics_learner, has_seeds
from graftviz.dynamics.measuring import (
    Counts,
    DynamicsPlan,
    generated_series,
    learning,
    measuring_curves,
    regress_all,
)
from graftviz.evaluation.race import small_data, warm_up
from graftviz.evaluation.reservoir import ranked_steps, simulated_ranks
from graftviz.evaluation.tradeoff import BOUNDS, measuring, measuring_path
from graftviz.inference.exact.ordering import junction_tree_of
from graftviz.inference.likelihood import nll
from graftviz.inference.local.influence import influence_of
from graftviz.inference.local.local_model import CUTS, Cut, region_marginal
from graftviz.inference.local.marginal import (
    Expansion,
    grow_region,
    local_marginal,
    promising_query,
)
from graftviz.inference.methods import infer
from graftviz.inference.queries import CHOICES, answer_steps
from graftviz.learning.base import Learner
from graftviz.learning.bounded.bounded_inference import BoundedInference, Complexity
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.pruning.forced_pruning import ForcedPruning, Heuristic
from graftviz.learning.registry import learner_class, learner_names
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.layout import layout_near, static_layout
from graftviz.reports.replay.records import answer
from graftviz.reports.results import Run
from graftviz.reports.words.regions import SMALLEST_TOLERANCE
from graftviz.utils.cold_start import is_compiled, mark
from graftviz.utils.errors import InputError
from graftviz.utils.options import option_specs

SAMPLED_DATA = "karate"  # its rows are drawn when it is loaded


class KernelJob(NamedTuple):
    """Run that compiles kernels.

    Attributes
    ----------
    name : str
        What is compiled, for users.
    run : callable
    seconds : float
        Processor time with nothing compiled, after the jobs before it.
    """

    name: str
    run: Callable[[], Any]
    seconds: float = 1.0

    def __call__(self) -> None:
        """Run the job; options that do not go together leave nothing to compile."""
        with suppress(InputError):
            self.run()
        mark(self.name)


def first_jobs() -> list[KernelJob]:
    """Return the job that compiles the kernels of the default run: best-choice, preset paper."""
    return [KernelJob("the default run", partial(_learn, BestChoice(preset=PAGE_PRESET)), 40.0)]


def later_jobs() -> list[KernelJob]:
    """Return the jobs that compile further kernels of the page, the most likely first."""
    return [
        KernelJob("sampled data", partial(load_dataset, SAMPLED_DATA), 3.0),
        KernelJob("preset best", partial(_learn, BestChoice(preset="best")), 60.0),
        KernelJob("certified regions", _grow_certified, 43.0),
        *(
            KernelJob(cls.title, partial(_learn, *_others(cls)), 10.0)
            for cls in map(learner_class, learner_names())
        ),
    ]


def page_jobs() -> dict[str, KernelJob]:
    """Return the jobs that compile the kernels of single pages, by page."""
    return {
        "regions": KernelJob("page Regions", warm_regions),
        "prune": KernelJob("page Prune", warm_pruning, 2.0),
        "budget": KernelJob("page Budget", warm_budget, 7.0),
        "dynamics": KernelJob("page Dynamics", warm_dynamics),
        "reservoir": KernelJob("page Reservoir", warm_reservoir),
        "inspect": KernelJob("page Inspect", warm_inspection, 5.0),
    }


def missing_jobs() -> list[KernelJob]:
    """Return the jobs that were not done with these sources; all of them compile all kernels."""
    jobs = (*first_jobs(), *later_jobs(), *page_jobs().values())
    return [job for job in jobs if not is_compiled(job.name)]


def _others(cls: type[Learner]) -> list[Learner]:
    """Return a learner by each preset, and with each of its switches and choices otherwise."""
    choices = {
        spec.name: spec.choices or (True, False)
        for spec in option_specs(cls)
        if spec.kind in ("choice", "bool")
    }
    presets = choices.pop("preset", ())
    found = []
    for start in [{"preset": preset} for preset in presets] or [{}]:
        found.append(cls(**start))
        options = [{name: value} for name in choices for value in choices[name]]
        for option in options:
            with suppress(InputError):  # options that do not go together
                found.append(cls(**start, **option))
    return list(dict.fromkeys(found))


def _learn(*learners: Learner) -> None:
    """Perform all operations of a page on runs, the first one with known true edges as well."""
    for number, learner in enumerate(learners):
        for knows_truth in (True, False) if number == 0 else (False,):
            with suppress(InputError):
                _watch(learner, knows_truth=knows_truth)


def _watch(learner: Learner, *, knows_truth: bool) -> None:
    material = prepare(small_data(knows_truth=knows_truth), seed=0)
    run = Run(material.train, learner.for_warm_up(), test=material.test, truth=material.truth)
    recorded = PlayerRun(run, material, "warm-up", Executor().queue())
    automatic_values(learner, material)
    steps = len(list(recorded.records()))
    recorded.answer({"kind": "node", "i": 0, "t": steps})
    recorded.answer({"kind": "pair", "i": 0, "j": 1, "t": 0})
    recorded.result()


def _grow_certified() -> None:
    """Grow certified regions, and compute effects; until this is done, the player waits."""
    learner = BestChoice(preset=PAGE_PRESET, lam=1e-6, lam2=0.01)  # that leaves no pair out
    run = Run(small_data().table, learner)
    try:
        while run.advance():
            pass
        for t, cut in product((1, len(run.steps)), CUTS):
            for i in range(run.table.n_variables):
                region = {"cut": cut, "tolerance": SMALLEST_TOLERANCE}
                answer(run, {"kind": "node", "i": i, "t": t, "region": region})
        for t, step in enumerate(run.steps, start=1):
            i, j, _ = step.activated[0]
            answer(run, {"kind": "edge", "i": i, "j": j, "t": t, "effect": True})
    finally:
        compiled.set()


def warm_inspection() -> None:
    """Compute marginals by every method, with and without evidence, and local ones."""
    models = []
    for corner in (0.5, -np.inf):  # a zero potential takes other kernels
        table = np.array([[corner, 0.0, -0.5], [0.0, 0.2, 0.0]])
        tables = {(0, 1): table, (1, 2): table.T, (2, 3): table, (0, 3): table}
        nodes = [np.zeros(states) for states in (2, 3, 2, 3)]
        models.append(PairwiseModel.from_tables(nodes, tables))
    for method, model, evidence in product(CHOICES, models, ({}, {0: 1})):
        deque(answer_steps(model, evidence, method), maxlen=0)
    for evidence, model in product(({1: 1}, {}), models):
        local_marginal(model, 0, evidence=evidence)


def warm_regions() -> None:
    """Grow regions by every rule, and compute marginals of the whole model."""
    rules: tuple[tuple[Expansion, Cut], ...] = (
        ("greedy", "drop"),
        ("greedy", "mean-field"),
        ("norm", "drop"),
    )
    sizes = np.random.default_rng(0).integers(2, 4, size=9)
    grid = ising_grid(3, 3, field=1.0, coupling=0.3, seed=0)
    for model in (grid, random_model(grid_graph(3, 3).edges, sizes, seed=0)):
        for expansion, cut in rules:
            options: dict[str, Any] = {"expansion": expansion, "cut": cut, "max_size": 4}
            for step in grow_region(model, 4, tolerance=0.0, **options):
                region_marginal(model, step.nodes, 4, cut)
        promising_query(model)
        influence_of(model)
        infer(model, "bp")
        infer(model, "exact")
    static_layout(3, np.array([[0, 1], [1, 2]]))


def warm_pruning() -> None:
    """Prune by every heuristic."""
    for heuristic in get_args(Heuristic):
        warm_up(ForcedPruning(heuristic=heuristic))
    static_layout(3, np.array([[0, 1], [1, 2]]))


def warm_budget() -> None:
    """Learn under every measure of complexity, and measure a λ path."""
    data, _ = dense_network(0, variables=5, rows=60)
    train, test = data.table.split(test_fraction=data.test_fraction, seed=0)
    places = static_layout(5, np.array([[0, 1]]))
    for complexity, lam2 in product(get_args(Complexity), (0.0, 0.01)):
        bound = BOUNDS[complexity]
        learner = BoundedInference(complexity, bound.usual, lam2=lam2, lam1=lam2)
        run = Run(train, learner, seed=0)
        while run.advance():
            nll(run.steps[-1].model(), test)
        model = run.result().model
        layout_near(places[:2], np.array([[0, 1]]))
        junction_tree_of(5, model.edges, np.arange(5))
        deque(measuring(model, test, "bounded", bound.usual, bound.method), maxlen=0)
    for method in sorted({bounds.method for bounds in BOUNDS.values()}):
        deque(measuring_path(train, test, method=method), maxlen=0)


def warm_dynamics() -> None:
    """Learn by every learner and solver, and measure curves over k and |S|."""
    small = generated_series(6, 0.3, 60, 0.2, seed=0, test_fraction=0.2)
    for solver, name in product(("sgd", "coordinate"), LEARNERS):
        cls = dynamics_learner(name)
        sparse: dict[str, Any] = {"solver": solver, "parents": 2}
        learner = cls(**(sparse if issubclass(cls, SolverOptions) else {}))
        wiring = "truth" if name == "enforcing" else ""
        deque(learning(small, DynamicsPlan(learner, 0, wiring)), maxlen=0)
        if has_seeds(learner):
            counts = Counts(learner, (1, 2), (1, 2))
            for regressions in filter(None, regress_all(small.train, learner)):
                deque(measuring_curves(small, regressions, counts), maxlen=0)


def warm_reservoir() -> None:
    """Simulate reservoirs, and rank all pairs in two runs."""
    deque(simulated_ranks(3, 2, 1), maxlen=0)
    data = load_dataset("karate")
    for size, tests in ((20, 60), (1, 1)):
        lam = data.suggested.get("lam")
        deque(ranked_steps(data.table, reservoir=size, t_max=tests, lam=lam), maxlen=0)
