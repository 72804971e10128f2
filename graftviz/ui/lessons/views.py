"""The states that lessons open, as typed settings, and their addresses.

Addresses are written by the code of the pages themselves, so that every link can be parsed. This
module does not depend on Streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from graftviz.ui.budget.options import BudgetOptions
from graftviz.ui.dynamics.options import DynamicsOptions
from graftviz.ui.race.url import Racer, RaceSettings, write_race
from graftviz.ui.regions.options import RegionOptions
from graftviz.ui.reservoir.options import ReservoirOptions
from graftviz.ui.url_state import Settings, Vocabulary, write, write_options_of

_CHOICE = "best-choice"


class View(NamedTuple):
    """A page in a prepared state.

    Attributes
    ----------
    page : str
        The path of its address; empty for the Grow page.
    settings : object
        Of the type that the page's address is written from.
    """

    page: str
    settings: object


def _grow(data: str, step: int = 0, *, compare: bool = False, **options: object) -> View:
    return View("", Settings(data, _CHOICE, options, step=step, compare=compare))


def _race(data: str, edges: int, axis: str, *racers: Racer) -> View:
    return View("race", RaceSettings(data, racers, edges=edges, axis=axis))


def _with_and_without_hubs(data: str, edges: int, alpha: float) -> View:
    racers = (Racer(_CHOICE, {"alpha": alpha, "hubs": hubs}) for hubs in (True, False))
    return _race(data, edges, "edges", *racers)


def _alphas(*alphas: float) -> tuple[Racer, ...]:
    return tuple(Racer(_CHOICE, {"alpha": alpha}) for alpha in alphas)


VIEWS: Mapping[str, tuple[View, ...]] = {
    "alpha": (
        _grow("les-miserables", 1, alpha=0.0),
        _grow("les-miserables", 1, alpha=1.0),
        _race("les-miserables", 231, "edges", *_alphas(0.0, 0.5, 1.0)),
    ),
    "reservoir": (
        View("reservoir", ReservoirOptions(reservoir=20)),
        View("reservoir", ReservoirOptions(reservoir=1)),
        View("reservoir", ReservoirOptions(reservoir=5)),
    ),
    "hub": (_grow("scale-free-60", 31), _grow("scale-free-60", 114)),
    "heuristic": (
        _with_and_without_hubs("les-miserables", 231, 0.5),
        _with_and_without_hubs("karate", 102, 0.0),
    ),
    "correlation": (
        _grow("scale-free-60", 4),
        _grow("scale-free-60", 69, compare=True),
    ),
    "vacuous": (
        View("regions", RegionOptions(t2=0.2)),
        View("regions", RegionOptions(t2=1.0)),
        View("regions", RegionOptions(t2=0.6, t1=3.0)),
        View("regions", RegionOptions(data="karate", query=33)),
    ),
    "lam": (
        _grow("scale-free-60", 114, lam=0.0035),
        _grow("scale-free-60", 44, lam=0.01),
        _grow("scale-free-60", lam=0.03),
    ),
    "first-hit": (
        _race(
            "scale-free-60",
            120,
            "tests",
            Racer("first-hit"),
            Racer(_CHOICE, {"alpha": 1.0}),
            Racer("edge-grafting"),
        ),
    ),
    "treewidth": tuple(
        View("budget", BudgetOptions(data="survey", bound=bound)) for bound in (1.0, 2.0, 5.0)
    ),
    "seeds": (
        View("dynamics", DynamicsOptions(seeds=6)),
        View("dynamics", DynamicsOptions(seeds=30)),
        View("dynamics", DynamicsOptions(learner="dense")),
    ),
}


def query_of(view: View, vocabulary: Vocabulary) -> dict[str, str]:
    """Return the query parameters that restore a view, as its page writes them.

    Parameters
    ----------
    view : View
    vocabulary : Vocabulary
        Of the Grow page.
    """
    settings = view.settings
    if isinstance(settings, Settings):
        return write(settings, vocabulary)
    if isinstance(settings, RaceSettings):
        return write_race(settings, vocabulary)
    return write_options_of(type(settings), vars(settings))


def address_of(view: View, vocabulary: Vocabulary, **more: str) -> str:
    """Return the address of a view, relative to that of any page.

    Parameters
    ----------
    view : View
    vocabulary : Vocabulary
    **more : str
        Further keys, which every page knows.
    """
    query = urlencode({**query_of(view, vocabulary), **more})
    return f"./{view.page}?{query}" if query else f"./{view.page}"
