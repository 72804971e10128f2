"""Entries of the menu Analyse of the Grow page: comparison, path over λ, and stability."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from graftviz.errors import InputError
from graftviz.figures import path_figure
from graftviz.learners.base import Learner
from graftviz.learners.settings import Settings
from graftviz.narrative.phrases import plural
from graftviz.options import option_specs
from graftviz.runs import Result
from graftviz.selection import EdgeStability, LamPath, PathPoint, lam_path_steps, stability_steps
from graftviz.selection.stability import STABLE, SUBSAMPLES
from graftviz.ui.automatic import settings_of
from graftviz.ui.background import Background
from graftviz.ui.boundary import bounded, guarded
from graftviz.ui.chart import show_figure
from graftviz.ui.frame.header import Tool
from graftviz.ui.frame.texts import plain
from graftviz.ui.grow.state import GrowState
from graftviz.ui.recording import RunRecorder, preset_title
from graftviz.ui.scheduler import Turns
from graftviz.ui.session_run import SessionRun

# Seconds between two updates while something is computed.
_COMPARISON_POLL = 0.4
_PATH_POLL = 1.0
_STABILITY_POLL = 0.6
_REDRAW_EVERY = 10  # subsamples between two drawings of the graph
_PROBLEM = "grow.stability.problem"
_OPEN = "grow.path.open"


class Side(NamedTuple):
    """One of two runs on the same data.

    Attributes
    ----------
    name : str
    edges, removed : int
        Edges of the final model, and how many were taken out on the way or at the end.
    false_edges, indirect : int or None
        Edges that are not true, and how many of them join variables with a true common neighbour;
        None where the truth is not known.
    precision, recall, nlpl : float or None
    """

    name: str
    edges: int
    removed: int
    false_edges: int | None
    indirect: int | None
    precision: float | None
    recall: float | None
    nlpl: float | None


def side_of(name: str, result: Result, truth: np.ndarray | None) -> Side:
    """Return the facts about one run."""
    outcome = result.trace.outcome
    removed = 0 if outcome is None else sum(map(len, outcome.history.removals))
    false_edges = indirect = None
    if truth is not None:
        neighbours: list[set[int]] = [set() for _ in range(result.variables)]
        for i, j in truth.tolist():
            neighbours[i].add(j)
            neighbours[j].add(i)
        wrong = [(i, j) for i, j in result.model.edges.tolist() if j not in neighbours[i]]
        false_edges = len(wrong)
        indirect = sum(bool(neighbours[i] & neighbours[j]) for i, j in wrong)
    return Side(
        name,
        result.edges,
        removed,
        false_edges,
        indirect,
        result.precision,
        result.recall,
        result.nlpl_test,
    )


def rows(sides: tuple[Side, Side]) -> list[tuple[str, str, str]]:
    """Return the rows of a table: quantity and both values; rows without values are omitted."""
    lines: list[tuple[str, list[int | float | None], str]] = [
        ("Edges", [side.edges for side in sides], ",d"),
        ("Precision", [side.precision for side in sides], ".2f"),
        ("Recall", [side.recall for side in sides], ".2f"),
        ("Held-out NLPL", [side.nlpl for side in sides], ".3f"),
    ]
    rows = []
    for what, numbers, form in lines:
        first, second = ("–" if number is None else format(number, form) for number in numbers)
        if any(number is not None for number in numbers):
            rows.append((what, first, second))
    return rows


def reasons(other: Side, best: Side, settings: Settings | None) -> list[tuple[str, str]]:
    """Return titles and explanations of the differences between the runs."""
    lines = [("Explains away", _explaining(other, best))]
    if settings is not None and settings.significance > 0:
        lines.append(
            (
                "Noise-based threshold",
                f"A score must exceed κ = {settings.significance:g} times its sampling noise, so λ "
                "needs no tuning.",
            )
        )
    if best.removed:
        lines.append(
            (
                "Pruning",
                f"Removed {plural(best.removed, 'edge')} that later edges made redundant.",
            )
        )
    elif settings is not None and settings.refit:
        lines.append(("Pruning", "At the end, tries removing each edge; none could go."))
    return lines


def _explaining(other: Side, best: Side) -> str:
    rule = "Best scores what a pair adds to the active edges"
    owner = f"{other.name[:1].upper()}{other.name[1:]}"
    if not other.indirect or best.indirect is None:
        return f"{owner} scores raw correlation, so indirectly connected pairs also pass. {rule}."
    return (
        f"{owner} scores raw correlation: {other.indirect:,} of its {other.false_edges:,} false "
        f"edges join variables that only share a neighbour. {rule}: "
        f"{plural(best.indirect, 'such edge')}."
    )


def compare_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that starts the comparison, or the one that ends it."""
    if state.settings.compare:
        ghost = state.ghost.recorder if state.ghost is not None else None
        name = preset_title(ghost.run.learner) if isinstance(ghost, RunRecorder) else "the run"
        return Tool("compare", f"Back to {name}", lambda: state.compare(False))
    if state.can_compare:
        return Tool("compare", "Compare with preset best", lambda: state.compare(True))
    return None


