"""Session state of the comparison of groups on the Inspect page.

Streamlit is not imported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from graftviz.app.jobs import Job, Watching
from graftviz.app.material import MOST_SECONDS, SourceCache
from graftviz.app.session import shared_job
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.selection.groups import (
    GroupProgress,
    coded_alike,
    compare_groups_steps,
    split_groups,
)
from graftviz.learning.grafting.edge_grafting import EdgeGrafting
from graftviz.learning.workload import of_learner
from graftviz.utils.errors import InputError
from graftviz.utils.wording import duration_text

PERMUTATIONS = (99, 199, 499, 999)
_DIVISION = 6.0  # time of one division, relative to the estimate of one run on all rows
_COMPARISONS = 4  # in the cache


class GroupTables(NamedTuple):
    """One table that a column splits, or two tables."""

    first: DiscreteTable
    second: DiscreteTable | None = None


class GroupSource(NamedTuple):
    """Two groups of rows that are compared."""

    identity: str
    own: SourceCache
    first: DiscreteTable
    second: DiscreteTable
    permutations: int


def _comparing(source: GroupSource) -> Iterator[GroupProgress]:
    return compare_groups_steps(source.first, source.second, permutations=source.permutations)


_job = shared_job(_comparing, 1)


class GroupState:
    """Choice of two groups of rows, and their comparison.

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
    source : GroupSource or None
        The groups of the latest comparison.
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
        self.source: GroupSource | None = None
        self.problem = ""
        self._own = SourceCache(_COMPARISONS)

    def choose(self, name: str, value: Any) -> None:
        """Set an attribute, and stop the comparison; another column has other states."""
        setattr(self, name, value)
        if name == "column":
            self.first, self.second = 0, None
        self.stop()

    def choose_reading(self, name: str, value: Any) -> None:
        """Set an import option."""
        self.reading[name] = value

    def begin(self, tables: GroupTables) -> None:
        """Compare the chosen groups; set `problem` if that is not possible."""
        self.stop()
        try:
            first, second = self._groups(tables)
            _check_time(first, self.permutations, first.n_rows + second.n_rows)
        except InputError as error:
            self.problem = str(error)
            return
        identity = f"{first.fingerprint}:{second.fingerprint}:{self.permutations}"
        self.source = GroupSource(identity, self._own, first, second, self.permutations)

    def _groups(self, tables: GroupTables) -> tuple[DiscreteTable, DiscreteTable]:
        if tables.second is not None:
            return coded_alike(tables.first, tables.second)
        return split_groups(tables.first, self.column, self.first, self.second)

    def job(self, jobs: Watching) -> Job[GroupProgress] | None:
        """Return the job on the latest comparison, begun now or before; None without one."""
        if self.source is None:
            return None
        found = _job(self.source)
        jobs.begin(found)
        return found

    def stop(self) -> None:
        """Pause the comparison, and show it no longer."""
        if self.source is not None:
            _job(self.source).revoke()
        self.source, self.problem = None, ""

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
