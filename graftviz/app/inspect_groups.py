"""Comparison of two groups of rows on the Inspect page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from graftviz.app.boundary import guarded
from graftviz.app.controls import follow_value, show_button, show_problem, show_until
from graftviz.app.frame import PageFile, file_button
from graftviz.app.inspect import InspectedModel, InspectState
from graftviz.app.inspect_results import frame_csv, inspect_texts, state_names
from graftviz.app.jobs import Job, Watching
from graftviz.app.material import MOST_SECONDS, SourceCache
from graftviz.app.session import JobSource, page_state, shared_job
from graftviz.app.upload import Files, read_whole_table, show_form, show_uploaders
from graftviz.app.url import default_values
from graftviz.data.coding import TableOptions
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.selection.groups import (
    GroupProgress,
    coded_alike,
    compare_groups_steps,
    split_groups,
)
from graftviz.learning.grafting.edge_grafting import EdgeGrafting
from graftviz.learning.workload import of_learner
from graftviz.reports.words.phrases import short
from graftviz.utils.errors import InputError
from graftviz.utils.options import option_specs
from graftviz.utils.wording import duration_text, plain

# ---------------------------------------------------------------------------------------- the state


PERMUTATIONS = (99, 199, 499, 999)
_DIVISION = 6.0  # time of one division, relative to the estimate of one run on all rows
_COMPARISONS = 4  # in the cache


class GroupTables(NamedTuple):
    """One table that a column splits, or two tables."""

    first: DiscreteTable
    second: DiscreteTable | None = None


@shared_job(1)
def _job(source: JobSource, permutations: int) -> Iterator[GroupProgress]:
    return compare_groups_steps(*source.data, permutations=permutations)


class GroupState:
    """Choice of two groups of rows in one session, and their comparison.

    Attributes
    ----------
    uses_upload : bool
        Whether the groups are uploaded, instead of rows that the inspected model is learned from.
    uploaded : GroupTables or None
    reading : dict
        Import options of the upload.
    column : int
        Variable that splits the rows of a single table.
    first, second : int, int or None
        States of the groups; None for all others.
    permutations : int
    compared : Job or None
        The latest comparison.
    problem : str
        Why there is no comparison; empty if there is one.
    """

    def __init__(self) -> None:
        self.uses_upload = False
        self.uploaded: GroupTables | None = None
        self.reading: dict[str, Any] = {}
        self.column = self.first = 0
        self.second: int | None = None
        self.permutations = PERMUTATIONS[1]
        self.compared: Job[GroupProgress] | None = None
        self.problem = ""
        self._own = SourceCache(_COMPARISONS)
        self._jobs = Watching()

    def choose(self, name: str, value: Any) -> None:
        """Set an attribute, and stop the comparison; another column has other states."""
        setattr(self, name, value)
        if name == "column":
            self.first, self.second = 0, None
        self.stop()

    def begin(self, tables: GroupTables) -> None:
        """Compare the chosen groups; set `problem` if that is not possible."""
        self.stop()
        try:
            first, second = self._groups(tables)
            _check_time(first, self.permutations, first.n_rows + second.n_rows)
        except InputError as error:
            self.problem = str(error)
            return
        identity = f"{first.fingerprint}:{second.fingerprint}"
        source = JobSource(identity, self._own, (first, second))
        self.compared = _job(source, self.permutations)

    def _groups(self, tables: GroupTables) -> tuple[DiscreteTable, DiscreteTable]:
        if tables.second is not None:
            return coded_alike(tables.first, tables.second)
        return split_groups(tables.first, self.column, self.first, self.second)

    def job(self) -> Job[GroupProgress] | None:
        """Return the latest comparison, begun now or before; None without one."""
        if self.compared is not None:
            self._jobs.begin(self.compared)
        return self.compared

    def stop(self) -> None:
        """Pause the comparison, and show it no longer."""
        self._jobs.leave()
        self.compared, self.problem = None, ""

    def forget(self) -> None:
        """Release the results; they are computed again on request."""
        self.stop()
        self._own.clear()


def _check_time(table: DiscreteTable, permutations: int, rows: int) -> None:
    """Raise :class:`InputError` for a comparison beyond the limit of runs."""
    one = of_learner(table, EdgeGrafting(preset="paper")).seconds * rows / max(1, table.n_rows)
    seconds = _DIVISION * permutations * one
    if seconds > MOST_SECONDS:
        raise InputError(
            f"Estimated {duration_text(seconds)} for {permutations:,} permutations; the limit is "
            f"{duration_text(MOST_SECONDS)}. Choose fewer, or compare_groups in Python."
        )


# --------------------------------------------------------------------------------------- the panels


_PREFIX = "inspect.groups"
_KINDS = ["csv", "tsv", "txt", "data", "parquet", "pq", "gz"]
_OTHERS = -1  # choice of all other states


def show_groups(state: InspectState, _: InspectedModel) -> None:
    """Show the choice of two groups, and the differences of their networks with p-values."""
    texts, groups = inspect_texts("groups"), page_state("inspect.groups", GroupState)
    st.caption(texts["lead"])
    table = state.table
    if table is not None:
        key = follow_value(f"{_PREFIX}.rows", groups.uses_upload)
        st.segmented_control(
            texts["rows"],
            (False, True),
            key=key,
            required=True,
            format_func=lambda own: texts["upload" if own else "of_model"],
            on_change=guarded(lambda: groups.choose("uses_upload", st.session_state[key])),
        )
    tables: GroupTables | None = None if table is None else GroupTables(table)
    if groups.uses_upload or table is None:
        _show_upload(groups)
        tables = groups.uploaded
    if tables is None:
        return
    if tables.second is None:
        _show_split(groups, tables.first)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = follow_value(f"{_PREFIX}.permutations", groups.permutations)
        st.select_slider(
            texts["permutations"],
            PERMUTATIONS,
            key=key,
            on_change=guarded(lambda: groups.choose("permutations", st.session_state[key])),
            width=260,
        )
        show_button(texts["begin"], f"{_PREFIX}.begin", groups.begin, tables, type="primary")
    show_problem(groups.problem)
    job = groups.job()
    if job is not None and not groups.problem:
        show_until(lambda: job.ended, lambda: _show_job(groups, job))


def _show_upload(groups: GroupState) -> None:
    texts = inspect_texts("groups")
    uploaders = [(role, texts[f"{role}_table"], _KINDS) for role in ("first", "second")]
    show_form(
        _PREFIX,
        "table",
        lambda: show_uploaders(_PREFIX, uploaders),
        _read,
        lambda upload: setattr(groups, "uploaded", upload),
        specs=option_specs(TableOptions),
        reading={**default_values(TableOptions), **groups.reading},
        choose=lambda name, value: groups.reading.update({name: value}),
        put_back=lambda: setattr(groups, "uploaded", None),
    )


def _read(files: Files, options: Mapping[str, Any]) -> GroupTables:
    """Read one table or two.

    Raises
    ------
    InputError
        For anything that cannot be used.
    """
    tables: list[DiscreteTable] = []
    for _, file in files:
        if file is not None:
            tables.append(read_whole_table([("table", file)], options).table)
    return GroupTables(*tables)


def _show_split(groups: GroupState, table: DiscreteTable) -> None:
    """Show the choice of the column that splits the rows, and of the states of both groups."""
    texts = inspect_texts("groups")
    groups.column = min(groups.column, table.n_variables - 1)
    names = state_names(table.labels[groups.column])
    groups.first = min(groups.first, len(names) - 1)
    second = _OTHERS if groups.second is None else min(groups.second, len(names) - 1)
    labels = {_OTHERS: texts["others"], **dict(enumerate(names))}
    choices: tuple[tuple[str, int, list[int], Mapping[int, str]], ...] = (
        ("column", groups.column, list(range(table.n_variables)), dict(enumerate(table.names))),
        ("first", groups.first, list(range(len(names))), labels),
        ("second", second, [k for k in labels if k != groups.first], labels),
    )
    for place, (name, value, offered, words) in zip(st.columns(3), choices, strict=True):
        key = f"{_PREFIX}.{name}.{groups.column if name != 'column' else ''}.{len(offered)}"
        follow_value(key, value if value in offered else offered[0])

        def choose(name: str = name, key: str = key) -> None:
            chosen = st.session_state[key]
            groups.choose(name, None if chosen == _OTHERS else chosen)

        place.selectbox(
            texts[name],
            offered,
            key=key,
            format_func=words.__getitem__,
            on_change=guarded(choose),
        )


def _show_job(groups: GroupState, job: Job[GroupProgress]) -> None:
    texts, found, is_complete = inspect_texts("groups"), job.latest, job.ended
    show_problem(job.failure)
    if is_complete and found is not None and found.result is not None:
        _show_result(found.result)
    elif not is_complete:
        done, of = (0, groups.permutations) if found is None else (found.done, found.of)
        text = texts["progress"].format(done=f"{done:,}", of=f"{of:,}")
        st.progress(done / of, text)
        show_button(texts["stop"], f"{_PREFIX}.stop", groups.stop)


def _show_result(found: pd.DataFrame) -> None:
    texts, facts = inspect_texts("groups"), found.attrs
    rows, strengths = facts["n_rows"], facts["strengths"]
    differing = int((found["p_adjusted"] <= 0.05).sum())
    st.markdown(
        texts["result"].format(
            rows=f"{rows[0]:,}",
            others=f"{rows[1]:,}",
            first=f"{strengths[0]:.3f}",
            second=f"{strengths[1]:.3f}",
            p=f"{facts['p_strength']:.3g}",
            differing=f"{differing:,}",
            edges=f"{len(found):,}",
        )
    )
    frame = found.assign(source=found["source"].map(short), target=found["target"].map(short))
    numbers = {
        name: st.column_config.NumberColumn(texts[name], format="%.3f", help=texts[f"{name}_help"])
        for name in ("difference", "p", "p_adjusted")
    }
    ends = {name: st.column_config.TextColumn(texts[name]) for name in ("source", "target")}
    st.dataframe(
        frame,
        key=f"{_PREFIX}.edges",
        hide_index=True,
        height=min(380, 40 + 35 * max(1, len(frame))),
        column_config={**ends, **numbers},
        alt=plain(texts["lead"]),
    )
    file = PageFile("groups.csv", texts["file"], lambda: frame_csv(found))
    file_button(file, f"{_PREFIX}.file", is_quiet=True, is_stretched=False)
