"""Panels of the Budget page: settings, notices, charts, and files."""

from __future__ import annotations

from functools import partial

import streamlit as st

from graftviz.errors import InputError
from graftviz.figures import partition_figure, quality_figure
from graftviz.narrative.budget import comparison_words, error_words
from graftviz.table.csv_text import csv_text
from graftviz.tradeoff import TradeOff, at_equal_cost
from graftviz.ui.background import Background
from graftviz.ui.boundary import bounded
from graftviz.ui.budget.jobs import RunProgress, bounded_run, data_title, path_of, run_key, source
from graftviz.ui.budget.options import SPECS, slider_of
from graftviz.ui.budget.state import BudgetState
from graftviz.ui.chart import show_figure
from graftviz.ui.controls import show_option, show_titled
from graftviz.ui.frame.header import PageFile
from graftviz.ui.frame.texts import plain
from graftviz.ui.messages import show_problem, show_warnings
from graftviz.ui.services import page_state

PATIENCE = 60.0  # seconds a download waits for the run
# Column of the table: key of the step's record.
_VALUES = {
    "complexity": "value",
    "width": "width",
    "infeasible": "infeasible",
    "gradient": "norm",
    "nll": "nll",
}

_PREFIX = "budget"
_POLL = 0.6  # seconds between two updates of the charts
_TITLES = {
    "nll": "NLL",
    "ncmll": "NCMLL",
    "nlpl": "NLPL",
    "seconds": "seconds",
    "operations": "operations",
}


def budget_state() -> BudgetState:
    """Return the state of this session's page."""
    return page_state(
        "budget",
        lambda: BudgetState(lambda options, bound: bounded_run(run_key(options, bound)), path_of),
    )


def show_choices(state: BudgetState) -> None:
    """Show the choice of data, measure and bound."""
    options = state.options
    show_titled(SPECS["data"], options.data, state.choose, prefix=_PREFIX, title=data_title)
    show_titled(SPECS["complexity"], options.complexity, state.choose, prefix=_PREFIX)
    slider = slider_of(options.complexity)
    value = int(options.tau) if slider.kind == "int" else options.tau
    # One slider per measure, because their ranges differ.
    show_option(slider, value, state.choose, prefix=f"{_PREFIX}.{options.complexity}")
    show_option(SPECS["lam2"], options.lam2, state.choose, prefix=_PREFIX)
    show_option(SPECS["seed"], options.seed, state.choose, prefix=_PREFIX)


def show_messages(state: BudgetState) -> None:
    """Show ignored parameters, and why the view does not follow the choices."""
    show_warnings(state.complaints)
    suffix = " Still showing the previous run." if state.shown is not None else ""
    show_problem(state.problem, suffix)


def show_charts(state: BudgetState) -> None:
    """Show quality against cost, and the error of log Z, of the models measured so far."""
    st.subheader("Accuracy versus cost", anchor=False)
    left, right = st.columns(2)
    for place, name in ((left, "quality"), (right, "cost")):
        with place:
            show_titled(
                SPECS[name],
                getattr(state.options, name),
                state.choose,
                prefix=_PREFIX,
                title=_TITLES.__getitem__,
                as_buttons=True,
            )
    runs, path, is_complete = state.compared()
    if is_complete:
        _show_points(state, runs, path.points if path else (), is_complete=True)
        _show_unmeasured(runs, path.unmeasured if path else "")
    else:
        _growing_charts(state)


@st.fragment(run_every=_POLL)
@bounded
def _growing_charts(state: BudgetState) -> None:
    runs, path, is_complete = state.compared()
    if is_complete:
        st.rerun()
    _show_points(state, runs, path.points if path else (), is_complete=False)
    steps = 0 if path is None else len(path.points)
    st.caption(
        f"Computing… {len(runs)} of {len(state.ladder())} bounds, {steps} models of the ℓ₁ path."
    )


def _show_points(
    state: BudgetState, runs: list[RunProgress], path: tuple[TradeOff, ...], *, is_complete: bool
) -> None:
    shown = state.shown
    if shown is None:
        return
    points = [run.point for run in runs if run.point is not None]
    everything = [*points, *path]
    options = state.options
    left, right = st.columns(2, gap="medium")
    with left:
        words = comparison_words(
            at_equal_cost(everything, options.quality, options.cost),
            options.quality,
            options.cost,
            shown.complexity,
            is_complete=is_complete,
        )
        figure = quality_figure(
            everything, options.quality, options.cost, shown.complexity, shown.tau
        )
        show_figure(figure, key="budget_quality", alt=words or "No model measured yet.")
        st.markdown(plain(words))
    with right:
        words = error_words(everything, shown.complexity)
        figure = partition_figure(everything, shown.complexity, shown.tau)
        show_figure(figure, key="budget_partition", alt=words or "No model measured yet.")
        st.markdown(plain(words))


def _show_unmeasured(runs: list[RunProgress], path_reason: str) -> None:
    reasons = [run.unmeasured for run in runs]
    if missing := list(filter(None, [*reasons, path_reason])):
        st.caption(plain(" ".join(missing)))


def budget_files(state: BudgetState) -> list[PageFile]:
    """Return the files of the run on show; none before there is one."""
    work, shown = state.run, state.shown
    if work is None or shown is None:
        return []
    names = source(shown.data, shown.seed).material.train.names
    build = partial(build_steps, work, names)
    return [PageFile("budget.csv", "Steps, one row per edge (CSV)", "text/csv", build)]


def build_steps(work: Background[RunProgress], names: tuple[str, ...]) -> str:
    """Return budget.csv: the model without edges, then one row per activated edge.

    Raises
    ------
    InputError
        When the run has no step yet.
    """
    work.wait_for_end(PATIENCE)
    if work.latest is None:
        raise InputError(work.failure or "The run has no step yet; try again.")
    rows = []
    for number, step in enumerate(work.latest.steps):
        ends = (None, None) if step["edge"] is None else (names[i] for i in step["edge"])
        rows.append([number, *ends, *(step[name] for name in _VALUES.values())])
    return csv_text([["step", "source", "target", *_VALUES], *rows])
