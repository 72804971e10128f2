"""Experiments of papers: declaration, measurement with a cache, and verdicts.

An :class:`Experiment` is a declared sweep: for each scale it lists parts, such as one learner on
one data set, which are measured as rows. Claims judge the rows, and a function draws them. Rows of
finished parts are cached in files whose keys are the settings of the part.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pandas as pd
import plotly.graph_objects as go

from graftviz.reports.reproduction.claims import (
    Claim,
    Frame,
    Held,
    NotMeasured,
    Row,
    Verdict,
    frame,
    together,
)
from graftviz.reports.reproduction.data import GENERATED, Data
from graftviz.utils.errors import InputError
from graftviz.utils.files import json_value, write_whole
from graftviz.utils.version import __version__

TINY, SMALL, PAPER = "tiny", "small", "paper"
SCALES = (TINY, SMALL, PAPER)
_MODELS_PER_SEED = 10_000  # seeds of models are disjoint between experiment seeds
_CACHE_FORMAT = 2  # raised when rows of parts change their meaning

Rows: TypeAlias = Frame | Iterable[Row]


def model_seed(seed: int, number: int) -> int:
    """Return the seed of a model of an experiment with several random models."""
    return seed * _MODELS_PER_SEED + number


class MeasuringTask(NamedTuple):
    """Data of a measurement, and the function that reports the work done so far."""

    data: Data
    progress: Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Part:
    """Unit of measurement of an experiment.

    Attributes
    ----------
    columns : dict
        Columns of all its rows, as JSON values.
    measure : callable (task) -> rows
        Returns or yields rows of JSON values.
    work : int
        Approximate amount of work, for the progress bar.
    settings : dict
        Further settings on which the rows depend.
    source : str
        Source of the data: "generated", or the name of a data set.
    instead : str
        Name of a data set that is used instead of generated data if it is available.
    warm_up : callable (data)
        Does the work on tiny data, so that compilation is not timed.
    """

    columns: Row
    measure: Callable[[MeasuringTask], Iterable[Row]]
    work: int
    settings: Row
    source: str = GENERATED
    instead: str = GENERATED
    warm_up: Callable[[Data], None] = lambda _: None

    def key(self, data: Data) -> Any:
        """Return everything on which the rows depend, as JSON values.

        Code counts by the file in which `measure` is defined.
        """
        module = getattr(self.measure, "func", self.measure).__module__
        code = _digest(inspect.getfile(sys.modules[module]))
        source = data.digest(self.source, self.instead)
        return _as_json([self.columns, self.settings, source, code])


@cache  # an edit during a run is not the code that runs
def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:24]


def _as_json(value: Any) -> Any:
    """Return JSON values as they are read from a file; numpy's are converted."""
    return json.loads(json.dumps(json_value(value), allow_nan=False))


def _without_lists(rows: Frame) -> Frame:
    return rows[[name for name in rows if not rows[name].map(type).eq(list).any()]]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Declaration of one figure or table of a paper.

    Attributes
    ----------
    name, title : str
        Name on the command line, and title of the figure.
    place : str
        Paper, figure or table, and section.
    sizes : dict
        Arguments of `parts` by name, each with its values at :data:`SCALES`.
    parts : callable (seed, **size) -> parts
    claims : tuple of Claim
    figure : callable (title, rows) -> plotly figure
        As the next two, called with a frame of the rows.
    table : callable (rows) -> rows
        Data of the figure as CSV; default: the columns of the rows that are not lists.
    summary : callable (rows) -> rows, optional
        Numbers of the measured parts for measured.json; default: those of `table`.
    settings : dict
        Settings that all parts share, with reasons.
    notes : tuple of str
        Differences from the paper, and settings that the paper does not state.
    cost : tuple of str
        Approximate duration on two cores at the small and at the paper's scale.
    needs, accepts : tuple of str
        Names of required data sets, and of optional ones, which replace generated data.
    """

    name: str
    title: str
    place: str
    sizes: Mapping[str, Sequence[Any]]
    parts: Callable[..., Iterable[Part]]
    claims: tuple[Claim, ...]
    figure: Callable[[str, Frame], go.Figure]
    table: Callable[[Frame], Rows] = _without_lists
    summary: Callable[[Frame], Rows] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cost: tuple[str, str] = ("", "")
    needs: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()

    def sweep(self, scale: str, seed: int) -> list[Part]:
        """Return all parts at a scale."""
        at = SCALES.index(scale)
        sizes = {name: values[at] for name, values in self.sizes.items()}
        return list(self.parts(seed=seed, **sizes))

    def draw(self, title: str, rows: Rows) -> go.Figure:
        """Return the figure of measured rows.

        Raises
        ------
        InputError
            If it is empty, or uses a column or a method that was not measured.
        """
        try:
            figure = self.figure(title, frame(rows))
        except (KeyError, NotMeasured) as missing:
            reason = missing if isinstance(missing, NotMeasured) else f"{missing} was not measured."
            raise InputError(f"The figure of {self.name} was not drawn. {reason}") from missing
        if not figure.data:
            raise InputError(f"The figure of {self.name} is empty.")
        return figure

    def tabulated(self, rows: Rows) -> list[Row]:
        """Return the data of the figure."""
        return _rows_of(self.table, frame(rows))

    def summarised(self, rows: Rows) -> list[Row]:
        """Return numbers of the measured parts."""
        return _rows_of(self.summary or self.table, frame(rows))


def _rows_of(table: Callable[[Frame], Rows], rows: Frame) -> list[Row]:
    """Return the rows of a table as dictionaries of JSON values."""
    if rows.empty:
        return []
    found = table(rows)
    records = found.to_dict("records") if isinstance(found, pd.DataFrame) else list(found)
    plain: list[Row] = _as_json(records)
    return plain


class PartCache:
    """Cache of the rows of finished parts, one file per part.

    Parameters
    ----------
    folder : Path
        Created when the first rows are stored.
    fresh : bool
        Ignore earlier rows and replace them.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder = folder
        self._fresh = fresh

    def get(self, settings: Any) -> list[Row] | None:
        """Return the cached rows of these settings, or None if there are none."""
        if self._fresh:
            return None
        try:
            entry = json.loads(self._path(settings).read_text(encoding="utf-8"))
            rows: list[Row] = entry["rows"]
            return rows if entry["settings"] == settings else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, settings: Any, rows: list[Row]) -> None:
        """Store the rows of a part."""
        self._folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"settings": settings, "rows": rows}, allow_nan=False)
        write_whole(self._path(settings), content)

    def _path(self, settings: Any) -> Path:
        text = json.dumps([_CACHE_FORMAT, __version__, settings], sort_keys=True)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


