"""Settings of a page that are one dataclass of options, and their address."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from graftviz.options import option
from graftviz.ui.frame.state import OptionsPage
from graftviz.ui.reservoir.options import ReservoirOptions
from graftviz.ui.url_state import part


def page(**query: str) -> OptionsPage[ReservoirOptions]:
    state = OptionsPage(ReservoirOptions)
    state.follow(query)
    return state


def test_only_what_differs_is_written_and_reading_gives_it_back() -> None:
    state = page()
    assert state.link() == {}
    for name, value in {"n": 50, "alpha": 0.3, "logarithmic": True, "data": "karate"}.items():
        state.choose(name, value)
    link = state.link()
    assert link == {"n": "50", "alpha": "0.3", "logarithmic": "true", "data": "karate"}
    assert page(**link).options == state.options
    state.choose("n", 400)
    assert "n" not in state.link()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("n", "1"),
        ("n", "many"),
        ("n", "9" * 100),
        ("alpha", "nan"),
        ("alpha", "1.5"),
        ("data", "../../secret"),
        ("logarithmic", "perhaps"),
        ("nonsense", "1"),
    ],
)
def test_what_cannot_be_used_costs_a_sentence(name: str, text: str) -> None:
    state = page(**{name: text, "trials": "7"})
    assert len(state.complaints) == 1
    assert name in state.complaints[0]
    assert state.options == ReservoirOptions(trials=7)
    state.choose("seed", 1)
    assert state.complaints == ()


def test_an_address_of_ours_that_is_a_moment_old_undoes_nothing() -> None:
    state = page(n="50")
    state.choose("n", 60)
    state.link()
    state.follow({"n": "50"})
    assert state.options.n == 60
    state.follow({"n": "50"}, is_navigation=True)
    assert state.options.n == 50
    state.follow({"n": "70"})
    assert state.options.n == 70


@dataclass(frozen=True)
class NotedOptions:
    """Options with a part of the address that is none."""

    n: int = option(1, "number")
    note: str = part("", lambda link, _: link.left.pop("note", ""), lambda text: {"note": text})
    step: int = option(0, "step")


class NotedPage(OptionsPage[NotedOptions]):
    """Page whose note is about its number."""

    resets = {"n": ("note",)}  # noqa: RUF012


def test_places_and_what_else_an_address_carries() -> None:
    state = NotedPage(NotedOptions, places=("step",))
    assert state.follow({"step": "3"})  # the first address a page sees is somebody's link
    assert state.options.step == 3
    state.choose("n", 50)
    assert not state.follow({"step": "4"})  # the browser moved on by itself
    assert (state.options.step, state.options.n) == (3, 50)
    assert state.follow({"note": "a"})
    assert state.options.note == "a"
    assert state.complaints == ()
    assert state.link() == {"note": "a"}
    assert not state.follow({"note": "a", "step": "9"})
    assert state.follow({"note": "b"})
    state.move({"step": 7.0, "n": 3})
    assert (state.options.step, state.options.n) == (7, 1)
    state.choose("n", 5)
    assert state.link() == {"n": "5", "step": "7"}
