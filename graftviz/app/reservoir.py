"""Reservoir page: ranks of the best edge of a reservoir, simulated and in a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from graftviz.app.controls import show_option, show_options, show_settings
from graftviz.app.files import learn_menu, model_files, show_figure
from graftviz.app.frame import ModelMenu, PageFile
from graftviz.app.runs import Loaded
from graftviz.app.session import last_value, material
from graftviz.app.state import PageState
from graftviz.app.url import seed_option
from graftviz.data.sets.registry import dataset_title, load_dataset
from graftviz.evaluation.reservoir import (
    MOST_DRAWS,
    MOST_TRIALS,
    MOST_VARIABLES,
    RankedStep,
    RankSimulation,
    ranked_learner,
    ranked_steps,
    simulated_ranks,
)
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.reservoir import activation
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.figures.reservoir import activation_figure, rank_figure, run_rank_figure
from graftviz.reports.files.tables import reservoirs_csv
from graftviz.reports.results import Run
from graftviz.reports.words.steps import activation_words, run_words, simulation_words
from graftviz.utils.errors import InputError
from graftviz.utils.options import check_options, option
from graftviz.utils.wording import plain

# Small enough to rank all pairs at every step interactively.
DATA = ("scale-free-60", "scale-free-40", "karate", "grid-8x8", "les-miserables", "digits-2")


@dataclass(frozen=True)
class ReservoirOptions:
    """Settings of the page; all of them are in its URL."""

    reservoir: int = option(
        20,
        "number of edges in the reservoir: marked on the left, used by the run on the right",
        label="Reservoir size |R|",
        minimum=1,
        maximum=100,
    )
    alpha: float = option(
        0.75,
        "how selective a step is: 1 takes only the best edge, 0 all above the reservoir's mean",
        label="α",
        minimum=0.0,
        maximum=1.0,
    )
    n: int = option(
        400,
        "number of variables; there are n(n−1)/2 pairs to draw from",
        label="Variables n",
        minimum=2,
        maximum=MOST_VARIABLES,
    )
    largest: int = option(
        500,
        "largest size |R| of the simulation, from 1",
        label="Largest |R|",
        minimum=1,
        maximum=MOST_DRAWS,
    )
    trials: int = option(
        100, "number of trials per reservoir size", label="Trials", minimum=1, maximum=MOST_TRIALS
    )
    seed: int = seed_option("random seed of the draws and of both runs")
    logarithmic: bool = option(
        False,
        "logarithmic axis of ranks, on which the expected rank is nearly a straight line",
        label="Log axis",
    )
    data: str = option(DATA[0], "data to learn from", label="Data of the run", choices=DATA)
    tests: int = option(
        60,
        "edge tests between two activation steps of the run",
        label="Tests per step",
        minimum=1,
        maximum=5000,
    )
    step: int = option(
        31,
        "the step of the run whose reservoir is shown below",
        label="Step",
        minimum=1,
        maximum=100_000,
    )

    def __post_init__(self) -> None:
        check_options(self)


# ----------------------------------------------------------------------------------------- the runs


RUN_ALPHA = 0.75  # of the run itself; the chart applies other α to its reservoirs


@st.cache_resource(show_spinner="Simulating…", max_entries=32)
def simulation(variables: int, largest: int, trials: int, seed: int) -> RankSimulation:
    """Return the finished simulation."""
    found = last_value(simulated_ranks(variables, largest, trials, seed))
    assert found is not None  # there is at least one trial
    return found


@st.cache_resource(show_spinner="Learning and ranking all pairs…", max_entries=64)
def run(data: str, reservoir: int, tests: int, seed: int) -> tuple[RankedStep, ...]:
    """Return all steps of a run; one place in R and one test per step give first hit."""
    loaded = load_dataset(data)
    lam = loaded.suggested.get("lam")
    steps = ranked_steps(
        loaded.table, reservoir=reservoir, t_max=tests, alpha=RUN_ALPHA, lam=lam, seed=seed
    )
    return last_value(steps) or ()


def learner_of(data: str, reservoir: int, tests: int) -> BestChoice:
    """Return the learner of a run."""
    return ranked_learner(reservoir, tests, RUN_ALPHA, load_dataset(data).suggested.get("lam"))


@st.cache_resource(show_spinner="Learning the model…", max_entries=24)
def model(data: str, reservoir: int, tests: int, seed: int) -> PairwiseModel:
    """Return the model that a run learns."""
    run = Run(load_dataset(data).table, learner_of(data, reservoir, tests), seed=seed)
    last_value(iter(run.advance, False))
    return run.result().model


# --------------------------------------------------------------------------------------- the panels


_PREFIX = "reservoir"
_BESIDE_THE_SCORES = ("alpha", "step")  # shown beside the figures they affect
_ADVANCED = ("n", "largest", "trials", "seed")


def show_choices(state: PageState) -> None:
    """Show the controls of the side bar."""
    specs = [
        spec._replace(advanced=name in _ADVANCED)
        for name, spec in state.specs.items()
        if name not in _BESIDE_THE_SCORES
    ]
    show_options(specs, state.values, state.choose, prefix=_PREFIX)


def show_simulation(options: ReservoirOptions) -> None:
    """Show the ranks of random draws."""
    try:
        found = simulation(options.n, options.largest, options.trials, options.seed)
    except InputError as error:
        st.error(plain(str(error)))
        return
    figure = rank_figure(found, size=options.reservoir, logarithmic=options.logarithmic)
    words = simulation_words(found, options.reservoir)
    show_figure(figure, key="reservoir_ranks", alt=words)
    st.markdown(plain(words))


def show_run(options: ReservoirOptions) -> tuple[RankedStep, ...]:
    """Show the ranks in a run beside those of first hit; return the steps of the run."""
    try:
        steps = run(options.data, options.reservoir, options.tests, options.seed)
        first_hit = run(options.data, 1, 1, options.seed)
    except InputError as error:
        st.error(plain(str(error)))
        return ()
    words = run_words(first_hit, steps)
    if steps and first_hit:
        figure = run_rank_figure(first_hit, steps, options.data)
        show_figure(figure, key="reservoir_run", alt=words)
    st.markdown(plain(words))
    return steps


def show_activation(state: PageState, steps: tuple[RankedStep, ...]) -> None:
    """Show the reservoir of one step and the edges selected by α."""
    options = state.options
    left, right = st.columns([1, 2], gap="medium")
    step = steps[min(options.step, len(steps)) - 1]
    view = step.reservoir
    picked = activation(view.edges, view.scores, options.alpha)
    words = activation_words(picked, len(view.scores), options.alpha)
    with left, st.container(gap="xxsmall"):
        show_settings(state, _PREFIX, "alpha")
        if len(steps) > 1:
            within = state.specs["step"]._replace(maximum=len(steps))
            show_option(within, step.index, state.choose, prefix=_PREFIX)
        st.caption(
            plain(
                f"The reservoir at step {step.index} of {len(steps)} on "
                f"{dataset_title(options.data)}, after {step.tests:,} edge tests. The run itself "
                f"was learned with α = {RUN_ALPHA:g}; the chart applies the α "
                "chosen here to its reservoir."
            )
        )
        st.markdown(plain(words))
    with right, st.container(gap="xxsmall"):
        names = load_dataset(options.data).table.names
        show_figure(activation_figure(view, picked, names), key="reservoir_scores", alt=words)


def reservoir_files(options: ReservoirOptions, steps: Sequence[RankedStep]) -> list[PageFile]:
    """Return the files of the shown run."""
    names = load_dataset(options.data).table.names
    label = "Reservoirs of all steps (CSV)"
    return [
        PageFile("reservoir.csv", label, lambda: reservoirs_csv(names, steps)),
        *model_files(lambda: _model(options)),
    ]


def _model(options: ReservoirOptions) -> PairwiseModel:
    return model(options.data, options.reservoir, options.tests, options.seed)


def reservoir_menu(options: ReservoirOptions) -> ModelMenu:
    """Return the menu Model of the shown run."""
    learner = learner_of(options.data, options.reservoir, options.tests)
    title = f"{dataset_title(options.data)} · {learner.title}"
    return learn_menu(
        options.data,
        learner,
        options.seed,
        lambda: Loaded(_model(options), title, places=material(options.data, 0).places),
    )
