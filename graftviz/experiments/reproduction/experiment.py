"""Declarations, measurement and judgement of the papers' experiments.

An :class:`Experiment` consists of a study, which lists the parts to measure at each scale and draws
them, and of claims, which compare statements of the paper with the results. A part is a unit of
measurement, such as one learner on one data set. Results of finished parts are cached in files
whose keys are the settings of the part.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from graftviz._version import __version__
from graftviz.experiments.reproduction.data import GENERATED, Data
from graftviz.formats.files import write_whole

REHEARSAL, SMALL, PAPER = "rehearsal", "small", "paper"
SCALES = (REHEARSAL, SMALL, PAPER)
Held = Literal["partly"] | bool
Cells = tuple[str | int | float | None, ...]
_CACHE_FORMAT = 1  # raised when results of parts change their meaning


class NotMeasured(Exception):
    """Error for a claim whose measurements are missing."""


class Part(ABC):
    """Unit of measurement of a study."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Short description of the measurement."""

    @property
    @abstractmethod
    def work(self) -> int:
        """Approximate amount of work for the progress bar, in edges to be learned."""

    @property
    def source(self) -> str:
        """Source of the data: "generated", or the name of a data set."""
        return GENERATED

    @abstractmethod
    def settings(self, data: Data) -> dict[str, Any]:
        """Return all settings on which the result depends, as JSON values."""

    @abstractmethod
    def rehearse(self, data: Data) -> None:
        """Run the measurement on tiny data, so that compilation is not timed."""

    @abstractmethod
    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Measure and return the result as JSON values; report the work done by `on_progress`."""


class Verdict(NamedTuple):
    """Judgement of a claim.

    Attributes
    ----------
    held : bool or "partly"
    sentence : str
        Description of the measurements and of differences from the paper.
    numbers : dict
        Measured numbers by name.
    """

    held: Held
    sentence: str
    numbers: dict[str, Any]


Results = Mapping[Part, dict[str, Any]]


@dataclass(frozen=True)
class Claim:
    """Statement of a paper.

    Attributes
    ----------
    words : str
        The statement, paraphrased.
    judge : callable (results) -> Verdict
        Raises :class:`NotMeasured` if required parts are missing.
    """

    words: str
    judge: Callable[[Results], Verdict]


class Study(ABC):
    """Parts, figure and data of an experiment."""

    @abstractmethod
    def parts(self, scale: str, seed: int) -> Sequence[Part]:
        """Return all parts at a scale."""

    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """Return the names of required data sets."""

    def accepts(self) -> tuple[str, ...]:
        """Return the names of optional data sets, which replace generated data."""
        return ()

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share, with reasons."""

    @abstractmethod
    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw the results."""

    @abstractmethod
    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield the data of the figure as rows, beginning with the column names."""

    @abstractmethod
    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return a few numbers for every measured part."""


@dataclass(frozen=True)
class Experiment:
    """Declaration of one figure or table of a paper.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        Title of the figure.
    place : str
        Paper, figure or table, and section.
    study : Study
    claims : tuple of Claim
    notes : tuple of str
        Differences from the paper, and settings that the paper does not state.
    cost : dict
        Approximate duration on two cores, by scale.
    """

    name: str
    title: str
    place: str
    study: Study
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()
    cost: Mapping[str, str] = field(default_factory=dict)


class PartCache:
    """Cache of the results of finished parts, one file per part.

    Parameters
    ----------
    folder : Path
        Created when the first result is stored.
    fresh : bool
        Ignore earlier results and replace them.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder = folder
        self._fresh = fresh

    def get(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the cached result of these settings, or None if there is none."""
        if self._fresh:
            return None
        try:
            entry = json.loads(self._path(settings).read_text(encoding="utf-8"))
            if entry["settings"] != _as_json(settings):
                return None
            result: dict[str, Any] = entry["result"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return result

    def put(self, settings: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Store the result of a part."""
        self._folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"settings": settings, "result": result}, allow_nan=False)
        write_whole(self._path(settings), content)

    def _path(self, settings: Mapping[str, Any]) -> Path:
        text = json.dumps([_CACHE_FORMAT, __version__, settings], sort_keys=True)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@dataclass
class Reproduction:
    """Measured results of an experiment at one scale.

    Attributes
    ----------
    experiment : Experiment
    scale : str
    seed : int
    results : dict
        Results by finished part.
    reused : list of Part
        Parts whose results were taken from the cache.
    """

    experiment: Experiment
    scale: str
    seed: int
    results: dict[Part, dict[str, Any]] = field(default_factory=dict)
    reused: list[Part] = field(default_factory=list)

    @property
    def parts(self) -> Sequence[Part]:
        """All parts, measured or not."""
        return self.experiment.study.parts(self.scale, self.seed)

    @property
    def status(self) -> str:
        """One of "run", "partly run" and "not run"."""
        if not self.results:
            return "not run"
        return "run" if len(self.results) == len(self.parts) else "partly run"

    def measure(
        self,
        data: Data,
        cache: PartCache,
        *,
        parts: Sequence[Part] | None = None,
        on_progress: Callable[[int, str], None] | None = None,
    ) -> None:
        """Measure the parts that are not cached, one after the other.

        Parameters
        ----------
        parts : sequence of Part, optional
            Only these; default: all.
        on_progress : callable (done, title)
            Called with the work done so far and the title of the current part.
        """
        report = _ignore_progress if on_progress is None else on_progress
        done = 0
        for part in self.parts if parts is None else parts:
            report(done, part.title)
            settings = part.settings(data)
            result = cache.get(settings)
            if result is None:
                part.rehearse(data)
                result = part.measure(data, _PartProgress(done, part, report))
                cache.put(settings, result)
            else:
                self.reused.append(part)
            # Convert as the cache does, so that cached and measured results are equal.
            self.results[part] = _as_json(result)
            done += part.work
            report(done, part.title)

    def verdicts(self) -> list[tuple[Claim, Verdict | None, str]]:
        """Return every claim with its verdict, or with None and the reason."""
        judged: list[tuple[Claim, Verdict | None, str]] = []
        for claim in self.experiment.claims:
            try:
                judged.append((claim, claim.judge(self.results), ""))
            except NotMeasured as missing:
                judged.append((claim, None, str(missing)))
        return judged

    def held(self) -> Held | None:
        """Return True if all claims held, False if none, "partly" otherwise; None if not judged."""
        found = [verdict.held for _, verdict, _ in self.verdicts() if verdict is not None]
        if not found:
            return None
        if all(held is True for held in found):
            return True
        return False if all(held is False for held in found) else "partly"


def _ignore_progress(_done: int, _title: str) -> None:
    """Ignore progress."""


class _PartProgress:
    """Callback that adds the work done before a part to the progress of the part."""

    def __init__(self, before: int, part: Part, on_progress: Callable[[int, str], None]) -> None:
        self._before, self._part, self._on_progress = before, part, on_progress

    def __call__(self, done: int) -> None:
        self._on_progress(self._before + min(done, self._part.work), self._part.title)
