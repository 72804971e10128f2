"""Links carry settings there and back, and a bad link costs sentences, never the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st

from graftviz.options import OptionSpec, option, option_specs
from graftviz.ui.url_state import (
    MAX_SEED,
    UPLOAD,
    BranchPoint,
    Settings,
    UploadOptions,
    Vocabulary,
    has_presets,
    parse,
    write,
)


@dataclass(frozen=True)
class Greedy:
    alpha: float = option(0.75, "α", minimum=0.0, maximum=1.0)
    lam: float = option(1e-3, "λ", above=0.0, scale="log")
    hubs: bool = option(True, "hubs")
    max_edges: int | None = option(None, "budget", minimum=1, none_means="no budget")
    score: str = option("belief", "score", choices=("belief", "pseudo"))
    preset: str = option("best", "preset", choices=("best", "paper"))


@dataclass(frozen=True)
class Plain:
    lam: float = option(1e-3, "λ", above=0.0, scale="log")


VOCABULARY = Vocabulary(
    ("scale-free", "digits-2"), {"greedy": Greedy, "plain": Plain}, "scale-free", "greedy"
)


def values_of(spec: OptionSpec) -> st.SearchStrategy[Any]:
    if spec.kind == "bool":
        return st.booleans()
    if spec.kind == "choice":
        return st.sampled_from(spec.choices)
    low = spec.minimum if spec.minimum is not None else (spec.above or 0.0)
    if spec.kind == "int":
        numbers = st.integers(int(low), int(spec.maximum or 10**6))
        return st.none() | numbers if spec.optional else numbers
    high = spec.maximum if spec.maximum is not None else 1e6
    # Twelve digits are written; what they cannot tell apart is the same setting.
    floats = st.floats(low, high, exclude_min=spec.above is not None, allow_subnormal=False)
    return floats.map(lambda number: float(f"{number:.12g}")).filter(
        lambda number: low <= number <= high and (spec.above is None or number > low)
    )


def options_of(cls: type) -> st.SearchStrategy[dict[str, Any]]:
    optional = {spec.name: values_of(spec) for spec in option_specs(cls)}
    return st.fixed_dictionaries({}, optional=optional)


@st.composite
def settings_values(draw: st.DrawFn) -> Settings:
    learner = draw(st.sampled_from(["greedy", "plain"]))
    cls = VOCABULARY.learners[learner]
    data = draw(st.sampled_from([*VOCABULARY.data, UPLOAD]))
    fingerprints = st.just("") | st.text("0123456789abcdef", min_size=16, max_size=64)
    branches = st.builds(BranchPoint, st.integers(0, 10**6), options_of(cls))
    branch = draw(st.none() | branches)
    return Settings(
        data=data,
        learner=learner,
        options=draw(options_of(cls)),
        seed=draw(st.integers(0, MAX_SEED)),
        step=draw(st.integers(0, 10**6)),
        branch=branch,
        compare=draw(st.booleans()) if branch is None and has_presets(cls) else False,
        fingerprint=draw(fingerprints) if data == UPLOAD else "",
        reading=draw(options_of(UploadOptions)) if data == UPLOAD else {},
    )


@given(settings_values())
def test_links_carry_settings_there_and_back(settings: Settings) -> None:
    parsed = parse(write(settings, VOCABULARY), VOCABULARY)
    assert parsed.settings == settings
    assert parsed.complaints == ()


COMPARISONS = {
    "other": ({"compare": "paper"}, "compared with best, not 'paper'"),
    "branch": ({"compare": "best", "branch": "3:alpha=0"}, "A branch cannot be compared"),
    "no presets": ({"compare": "best", "learner": "plain"}, "no presets"),
}


@pytest.mark.parametrize(("query", "sentence"), COMPARISONS.values(), ids=COMPARISONS)
def test_a_comparison_that_means_nothing_costs_a_sentence(
    query: dict[str, str], sentence: str
) -> None:
    parsed = parse(query, VOCABULARY)
    assert not parsed.settings.compare
    assert len(parsed.complaints) == 1
    assert sentence in parsed.complaints[0]


def test_an_older_links_preset_is_mapped_with_a_sentence() -> None:
    parsed = parse({"preset": "default", "alpha": "0.5"}, VOCABULARY)
    assert parsed.settings.options == {"alpha": 0.5}
    assert len(parsed.complaints) == 1
    assert "now called paper" in parsed.complaints[0]


NAMES = st.sampled_from(
    [
        "data",
        "learner",
        "alpha",
        "lam",
        "hubs",
        "max_edges",
        "seed",
        "step",
        "branch",
        "bins",
        "compare",
    ]
)
TEXTS = st.text(max_size=80) | st.sampled_from(
    ["nan", "inf", "-1", "1e400", "9" * 400, "٣", "7:", "7:alpha", "7:alpha=2,x=1", "upload", ""]
)


@given(st.dictionaries(NAMES | st.text(max_size=12), TEXTS | st.lists(TEXTS, max_size=3)))
def test_any_link_gives_usable_settings(query: dict[str, Any]) -> None:
    parsed = parse(query, VOCABULARY)
    settings, complaints = parsed.settings, parsed.complaints
    cls = VOCABULARY.learners[settings.learner]
    cls(**settings.options)
    UploadOptions(**settings.reading)
    if settings.branch is not None:
        cls(**{**settings.options, **settings.branch.options})
    assert all(text.endswith((".", "used.")) and "\n" not in text for text in complaints)
    # What was understood is what a second reading understands.
    assert parse(write(settings, VOCABULARY), VOCABULARY).settings == settings


def test_defaults_are_not_written() -> None:
    assert write(Settings("scale-free", "greedy"), VOCABULARY) == {}
    assert parse({}, VOCABULARY).settings == Settings("scale-free", "greedy")


def test_a_full_link() -> None:
    query = {
        "data": "digits-2",
        "alpha": "0.5",
        "max_edges": "none",
        "seed": "3",
        "step": "12",
        "branch": "7:alpha=0.2,hubs=false",
    }
    parsed = parse(query, VOCABULARY)
    assert parsed.complaints == ()
    assert parsed.settings == Settings(
        "digits-2",
        "greedy",
        {"alpha": 0.5, "max_edges": None},
        seed=3,
        step=12,
        branch=BranchPoint(7, {"alpha": 0.2, "hubs": False}),
    )


BAD = {
    "unknown data": ({"data": "mars"}, "There is no data set 'mars'"),
    "unknown learner": ({"learner": "guess"}, "There is no learner 'guess'"),
    "out of range": ({"alpha": "1.5"}, "Option alpha must be at least 0 and at most 1"),
    "no number": ({"alpha": "much"}, "Option alpha must be a number"),
    "not finite": ({"lam": "nan"}, "Option lam must be finite"),
    "no truth value": ({"hubs": "maybe"}, "Option hubs must be true or false"),
    "absurd number": ({"max_edges": "9" * 400}, "The value of 'max_edges' is too long"),
    "unknown choice": ({"score": "guess"}, "Option score must be one of belief, pseudo"),
    "negative seed": ({"seed": "-3"}, "The seed must be a whole number from 0"),
    "huge seed": ({"seed": "4294967296"}, "The seed must be a whole number from 0"),
    "no step": ({"step": "1.5"}, "The step must be a whole number from 0"),
    "no branch": ({"branch": "alpha=0.2"}, "A branch is written as step:option=value"),
    "branch option": ({"branch": "7:beta=0.2"}, "A branch cannot change 'beta'"),
    "branch value": ({"branch": "7:alpha=7"}, "Option alpha must be at least 0"),
    "unknown key": ({"beta": "1"}, "Unknown setting 'beta'"),
    "another's option": ({"learner": "plain", "alpha": "0.5"}, "'alpha' does not apply to plain"),
    "reading without upload": ({"bins": "3"}, "'bins' does not apply to greedy on scale-free"),
    "stray fingerprint": ({"fingerprint": "ab" * 8}, "A fingerprint applies to uploaded data"),
    "no fingerprint": (
        {"data": "upload", "fingerprint": "xyz"},
        "'xyz' is not a fingerprint of data",
    ),
    "twice": ({"seed": ["1", "2"]}, "'seed' occurs twice in the link"),
}


@pytest.mark.parametrize(("query", "sentence"), BAD.values(), ids=BAD)
def test_one_bad_value_costs_one_sentence_and_nothing_else(
    query: dict[str, Any], sentence: str
) -> None:
    parsed = parse({"step": "4", **query}, VOCABULARY)
    assert len(parsed.complaints) == 1
    assert sentence in parsed.complaints[0]
    if "step" not in query:
        assert parsed.settings.step == 4