def show_comparison(state: GrowState) -> None:
    """Show the numbers of both runs and why they differ, once both have finished."""
    run, ghost = state.run, state.ghost
    shown = state.shown
    if shown is None or not shown.compare or run is None or ghost is None:
        return
    if run.ended and ghost.ended:
        _show_difference(run, ghost)
    else:
        _wait_for_both(run, ghost)


@st.fragment(run_every=_COMPARISON_POLL)
@bounded
def _wait_for_both(run: SessionRun, ghost: SessionRun) -> None:
    if run.ended and ghost.ended:
        st.rerun()
    st.caption(f"Learning both runs: best at step {run.computed}, other at step {ghost.computed}.")


def _show_difference(run: SessionRun, ghost: SessionRun) -> None:
    first, second = ghost.recorder, run.recorder
    if run.failure or ghost.failure:
        return  # said where the run is shown
    if not (isinstance(first, RunRecorder) and isinstance(second, RunRecorder)):
        return
    truth = second.run.truth
    other = side_of(preset_title(first.run.learner), ghost.result(), truth)
    best = side_of("best", run.result(), truth)
    settings = settings_of(second.run.learner, second.material)
    sentences = reasons(other, best, settings)
    table = rows((other, best))
    name = getattr(first.run.learner, "preset", first.run.learner.title)
    lines = [
        _line("", [what for what, _, _ in table]),
        _line(":--", ["--:"] * len(table)),
        _line(f"{name} (dashed)", [theirs for _, theirs, _ in table]),
        _line("**best** (solid)", [f"**{ours}**" for _, _, ours in table]),
    ]
    words, numbers = st.columns([1, 1], gap="medium", vertical_alignment="center")
    words.markdown(" ".join(f"**{title}.** {text}" for title, text in sentences))
    numbers.markdown("\n".join(lines))


