"""The machinery of ``reproduce``: experiments of the papers, their parts, and what came of them.

An experiment is declared (:class:`Experiment`): its study says which parts are to be measured at
each scale and how they are drawn, its claims say what the paper states and judge what was
measured. A part is what is measured at one go, such as one learner on one data set; finished
parts are kept in files, keyed by their settings, and not measured again.
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
_KEPT_FORMAT = 1  # raised when results of parts change their meaning


class NotMeasured(Exception):
    """A claim cannot be judged, because what it is about was not measured."""


class Part(ABC):
    """What is measured at one go."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What is being measured, in a few words."""

    @property
    @abstractmethod
    def work(self) -> int:
        """About how much work it is, for the progress bar: edges to be learned."""

    @property
    def source(self) -> str:
        """Where its data come from: "generated", or the name of a data set to be given."""
        return GENERATED

    @abstractmethod
    def settings(self, data: Data) -> dict[str, Any]:
        """Return what decides about the result, as JSON has it."""

    @abstractmethod
    def rehearse(self, data: Data) -> None:
        """Do the same on tiny data, so that nothing is compiled while time counts."""

    @abstractmethod
    def measure(self, data: Data, tell: Callable[[int], None]) -> dict[str, Any]:
        """Measure; call `tell` with how much of the work is done. The result is JSON."""


class Verdict(NamedTuple):
    """Whether a claim held here.

    Attributes
    ----------
    held : bool or "partly"
    sentence : str
        What was measured, and where it differs from the paper.
    numbers : dict
        The same as numbers, by name.
    """

    held: Held
    sentence: str
    numbers: dict[str, Any]


Results = Mapping[Part, dict[str, Any]]


@dataclass(frozen=True)
class Claim:
    """One statement of a paper.

    Attributes
    ----------
    words : str
        What the paper says, in our words.
    judge : callable (results) -> Verdict
        Raises :class:`NotMeasured` when parts it needs are missing.
    """

    words: str
    judge: Callable[[Results], Verdict]


class Study(ABC):
    """How an experiment is measured and shown."""

    @abstractmethod
    def parts(self, scale: str, seed: int) -> Sequence[Part]:
        """Return all parts at a scale."""

    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """Return the names of the data sets that have to be given."""

    def accepts(self) -> tuple[str, ...]:
        """Return the names of the data sets that, where given, replace generated data."""
        return ()

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share, and why they are what they are."""

    @abstractmethod
    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw what was measured."""

    @abstractmethod
    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield the data behind the figure as rows; the first holds the names of the columns."""

    @abstractmethod
    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return what came of every part, in a few numbers."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper, declared.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title : str
        What it shows.
    place : str
        Paper, figure or table, and section.
    study : Study
    claims : tuple of Claim
    notes : tuple of str
        What differs from the paper, and settings that the paper leaves open.
    cost : dict
        By scale: about how long it takes on two cores.
    """

    name: str
    title: str
    place: str
    study: Study
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()
    cost: Mapping[str, str] = field(default_factory=dict)


class KeptParts:
    """Results of finished parts, one small file each.

    Parameters
    ----------
    folder : Path
        Made when the first part is kept.
    fresh : bool
        Leave earlier results aside; they are replaced as parts are measured again.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder = folder
        self._fresh = fresh

    def get(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what a part of these settings gave, if that was kept and can be read."""
        if self._fresh:
            return None
        try:
            kept = json.loads(self._path(settings).read_text(encoding="utf-8"))
            if kept["settings"] != _as_json(settings):
                return None
            result: dict[str, Any] = kept["result"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return result

    def put(self, settings: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Keep the result of a part."""
        self._folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"settings": settings, "result": result}, allow_nan=False)
        write_whole(self._path(settings), content)

    def _path(self, settings: Mapping[str, Any]) -> Path:
        text = json.dumps([_KEPT_FORMAT, __version__, settings], sort_keys=True)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@dataclass
class Reproduction:
    """An experiment being measured.

    Attributes
    ----------
    experiment : Experiment
    scale : str
    seed : int
    results : dict
        What every finished part gave, by part.
    reused : list of Part
        Those of the results that were kept from earlier.
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
        """Whether all, some or none of the parts were measured."""
        if not self.results:
            return "not run"
        return "run" if len(self.results) == len(self.parts) else "partly run"

    def measure(
        self,
        data: Data,
        kept: KeptParts,
        *,
        parts: Sequence[Part] | None = None,
        tell: Callable[[int, str], None] | None = None,
    ) -> None:
        """Measure the parts that are not kept, one after the other.

        Parameters
        ----------
        parts : sequence of Part, optional
            Only these; default: all.
        tell : callable (done, title)
            Told how much of the work is done, and what is being done.
        """
        told = _silent if tell is None else tell
        done = 0
        for part in self.parts if parts is None else parts:
            told(done, part.title)
            settings = part.settings(data)
            result = kept.get(settings)
            if result is None:
                part.rehearse(data)
                result = part.measure(data, _Telling(done, part, told))
                kept.put(settings, result)
            else:
                self.reused.append(part)
            # As it would be read again, so that a part that was kept makes no difference.
            self.results[part] = _as_json(result)
            done += part.work
            told(done, part.title)

    def verdicts(self) -> list[tuple[Claim, Verdict | None, str]]:
        """Return every claim with its verdict, or None and why there is none."""
        judged: list[tuple[Claim, Verdict | None, str]] = []
        for claim in self.experiment.claims:
            try:
                judged.append((claim, claim.judge(self.results), ""))
            except NotMeasured as missing:
                judged.append((claim, None, str(missing)))
        return judged

    def held(self) -> Held | None:
        """Return whether all claims held, none, or some; None while none can be judged."""
        found = [verdict.held for _, verdict, _ in self.verdicts() if verdict is not None]
        if not found:
            return None
        if all(held is True for held in found):
            return True
        return False if all(held is False for held in found) else "partly"


def _silent(_done: int, _title: str) -> None:
    """Tell nobody."""


class _Telling:
    """Adds what was done before a part to what the part says is done, at most its work."""

    def __init__(self, before: int, part: Part, tell: Callable[[int, str], None]) -> None:
        self._before, self._part, self._tell = before, part, tell

    def __call__(self, done: int) -> None:
        self._tell(self._before + min(done, self._part.work), self._part.title)
