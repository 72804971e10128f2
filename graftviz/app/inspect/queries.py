"""Queries of the Inspect page: joint distributions, log Z, and evidence from a file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from graftviz.app.boundary import guarded
from graftviz.app.controls import follow_value, show_problem, show_until
from graftviz.app.frame import PageFile, file_button
from graftviz.app.inspect.options import MOST_TARGETS
from graftviz.app.inspect.results import frame_csv, inspect_texts
from graftviz.app.inspect.state import InspectedModel, InspectState
from graftviz.app.jobs import Job
from graftviz.app.upload import read_files
from graftviz.inference.queries import Answer, JointAnswer
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.words.phrases import short
from graftviz.utils.wording import plain

_FILES = "inspect.evidence.file"
_WAIT = 0.4  # seconds to wait for a query before the page shows a notice
_HEIGHT = 380
_MOST_NAMED = 5  # names of variables beyond are left out of the formula


def partition_words(before: Answer | None, after: Answer | None) -> list[str]:
    """Return the sentences about log Z, without and with the evidence."""
    texts, methods = inspect_texts("log_z"), inspect_texts("methods")
    found = []
    for answer in (before, after):
        if answer is not None and answer.beliefs is not None:
            beliefs = answer.beliefs
            words = texts[beliefs.log_partition_is].format(
                value=f"{beliefs.log_partition:.6g}", method=methods[beliefs.method]
            )
            found.append(words if answer is before else f"{texts['given']} {words}")
    return found


def show_evidence_upload(state: InspectState, model: PairwiseModel) -> None:
    """Show the uploader of an evidence file, whose content replaces the evidence."""
    texts = inspect_texts("evidence")

    def take() -> None:
        file = st.session_state[_FILES]
        if file is not None:
            options = {"cardinalities": model.cardinalities.tolist()}
            state.take_evidence(read_files("evidence", [("evidence", file)], options))

    st.file_uploader(
        texts["label"],
        ["evid", "txt"],
        key=_FILES,
        help=texts["help"],
        on_change=guarded(take),
    )


def show_query(state: InspectState, shown: InspectedModel) -> None:
    """Show the choice of the variables of a query, and their joint distribution."""
    texts, model = inspect_texts("query"), shown.model
    st.caption(texts["lead"].format(most=MOST_TARGETS))
    key = follow_value("inspect.query", list(state.targets))
    st.multiselect(
        texts["variables"],
        range(model.n_variables),
        key=key,
        format_func=model.names.__getitem__,
        max_selections=MOST_TARGETS,
        placeholder=texts["placeholder"],
        on_change=guarded(lambda: state.choose_targets(st.session_state[key])),
    )
    job = state.joint
    if job is not None:
        job.wait_for_end(_WAIT)
        show_until(lambda: job.ended, lambda: _show_joint(state, model, job))


def _show_joint(state: InspectState, model: PairwiseModel, job: Job[JointAnswer | None]) -> None:
    texts, found = inspect_texts("query"), job.latest
    show_problem(job.failure)
    if job.failure:
        return
    if found is None or not job.ended:
        st.caption(texts["computing"])
        return
    by = "by" if found.converged else "not_converged"
    words = texts[by].format(method=inspect_texts("methods")[found.method])
    st.markdown(plain(f"{query_formula(model, state.targets, state.evidence)}. {words}"))
    frame = joint_frame(model, state.targets, found.table, texts["probability"])
    st.dataframe(
        frame,
        key="inspect.joint",
        hide_index=True,
        height=min(_HEIGHT, 40 + 35 * len(frame)),
        column_config={
            texts["probability"]: st.column_config.ProgressColumn(
                format="%.4f", min_value=0.0, max_value=1.0
            )
        },
        alt=texts["lead"].format(most=MOST_TARGETS),
    )
    file = PageFile("query.csv", texts["file"], lambda: frame_csv(frame))
    file_button(file, "inspect.query.file", is_quiet=True, is_stretched=False)


def query_formula(model: PairwiseModel, targets: tuple[int, ...], evidence: dict[int, int]) -> str:
    """Return "P(a, b | c = yes)"."""
    observed = [
        f"{short(model.names[i])} = {short(model.labels[i][k])}" for i, k in evidence.items()
    ]
    if len(observed) > _MOST_NAMED:
        observed = [*observed[:_MOST_NAMED], "…"]
    condition = f" | {', '.join(observed)}" if observed else ""
    return f"P({', '.join(short(model.names[i]) for i in targets)}{condition})"


def joint_frame(
    model: PairwiseModel, targets: tuple[int, ...], table: np.ndarray, title: str
) -> pd.DataFrame:
    """Return a row per joint state of the variables, the most probable first.

    Parameters
    ----------
    model : PairwiseMRF
    targets : tuple of int
    table : float64 array
        One axis per variable.
    title : str
        Of the column of probabilities.
    """
    states = np.indices(table.shape).reshape(len(targets), -1)
    order = np.argsort(-table, axis=None, kind="stable")
    columns: dict[str, list[object]] = {
        model.names[i]: [model.labels[i][k] for k in states[axis, order].tolist()]
        for axis, i in enumerate(targets)
    }
    while title in columns:
        title += " "
    columns[title] = table.reshape(-1)[order].tolist()
    return pd.DataFrame(columns)
