"""Panels of the Dynamics page: settings, upload, comparison of methods, charts, and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from graftviz.app.controls import show_notices, show_option, show_options, show_settings, show_until
from graftviz.app.dynamics import (
    MOST_PARENTS,
    OF_LEARNING,
    OF_READING,
    OF_SYSTEM,
    RANDOM,
    ComparedMethods,
    DynamicsState,
    parent_count,
    seeds_of,
)
from graftviz.app.files import show_figure
from graftviz.app.frame import ModelMenu, PageFile
from graftviz.app.material import UPLOAD, UploadedSeries, uploaded_series
from graftviz.app.reader_process import SeriesUpload
from graftviz.app.upload import Files, read_files, show_form, show_uploaders
from graftviz.app.view import DYNAMICS
from graftviz.dynamics.learners import LEARNERS, takes_parents
from graftviz.dynamics.learning import DynamicsResult
from graftviz.dynamics.measuring import Curves, Measured, load_sample
from graftviz.dynamics.system import Baseline
from graftviz.reports.figures.dynamics import prediction_figure
from graftviz.reports.files.dynamics_files import (
    dynamics_json,
    matrix_csv,
    measured_csv,
    parents_csv,
    series_csv,
)
from graftviz.reports.texts import catalogue
from graftviz.reports.words.code import dynamics_code, dynamics_command
from graftviz.reports.words.dynamics import curve_words, race_words
from graftviz.utils.errors import InputError
from graftviz.utils.wording import plain

MOST_BYTES = 100_000_000
_PREFIX = "dynamics"
_FILES = (
    ("series", "Series (CSV or parquet)", ["csv", "tsv", "txt", "parquet", "pq", "gz"]),
    ("places", "Positions, optional (CSV: series, lon, lat or x, y)", ["csv"]),
    ("parents", "Parents, optional (CSV: source, target)", ["csv"]),
)
_PARENTS_OF = {
    **{name: f"parents from {cls.title.lower()}" for name, cls in LEARNERS.items()},
    "truth": "true parents",
    "file": "parents from the file",
}
# Column of the comparison: field of a measurement, and its format.
_COLUMNS = {
    "PredError, held-out": ("pred_error_test", ".4f"),
    "PredError, training": ("pred_error_train", ".4f"),
    "Coefficients": ("entries", ","),
    "Time (s)": ("seconds", ".3f"),
    "StructRec": ("recall", ".3f"),
    "Precision": ("precision", ".3f"),
    "CoeffRecError": ("coefficient_error", ".3f"),
}
_TRAINED = "PredError, training"
_JUDGED, _OF_TRUTH = "PredError, held-out", ("StructRec", "Precision", "CoeffRecError")


def show_choices(state: DynamicsState) -> None:
    """Show the choice of data, method, parents and seeds."""
    options = state.options
    titles = {RANDOM: "Random system", UPLOAD: "Upload series…"}
    show_settings(
        state, _PREFIX, "data", title=lambda key: titles.get(key) or load_sample(key).title
    )
    if options.data == RANDOM:
        with st.expander("Random system"):
            show_settings(state, _PREFIX, *OF_SYSTEM)
    show_settings(state, _PREFIX, "learner")
    n = state.shown.source.n if state.shown is not None else options.size
    if options.learner in ("scalable", "inducing") or options.wiring in ("scalable", "inducing"):
        _show_count(state, "parents", parent_count(options, n), min(n, MOST_PARENTS))
    if options.learner == "scalable":
        _show_count(state, "seeds", seeds_of(options, n), n)
    if options.learner == "enforcing":
        show_settings(state, _PREFIX, "wiring")
    show_settings(state, _PREFIX, "horizon", "seed")
    more = ("held_out", "period", *OF_LEARNING)
    show_options(
        [state.specs[name]._replace(advanced=True) for name in more],
        state.values,
        state.choose,
        prefix=_PREFIX,
    )


def _show_count(state: DynamicsState, name: str, value: int, most: int) -> None:
    """Show k or |S| as a slider up to the number of series, one slider for each number."""
    spec = state.specs[name]._replace(minimum=1, maximum=max(most, 2))
    show_option(spec, value, state.choose, prefix=f"{_PREFIX}.{most}", drag=True)


def show_messages(state: DynamicsState) -> None:
    """Show why the view does not follow the settings, and notes on these."""
    show_notices(state, DYNAMICS, "run")
    if notes := state.notes():
        st.caption(plain(" ".join(notes)))


def dynamics_files(state: DynamicsState) -> list[PageFile]:
    """Return the files of the shown run; none before there is one."""
    if state.shown is None:
        return []
    series, labels = state.shown.source.series, catalogue("labels")["files"]
    builders: dict[str, Callable[[], str]] = {
        "parents.csv": lambda: parents_csv(final_coefficients(state)),
        "methods.csv": lambda: methods_csv(state.compared()),
        "curves.csv": lambda: curves_csv(state.compared().curves),
        "series.csv": lambda: series_csv(series),
    }
    return [
        PageFile("result.json", "Result (JSON)", lambda: build_result(state)),
        PageFile("matrix.csv", "Matrix A (CSV)", lambda: matrix_csv(final_result(state).system)),
        *(PageFile(name, labels[name], build) for name, build in builders.items()),
    ]


def dynamics_menu(state: DynamicsState) -> ModelMenu | None:
    """Return the menu Model of the shown run; None before there is one.

    A linear system is no Markov network, so the page Inspect cannot show it.
    """
    if state.shown is None:
        return None
    options, _, plan = state.shown
    held_out, needed = options.held_out, ["series.csv"]
    parents = "parents.csv" if takes_parents(plan.learner) else ""
    needed += [parents] if parents else []
    note = catalogue("labels")["header"]["needs"].format(file=", ".join(needed))
    return ModelMenu(
        dynamics_code(plan.learner, plan.seed, held_out, parents),
        dynamics_command("series.csv", plan.learner, plan.seed, held_out, parents),
        note=note,
    )


def final_coefficients(state: DynamicsState) -> pd.DataFrame:
    """Wait for the end of the shown run, and return its coefficients with standard errors."""
    final_result(state)
    job = state.coefficients
    assert job is not None  # the run has ended
    return job.value()


def build_result(state: DynamicsState) -> str:
    """Return result.json of the shown run."""
    assert state.shown is not None
    train, test = state.shown.source.train, state.shown.source.test
    return dynamics_json(final_result(state), rows=train.n_rows, rows_test=test.n_rows)


def final_result(state: DynamicsState) -> DynamicsResult:
    """Wait for the end of the shown run, and return its result.

    Raises
    ------
    InputError
        When it has not ended.
    """
    assert state.run is not None  # a run is shown
    found = state.run.value()
    if found.result is None:
        raise InputError(state.run.failure or "The run has not ended yet; try again.")
    return found.result


# ------------------------------------------------------------------------------------- the upload


def show_upload(state: DynamicsState) -> None:
    """Show the upload and its errors, if uploaded series are chosen; the current run continues."""
    if state.options.data != UPLOAD:
        return
    show_form(
        _PREFIX,
        "series",
        lambda: show_uploaders(_PREFIX, _FILES),
        read_series_files,
        state.accept,
        expected=state.expected,
        shown="run" if state.shown is not None else "",
        title="Upload series",
        caption="One row per time and one column per series, or the columns time, series, value. "
        "Files stay on this server.",
        is_open=state.uploaded is None,
        specs=[state.specs[name] for name in OF_READING],
        reading={name: state.values[name] for name in OF_READING},
        choose=state.choose,
        put_back=state.put_back,
    )


def read_series_files(files: Files, options: Mapping[str, Any]) -> UploadedSeries:
    """Read a file of series, with optional files of positions and of parents.

    Raises
    ------
    InputError
        For anything that cannot be used.
    """
    upload: SeriesUpload = read_files("series", files, {**options, "max_bytes": MOST_BYTES})
    return uploaded_series(*upload)


# ------------------------------------------------------------------------------------- the charts


def show_comparison(state: DynamicsState) -> None:
    """Show the curves and the comparison of methods measured so far."""
    if state.shown is not None:
        show_until(lambda: state.compared().is_complete, lambda: _show_compared(state))


def _show_compared(state: DynamicsState) -> None:
    assert state.shown is not None
    options, material, _ = state.shown
    compared = state.compared()
    by_parents, by_seeds = compared.curves.by_parents, compared.curves.by_seeds
    st.subheader("Method comparison", anchor=False)
    _show_race(compared, options.learner, has_truth=material.truth is not None)
    _show_coefficients(state)
    if compared.missing:
        st.caption(plain(compared.missing))
    if not compared.missing or by_parents:
        k, seeds = parent_count(options, material.n), seeds_of(options, material.n)
        st.subheader("Number of parents and seeds", anchor=False)
        level = next((one for one in compared.race if one.learner == "inducing"), None)
        left, right = st.columns(2, gap="medium")
        with left:
            _show_curve(by_parents, "parents", chosen=k, other=seeds)
        with right:
            _show_curve(by_seeds, "seeds", chosen=seeds, other=k, level=level)
    if not compared.is_complete:
        st.caption(
            f"Computing… {len(compared.race)} of {len(LEARNERS)} methods, "
            f"{len(by_parents) + len(by_seeds)} points of the curves."
        )


def _show_curve(
    points: Sequence[Measured], field: Literal["parents", "seeds"], **choices: Any
) -> None:
    """Show a curve, and its best points in words; `choices` are those of the figure."""
    words = curve_words(points, field)
    figure = prediction_figure(points, field, **choices)
    show_figure(figure, key=f"dynamics_{field}", alt=words or "No results yet.")
    st.caption(plain(words))


def _show_race(compared: ComparedMethods, chosen: str, *, has_truth: bool) -> None:
    """Show the table of methods and baselines, the chosen method in bold, a star at the best."""
    race, texts = compared.race, _texts()
    columns = [name for name in _COLUMNS if has_truth or name not in _OF_TRUTH]
    by_learner = {one.learner: one for one in race}
    best = min(race, key=lambda one: one.pred_error_test) if len(race) > 1 else None
    rows = {}
    for name, learner in LEARNERS.items():
        title, one = learner.title, by_learner.get(name)
        cells = dict.fromkeys(columns, "…")
        if one is not None:
            title += f" ({_PARENTS_OF[one.wiring]})" if one.wiring else ""
            for column in columns:
                field, form = _COLUMNS[column]
                cells[column] = format(getattr(one, field), form)
            cells[_JUDGED] = _with_error(cells[_JUDGED], one.standard_error)
            cells[_JUDGED] = f"★ {cells[_JUDGED]}" if one is best else cells[_JUDGED]
        rows[f"**{title}**" if name == chosen else title] = cells
    for found in compared.baselines:
        cells = dict.fromkeys(columns, "–")
        for column in (_JUDGED, _TRAINED):
            field, form = _COLUMNS[column]
            cells[column] = format(getattr(found, field), form)
        cells[_JUDGED] = _with_error(cells[_JUDGED], found.standard_error)
        rows[_baseline_title(found)] = cells
    st.table(pd.DataFrame.from_dict(rows, orient="index", columns=columns), border="horizontal")
    st.caption(texts["errors"])
    st.caption(plain(race_words(race)))


def _with_error(cell: str, error: float | None) -> str:
    return cell if error is None or math.isnan(error) else f"{cell} ± {error:.4f}"


def _texts() -> Mapping[str, str]:
    return catalogue("labels")["dynamics"]


def _baseline_title(found: Baseline) -> str:
    key = "persistence" if found.lag == 1 else "seasonal"
    return _texts()[key].format(lag=f"{found.lag:,}")


def _show_coefficients(state: DynamicsState) -> None:
    """Show the coefficients of the shown run with their standard errors, once it has ended."""
    job, texts = state.coefficients, _texts()
    if job is None or job.latest is None:
        return
    frame = job.latest
    with st.expander(texts["coefficients"].format(count=f"{len(frame):,}")):
        st.caption(texts["about"])
        order = (-frame["coefficient"].abs()).argsort(kind="stable")
        numbers = {
            name: st.column_config.NumberColumn(texts[name], format="%.4f")
            for name in ("coefficient", "standard_error")
        }
        names = {name: st.column_config.TextColumn(texts[name]) for name in ("source", "target")}
        st.dataframe(
            frame.iloc[order],
            key="dynamics.coefficients",
            hide_index=True,
            column_config={**names, **numbers},
            alt=texts["about"],
        )


def methods_csv(compared: ComparedMethods) -> str:
    """Return the measured methods and the baselines as CSV."""
    baselines = [
        {"learner": "persistence" if found.lag == 1 else f"seasonal-{found.lag}", **found._asdict()}
        for found in compared.baselines
    ]
    return measured_csv([*map(vars, compared.race), *baselines])


def curves_csv(curves: Curves) -> str:
    """Return the points of the curves over k and |S| as CSV."""
    return measured_csv(list(map(vars, (*curves.by_parents, *curves.by_seeds))))
