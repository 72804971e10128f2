"""Choice of λ: a path over decreasing λ, and buttons that use the best values."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from graftviz.errors import InputError
from graftviz.figures import path_figure
from graftviz.learners.base import Learner
from graftviz.options import option_specs
from graftviz.selection import LamPath, PathPoint, lam_path_steps
from graftviz.ui.automatic import settings_of
from graftviz.ui.background import Background
from graftviz.ui.boundary import bounded, guarded
from graftviz.ui.chart import show_figure
from graftviz.ui.frame.header import Tool
from graftviz.ui.frame.texts import plain
from graftviz.ui.grow.state import GrowState

_LOOK_AGAIN = 1.0  # seconds
_OPEN = "grow.path.open"


@dataclasses.dataclass(frozen=True)
class PathPlan:
    """Data and options that determine a path.

    Attributes
    ----------
    material : str
    learner : Learner
        By the plain test, so that λ is what decides.
    seed : int
    by_noise : float
        κ of the learner as it was; 0 where λ decided anyway.
    """

    material: str
    learner: Learner
    seed: int
    by_noise: float


def path_plan(state: GrowState) -> PathPlan | None:
    """Return the path of the learner that the controls describe; None without data or λ.

    Raises
    ------
    InputError
        When the options do not go together.
    """
    material = state.current_material()
    learner = state.learner()
    if material is None or not any(spec.name == "lam" for spec in option_specs(learner)):
        return None
    settings = settings_of(learner, material)
    by_noise = settings.significance if settings is not None else 0.0
    changes: dict[str, Any] = {"lam": None} if settings is not None else {}
    if settings is not None and "max_edges" not in state.settings.options:
        # A preset's budget would end all small λ alike.
        n = material.train.n_variables
        changes["max_edges"] = n * (n - 1) // 2
    if by_noise > 0:
        changes["significance"] = 0.0
    plain_test = dataclasses.replace(learner, **changes)
    return PathPlan(material.identity, plain_test, state.settings.seed, by_noise)


def path_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that opens the panel, for learners with an option λ."""
    has_lam = any(spec.name == "lam" for spec in option_specs(state.learner_class))
    if not has_lam or state.settings.branch is not None:
        return None
    return Tool("path", "Choose λ…", lambda: _set_open(True))


def show_path(state: GrowState) -> None:
    """Show the panel while it is open."""
    if not st.session_state.get(_OPEN):
        return
    try:
        plan = path_plan(state)
    except InputError as error:
        _set_open(False)
        st.warning(plain(str(error)))
        return
    if plan is None or state.settings.branch is not None:
        _set_open(False)
        return
    _panel(state, plan)


def path_of(state: GrowState, plan: PathPlan) -> Background[LamPath]:
    """Return the work on a path, started if necessary."""
    if plan not in state.paths:
        material = state.current_material()
        assert material is not None  # there was a plan
        steps = lam_path_steps(
            material.train,
            plan.learner,
            truth=material.truth,
            seed=plan.seed,
            every_step=True,
        )
        state.keep_path(plan, Background(steps, state.scheduler))
    return state.paths[plan]


@st.dialog("Choose λ", width="large", on_dismiss=guarded(lambda: _set_open(False)))
@bounded
def _panel(state: GrowState, plan: PathPlan) -> None:
    try:
        work = path_of(state, plan)
    except InputError as error:
        st.warning(plain(str(error)))
        return
    if plan.by_noise > 0:
        st.markdown(
            f"With κ = {plan.by_noise:g} the threshold is set by the sampling noise, and **λ has "
            "little effect**. This path uses the test of the paper (κ = 0); using a λ from it also "
            "sets κ = 0."
        )
    if work.ended:
        _show_result(state, plan, work)
    else:
        work.grant()
        _show_progress(state, plan, work)


@st.fragment(run_every=_LOOK_AGAIN)
@bounded
def _show_progress(state: GrowState, plan: PathPlan, work: Background[LamPath]) -> None:
    if work.ended:
        st.rerun()
    path = work.latest
    if path is None:
        st.progress(0.0, "Computing the largest useful λ…")
    else:
        done, planned = len(path.points), len(path.planned)
        st.progress(done / planned, f"{done} of at most {planned} values of λ")
    with st.container(horizontal=True):
        _take_buttons(state, plan, path)
        if st.button("Cancel", key="path_cancel"):
            state.drop_path(plan)
            _set_open(False)
            st.rerun()
    if path is not None and path.points:
        st.plotly_chart(path_figure(path), key="path_so_far", alt=_words(path))


def _show_result(state: GrowState, plan: PathPlan, work: Background[LamPath]) -> None:
    if work.failure:
        st.warning(plain(work.failure))
    path = work.latest
    if path is None or not path.points:
        return
    words = _words(path)
    buttons = st.container(horizontal=True)
    event = show_figure(
        path_figure(path), "path_chart", words, on_select="rerun", selection_mode="points"
    )
    clicked = _clicked(path, event)
    with buttons:
        _take_buttons(state, plan, path, clicked)
    st.caption(
        "The held-out NLPL selects for prediction and keeps many weak edges; the EBIC selects for "
        "structure and penalises each edge. Click a point of a curve to use its λ instead. "
        f"{plain(path.stop_reason)}"
    )


def _take_buttons(
    state: GrowState, plan: PathPlan, path: LamPath | None, clicked: PathPoint | None = None
) -> None:
    if path is None or not path.points:
        return
    for name, point in (
        ("held-out", path.best_by_nlpl),
        ("EBIC", path.best_by_ebic),
        ("clicked", clicked),
    ):
        if point is not None and st.button(
            f"Use λ = {point.lam:g} ({name})", key=f"path_take_{name}", type="primary"
        ):
            take(state, plan, point.lam)
            st.rerun()  # of the page: by itself only the panel would run again


def take(state: GrowState, plan: PathPlan, lam: float) -> None:
    """Set this λ and the test with which the path was learned."""
    if plan.by_noise > 0:
        state.choose_option("significance", 0.0)
    state.choose_option("lam", lam)
    _set_open(False)


def _words(path: LamPath) -> str:
    """Return a text alternative of the figure of a path."""
    found = [
        f"{name} is best at λ = {point.lam:g}, with {point.edges:,} edges"
        for name, point in (("held-out NLPL", path.best_by_nlpl), ("EBIC", path.best_by_ebic))
        if point is not None
    ]
    largest, least = path.points[0], path.points[-1]
    edges = (
        f"From λ = {largest.lam:g} to {least.lam:g} the number of edges grows to {least.edges:,}"
    )
    return "; ".join((edges, *found)) + "."


def _clicked(path: LamPath, event: Any) -> PathPoint | None:
    """Return the point of the path that was clicked in its figure."""
    points = event.get("selection", {}).get("points", []) if event else []
    for point in points:
        data = point.get("customdata") or [None]
        lam = data[0] if not isinstance(data, dict) else data.get("0")
        for entry in path.points:
            if lam is not None and abs(entry.lam - float(lam)) <= 1e-12 * entry.lam:
                return entry
    return None


def _set_open(is_open: bool) -> None:
    st.session_state[_OPEN] = is_open
