"""Charts below the view: comparison of the methods, and PredError against k and |S|."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from graftviz.dynamics import LEARNERS
from graftviz.figures import prediction_figure
from graftviz.figures.dynamics import CurvePoint
from graftviz.narrative.dynamics import race_words, wiring_source
from graftviz.ui.boundary import bounded
from graftviz.ui.chart import show_figure
from graftviz.ui.dynamics.jobs import Measured
from graftviz.ui.dynamics.options import parent_count, seeds_of
from graftviz.ui.dynamics.state import RACE, Compared, DynamicsState
from graftviz.ui.frame.texts import plain

_POLL = 0.6  # seconds between two updates of the charts
_JUDGED = "PredError, held-out"
_WIRINGS = {
    "truth": "true parents",
    "inducing": "parents from sparsity inducing",
    "scalable": "parents from scalable structure",
    "file": "parents from the file",
}


def show_comparison(state: DynamicsState) -> None:
    """Show the curves and the comparison of methods measured so far."""
    if state.shown is None:
        return
    compared = state.compared()
    if compared.is_complete:
        _show(state, compared)
    else:
        _growing(state)


@st.fragment(run_every=_POLL)
@bounded
def _growing(state: DynamicsState) -> None:
    compared = state.compared()
    if compared.is_complete:
        st.rerun()
    _show(state, compared)
    points = len(compared.curves.by_parents) + len(compared.curves.by_seeds)
    st.caption(
        f"Computing… {len(compared.race)} of {len(RACE)} methods, {points} points of the curves."
    )


def _show(state: DynamicsState, compared: Compared) -> None:
    if state.shown is None:
        return
    options, material, _ = state.shown
    k, seeds = parent_count(options, material.n), seeds_of(options, material.n)
    st.subheader("Method comparison", anchor=False)
    _show_race(state, compared.race)
    if compared.missing:
        st.caption(plain(compared.missing))
        if not compared.curves.by_parents:
            return
    st.subheader("Number of parents and seeds", anchor=False)
    left, right = st.columns(2, gap="medium")
    with left:
        figure = prediction_figure(
            [_point(one, one.parents) for one in compared.curves.by_parents],
            f"Held-out PredError against k, with |S| = {seeds}",
            "k (parents)",
            chosen=k,
        )
        words = _best_words(compared.curves.by_parents, "parents", "k")
        show_figure(figure, key="dynamics_parents", alt=words or "No results yet.")
        st.caption(plain(words))
    with right:
        levels = [
            (one.learner, one.pred_error_test) for one in compared.race if one.learner == "inducing"
        ]
        figure = prediction_figure(
            [_point(one, one.seeds) for one in compared.curves.by_seeds],
            f"Held-out PredError against |S|, with k = {k}",
            f"|S| (seeds, of {material.n:,} series)",
            chosen=seeds,
            levels=levels,
        )
        words = _best_words(compared.curves.by_seeds, "seeds", "|S|")
        show_figure(figure, key="dynamics_seeds", alt=words or "No results yet.")
        st.caption(plain(words))


def _point(one: Measured, x: int | None) -> CurvePoint:
    return CurvePoint(one.learner, x or 0, one.pred_error_test, one.recall)


def _best_words(measured: Sequence[Measured], field: str, symbol: str) -> str:
    """Return the best point of each learner of a curve as sentences."""
    sentences = []
    for learner in dict.fromkeys(one.learner for one in measured):
        best = min(
            (one for one in measured if one.learner == learner),
            key=lambda one: one.pred_error_test,
        )
        sentences.append(
            f"{LEARNERS[learner].title}: best at {symbol} = {getattr(best, field)}, PredError "
            f"{best.pred_error_test:.3f}."
        )
    return " ".join(sentences)


def _show_race(state: DynamicsState, race: Sequence[Measured]) -> None:
    assert state.shown is not None
    chosen = state.shown.options.learner
    by_learner = {one.learner: one for one in race}
    rows = {}
    for name in RACE:
        if name in by_learner:
            rows[title_of(by_learner[name])] = _cells(by_learner[name])
        else:
            rows[LEARNERS[name].title] = dict.fromkeys(_columns(state), "…")
    best = min(race, key=lambda one: one.pred_error_test, default=None)
    if best is not None and len(race) > 1:
        rows[title_of(best)][_JUDGED] = f"★ {rows[title_of(best)][_JUDGED]}"
    table = pd.DataFrame.from_dict(rows, orient="index", columns=_columns(state))
    table.index = [f"**{row}**" if _is_chosen(row, chosen) else row for row in table.index]
    st.table(table, border="horizontal")
    finders = [_standing(one) for one in race if not one.wiring]
    wirings = [_given(one) for one in race if one.wiring]
    st.caption(plain(race_words(finders, " ".join(wirings))))


def title_of(one: Measured) -> str:
    """Return the title of a row of the comparison."""
    title = LEARNERS[one.learner].title
    return f"{title} ({_WIRINGS[one.wiring]})" if one.wiring else title


def _is_chosen(row: str, learner: str) -> bool:
    return row.startswith(LEARNERS[learner].title)


def _columns(state: DynamicsState) -> list[str]:
    assert state.shown is not None
    columns = [_JUDGED, "PredError, training", "Coefficients", "Time (s)"]
    if state.shown.material.truth is not None:
        columns += ["StructRec", "Precision", "CoeffRecError"]
    return columns


def _cells(one: Measured) -> dict[str, str]:
    cells = {
        _JUDGED: f"{one.pred_error_test:.4f}",
        "PredError, training": f"{one.pred_error_train:.4f}",
        "Coefficients": f"{one.entries:,}",
        "Time (s)": f"{one.seconds:.3f}",
    }
    if one.recall is not None:
        cells["StructRec"] = f"{one.recall:.3f}"
        cells["Precision"] = f"{one.precision:.3f}"
        cells["CoeffRecError"] = f"{one.coefficient_error:.3f}"
    return cells


def _given(one: Measured) -> str:
    return wiring_source(one.wiring, LEARNERS[one.wiring].title if one.wiring in LEARNERS else "")


def _standing(one: Measured) -> tuple[str, float, float]:
    return LEARNERS[one.learner].title, one.pred_error_test, one.seconds
