"""Panels of the Reservoir page: settings, charts, and files."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from graftviz.app.controls import show_option, show_options, show_settings
from graftviz.app.files import learn_menu, model_files, show_figure
from graftviz.app.frame import ModelMenu, PageFile
from graftviz.app.reservoir import jobs
from graftviz.app.reservoir.options import ReservoirOptions
from graftviz.app.runs import Loaded
from graftviz.app.session import material
from graftviz.app.state import OptionsPage
from graftviz.data.sets.registry import dataset_title, load_dataset
from graftviz.evaluation.reservoir import RankedStep
from graftviz.learning.grafting.reservoir import activation
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.figures.reservoir import activation_figure, rank_figure, run_rank_figure
from graftviz.reports.files.tables import reservoirs_csv
from graftviz.reports.words.steps import activation_words, run_words, simulation_words
from graftviz.utils.errors import InputError
from graftviz.utils.wording import plain

_PREFIX = "reservoir"
_BESIDE_THE_SCORES = ("alpha", "step")  # shown beside the figures they affect
_ADVANCED = ("n", "largest", "trials", "seed")


def show_choices(state: OptionsPage[ReservoirOptions]) -> None:
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
        found = jobs.simulation(options.n, options.largest, options.trials, options.seed)
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
        steps = jobs.run(options.data, options.reservoir, options.tests, options.seed)
        first_hit = jobs.run(options.data, 1, 1, options.seed)
    except InputError as error:
        st.error(plain(str(error)))
        return ()
    words = run_words(first_hit, steps)
    if steps and first_hit:
        figure = run_rank_figure(first_hit, steps, options.data)
        show_figure(figure, key="reservoir_run", alt=words)
    st.markdown(plain(words))
    return steps


def show_activation(state: OptionsPage[ReservoirOptions], steps: tuple[RankedStep, ...]) -> None:
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
                f"was learned with α = {jobs.RUN_ALPHA:g}; the chart applies the α "
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
    return jobs.model(options.data, options.reservoir, options.tests, options.seed)


def reservoir_menu(options: ReservoirOptions) -> ModelMenu:
    """Return the menu Model of the shown run."""
    learner = jobs.learner_of(options.data, options.reservoir, options.tests)
    title = f"{dataset_title(options.data)} · {learner.title}"
    return learn_menu(
        options.data,
        learner,
        options.seed,
        lambda: Loaded(_model(options), title, places=material(options.data, 0).places),
    )
