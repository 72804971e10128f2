"""Menu Analyse of the Grow page: presets compared, path over λ, samples, pairs, and stability."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import streamlit as st

from graftviz.app.boundary import bounded, guarded
from graftviz.app.controls import (
    show_button,
    show_until,
)
from graftviz.app.files import show_figure
from graftviz.app.frame import Tool
from graftviz.app.grow import GrowState, grow_texts, option_names
from graftviz.app.jobs import Job
from graftviz.app.material import Material
from graftviz.app.runs import SessionRun, preset_title
from graftviz.app.session import JobSource, shared_job
from graftviz.evaluation.selection.fits import with_plain_test
from graftviz.evaluation.selection.intervals import EdgeIntervals
from graftviz.evaluation.selection.path import LamPath, PathPoint, lam_path_steps
from graftviz.evaluation.selection.stability import SUBSAMPLES, EdgeStability, stability_steps
from graftviz.inference.inspection import SampleComparison, compare_samples
from graftviz.learning.base import Learner
from graftviz.learning.grafting.grafting_options import settings_of
from graftviz.learning.registry import learner_class
from graftviz.reports.figures.samples import pairs_figure, samples_figure
from graftviz.reports.figures.selection import intervals_figure, path_figure
from graftviz.reports.texts import catalogue
from graftviz.reports.words.answers import AbsentPair, strongest_absent
from graftviz.reports.words.inspection import quantity_rows, reasons_for_difference
from graftviz.reports.words.outcomes import (
    best_points,
    path_words,
    samples_words,
    stability_words,
    unknown_minima,
)
from graftviz.reports.words.phrases import counted, pair
from graftviz.utils.errors import InputError
from graftviz.utils.wording import plain

_REDRAW_EVERY = 10  # subsamples between two drawings of the graph
_DRAWN = "grow.stability.drawn"
_OPEN = "grow.{}.open"  # of a panel
_SAMPLES_WAIT = 1.0  # seconds before the panel shows a notice instead


def show_open_panel(state: GrowState) -> None:
    """Show the panel of the menu that is open as a dialog; without its content, it closes."""
    panels: dict[str, tuple[Callable[..., None], Callable[[], Any]]] = {
        "path": (_path_panel, lambda: path_of(state) if path_tool(state) else None),
        "samples": (_samples_panel, lambda: state.run),
        "not_found": (_pairs_panel, lambda: state.run if not_found_tool(state) else None),
    }
    for part, (show, find) in panels.items():
        if not st.session_state.get(_OPEN.format(part)):
            continue
        try:
            found = find()
        except InputError as error:
            found = None
            st.warning(plain(str(error)))
        if found is None:
            set_open(part, False)
        else:
            close = guarded(partial(set_open, part, False))
            dialog = st.dialog(grow_texts(part)["title"], width="large", on_dismiss=close)
            dialog(bounded(show))(state, found)


def set_open(part: str, is_open: bool) -> None:
    """Open or close a panel of the menu."""
    st.session_state[_OPEN.format(part)] = is_open


def _cancel(part: str, state: GrowState) -> None:
    """Stop the job of a panel, and close the panel."""
    state.jobs.leave()
    set_open(part, False)
    st.rerun()


# ------------------------------------------------------------------------ comparison of presets


def compare_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that starts the comparison, or the one that ends it."""
    is_on = state.values["compare"]
    if not is_on and not state.can_compare:
        return None
    label, ghost = "", state.ghost
    if is_on:
        labels = catalogue("labels")["tools"]
        name = labels["run"] if ghost is None else preset_title(ghost.run.learner)
        label = labels["back"].format(name=name)
    return Tool("compare", lambda: state.choose("compare", not is_on), label)


def show_comparison(state: GrowState) -> None:
    """Show the numbers of both runs and why they differ, once both have finished."""
    run, ghost = state.run, state.ghost
    if state.shown is None or not state.shown.compare or run is None or ghost is None:
        return
    show_until(lambda: run.ended and ghost.ended, lambda: _show_difference(run, ghost))


