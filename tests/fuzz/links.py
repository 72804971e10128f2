"""Links to every page: mutated queries, and their evaluation without Streamlit."""

from __future__ import annotations

import functools
import json
import re
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NoReturn

from graftviz.datasets import dataset_keys
from graftviz.learners.registry import learner_class, learner_names
from graftviz.options import option_specs
from graftviz.serving.scheduler import Scheduler
from graftviz.table import TableOptions
from graftviz.ui.budget.options import BudgetOptions
from graftviz.ui.budget.state import BudgetState
from graftviz.ui.dynamics.options import DynamicsOptions
from graftviz.ui.dynamics.state import DynamicsState
from graftviz.ui.frame.state import OptionsPage
from graftviz.ui.grow.state import GrowState
from graftviz.ui.inspect.options import InspectOptions
from graftviz.ui.prune.state import PruneState
from graftviz.ui.race.state import RaceState
from graftviz.ui.regions.options import RegionOptions
from graftviz.ui.regions.state import RegionState
from graftviz.ui.reservoir.options import ReservoirOptions
from tests.fuzz.cases import NUMBERS, Case, hostile_text

_RECORDED = Path(__file__).parents[1] / "golden" / "recorded" / "links"
_VALID = tuple(
    link
    for path in sorted(_RECORDED.glob("*.json"))
    for link in json.loads(path.read_text("utf-8"))
)
_SEPARATORS = ("&", "=", ":", ",", ";", "-", "%", "%26", "%3D", "%3A", "%25", "+", "%20", "&&", "#")
_CODES = (
    "%00",
    "%0a",
    "%0d%0a",
    "%1b",
    "%ff",
    "%ed%a0%80",
    "%c0%af",
    "%u0041",
    "%",
    "%2",
    "%e2%80%ae",
)


@functools.cache
def _keys() -> tuple[str, ...]:
    pages = (BudgetOptions, DynamicsOptions, RegionOptions, ReservoirOptions, TableOptions)
    classes = (*pages, *map(learner_class, learner_names()))
    found = {spec.name for cls in classes for spec in option_specs(cls)}
    found |= set(re.findall(r"(?:^|&)(\w+)=", "&".join(_VALID))) | {"present", "lesson", "lang"}
    return tuple(sorted(found))


@functools.cache
def _values() -> tuple[str, ...]:
    found = set(re.findall(r"=([^&]*)", "&".join(_VALID))) | set(dataset_keys())
    for cls in map(learner_class, learner_names()):
        found |= {str(choice) for spec in option_specs(cls) for choice in spec.choices}
    return tuple(sorted(found | {"yes", "no", "none", "true", "false", "auto", "upload", "run"}))


def link_case(rng: Random) -> Case:
    """Return the part of an address that stands behind the question mark."""
    parts = rng.choice(_VALID).split("&")
    for _ in range(rng.choice((0, 1, 1, 2, 3, 5))):
        _mutate_parts(rng, parts)
    query = "&".join(parts)
    if rng.random() < 0.2:
        at = rng.randint(0, len(query))
        piece = rng.choice((*_SEPARATORS, *_CODES, hostile_text(rng)))
        query = query[:at] + piece + query[at + rng.choice((0, 1, 3)) :]
    return Case("link", (), {"query": query})


def _mutate_parts(rng: Random, parts: list[str]) -> None:
    at = rng.randrange(len(parts)) if parts else 0
    key, _, value = (parts[at] if parts else "data=karate").partition("=")
    match rng.randrange(8):
        case 0 | 1:
            parts[at:at] = [f"{rng.choice(_keys())}={_quoted(rng, _new_value(rng))}"]
        case 2 | 3:
            parts[at : at + 1] = [f"{key}={_quoted(rng, _new_value(rng))}"]
        case 4:
            # Within a value: one part of a branch, of a racer, of evidence.
            pieces = re.split(r"([:,;=\-]|%3A|%2C|%3D|%26)", value)
            place = rng.randrange(len(pieces))
            pieces[place] = rng.choice((_new_value(rng), "", rng.choice(_SEPARATORS)))
            if rng.random() < 0.3:
                pieces *= rng.choice((2, 30, 400))
            parts[at : at + 1] = [f"{key}={''.join(pieces)}"]
        case 5:
            parts[at:at] = parts[at : at + 1] * rng.choice((1, 2, 100))
        case 6:
            del parts[at : at + 1]
        case _:
            parts[at : at + 1] = [f"{_quoted(rng, hostile_text(rng))}={value}"]


def _new_value(rng: Random) -> str:
    choice = rng.random()
    if choice < 0.4:
        return rng.choice(_values())
    if choice < 0.7:
        return rng.choice(NUMBERS)
    return hostile_text(rng)


def _quoted(rng: Random, text: str) -> str:
    if rng.random() < 0.2:
        return text
    return urllib.parse.quote(text, errors="surrogatepass")


# ---------------------------------------------------------------------------------- what is tested


def _unused(*_: Any) -> NoReturn:
    raise AssertionError("Following a link computes nothing.")


def follow_everywhere(query: str) -> list[str]:
    """Let every page follow a query; return its complaints.

    Raises
    ------
    AssertionError
        When what a page understood is not understood again from the address the page writes.
    """
    texts = urllib.parse.parse_qs(query, keep_blank_values=True)
    last = {name: values[-1] for name, values in texts.items()}
    complaints: list[str] = []
    for state in states():
        state.follow(last)
        complaints += state.complaints
        again = state.link()
        state.follow(again, is_navigation=True)
        assert not state.complaints, f"{type(state).__name__} complains about its own link"
        assert state.link() == again
    return complaints


def states() -> list[Any]:
    """Return new states of the pages that can be made without a session."""
    makers: tuple[Callable[[], Any], ...] = (
        BudgetState,
        DynamicsState,
        RegionState,
        lambda: GrowState(_unused, Scheduler().share()),
        lambda: RaceState(_unused, Scheduler().share()),
        lambda: PruneState(_unused, Scheduler().share()),
        lambda: OptionsPage(ReservoirOptions),
        lambda: OptionsPage(InspectOptions),
    )
    return [make() for make in makers]
