"""The address of a race: one key per racer, so that a pasted link runs the same race again.

``?data=karate&seed=3&edges=80&r1=best-choice:alpha=0.5&r2=first-hit&axis=tests&at=4000``. What is
shared with other pages (data, seed, how an upload is read) is read by :mod:`graftviz.ui.url_state`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graftviz.options import option_specs
from graftviz.racing import AXES
from graftviz.ui import url_state
from graftviz.ui.url_state import (
    LinkReader,
    Settings,
    UploadOptions,
    Vocabulary,
    one_of,
    whole_number,
)
from graftviz.wording import quoted

MOST_RACERS = 6
MOST_EDGES = 10**9
DEFAULT_AXIS = "tests"  # the same on every machine, unlike seconds
END = "end"  # a position: where all racers have arrived
_LONGEST_RACER = 600
_LONGEST_PARAMETER = 100_000
_LONG_POSITION = 1e11  # from here on written with an exponent
_LARGEST_POSITION = 1e90
_NUMBER = re.compile(r"\d{1,12}(\.\d{0,12})?(e-?\d{1,2})?", re.ASCII)
_SHARED = ("data", "seed", "fingerprint", *(spec.name for spec in option_specs(UploadOptions)))


@dataclass(frozen=True)
class Racer:
    """Racer: a learner and the options chosen for it."""

    learner: str
    options: Mapping[str, Any] = field(default_factory=dict)


LINE_UP = (
    *(Racer("best-choice", {"alpha": alpha}) for alpha in (0.25, 0.5, 0.75, 1.0)),
    Racer("edge-grafting"),
    Racer("first-hit"),
)


@dataclass(frozen=True)
class RaceSettings:
    """Everything that decides what the page shows.

    Attributes
    ----------
    data : str
        Key of a data set, or ``"upload"``.
    racers : tuple of Racer
    seed : int
    edges : int or None
        How many edges each racer may take that has no budget of its own; None: 2n.
    axis : str
        Key of :data:`graftviz.racing.AXES`.
    at : float
        Position on that axis; infinity is the end, whatever that is on this machine.
    fingerprint, reading
        Of uploaded data, see :class:`graftviz.ui.url_state.Settings`.
    """

    data: str
    racers: tuple[Racer, ...] = LINE_UP
    seed: int = 0
    edges: int | None = None
    axis: str = DEFAULT_AXIS
    at: float = 0.0
    fingerprint: str = ""
    reading: Mapping[str, Any] = field(default_factory=dict)


class ParsedRace(NamedTuple):
    """Settings of a link, with one sentence per part that could not be used."""

    settings: RaceSettings
    complaints: tuple[str, ...]


def write_race(settings: RaceSettings, vocabulary: Vocabulary) -> dict[str, str]:
    """Return the query parameters of `settings`; :func:`parse_race` reads them back."""
    shared = Settings(
        settings.data,
        vocabulary.default_learner,
        seed=settings.seed,
        fingerprint=settings.fingerprint,
        reading=settings.reading,
    )
    query = url_state.write(shared, vocabulary)
    if settings.edges is not None:
        query["edges"] = str(settings.edges)
    if settings.racers != LINE_UP:
        for k, racer in enumerate(settings.racers, start=1):
            query[f"r{k}"] = _racer_text(racer, vocabulary)
    if settings.axis != DEFAULT_AXIS:
        query["axis"] = settings.axis
    if settings.at > 0:
        query["at"] = _position_text(settings.at)
    return query


def parse_race(query: Mapping[str, str | Sequence[str]], vocabulary: Vocabulary) -> ParsedRace:
    """Parse query parameters; invalid ones are ignored and reported as complaints."""
    shared = url_state.parse({k: v for k, v in query.items() if k in _SHARED}, vocabulary)
    own = {name: value for name, value in query.items() if name not in _SHARED}
    link = LinkReader(own, dict.fromkeys(own, _LONGEST_PARAMETER))
    link.complaints += shared.complaints
    settings = RaceSettings(
        data=shared.settings.data,
        seed=shared.settings.seed,
        fingerprint=shared.settings.fingerprint,
        reading=shared.settings.reading,
        edges=link.take(
            "edges",
            None,
            whole_number(1, MOST_EDGES),
            "The edge budget of the racers must be a whole number of at least 1, not {}; using "
            "two edges per variable.",
        ),
        axis=link.take(
            "axis",
            DEFAULT_AXIS,
            one_of(AXES),
            f"The axis must be one of {', '.join(AXES)}, not {{}}; using {DEFAULT_AXIS}.",
        ),
        at=link.take(
            "at",
            0.0,
            _position,
            f"The position must be a number of at least 0, or {END}, not {{}}; showing the start "
            "of the race.",
        ),
        racers=_racers(link, vocabulary),
    )
    return ParsedRace(settings, link.reject_rest())


def _position_text(at: float) -> str:
    """Write a position in six digits and without a plus sign, which addresses read as a space."""
    if math.isinf(at):
        return END
    text = f"{at:.6g}"
    if "e+" not in text:
        return text
    return f"{float(text):.0f}" if at < _LONG_POSITION else text.replace("e+", "e")


def _racer_text(racer: Racer, vocabulary: Vocabulary) -> str:
    texts = url_state.write(
        Settings(vocabulary.default_data, vocabulary.default_learner, racer.options), vocabulary
    )
    changes = ",".join(f"{name}={text}" for name, text in texts.items())
    return f"{racer.learner}:{changes}" if changes else racer.learner


def _position(text: str) -> float | None:
    if text == END:
        return math.inf
    is_position = _NUMBER.fullmatch(text) and float(text) <= _LARGEST_POSITION
    return float(text) if is_position else None


def _racers(link: LinkReader, vocabulary: Vocabulary) -> tuple[Racer, ...]:
    names = [name for name in link.left if re.fullmatch(r"r[1-9]\d?", name)]
    texts = {name: link.left.pop(name).strip() for name in sorted(names, key=lambda n: int(n[1:]))}
    if len(texts) > MOST_RACERS:
        rest = ", ".join(list(texts)[MOST_RACERS:])
        link.complaints.append(f"At most {MOST_RACERS} racers are possible; ignored {rest}.")
    found = [
        _racer(name, text, vocabulary, link.complaints)
        for name, text in list(texts.items())[:MOST_RACERS]
    ]
    return tuple(racer for racer in found if racer is not None) or LINE_UP


def _racer(name: str, text: str, vocabulary: Vocabulary, complaints: list[str]) -> Racer | None:
    learner, _, changes = text.partition(":")
    learner = learner.strip()
    if len(text) > _LONGEST_RACER or learner not in vocabulary.learners:
        complaints.append(
            f"{name}: a racer is written as learner:option=value, for example "
            f"{vocabulary.default_learner}:alpha=0.5, where the learner is one of "
            f"{', '.join(vocabulary.learners)}, not {quoted(text)}; ignored."
        )
        return None
    names = {spec.name for spec in option_specs(vocabulary.learners[learner])}
    own: dict[str, str] = {}
    for change in filter(None, changes.split(",")):
        option, _, value = (part.strip() for part in change.partition("="))
        if option in names:
            own[option] = value
        else:
            complaints.append(f"{name}: {learner} has no option {quoted(option)}; ignored.")
    # Links omit the default learner, so it is named here.
    parsed = url_state.parse({"learner": learner, **own}, vocabulary)
    complaints += [f"{name}: {sentence}" for sentence in parsed.complaints]
    return Racer(learner, parsed.settings.options)
