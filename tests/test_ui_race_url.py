"""The address of a race: what is written is read back, what cannot be used costs a sentence."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from graftviz.material import UPLOAD
from graftviz.ui.race.options import LINE_UP, MOST_RACERS, RaceOptions
from graftviz.ui.url_state import LearnerChoice, parse_options_of, write_options_of

RACERS = st.one_of(
    st.builds(
        lambda alpha, preset: LearnerChoice("best-choice", {"alpha": alpha, "preset": preset}),
        st.floats(0, 1),
        st.sampled_from(["paper", "best"]),
    ),
    st.builds(lambda lam: LearnerChoice("edge-grafting", {"lam": lam}), st.floats(1e-6, 1)),
    st.just(LearnerChoice("chow-liu")),
)


def parsed(query: dict[str, str]) -> tuple[RaceOptions, tuple[str, ...]]:
    values, complaints = parse_options_of(RaceOptions, query)
    return RaceOptions(**values), complaints


def written(settings: RaceOptions) -> dict[str, str]:
    return write_options_of(RaceOptions, vars(settings))


@given(
    racers=st.lists(RACERS, min_size=1, max_size=MOST_RACERS),
    data=st.sampled_from(["karate", "survey"]),
    axis=st.sampled_from(["seconds", "tests", "edges"]),
    seed=st.integers(0, 2**32 - 1),
    edges=st.none() | st.integers(1, 10**9),
    at=st.just(math.inf)
    | st.floats(0, 1e9).map(lambda x: float(f"{x:.6g}")).filter(lambda x: x == 0 or x > 1e-9),
)
def test_what_is_written_is_read_back(
    racers: list[LearnerChoice], data: str, axis: str, seed: int, edges: int | None, at: float
) -> None:
    settings = RaceOptions(
        data=data, racers=tuple(racers), seed=seed, edges=edges, axis=axis, at=at
    )
    assert parsed(written(settings)) == (settings, ())


def test_an_empty_address_is_the_usual_line_up_and_the_other_way_round() -> None:
    assert parsed({}) == (RaceOptions(), ())
    assert written(RaceOptions()) == {}
    assert len(LINE_UP) == MOST_RACERS
    assert RaceOptions().axis == "tests", "who wins by seconds depends on the machine"


def test_uploads_keep_their_fingerprint_and_reading() -> None:
    settings = RaceOptions(data=UPLOAD, fingerprint="0123456789abcdef", reading={"bins": 7})
    assert parsed(written(settings)) == (settings, ())


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"data": "third"}, "third"),
        ({"axis": "miles"}, "miles"),
        ({"at": "-3"}, "-3"),
        ({"at": "nan"}, "nan"),
        ({"at": "9" * 50}, "position"),
        ({"at": "9" * 300}, "too long"),
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
    settings, complaints = parsed(query)
    assert len(complaints) == 1
    assert words in complaints[0]
    assert len(complaints[0]) < 400
    assert 1 <= len(settings.racers) <= MOST_RACERS
    # What is left can be written and read without any complaint.
    assert parsed(written(settings)) == (settings, ())


def test_a_bad_racer_does_not_keep_the_good_ones_out() -> None:
    settings, _ = parsed({"r1": "nobody", "r2": "first-hit:max_edges=5"})
    assert settings.racers == (LearnerChoice("first-hit", {"max_edges": 5}),)
