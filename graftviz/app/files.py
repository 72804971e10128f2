"""Files of figures and runs, built when one is requested, and the menu Model of a run."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from graftviz.app.frame import ModelMenu, PageFile, file_button
from graftviz.app.jobs import DOWNLOAD_WAIT, EVERYTHING
from graftviz.app.runs import Loaded, SessionRun
from graftviz.app.state import LearningPage
from graftviz.evaluation.selection.stability import EdgeStability
from graftviz.learning.base import Learner
from graftviz.learning.run import Branch
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.reading import MODEL_FORMATS, ModelFormat
from graftviz.reports.figures.style import figure_csv, figure_html
from graftviz.reports.files.run_folder import replay_page, result_json
from graftviz.reports.files.tables import (
    edges_csv,
    model_edges_csv,
    result_model,
    stability_csv,
    trace_csv,
    weight_intervals_csv,
)
from graftviz.reports.texts import catalogue
from graftviz.reports.words.code import TABLE_FILE, learn_code, learn_command
from graftviz.utils.errors import InputError
from graftviz.utils.files import as_bytes

_FIGURE_FILES = (
    ("html", "Page (HTML, opens offline)", figure_html),
    ("csv", "Data (CSV)", figure_csv),
)


def show_figure(figure: go.Figure, key: str, alt: str, **options: Any) -> Any:
    """Show a figure with a menu that saves it.

    Parameters
    ----------
    figure : go.Figure
    key : str
        Of the chart in the session; its files are named after it.
    alt : str
        The figure in words.
    **options
        For ``st.plotly_chart``.

    Returns
    -------
    object
        The return value of ``st.plotly_chart``: the selection, if `options` request one.
    """
    name = key.replace("_", "-")
    event = st.plotly_chart(
        figure,
        key=key,
        alt=alt,
        config={
            "displaylogo": False,
            "modeBarButtons": [["toImage", "resetScale2d"]],
            "toImageButtonOptions": {"format": "svg", "filename": name},
        },
        **options,
    )
    with st.popover("Save figure", key=f"{key}.save", type="tertiary", width="content"):
        for suffix, label, write in _FIGURE_FILES:
            file = PageFile(f"{name}.{suffix}", label, partial(write, figure))
            file_button(file, f"{key}.{suffix}")
        st.caption("The camera in the figure's toolbar saves it as SVG.")
    return event


def run_note() -> str:
    """Return the sentence above the files of runs."""
    note: str = catalogue("labels")["header"]["completes"]
    return note


def build_replay(run: SessionRun) -> str:
    """Return the standalone replay page of a run."""
    content = json.loads(run.feed_json(1, EVERYTHING, whole=True))
    header = json.loads(run.header_json or "{}")
    return replay_page(header, content["records"], content["outcome"])


def build_edges(run: SessionRun) -> str:
    """Return edges.csv, with the stability of each edge if it has been computed."""
    return edges_csv(run.result(), None if run.stability is None else run.stability.final)


def _write_model(model_format: ModelFormat, run: SessionRun) -> str | bytes:
    return result_model(model_format, run.result())


def _stability(run: SessionRun) -> EdgeStability:
    found = None if run.stability is None else run.stability.final
    if found is None:
        raise InputError("The stability of this run is not computed.")
    return found


# Name of a file → what it contains; the labels are in the part "files" of labels.toml.
FILES: Mapping[str, Callable[[SessionRun], str | bytes]] = {
    "replay.html": build_replay,
    "edges.csv": build_edges,
    "stability.csv": lambda run: stability_csv(run.result(), _stability(run)),
    "weight_intervals.csv": lambda run: weight_intervals_csv(
        _stability(run).intervals(run.result().model)
    ),
    "trace.csv": lambda run: trace_csv(run.result()),
    "result.json": lambda run: result_json(run.result(), title=run.material.title),
    **{each.file: partial(_write_model, each) for each in MODEL_FORMATS},
}


def finished(run: SessionRun) -> SessionRun:
    """Let a run finish (or run out of patience), and return it."""
    run.grant()
    run.wait_for_end(DOWNLOAD_WAIT)
    return run


def build_file(run: SessionRun, name: str) -> bytes:
    """Return one of the files of a run that has finished."""
    return as_bytes(FILES[name](finished(run)))


def build_archive(run: SessionRun, names: Iterable[str]) -> bytes:
    """Return files of a run in one ZIP archive."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        for name in names:
            files.writestr(name, build_file(run, name))
    return archive.getvalue()


def model_files(model: Callable[[], PairwiseModel]) -> list[PageFile]:
    """Return the files of a model without a run: all formats, and its edges as a table."""
    label = catalogue("labels")["files"]["model_edges.csv"]

    def write(model_format: ModelFormat) -> str | bytes:
        return model_format.write(model(), None)

    return [
        *(PageFile(each.file, each.title, partial(write, each)) for each in MODEL_FORMATS),
        PageFile("model_edges.csv", label, lambda: model_edges_csv(model())),
    ]


def learn_menu(
    data: str,
    learner: Learner,
    seed: int,
    loaded: Callable[[], Loaded | None],
    *,
    reading: Mapping[str, Any] = MappingProxyType({}),
    file: str = TABLE_FILE,
    rows: int | None = None,
    test_fraction: float = 0.0,
    branch: Branch | None = None,
) -> ModelMenu:
    """Return the menu Model of a run; the arguments are those of :func:`learn_code`.

    Parameters
    ----------
    loaded : callable
        See :class:`ModelMenu`.
    """
    words = catalogue("labels")["header"]
    python = learn_code(
        data, learner, seed, reading, file, rows=rows, test_fraction=test_fraction, branch=branch
    )
    if branch is not None:
        return ModelMenu(python, "", loaded, words["branch"])
    command = learn_command(
        data, learner, seed, reading, file, rows=rows, test_fraction=test_fraction
    )
    note = "" if file == TABLE_FILE else words["needs"].format(file=file)
    return ModelMenu(python, command, loaded, note)


def run_menu(state: LearningPage, run: SessionRun | None) -> ModelMenu | None:
    """Return the menu Model of a run; None before it has begun."""
    plan, shown = None if run is None else state.plan_of(run), state.shown
    if run is None or plan is None or shown is None:
        return None
    material = run.material
    return learn_menu(
        shown.data,
        plan.learner,
        plan.seed,
        lambda: finished(run).loaded(),
        reading=shown.reading,
        rows=getattr(shown, "rows", None),
        test_fraction=material.test_fraction,
        branch=plan.branch,
    )


def run_files(run: SessionRun, *, with_replay: bool = True) -> list[PageFile]:
    """Return the files of a run for the menu Download, the archive of all of them first.

    Parameters
    ----------
    run : SessionRun
    with_replay : bool
        Whether the run has the records of the player.
    """
    has_stability = run.stability is not None and run.stability.final is not None
    omitted = set() if with_replay else {"replay.html"}
    omitted |= set() if has_stability else {"stability.csv", "weight_intervals.csv"}
    names = [name for name in FILES if name not in omitted]
    texts = catalogue("labels")["files"]
    labels = {each.file: each.title for each in MODEL_FORMATS} | texts
    build, label = partial(build_archive, run, names), texts["all"].format(count=len(names))
    archive = PageFile("graftviz-run.zip", label, build, is_main=True)
    return [archive, *(PageFile(k, labels[k], partial(build_file, run, k)) for k in names)]
