"""Settings of the Race page: data, racers, and the position that is shown.

``?data=karate&seed=3&edges=80&r1=best-choice:alpha=0.5&r2=first-hit&axis=tests&at=4000``: one
parameter per racer, so that a link runs the same race again.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from graftviz.app.url import DataOptions, LearnerChoice, LinkReader, changes_text, part
from graftviz.evaluation.race import AXES
from graftviz.learning.registry import learner_class, learner_names
from graftviz.utils.options import option
from graftviz.utils.wording import quoted

MOST_RACERS = 6
MOST_EDGES = 10**9
END = "end"  # a position: where all racers have arrived
_LONG_POSITION = 1e11  # from here on written with an exponent
_LARGEST_POSITION = 1e90
_NUMBER = re.compile(r"\d{1,12}(\.\d{0,12})?(e-?\d{1,2})?", re.ASCII)

LINE_UP = (
    *(LearnerChoice("best-choice", {"alpha": alpha}) for alpha in (0.25, 0.5, 1.0)),
    LearnerChoice("edge-grafting"),
    LearnerChoice("edge-grafting", {"rescoring": "all"}),
    LearnerChoice("first-hit"),
)


def _read_racers(link: LinkReader, _: object) -> tuple[LearnerChoice, ...]:
    names = [name for name in link.left if re.fullmatch(r"r[1-9]\d?", name)]
    names.sort(key=lambda name: int(name[1:]))
    texts = [(name, link.left.pop(name).strip()) for name in names]
    if rest := ", ".join(names[MOST_RACERS:]):
        link.complaints.append(f"At most {MOST_RACERS} racers are possible; ignored {rest}.")
    racers = [_racer(name, text, link) for name, text in texts[:MOST_RACERS]]
    return tuple(racer for racer in racers if racer is not None) or LINE_UP


def _racer(name: str, text: str, link: LinkReader) -> LearnerChoice | None:
    learner, _, changes = text.partition(":")
    learner = learner.strip()
    if learner not in learner_names():
        link.complaints.append(
            f"{name}: a racer is written as learner:option=value, for example "
            f"best-choice:alpha=0.5, where the learner is one of {', '.join(learner_names())}, not "
            f"{quoted(text)}; ignored."
        )
        return None
    own = LinkReader({})
    unknown = f"{learner} has no option {{}}; ignored."
    options = own.take_changes(changes, learner_class(learner), unknown)
    link.complaints += [f"{name}: {sentence}" for sentence in own.complaints]
    return LearnerChoice(learner, options)


def _racer_texts(racers: tuple[LearnerChoice, ...]) -> dict[str, str]:
    return {
        f"r{k}": ":".join(filter(None, [racer.learner, changes_text(racer.options)]))
        for k, racer in enumerate(racers, start=1)
    }


def _read_position(link: LinkReader, _: object) -> float:
    def read(text: str) -> float | None:
        if text == END:
            return math.inf
        is_position = _NUMBER.fullmatch(text) and float(text) <= _LARGEST_POSITION
        return float(text) if is_position else None

    rule = (
        f"The position must be a number of at least 0, or {END}, not {{}}; showing the start of "
        "the race."
    )
    return link.take("at", 0.0, read, rule)


def _position_text(at: float) -> str:
    """Return a position in six digits without a plus sign, which addresses read as a space."""
    if math.isinf(at):
        return END
    text = f"{at:.6g}"
    if "e+" not in text:
        return text
    return f"{float(text):.0f}" if at < _LONG_POSITION else text.replace("e+", "e")


@dataclass(frozen=True)
class RaceOptions(DataOptions):
    """Settings of the page.

    Attributes
    ----------
    racers : tuple of LearnerChoice
    at : float
        Position on the axis; infinity is the end, which depends on the machine.
    """

    edges: int | None = option(
        None,
        "Edge budget of each racer that does not set its own",
        label="Edges each",
        minimum=1,
        maximum=MOST_EDGES,
        none_means="3n, three per variable",
    )
    racers: tuple[LearnerChoice, ...] = part(
        LINE_UP, _read_racers, _racer_texts, {f"r{k}": 600 for k in range(1, MOST_RACERS + 1)}
    )
    # By default tests: these are the same on every machine, unlike seconds.
    axis: str = option("tests", "Cost at which racers are compared", choices=tuple(AXES))
    at: float = part(0.0, _read_position, lambda at: {"at": _position_text(at)})
