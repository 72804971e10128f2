"""Panels of the Budget page: settings, charts, and files."""

from __future__ import annotations

import streamlit as st

from graftviz.app.budget.options import slider_of
from graftviz.app.budget.state import BudgetState
from graftviz.app.controls import show_option, show_settings, show_until
from graftviz.app.files import learn_menu, model_files, show_figure
from graftviz.app.frame import ModelMenu, PageFile
from graftviz.app.material import UPLOAD
from graftviz.app.runs import Loaded
from graftviz.evaluation.tradeoff import at_equal_cost
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.figures.budget import partition_figure, quality_figure
from graftviz.reports.files.table_csv import table_csv
from graftviz.reports.files.tables import bounded_steps_csv
from graftviz.reports.texts import catalogue
from graftviz.reports.words.learners import comparison_words, error_words
from graftviz.utils.errors import InputError
from graftviz.utils.wording import plain

_PREFIX = "budget"


def show_choices(state: BudgetState) -> None:
    """Show the choice of data, measure and bound."""
    options, words = state.options, catalogue("labels")["data"]
    title = state.specs["data"].title_of
    show_settings(state, _PREFIX, "data", title=lambda key: words.get(key) or title(key))
    show_settings(state, _PREFIX, "complexity")
    slider = slider_of(options.complexity)
    value = int(options.tau) if slider.kind == "int" else options.tau
    # One slider per measure, because their ranges differ.
    show_option(slider, value, state.choose, prefix=f"{_PREFIX}.{options.complexity}")
    norm = ("norm",) if options.lam1 > 0.0 else ()
    show_settings(state, _PREFIX, "lam2", "lam1", *norm, "seed")


def show_charts(state: BudgetState) -> None:
    """Show quality against cost, and the error of log Z, of the models measured so far."""
    st.subheader("Accuracy versus cost", anchor=False)
    for place, name in zip(st.columns(2), ("quality", "cost"), strict=True):
        with place:
            show_settings(state, _PREFIX, name, as_buttons=True)
    show_until(lambda: state.compared().is_complete, lambda: _show_points(state))


def _show_points(state: BudgetState) -> None:
    shown, options = state.shown, state.options
    if shown is None:
        return
    runs, path, is_complete = state.compared()
    points = [*(run.point for run in runs if run.point is not None), *path.points]
    complexity, tau = shown.options.complexity, shown.options.tau
    quality, cost = options.quality, options.cost
    compared = at_equal_cost(points, quality, cost)
    charts = {
        "budget_quality": (
            quality_figure(points, quality, cost, complexity, tau),
            comparison_words(compared, quality, cost, complexity, is_complete=is_complete),
        ),
        "budget_partition": (
            partition_figure(points, complexity, tau),
            error_words(points, complexity),
        ),
    }
    for place, (key, (figure, words)) in zip(
        st.columns(2, gap="medium"), charts.items(), strict=True
    ):
        with place:
            show_figure(figure, key=key, alt=words or "No model measured yet.")
            st.markdown(plain(words))
    if not is_complete:
        bounds, steps = len(state.ladder(shown.options)), len(path.points)
        st.caption(f"Computing… {len(runs)} of {bounds} bounds, {steps} models of the ℓ₁ path.")
    elif missing := list(filter(None, [*(run.unmeasured for run in runs), path.unmeasured])):
        st.caption(plain(" ".join(missing)))


def budget_files(state: BudgetState) -> list[PageFile]:
    """Return the files of the shown run; none before there is one."""
    job, shown = state.run, state.shown
    if job is None or shown is None:
        return []
    table = shown.source.material.train
    label = "Steps, one row per edge (CSV)"
    labels = catalogue("labels")["files"]
    return [
        PageFile("budget.csv", label, lambda: bounded_steps_csv(table.names, job.value().steps)),
        *model_files(lambda: learned_model(state)),
        PageFile("table.csv", labels["table.csv"], lambda: table_csv(table)),
    ]


def learned_model(state: BudgetState) -> PairwiseModel:
    """Wait for the end of the shown run, and return its model.

    Raises
    ------
    InputError
        When it has not ended.
    """
    assert state.run is not None  # a run is shown
    model = state.run.value().model
    if model is None:
        raise InputError(state.run.failure or "The run has not ended yet; try again.")
    return model


def budget_menu(state: BudgetState) -> ModelMenu | None:
    """Return the menu Model of the shown run; None before there is one."""
    shown = state.shown
    if shown is None or state.run is None:
        return None
    data, options = shown.source.material, shown.options
    learner = state.learner_of(options)
    title = f"{data.name} · {learner.title}"
    return learn_menu(
        UPLOAD,
        learner,
        0,
        lambda: Loaded(learned_model(state), title, places=shown.source.places),
        file="table.csv",
    )
