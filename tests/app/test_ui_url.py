"""Links of pages: settings, invalid parts, and links that are followed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from app_pages import QUICK, open_page, query_of, sentences
from hypothesis import given, settings, strategies as st
from waiting import wait_until

from graftviz.app.budget import BudgetOptions
from graftviz.app.dynamics import DynamicsOptions
from graftviz.app.grow import BranchPoint, GrowOptions, has_presets
from graftviz.app.inspect import InspectOptions
from graftviz.app.material import UPLOAD
from graftviz.app.models import TRUE, SourceOptions
from graftviz.app.prune import PruneOptions
from graftviz.app.race import MOST_RACERS, RaceOptions
from graftviz.app.regions import RUN, RegionOptions
from graftviz.app.reservoir import ReservoirOptions
from graftviz.app.state import REMEMBERED_LINKS, PageState
from graftviz.app.url import LearnerChoice, is_upload, parse_options_of, part, write_options_of
from graftviz.data.coding import TableOptions
from graftviz.learning.registry import learner_class
from graftviz.utils.options import OptionSpec, option, option_specs

PAGES = {
    "grow": GrowOptions,
    "race": RaceOptions,
    "reservoir": ReservoirOptions,
    "regions": RegionOptions,
    "prune": PruneOptions,
    "budget": BudgetOptions,
    "dynamics": DynamicsOptions,
    "inspect": InspectOptions,
}
every_page = pytest.mark.parametrize("page", PAGES)


def read(page: str, query: dict[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    return parse_options_of(PAGES[page], query)


def write(page: str, values: dict[str, Any]) -> dict[str, str]:
    return write_options_of(PAGES[page], values)


def values_of(spec: OptionSpec) -> st.SearchStrategy[Any]:
    """Return a strategy for the legal values of an option."""
    if spec.kind == "bool":
        return st.booleans()
    if spec.kind == "choice":
        return st.sampled_from(spec.choices)
    if spec.kind == "text":
        return st.sampled_from([None, "a", "a+b|c=yes; e"])
    low = spec.minimum if spec.minimum is not None else (spec.above or 0.0)
    high = spec.maximum if spec.maximum is not None else 10**6
    if spec.kind == "int":
        numbers: st.SearchStrategy[Any] = st.integers(int(low), int(high))
    else:
        # Twelve digits are written; values that agree in them are the same setting.
        floats = st.floats(low, high, exclude_min=spec.above is not None, allow_subnormal=False)
        numbers = floats.map(lambda number: float(f"{number:.12g}")).filter(
            lambda number: low <= number <= high and (spec.above is None or number > low)
        )
    return st.none() | numbers if spec.optional else numbers


def options_of(cls: type) -> st.SearchStrategy[dict[str, Any]]:
    optional = {spec.name: values_of(spec) for spec in option_specs(cls)}
    return st.fixed_dictionaries({}, optional=optional)


HEX = "0123456789abcdef"
FINGERPRINTS = st.text(HEX, min_size=16, max_size=64)
RACERS = st.sampled_from(["best-choice", "edge-grafting", "chow-liu", "nodewise-l1"]).flatmap(
    lambda name: st.builds(LearnerChoice, st.just(name), options_of(learner_class(name)))
)
POSITIONS = st.floats(1e-9, 1e9).map(lambda at: float(f"{at:.6g}"))
NODES = st.integers(0, 9999)
EDGES = st.tuples(NODES, NODES).filter(lambda ends: ends[0] < ends[1])


def parts_of(draw: st.DrawFn, values: dict[str, Any]) -> dict[str, Any]:
    """Draw the settings that are not single options; they depend on the options."""
    parts: dict[str, Any] = {}
    learner = values.get("learner", "forced-pruning")
    if values["data"] == UPLOAD:
        parts["fingerprint"] = draw(st.just("") | FINGERPRINTS)
        parts["reading"] = draw(options_of(TableOptions))
    if "options" in values:
        parts["options"] = draw(options_of(learner_class(learner)))
    if "branch" in values:
        branches = st.builds(BranchPoint, st.integers(0, 10**6), options_of(learner_class(learner)))
        parts["branch"] = draw(st.none() | branches)
        parts["compare"] = parts["branch"] is None and has_presets(learner) and draw(st.booleans())
    if "racers" in values:
        parts["racers"] = tuple(draw(st.lists(RACERS, min_size=1, max_size=MOST_RACERS)))
        parts["at"] = draw(st.sampled_from([0.0, math.inf]) | POSITIONS)
    if values["data"] == RUN:
        parts["run"] = draw(st.sampled_from(["data=karate", "data=survey;alpha=0.5"]))
    if "evidence" in values:
        models = st.text(HEX, min_size=16, max_size=16) | (
            st.just("") if is_upload(values["data"]) else st.just(TRUE)
        )
        parts["model"] = draw(models)
        parts["selection"] = draw(st.just(()) | st.tuples(NODES) | EDGES)
        parts["evidence"] = draw(st.dictionaries(st.integers(0, 999), st.integers(0, 9)))
        second = st.sampled_from([{"model": TRUE}, {"seed": 3}, {"learner": "chow-liu", "step": 2}])
        parts["second"] = draw(st.none() | st.builds(lambda given: SourceOptions(**given), second))
    return {name: value for name, value in parts.items() if name in values}


@every_page
@settings(max_examples=30)
@given(data=st.data())
def test_settings_round_trip_through_address(page: str, data: st.DataObject) -> None:
    cls = PAGES[page]
    values = vars(cls()) | data.draw(options_of(cls))
    values |= parts_of(data.draw, values)
    query = write(page, values)
    assert read(page, query) == (values, ())
    state = PageState(cls, places=("step",))
    assert state.follow(query)
    assert (state.options, state.complaints) == (cls(**values), ())
    assert read(page, state.link()) == (values, ())


@every_page
def test_defaults_are_not_written(page: str) -> None:
    defaults = vars(PAGES[page]())
    assert write(page, defaults) == {}
    assert read(page, {}) == (defaults, ())


@every_page
def test_older_address_of_the_page_changes_nothing(page: str) -> None:
    """Check that unknown addresses are followed as links, and older ones by navigation only."""
    state = PageState(PAGES[page], places=("step",))
    assert state.follow({"seed": "50"})
    visit = state.visit
    state.choose("seed", 60)
    state.link()
    assert not state.follow({"seed": "50", "step": "4"})
    assert (state.options.seed, state.visit) == (60, visit)
    assert state.follow({"seed": "50"}, is_navigation=True)
    assert state.options.seed == 50
    assert state.follow({"seed": "70"})
    assert (state.options.seed, state.visit) == (70, visit + 2)
    for k in range(REMEMBERED_LINKS):
        assert state.follow({"seed": str(100 + k)})
    assert state.follow({"seed": "50"}), "the oldest address is still known"


# Page, address, and words of the sentence of the complaint.
BAD: tuple[tuple[str, dict[str, str], str], ...] = (
    ("grow", {"data": "mars"}, "not 'mars'. Using the default"),
    ("grow", {"learner": "guess"}, "not 'guess'. Using the default"),
    ("grow", {"alpha": "1.5"}, "Option alpha must be at least 0 and at most 1"),
    ("grow", {"alpha": "much"}, "Option alpha must be a number"),
    ("grow", {"lam": "nan"}, "Option lam must be finite"),
    ("grow", {"hubs": "maybe"}, "Option hubs must be true or false"),
    ("grow", {"max_edges": "9" * 400}, "The value of 'max_edges' is too long"),
    ("grow", {"score": "guess"}, "Option score must be one of "),
    ("grow", {"seed": "4294967296"}, "at least 0 and at most 4,294,967,295"),
    ("grow", {"step": "1.5"}, "Option step must be a whole number"),
    ("grow", {"branch": "alpha=0.2"}, "A branch is written as step:option=value"),
    ("grow", {"branch": "7:beta=0.2"}, "A branch cannot change 'beta'"),
    ("grow", {"branch": "7:alpha=7"}, "Option alpha must be at least 0"),
    ("grow", {"zeta": "1"}, "Unknown setting 'zeta'"),
    ("grow", {"learner": "chow-liu", "alpha": "0.5"}, "'alpha' does not apply to chow-liu"),
    ("grow", {"bins": "3"}, "'bins' applies to uploaded data only"),
    ("grow", {"fingerprint": "ab" * 8}, "'fingerprint' applies to uploaded data only"),
    ("grow", {"data": "upload", "fingerprint": "xyz"}, "'xyz' is not a fingerprint of data"),
    ("grow", {"compare": "paper"}, "compared with best, not 'paper'"),
    ("grow", {"compare": "best", "branch": "3:alpha=0"}, "A branch cannot be compared"),
    ("grow", {"compare": "best", "learner": "chow-liu"}, "no presets"),
    ("race", {"axis": "miles"}, "miles"),
    ("race", {"at": "-3"}, "-3"),
    ("race", {"at": "9" * 50}, "position"),
    ("race", {"r1": "nobody"}, "nobody"),
    ("race", {"r1": "best-choice:alpha=9"}, "alpha"),
    ("race", {"r1": "best-choice:colour=red"}, "colour"),
    ("race", {"r1": "x" * 5000}, "r1"),
    ("race", {"r0": "first-hit"}, "r0"),
    ("race", {f"r{k}": "first-hit" for k in range(1, 9)}, "r7, r8"),
    ("reservoir", {"data": "../../secret"}, "data"),
    ("regions", {"run": "data=karate"}, "runs of the Grow page only"),
    ("regions", {"data": RUN, "run": "x" * 601}, "too long"),
    ("inspect", {"model": "<b>"}, "The model must be true"),
    ("inspect", {"node": "-1"}, "given by its number"),
    ("inspect", {"edge": "3-3"}, "written as 3-7"),
    ("inspect", {"node": "1", "edge": "0-1"}, "the edge is ignored"),
    ("inspect", {"evidence": "a:b"}, "written as variable:state"),
    ("inspect", {"evidence": "1:0,1:1"}, "two different states"),
    ("inspect", {"with": "learner=nobody"}, "Model to compare with: Option learner must be"),
)


@pytest.mark.parametrize(("page", "query", "words"), BAD)
def test_invalid_part_of_address_is_ignored_with_one_sentence(
    page: str, query: dict[str, str], words: str
) -> None:
    state = PageState(PAGES[page], places=("step",))
    state.follow({"seed": "4", **query})
    (complaint,) = state.complaints
    assert words in complaint
    assert len(complaint) < 400
    assert "\n" not in complaint
    if "seed" not in query:
        assert state.options.seed == 4
    assert read(page, write(page, state.values)) == (state.values, ())
    state.choose("seed", 5)
    assert state.complaints == ()


def test_invalid_racer_in_address_is_skipped() -> None:
    values, _ = read("race", {"r1": "nobody", "r2": "first-hit:max_edges=5"})
    assert values["racers"] == (LearnerChoice("first-hit", {"max_edges": 5}),)


@dataclass(frozen=True)
class NotedOptions:
    """Options with a part of the address that is not an option."""

    n: int = option(1, "number")
    note: str = part("", lambda link, _: link.left.pop("note", ""), lambda text: {"note": text})
    step: int = option(0, "step")


class NotedPage(PageState):
    """Page whose note is reset when its number changes."""

    resets = {"n": ("note",)}  # noqa: RUF012


def test_places_and_parts_of_address() -> None:
    state = NotedPage(NotedOptions, places=("step",))
    assert state.follow({"step": "3"})  # the first address of a page is a link
    assert state.options.step == 3
    state.choose("n", 50)
    assert not state.follow({"step": "4"})  # step of the browser itself
    assert (state.options.step, state.options.n) == (3, 50)
    assert state.follow({"note": "a"})
    assert state.options.note == "a"
    assert state.link() == {"note": "a"}
    assert not state.follow({"note": "a", "step": "9"})
    state.move({"step": 7.0, "n": 3})
    assert (state.options.step, state.options.n) == (7, 1)
    state.choose("n", 5)
    assert state.link() == {"n": "5", "step": "7"}


@pytest.mark.parametrize("page", QUICK)
def test_page_opens_with_one_sentence_for_each_unusable_parameter(page: str) -> None:
    app = open_page(page, **QUICK[page], seed="x", huh="<b>[x](y)")
    text = sentences(app)
    assert "seed" in text
    assert "'huh'" in text
    assert len(app.warning) == 1
    assert len(app.warning[0].value.split("\n\n")) == 2
    assert "](" not in app.warning[0].value.replace("\\", "\0"), "shown as text"
    assert not app.error
    assert query_of(app) == QUICK[page]
    assert app.get("bidi_component") or app.get("plotly_chart") or page == "lessons"


# Page, its address, words of each sentence, and the remaining address. The values are valid, but
# refer to something that the model or run of the address does not have.
ABSENT: tuple[tuple[str, dict[str, str], tuple[str, ...], dict[str, str]], ...] = (
    (
        "",
        {"data": "survey", "learner": "chow-liu", "step": "99"},
        ("No step 99: the run has 10 steps",),
        {"data": "survey", "learner": "chow-liu", "step": "10"},
    ),
    (
        "",
        {"data": "survey", "alpha": "1", "max_edges": "3", "branch": "99:lam=0.01", "step": "98"},
        ("No step 98", "No step 99 to branch from"),
        {"data": "survey", "alpha": "1", "max_edges": "3", "step": "3"},
    ),
    (
        "race",
        {"data": "survey", "r1": "chow-liu", "at": "5000"},
        ("No position 5,000: the race has",),
        {"data": "survey", "r1": "chow-liu", "at": "end"},
    ),
    (
        "prune",
        {"exchanges": "1", "step": "77"},
        ("No step 77: the run has 2 steps",),
        {"exchanges": "1", "step": "2"},
    ),
    (
        "budget",
        {"data": "survey", "bound": "1", "step": "99"},
        ("No step 99: the run has",),
        {"data": "survey", "bound": "1"},
    ),
    (
        "regions",
        {"side": "3", "size": "4", "query": "9", "state": "5", "step": "4"},
        ("No variable 9", "No state 5", "No step 4: the region has"),
        {"side": "3", "size": "4"},
    ),
    (
        "reservoir",
        {"n": "30", "trials": "1", "data": "karate", "step": "99999"},
        ("No step 99,999: the run has",),
        {"n": "30", "trials": "1", "data": "karate"},
    ),
    (
        "dynamics",
        {"size": "8", "rows": "60", "node": "8", "step": "9", "parents": "51"},
        ("at most 50; got 51", "No series 8", "No step 9: the run has 8 steps"),
        {"size": "8", "rows": "60", "step": "8"},
    ),
    (
        "inspect",
        {"data": "survey", "learner": "chow-liu", "node": "99", "evidence": "1:7", "step": "99"},
        ("no node 99", "no variable 1 with a state 7", "No step 99: the run has 10 steps"),
        {"data": "survey", "learner": "chow-liu"},
    ),
)


@pytest.mark.parametrize(("page", "query", "words", "left"), ABSENT)
def test_reference_to_missing_part_of_model_or_run_is_named(
    page: str, query: dict[str, str], words: tuple[str, ...], left: dict[str, str]
) -> None:
    app = open_page(page, **query)
    wait_until(
        lambda: all(word in sentences(app) for word in words),
        60.0,
        pause=app.run,
        state=lambda: sentences(app),
    )
    assert not app.error
    assert sum(len(warning.value.split("\n\n")) for warning in app.warning) == len(words)
    address = query_of(app)
    assert {name: text for name, text in address.items() if name in left} == left
    assert set(address) - set(left) <= {"step"}, "the last step is not fixed"
