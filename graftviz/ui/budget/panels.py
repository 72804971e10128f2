"""Panels of the Budget page: settings, charts, and files."""

from __future__ import annotations

import streamlit as st

from graftviz.figures import partition_figure, quality_figure
from graftviz.formats.tables import bounded_steps_csv
from graftviz.narrative.budget import comparison_words, error_words
from graftviz.tradeoff import at_equal_cost
from graftviz.ui.budget.options import slider_of
from graftviz.ui.budget.state import BudgetState
from graftviz.ui.chart import show_figure
from graftviz.ui.controls import show_option
from graftviz.ui.frame.header import PageFile
from graftviz.ui.frame.panels import show_settings, show_until
from graftviz.wording import plain

_PREFIX = "budget"


def show_choices(state: BudgetState) -> None:
    """Show the choice of data, measure and bound."""
    options = state.options
    show_settings(state, _PREFIX, "data", "complexity")
    slider = slider_of(options.complexity)
    value = int(options.tau) if slider.kind == "int" else options.tau
    # One slider per measure, because their ranges differ.
    show_option(slider, value, state.choose, prefix=f"{_PREFIX}.{options.complexity}")
    if options.complexity.startswith("query-"):
        show_settings(state, _PREFIX, "queries")
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
    names = shown.source.material.train.names
    label = "Steps, one row per edge (CSV)"
    return [PageFile("budget.csv", label, lambda: bounded_steps_csv(names, job.value().steps))]