def _show_difference(run: SessionRun, ghost: SessionRun) -> None:
    texts = grow_texts("comparison")
    if not (run.ended and ghost.ended):
        st.caption(texts["learning"].format(best=run.computed, other=ghost.computed))
        return
    if run.failure or ghost.failure:
        return  # shown with the run
    learning, learner = run.run, ghost.run.learner
    other, best = ghost.result(), run.result()
    settings = settings_of(learning.learner, run.material.counts)
    labels, theirs, ours = zip(*quantity_rows((other, best)), strict=True)
    name = getattr(learner, "preset", learner.title)
    lines = [
        ["", *labels],
        [":--", *["--:"] * len(labels)],
        [texts["dashed"].format(name=name), *theirs],
        [texts["solid"], *(f"**{cell}**" for cell in ours)],
    ]
    words, numbers = st.columns([1, 1], gap="medium", vertical_alignment="center")
    explained = reasons_for_difference(preset_title(learner), other, best, learning.truth, settings)
    words.markdown(" ".join(f"**{title}.** {text}" for title, text in explained))
    numbers.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


# ----------------------------------------------------------------------------------- path over λ


@shared_job(20)
def _path(material: Material, learner: Learner, seed: int) -> Iterator[LamPath]:
    return lam_path_steps(material.train, learner, truth=material.truth, seed=seed, every_step=True)


