"""Links carry settings there and back, and a bad link costs sentences, never the rest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from graftviz.learners.registry import learner_class
from graftviz.material import UPLOAD
from graftviz.options import OptionSpec, option_specs
from graftviz.table import TableOptions
from graftviz.ui.grow.options import BranchPoint, GrowOptions, has_presets
from graftviz.ui.url_state import MAX_SEED, parse_options_of, write_options_of


def parsed(query: dict[str, str]) -> tuple[GrowOptions, tuple[str, ...]]:
    values, complaints = parse_options_of(GrowOptions, query)
    return GrowOptions(**values), complaints


def written(settings: GrowOptions) -> dict[str, str]:
    return write_options_of(GrowOptions, vars(settings))


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
def settings_values(draw: st.DrawFn) -> GrowOptions:
    learner = draw(st.sampled_from(["best-choice", "chow-liu"]))
    cls = learner_class(learner)
    data = draw(st.sampled_from(["scale-free-60", "digits-2", UPLOAD]))
    fingerprints = st.just("") | st.text("0123456789abcdef", min_size=16, max_size=64)
    branches = st.builds(BranchPoint, st.integers(0, 10**6), options_of(cls))
    branch = draw(st.none() | branches)
    return GrowOptions(
        data=data,
        learner=learner,
        options=draw(options_of(cls)),
        seed=draw(st.integers(0, MAX_SEED)),
        step=draw(st.integers(0, 10**6)),
        branch=branch,
        compare=draw(st.booleans()) if branch is None and has_presets(learner) else False,
        fingerprint=draw(fingerprints) if data == UPLOAD else "",
        reading=draw(options_of(TableOptions)) if data == UPLOAD else {},
    )


@given(settings_values())
def test_links_carry_settings_there_and_back(settings: GrowOptions) -> None:
    assert parsed(written(settings)) == (settings, ())


COMPARISONS = {
    "other": ({"compare": "paper"}, "compared with best, not 'paper'"),
    "branch": ({"compare": "best", "branch": "3:alpha=0"}, "A branch cannot be compared"),
    "no presets": ({"compare": "best", "learner": "chow-liu"}, "no presets"),
}


@pytest.mark.parametrize(("query", "sentence"), COMPARISONS.values(), ids=COMPARISONS)
def test_a_comparison_that_means_nothing_costs_a_sentence(
    query: dict[str, str], sentence: str
) -> None:
    settings, complaints = parsed(query)
    assert not settings.compare
    assert len(complaints) == 1
    assert sentence in complaints[0]


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


@given(st.dictionaries(NAMES | st.text(max_size=12), TEXTS))
def test_any_link_gives_usable_settings(query: dict[str, Any]) -> None:
    settings, complaints = parsed(query)
    cls = learner_class(settings.learner)
    cls(**settings.options)
    TableOptions(**settings.reading)
    if settings.branch is not None:
        cls(**{**settings.options, **settings.branch.options})
    assert all(text.endswith((".", "used.")) and "\n" not in text for text in complaints)
    # What was understood is what a second reading understands.
    assert parsed(written(settings)) == (settings, ())


def test_defaults_are_not_written() -> None:
    assert written(GrowOptions()) == {}
    assert parsed({}) == (GrowOptions(), ())


def test_a_full_link() -> None:
    query = {
        "data": "digits-2",
        "alpha": "0.5",
        "max_edges": "none",
        "seed": "3",
        "step": "12",
        "branch": "7:alpha=0.2,hubs=false",
    }
    settings = GrowOptions(
        data="digits-2",
        options={"alpha": 0.5, "max_edges": None},
        seed=3,
        step=12,
        branch=BranchPoint(7, {"alpha": 0.2, "hubs": False}),
    )
    assert parsed(query) == (settings, ())


BAD = {
    "unknown data": ({"data": "mars"}, "not 'mars'. Using the default"),
    "unknown learner": ({"learner": "guess"}, "not 'guess'. Using the default"),
    "out of range": ({"alpha": "1.5"}, "Option alpha must be at least 0 and at most 1"),
    "no number": ({"alpha": "much"}, "Option alpha must be a number"),
    "not finite": ({"lam": "nan"}, "Option lam must be finite"),
    "no truth value": ({"hubs": "maybe"}, "Option hubs must be true or false"),
    "absurd number": ({"max_edges": "9" * 400}, "The value of 'max_edges' is too long"),
    "unknown choice": ({"score": "guess"}, "Option score must be one of "),
    "negative seed": ({"seed": "-3"}, "Option seed must be at least 0"),
    "huge seed": (
        {"seed": "4294967296"},
        "Option seed must be at least 0 and at most 4,294,967,295",
    ),
    "no step": ({"step": "1.5"}, "Option step must be a whole number"),
    "no branch": ({"branch": "alpha=0.2"}, "A branch is written as step:option=value"),
    "branch option": ({"branch": "7:beta=0.2"}, "A branch cannot change 'beta'"),
    "branch value": ({"branch": "7:alpha=7"}, "Option alpha must be at least 0"),
    "unknown key": ({"zeta": "1"}, "Unknown setting 'zeta'"),
    "another's option": (
        {"learner": "chow-liu", "alpha": "0.5"},
        "'alpha' does not apply to chow-liu",
    ),
    "reading without upload": ({"bins": "3"}, "'bins' applies to uploaded data only"),
    "stray fingerprint": ({"fingerprint": "ab" * 8}, "'fingerprint' applies to uploaded data only"),
    "no fingerprint": (
        {"data": "upload", "fingerprint": "xyz"},
        "'xyz' is not a fingerprint of data",
    ),
}


@pytest.mark.parametrize(("query", "sentence"), BAD.values(), ids=BAD)
def test_one_bad_value_costs_one_sentence_and_nothing_else(
    query: dict[str, Any], sentence: str
) -> None:
    settings, complaints = parsed({"step": "4", **query})
    assert len(complaints) == 1
    assert sentence in complaints[0]
    if "step" not in query:
        assert settings.step == 4