class Reproduction:
    """Measured rows of an experiment at one scale.

    Attributes
    ----------
    measured : dict
        Rows by finished part.
    reused : list of Part
        Parts whose rows were taken from the cache.
    """

    def __init__(self, experiment: Experiment, scale: str, seed: int) -> None:
        self.experiment, self.scale, self.seed = experiment, scale, seed
        self.measured: dict[Part, list[Row]] = {}
        self.reused: list[Part] = []

    @cached_property
    def parts(self) -> Sequence[Part]:
        """All parts, measured or not."""
        return self.experiment.sweep(self.scale, self.seed)

    @property
    def rows(self) -> Frame:
        """All measured rows with the columns of their parts."""
        return frame(
            {**part.columns, **row} for part, rows in self.measured.items() for row in rows
        )

    @property
    def caution(self) -> str:
        """Sentence on what verdicts at this scale are worth; empty except for tiny data."""
        if self.scale != TINY:
            return ""
        return f"Scale {TINY} has tiny data: its verdicts say nothing about the statements."

    @property
    def status(self) -> str:
        """One of "run", "partly run" and "not run"."""
        if not self.measured:
            return "not run"
        return "run" if len(self.measured) == len(self.parts) else "partly run"

    def measure(
        self,
        data: Data,
        cache: PartCache,
        *,
        parts: Sequence[Part] | None = None,
        callback: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Measure the parts that are not cached, one after the other.

        Parameters
        ----------
        parts : sequence of Part, optional
            Only these; default: all.
        callback : callable (done)
            Called with the work done so far.
        """
        before = 0
        for part in self.parts if parts is None else parts:

            def report(done: int, before: int = before, part: Part = part) -> None:
                callback(before + min(done, part.work))

            settings = part.key(data)
            rows = cache.get(settings)
            if rows is None:
                part.warm_up(data)
                rows = _as_json(list(part.measure(MeasuringTask(data, report))))
                cache.put(settings, rows)
            else:
                self.reused.append(part)
            self.measured[part] = rows
            before += part.work
            callback(before)

    def verdicts(self) -> list[tuple[Claim, Verdict]]:
        """Return every claim with its verdict; the sentence says why there is none."""
        judged = []
        for claim in self.experiment.claims:
            try:
                judged.append((claim, claim.judge(self.rows)))
            except NotMeasured as missing:
                judged.append((claim, Verdict(None, str(missing), {})))
        return judged

    def held(self) -> Held:
        """Return True if all claims held, False if none, "partly" otherwise; None if not judged."""
        judged = [verdict.held for _, verdict in self.verdicts() if verdict.held is not None]
        return together(judged) if judged else None


class Paper(NamedTuple):
    """Beginning of the names of a paper's experiments, and the title of the paper."""

    prefix: str
    title: str

    def item(self, item: str, section: str) -> dict[str, Any]:
        """Return name and place of the experiment of a "figure …" or "table …"."""
        short = item.replace("figure ", "fig").replace("table ", "table")
        place = f"{self.title}, {item} and section {section}"
        return {"name": f"{self.prefix}-{short}", "place": place}