def path_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that opens the panel, for learners with an option λ."""
    if "lam" not in option_names(state.values["learner"]) or state.values["branch"] is not None:
        return None
    return Tool("path", lambda: set_open("path", True))


def path_of(state: GrowState) -> tuple[Job[LamPath], float] | None:
    """Return the path of the learner that the controls describe, and its κ; None without data.

    The path has the plain test (κ = 0), in which λ decides.

    Raises
    ------
    InputError
        When the options do not go together.
    """
    material = state.current_material()
    if material is None:
        return None
    has_budget = "max_edges" in state.values["options"]
    learner, by_noise = with_plain_test(
        state.learner(state.own), material.counts, keeps_budget=has_budget
    )
    return _path(material, learner, state.values["seed"]), by_noise


def _path_panel(state: GrowState, found: tuple[Job[LamPath], float]) -> None:
    work, by_noise = found
    if by_noise > 0:
        st.markdown(grow_texts("path")["noise"].format(kappa=f"{by_noise:g}"))
    if not work.ended:
        state.jobs.turn_to(work)
    show_until(lambda: work.ended, lambda: _show_points(state, work, by_noise))


def _show_points(state: GrowState, work: Job[LamPath], by_noise: float) -> None:
    """Show the computed part of a path; a point of a complete one can be clicked."""
    is_complete, texts = work.ended, grow_texts("path")  # read once, because the job continues
    if work.failure:
        st.warning(plain(work.failure))
    path = work.latest
    if not is_complete and path is None:
        st.progress(0.0, texts["starting"])
    elif not is_complete and path is not None:
        done, planned = len(path.points), len(path.planned)
        st.progress(done / planned, texts["progress"].format(done=done, planned=planned))
    buttons = st.container(horizontal=True)
    if path is not None and path.points:
        clickable = {"on_select": "rerun", "selection_mode": "points"} if is_complete else {}
        key = "path_chart" if is_complete else "path_so_far"
        event = show_figure(path_figure(path), key, path_words(path), **clickable)
        with buttons:
            clicked = clicked_point(path, event) if is_complete else None
            _show_offers(state, path, by_noise, clicked)
        if is_complete:
            _show_advice(path)
    if not is_complete and buttons.button(grow_texts("panel")["cancel"], key="path_cancel"):
        _cancel("path", state)


def _show_offers(
    state: GrowState, path: LamPath, by_noise: float, clicked: PathPoint | None
) -> None:
    offers = [(name, point) for name, point in best_points(path) if not path.ends_at(point)]
    if clicked is not None:
        offers.append(("clicked", clicked))
    texts = grow_texts("path")
    for name, point in offers:
        short = name.removesuffix(" NLPL")
        key = {"held-out": "nlpl", "EBIC": "ebic"}.get(short, short)
        label = texts["use"].format(lam=f"{point.lam:g}", name=texts[key])
        if st.button(label, key=f"path_take_{short}", type="primary"):
            if by_noise > 0:
                state.choose("significance", 0.0)
            state.choose("lam", point.lam)
            set_open("path", False)
            st.rerun()  # of the page, because otherwise only the panel would run again


def _show_advice(path: LamPath) -> None:
    st.caption(f"{grow_texts('path')['advice']} {plain(path.stop_reason)}")
    for sentence in unknown_minima(path):
        st.warning(sentence)


def clicked_point(path: LamPath, event: Any) -> PathPoint | None:
    """Return the point of the path that was clicked in its figure."""
    for point in event.get("selection", {}).get("points", []) if event else []:
        data = point.get("customdata") or [None]
        lam = data.get("0") if isinstance(data, dict) else data[0]
        for entry in path.points:
            if lam is not None and math.isclose(entry.lam, float(lam), rel_tol=1e-12):
                return entry
    return None


# ------------------------------------------------------------------------------------- samples


@shared_job(20, begins=True)
def _samples(source: JobSource, seed: int) -> Iterator[SampleComparison]:
    yield compare_samples(*source.data, seed=seed)


SAMPLES = Tool("samples", lambda: set_open("samples", True))


def _samples_panel(state: GrowState, run: SessionRun) -> None:
    last = run.computed
    step = min(state.values["step"], last)
    if last > 0:
        label = grow_texts("samples")["step"]
        step = st.slider(label, 0, last, step, key=f"samples_step_{run.token}")
    try:
        work = samples_of(state, run, step)
    except InputError as error:
        st.warning(plain(str(error)))
        return
    show_until(lambda: work.ended, lambda: _show_samples(run, work, step))


def samples_of(state: GrowState, run: SessionRun, step: int) -> Job[SampleComparison]:
    """Return the samples of the model after a step of a run.

    Raises
    ------
    InputError
        If the run has no step yet.
    """
    material = run.material
    model = run.model_at(step)
    source = JobSource(f"{run.token}:{step}", material.own, (model, material.train))
    work = _samples(source, state.values["seed"])
    work.wait_for_end(_SAMPLES_WAIT)
    return work


def _show_samples(run: SessionRun, work: Job[SampleComparison], step: int) -> None:
    texts = grow_texts("samples")
    if work.failure:
        st.warning(plain(work.failure))
    elif work.latest is None:
        st.progress(0.0, texts["progress"].format(step=step))
    else:
        found, words = work.latest, samples_words(work.latest)
        edges = counted(texts["edges"], len(found.model.edges))
        st.markdown(f"{edges} {plain(words)}")
        pictures = samples_figure(found, run.material.positions)
        show_figure(pictures, "samples_chart", texts["picture"])
        show_figure(pairs_figure(found), "samples_pairs", words)


# ---------------------------------------------------------------------------- stability of edges


def stability_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that learns from subsamples, until it is chosen for the shown run."""
    if state.run is None or state.run.stability is not None:
        return None
    return Tool("stability", lambda: _begin(state))


def _begin(state: GrowState) -> None:
    run = state.run
    if run is None:
        return
    learning = run.run
    learner = learning.learner if learning.branch is None else learning.branch.learner
    try:
        values = stability_steps(
            learning.table, learner, subsamples=SUBSAMPLES, seed=learning.seed, every_step=True
        )
    except InputError as error:
        state.complaints = (str(error),)
        return
    run.stability = Job(values, state.queue)
    run.stability.grant()


def show_stability(state: GrowState) -> None:
    """Show the progress or the result."""
    run = state.run
    if run is None or run.stability is None:
        return
    work = run.stability
    work.grant()
    show_until(lambda: work.ended, lambda: _show_stability(run, work))