def _line(head: str, cells: list[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"


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
        _show_path_progress(state, plan, work)


@st.fragment(run_every=_PATH_POLL)
@bounded
def _show_path_progress(state: GrowState, plan: PathPlan, work: Background[LamPath]) -> None:
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
    for name, point in _best_points(path):
        if path.ends_at(point):
            st.warning(
                f"The {name} is lowest at the last λ visited, {point.lam:g} "
                f"({plural(point.edges, 'edge')}), so its minimum is not known and no λ is "
                "suggested by it. Click the point to use it anyway."
            )


def _take_buttons(
    state: GrowState, plan: PathPlan, path: LamPath | None, clicked: PathPoint | None = None
) -> None:
    if path is None or not path.points:
        return
    offers = [(name, point) for name, point in _best_points(path) if not path.ends_at(point)]
    if clicked is not None:
        offers.append(("clicked", clicked))
    for name, point in offers:
        short = name.removesuffix(" NLPL")
        if st.button(f"Use λ = {point.lam:g} ({short})", key=f"path_take_{short}", type="primary"):
            take(state, plan, point.lam)
            st.rerun()  # of the page: by itself only the panel would run again


def take(state: GrowState, plan: PathPlan, lam: float) -> None:
    """Set this λ and the test with which the path was learned."""
    if plan.by_noise > 0:
        state.choose_option("significance", 0.0)
    state.choose_option("lam", lam)
    _set_open(False)


def _best_points(path: LamPath) -> list[tuple[str, PathPoint]]:
    """Return both criteria, each with the point where it is lowest."""
    found = (("held-out NLPL", path.best_by_nlpl), ("EBIC", path.best_by_ebic))
    return [(name, point) for name, point in found if point is not None]


def _words(path: LamPath) -> str:
    """Return a text alternative of the figure of a path."""
    found = [
        f"{name} is {'still falling' if path.ends_at(point) else 'best'} at λ = {point.lam:g}, "
        f"with {point.edges:,} edges"
        for name, point in _best_points(path)
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


def stability_of(run: SessionRun, scheduler: Turns) -> Background[EdgeStability] | None:
    """Return the work that finds the edges of `run` again in halves of its rows, not yet begun.

    Raises
    ------
    InputError
        When there are too few rows to learn from halves of them.
    """
    recorder = run.recorder
    if not isinstance(recorder, RunRecorder):
        return None
    current = recorder.run
    learner = current.learner if current.branch is None else current.branch.learner
    values = stability_steps(
        current.table, learner, subsamples=SUBSAMPLES, seed=current.seed, every_step=True
    )
    return Background(values, scheduler)


def stability_json(run: SessionRun) -> str | None:
    """Return what the player's `stabilise` reads; None before the first subsample is in."""
    found = run.stability.latest if run.stability is not None else None
    if found is None or not found.done:
        return None
    edges = [
        [*pair, count]
        for pair, count in zip(found.edges.tolist(), found.counts.tolist(), strict=True)
    ]
    message = {"run": run.token, "of": found.done, "rows": found.subsample_rows, "edges": edges}
    return json.dumps(message, separators=(",", ":"))


def stability_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that starts the subsamples, until it is chosen for the shown run."""
    if state.run is None or state.run.stability is not None:
        return None
    return Tool("stability", "Stability of the edges", lambda: _begin(state))


def show_stability(state: GrowState) -> None:
    """Show the progress or the result."""
    if problem := st.session_state.pop(_PROBLEM, ""):
        st.warning(plain(problem))
    run = state.run
    if run is None or run.stability is None:
        return
    work = run.stability
    if work.failure:
        st.warning(plain(work.failure))
    elif not work.ended:
        work.grant()
        _show_stability_progress(run, work)
    elif work.latest is not None:
        st.markdown(_verdict(run, work.latest))


@st.fragment(run_every=_STABILITY_POLL)
@bounded
def _show_stability_progress(run: SessionRun, work: Background[EdgeStability]) -> None:
    done = work.latest.done if work.latest is not None else 0
    announced = st.session_state.setdefault("grow.stability.announced", {})
    stage = SUBSAMPLES if work.ended else done // _REDRAW_EVERY
    if announced.get(run.token, 0) != stage:
        announced.clear()
        announced[run.token] = stage
        st.rerun()
    left = f" · about {work.seconds / done * (SUBSAMPLES - done):.0f} s left" if done else ""
    with st.container(horizontal=True, vertical_alignment="center", key="stability_progress"):
        st.progress(done / SUBSAMPLES, f"Learning from random halves: {done} of {SUBSAMPLES}{left}")
        st.button("Cancel", key="stability_cancel", on_click=guarded(_cancel), args=(run,))


def _begin(state: GrowState) -> None:
    run = state.run
    if run is None:
        return
    try:
        run.stability = stability_of(run, state.scheduler)
    except InputError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    if run.stability is not None:
        run.stability.grant()


def _cancel(run: SessionRun) -> None:
    if run.stability is not None:
        run.stability.revoke()
    run.stability = None


def _verdict(run: SessionRun, found: EdgeStability) -> str:
    result = run.result()
    shares = found.frequency_of(result.model.edges)
    stable = int((shares >= STABLE).sum())
    rare = int((shares < 0.5).sum())
    faint = f", {rare:,} in fewer than half of them (faint in the graph)" if rare else ""
    return (
        f"**{stable:,} of {len(shares):,} edges** were found in at least "
        f"{STABLE * found.done:.0f} of {found.done} random halves of the rows{faint}. Stable "
        "edges can still be wrong."
    )
