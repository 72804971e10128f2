"""The address of a race: what is written is read back, what cannot be used costs a sentence."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from graftviz.learners.registry import learner_class, learner_names
from graftviz.ui.race.url import (
    LINE_UP,
    MOST_RACERS,
    Racer,
    RaceSettings,
    parse_race,
    write_race,
)
from graftviz.ui.url_state import UPLOAD, Vocabulary

LEARNERS = {name: learner_class(name) for name in learner_names()}
VOCABULARY = Vocabulary(("first", "second"), LEARNERS, "first", "best-choice")
RACERS = st.one_of(
    st.builds(
        lambda alpha, preset: Racer("best-choice", {"alpha": alpha, "preset": preset}),
        st.floats(0, 1),
        st.sampled_from(["paper", "best"]),
    ),
    st.builds(lambda lam: Racer("edge-grafting", {"lam": lam}), st.floats(1e-6, 1)),
    st.just(Racer("chow-liu")),
)


@given(
    racers=st.lists(RACERS, min_size=1, max_size=MOST_RACERS),
    data=st.sampled_from(["first", "second"]),
    axis=st.sampled_from(["seconds", "tests", "edges"]),
    seed=st.integers(0, 2**32 - 1),
    edges=st.none() | st.integers(1, 10**9),
    at=st.just(math.inf)
    | st.floats(0, 1e9).map(lambda x: float(f"{x:.6g}")).filter(lambda x: x == 0 or x > 1e-9),
)
def test_what_is_written_is_read_back(
    racers: list[Racer], data: str, axis: str, seed: int, edges: int | None, at: float
) -> None:
    settings = RaceSettings(data, tuple(racers), seed, edges, axis, at)
    parsed = parse_race(write_race(settings, VOCABULARY), VOCABULARY)
    assert parsed.complaints == ()
    assert parsed.settings == settings


def test_an_empty_address_is_the_usual_line_up_and_the_other_way_round() -> None:
    assert parse_race({}, VOCABULARY).settings == RaceSettings("first")
    assert write_race(RaceSettings("first"), VOCABULARY) == {}
    assert len(LINE_UP) == MOST_RACERS


def test_uploads_keep_their_fingerprint_and_reading() -> None:
    settings = RaceSettings(UPLOAD, fingerprint="0123456789abcdef", reading={"bins": 7})
    assert parse_race(write_race(settings, VOCABULARY), VOCABULARY).settings == settings


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"data": "third"}, "third"),
        ({"axis": "miles"}, "miles"),
        ({"at": "-3"}, "-3"),
        ({"at": "nan"}, "nan"),
        ({"at": "9" * 300}, "position"),
        ({"edges": "0"}, "0"),
        ({"edges": "many"}, "many"),
        ({"seed": "x"}, "seed"),
        ({"r1": "nobody"}, "nobody"),
        ({"r1": "best-choice:alpha=9"}, "alpha"),
        ({"r1": "best-choice:colour=red"}, "colour"),
        ({"r1": "best-choice:step=4"}, "step"),
        ({"r1": "x" * 5000}, "r1"),
        ({"r0": "first-hit"}, "r0"),
        ({"alpha": "0.5"}, "alpha"),
        ({"step": "3"}, "step"),
        ({"<b>": "1"}, "<b>"),
        ({"fingerprint": "zz"}, "fingerprint"),
        ({f"r{k}": "first-hit" for k in range(1, 9)}, "r7, r8"),
    ],
)
def test_what_cannot_be_used_costs_a_sentence(query: dict[str, str], words: str) -> None:
    parsed = parse_race(query, VOCABULARY)
    assert len(parsed.complaints) == 1
    assert words in parsed.complaints[0]
    assert len(parsed.complaints[0]) < 400
    assert 1 <= len(parsed.settings.racers) <= MOST_RACERS
    # What is left can be written and read without any complaint.
    again = parse_race(write_race(parsed.settings, VOCABULARY), VOCABULARY)
    assert again.complaints == ()
    assert again.settings == parsed.settings


def test_a_bad_racer_does_not_keep_the_good_ones_out() -> None:
    parsed = parse_race({"r1": "nobody", "r2": "first-hit:max_edges=5"}, VOCABULARY)
    assert parsed.settings.racers == (Racer("first-hit", {"max_edges": 5}),)


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=80), max_size=6))
def test_no_address_breaks_it(query: dict[str, str]) -> None:
    parsed = parse_race(query, VOCABULARY)
    assert parse_race(write_race(parsed.settings, VOCABULARY), VOCABULARY).complaints == ()