def _show_stability(run: SessionRun, work: Job[EdgeStability]) -> None:
    if work.ended:
        if work.failure:
            st.warning(plain(work.failure))
        elif work.latest is not None:
            model = run.result().model
            words = stability_words(work.latest, model.edges)
            st.markdown(words)
            if model.n_edges:
                _show_intervals(work.latest.intervals(model), words)
        return
    done = work.latest.done if work.latest is not None else 0
    drawn = (run.token, done // _REDRAW_EVERY)
    if st.session_state.get(_DRAWN, (run.token, 0)) != drawn:
        st.session_state[_DRAWN] = drawn
        st.rerun()
    texts = grow_texts("stability")
    text = texts["progress"].format(done=done, all=SUBSAMPLES)
    if done:
        seconds = f"{work.seconds / done * (SUBSAMPLES - done):.0f}"
        text = texts["left"].format(text=text, seconds=seconds)
    with st.container(horizontal=True, vertical_alignment="center", key="stability_progress"):
        st.progress(done / SUBSAMPLES, text)
        show_button(grow_texts("panel")["cancel"], "stability_cancel", _cancel_stability, run)


def _show_intervals(intervals: EdgeIntervals, words: str) -> None:
    """Show the intervals of the strengths of edges, in a part of the page that can be opened."""
    texts = grow_texts("intervals")
    with st.expander(counted(texts["title"], intervals.model.n_edges)):
        st.markdown(texts["lead"])
        figure = intervals_figure(
            intervals,
            strength=texts["strength"],
            frequency=texts["frequency"],
            part=texts["part"],
        )
        show_figure(figure, "intervals_chart", words)


def _cancel_stability(run: SessionRun) -> None:
    if run.stability is not None:
        run.stability.revoke()
    run.stability = None


# ------------------------------------------------------------------------- pairs that are not edges


_PAIRS_WAIT = 1.0  # seconds before the panel shows a notice instead


@shared_job(20, begins=True)
def _pairs(source: JobSource) -> Iterator[tuple[AbsentPair, ...] | None]:
    yield strongest_absent(source.data)


def not_found_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that opens the panel, for learners that score pairs."""
    cls = learner_class(state.values["learner"])
    if not cls.by_score or cls.by_feature:
        return None
    return Tool("not_found", lambda: set_open("not_found", True))


def _pairs_panel(_state: GrowState, run: SessionRun) -> None:
    st.markdown(grow_texts("not_found")["lead"])
    run.grant()
    show_until(lambda: _has_ended(run), lambda: _show_pairs(run))


def pairs_of(run: SessionRun) -> Job[tuple[AbsentPair, ...] | None]:
    """Return the strongest pairs of a run that has ended."""
    return _pairs(JobSource(run.token, run.material.own, run.learned()))


def _has_ended(run: SessionRun) -> bool:
    return run.ended and (bool(run.failure) or pairs_of(run).wait_for_end(_PAIRS_WAIT))


def _show_pairs(run: SessionRun) -> None:
    texts = grow_texts("not_found")
    if not run.ended:
        st.progress(0.0, texts["learning"].format(step=run.computed))
        return
    if run.failure:
        return  # shown with the run
    work = pairs_of(run)
    names, found = run.material.train.names, work.latest
    if work.failure:
        st.warning(plain(work.failure))
    elif not work.ended:
        st.progress(1.0)
    elif found is None:
        st.markdown(texts["unknown"])
    elif not found:
        st.markdown(catalogue("answers")["not_found"]["none"])
    else:
        lines = (
            f"- **{plain(pair(names, each.source, each.target))}** – {plain(each.words)}"
            for each in found
        )
        st.markdown("\n".join(lines))


# -------------------------------------------------------------------------------------- all entries


INSPECT = Tool("inspect")


def tools(state: GrowState) -> list[Tool]:
    """Return the entries of the menu Analyse for the shown run."""
    if state.run is None:
        return []
    found = (
        compare_tool(state),
        stability_tool(state),
        path_tool(state),
        SAMPLES,
        not_found_tool(state),
        INSPECT,
    )
    return [tool for tool in found if tool is not None]
