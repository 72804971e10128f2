"""Lessons: their stops, addresses and numbers, computed in the states that they open."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
from app_pages import open_page

from graftviz import (
    BestChoice,
    Result,
    dobrushin_coefficient,
    grow_region,
    infer,
    learn,
    load_dataset,
    local_marginal,
    read_model,
)
from graftviz.app.budget import BudgetOptions
from graftviz.app.dynamics import DynamicsOptions, plan_of, source
from graftviz.app.grow import GrowOptions
from graftviz.app.material import PAGE_DATA, Material, default_options, prepare
from graftviz.app.models import grid_model
from graftviz.app.race import RaceOptions
from graftviz.app.regions import RegionOptions
from graftviz.app.reservoir import RUN_ALPHA, ReservoirOptions
from graftviz.app.url import parse_options_of, write_options_of
from graftviz.data.sets.registry import model_path
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.dynamics.measuring import Measured, measuring
from graftviz.evaluation.reservoir import RankedStep, ranked_steps, simulated_ranks
from graftviz.learning.registry import learner_class, learner_names
from graftviz.reports.words.lessons import (
    GLOSSARY,
    GUIDES,
    LESSONS,
    TOUR,
    Condition,
    Lesson,
    begin_address,
    guide_record,
    sheet_html,
    sheet_markdown,
    timing,
)

LEARNERS = {name: learner_class(name) for name in learner_names()}
OPTIONS: dict[str, Any] = {
    "": GrowOptions,
    "race": RaceOptions,
    "budget": BudgetOptions,
    "dynamics": DynamicsOptions,
    "regions": RegionOptions,
    "reservoir": ReservoirOptions,
}
VIEWS = [
    (lesson.key, view)
    for lesson in LESSONS
    for view in (lesson.address, *(stop.opens for stop in lesson.stops if stop.opens))
]
every_lesson = pytest.mark.parametrize("lesson", GUIDES.values(), ids=list(GUIDES))


def query_of(view: str) -> dict[str, str]:
    return dict(parse_qsl(view.partition("?")[2]))


def read(view: str) -> Any:
    """Read an address as its page does, without complaints."""
    cls = OPTIONS[view.partition("?")[0]]
    values, complaints = parse_options_of(cls, query_of(view))
    assert complaints == ()
    return cls(**values)


def write_again(settings: Any) -> dict[str, str]:
    """Write an address as the page of these settings does."""
    return write_options_of(type(settings), vars(settings))


@cache
def material(data: str, rows: int | None = None) -> Material:
    return prepare(load_dataset(data), 0, rows)


@cache
def _learned(
    data: str, rows: int | None, name: str, options: tuple[tuple[str, Any], ...]
) -> Result:
    given, cls = material(data, rows), LEARNERS[name]
    chosen = dict(options)
    values = {**default_options(cls, given.suggested, chosen.get("preset")), **chosen}
    return learn(given.train, cls(**values), test=given.test, truth=given.truth)


def learned(view: str = "", **more: Any) -> Result:
    """Return the result of a link to the Grow page, with some options changed."""
    settings = read(view)
    options = tuple({**settings.options, **more}.items())
    return _learned(settings.data, settings.rows, settings.learner, options)


def right_edges(result: Result, data: str = PAGE_DATA) -> int:
    return len(edges_of(result) & truth_of(data))


def contains(text: str, *numbers: object) -> None:
    """Assert that a text has the numbers as separate words."""
    words = re.findall(r"[\d,.]*\d", text)
    for number in numbers:
        assert str(number) in words, (number, text)


def edges_of(result: Result) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in np.sort(result.model.edges, axis=1)}


def truth_of(data: str) -> set[tuple[int, int]]:
    truth = material(data).truth
    assert truth is not None
    return {(int(i), int(j)) for i, j in np.sort(truth, axis=1)}


def rounded(value: float | None) -> str:
    assert value is not None
    return f"{value:.2f}"


# ---------------------------------------------------------------------------- stops and addresses


def test_eight_lessons_of_five_to_seven_minutes() -> None:
    assert len(LESSONS) == 8
    assert all(5 <= lesson.minutes <= 7 for lesson in LESSONS)
    assert TOUR not in {lesson.key for lesson in LESSONS}


@every_lesson
def test_stop_has_required_fields(lesson: Lesson) -> None:
    for stop in lesson.stops:
        assert stop.title
        assert stop.text
        assert bool(stop.wish) == (stop.condition is not None)
        assert bool(stop.question) == bool(stop.choices)
        if stop.question:
            assert len(set(stop.choices)) == len(stop.choices) >= 2
            assert 0 <= stop.right < len(stop.choices)
            assert stop.reveal, "a question needs an answer"
        if lesson.key != TOUR:
            assert stop.question, "each stop of a lesson has a question"
    record = guide_record(lesson)
    assert record["labels"].keys() >= {"next", "back", "skip", "last", "end", "open"}
    assert len(record["stops"]) == len(lesson.stops)


def test_right_answers_have_different_positions() -> None:
    places = [stop.right for lesson in LESSONS for stop in lesson.stops]
    assert max(places.count(place) for place in set(places)) <= 0.6 * len(places)


@pytest.mark.parametrize(("key", "view"), VIEWS)
def test_address_has_form_written_by_its_page(key: str, view: str) -> None:
    assert list(query_of(view).items()) == list(write_again(read(view)).items())


@every_lesson
def test_conditions_on_the_address_can_be_met(lesson: Lesson) -> None:
    view = lesson.address
    for stop in lesson.stops:
        view = stop.opens or view
        condition = stop.condition or Condition("", "")
        if condition.kind not in ("address", "reaches"):
            continue
        page = OPTIONS[view.partition("?")[0]]
        assert query_of(view).get(condition.what) != condition.value, "not met at the start"
        values, complaints = parse_options_of(page, {condition.what: condition.value})
        assert complaints == ()
        written = write_options_of(page, values)
        assert float_or_text(written[condition.what]) == float_or_text(condition.value)


def float_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


@every_lesson
def test_teachers_sheet_has_all_parts_of_lesson(lesson: Lesson) -> None:
    html, markdown = sheet_html(lesson), sheet_markdown(lesson)
    for sheet in (html, markdown):
        assert lesson.aim in sheet
        assert f"{lesson.minutes} minutes" in sheet
        for stop in lesson.stops:
            for text in (stop.title, stop.wish, *stop.choices):
                assert escape(text) in sheet
    times = timing(lesson)
    assert times[0].startswith("0:00")
    assert times[-1].endswith(f"–{lesson.minutes}:00")
    assert html.count("<tr>") == 1 + len(lesson.stops) == markdown.count("\n| ") - 1


def test_page_has_every_lesson_with_link_and_sheet() -> None:
    app = open_page("lessons")
    assert [header.value for header in app.header] == [*(x.title for x in LESSONS), "Glossary"]
    assert {term.name for term in GLOSSARY} <= {header.value for header in app.subheader}
    links = [link.proto.url for link in app.get("link_button")]
    assert links == [f"./{begin_address(guide)}" for guide in GUIDES.values()]
    assert len(app.get("download_button")) == len(LESSONS)


# ---------------------------------------------------------------------------------- the numbers


def test_numbers_of_lesson_step() -> None:
    result, (first, model, whole) = learned(), GUIDES["step"].stops
    given, steps = material(PAGE_DATA), list(result.trace)
    n = given.train.n_variables
    contains(first.text, f"{given.train.n_rows:,}")
    contains(first.question, n * (n - 1) // 2)
    assert first.choices[first.right] == str(steps[0].tests)
    reservoir = steps[0].reservoir
    assert reservoir is not None
    assert steps[0].tests == 2 * reservoir.capacity
    contains(first.reveal, steps[0].tests, reservoir.capacity)
    assert len(reservoir.scores) == 5
    assert len(steps[0].activated) == 1
    assert steps[1].tests == 10
    assert named(steps[0].activated[0]) in first.text
    (edge,) = steps[3].activated
    assert named(edge) in model.text
    assert named(edge) in model.wish
    contains(model.text, f"{edge.score:.4f}", "0.0035")
    fitted = steps[3].model()
    i, j = sorted((edge.source, edge.target))
    at = fitted.edges.tolist().index([i, j])
    table = np.zeros((3, 3))
    np.add.at(table, (given.train.codes[i], given.train.codes[j]), 1 / given.train.n_rows)
    left = np.linalg.norm(infer(fitted, "bp").edge[at] - table) / 9
    assert 0.0035 < left < edge.score
    contains(whole.reveal, len(steps), right_edges(result), result.n_edges - right_edges(result))
    assert max(len(step.activated) for step in steps) in (2, 3)
    assert 10 < len(steps) < result.n_edges == 45


def named(edge: Any) -> str:
    return f"x{edge.source} – x{edge.target}"


def test_numbers_of_lesson_red() -> None:
    truth, result = truth_of(PAGE_DATA), learned()
    false = edges_of(result) - truth
    neighbours = [set[int]() for _ in range(40)]
    for i, j in truth:
        neighbours[i].add(j)
        neighbours[j].add(i)
    explained = sum(bool(neighbours[i] & neighbours[j]) for i, j in false)
    first, second = GUIDES["red"].stops
    contains(first.text, len(false), result.n_edges)
    assert f"{explained} of the {len(false)}" in first.reveal
    best = learned(preset="best")
    assert f"{right_edges(best)} of the {best.n_edges}" in second.reveal
    assert best.n_edges - right_edges(best) == 2


def test_numbers_of_lesson_alpha() -> None:
    usual, one, zero = learned(), learned(alpha=1.0), learned(alpha=0.0)
    best, mean, whole = GUIDES["alpha"].stops
    contains(best.text, steps_of(usual), right_edges(usual), usual.n_edges)
    contains(best.reveal, steps_of(one), right_edges(one), one.tests, usual.tests)
    contains(mean.reveal, steps_of(zero), zero.tests, right_edges(zero))
    all_zero, all_one = (learned(alpha=alpha, max_edges=200) for alpha in (0.0, 1.0))
    assert edges_of(all_zero) == edges_of(all_one)
    contains(whole.reveal, all_one.n_edges, right_edges(all_one))
    contains(whole.reveal, steps_of(all_zero), steps_of(all_one))


def steps_of(result: Result) -> int:
    return len(list(result.trace))


def ranks_of(options: ReservoirOptions, reservoir: int, tests: int) -> tuple[RankedStep, ...]:
    known = load_dataset(options.data)
    *_, steps = ranked_steps(
        known.table,
        reservoir=reservoir,
        t_max=tests,
        alpha=RUN_ALPHA,
        lam=known.suggested.get("lam"),
        seed=options.seed,
    )
    return steps


def test_numbers_of_lesson_reservoir() -> None:
    options = read("reservoir")
    draws, run, hubs = GUIDES["reservoir"].stops
    *_, ranks = simulated_ranks(options.n, options.largest, options.trials, options.seed)
    contains(draws.question, f"{ranks.pairs:,}")
    assert 1 / (19 + 1) == 0.05
    assert 1 / (99 + 1) == 0.01
    assert f"top {100 * ranks.mean[options.reservoir - 1]:.1f} %" in draws.reveal
    ours = ranks_of(options, options.reservoir, options.tests)
    theirs = ranks_of(options, 1, 1)
    assert run.text.endswith(f"is {np.median([s.rank for s in ours]):.3g}.")
    contains(run.reveal, f"{np.median([s.rank for s in theirs]):.3g}", options.reservoir)
    best = sum(step.rank == 1 for step in ours)
    assert f"{best} of the {len(ours)} steps" in run.reveal
    contains(run.reveal, options.tests, f"{ours[0].inactive:,}")
    first, best_choice = learned("?learner=first-hit"), learned()
    for result in (first, best_choice):
        assert len(edges_of(result)) == 45
        found = f"{right_edges(result)} (true edges )?with {list(result.trace)[-1].tests_total}\\b"
        assert re.search(found, run.reveal.replace("\n", " "))
    for data in ("les-miserables", "karate"):
        ours, theirs = (learned(f"?data={data}&hubs={rule}") for rule in ("true", "false"))
        right = [right_edges(result, data) for result in (ours, theirs)]
        words = f"{right[0]} instead of {right[1]} of {len(edges_of(ours))} edges"
        assert words in hubs.reveal.replace("\n", " ")
        assert len(edges_of(ours)) == len(edges_of(theirs))
        if data == "les-miserables":
            tests = [f"{list(result.trace)[-1].tests_total:,}" for result in (ours, theirs)]
            assert f"{tests[0]} instead of {tests[1]} tests" in hubs.reveal
    contains(hubs.text, right_edges(learned()))
    contains(hubs.reveal, right_edges(learned(hubs=False)))
    degrees = np.sort(np.bincount(np.ravel(sorted(truth_of(PAGE_DATA)))))
    assert f"have {degrees[-1]} and {degrees[-2]} of the {degrees.sum() // 2} edges" in hubs.reveal


def test_numbers_of_lesson_lam() -> None:
    usual, larger, none = (learned(lam=lam) for lam in (0.0035, 0.01, 0.03))
    price, held_out, empty = GUIDES["lam"].stops
    assert f"{usual.precision:.0%}".replace("%", " %") in price.text
    contains(price.reveal, larger.n_edges, right_edges(larger))
    assert f"from {rounded(usual.precision)} to {rounded(larger.precision)}" in price.reveal
    assert f"from {rounded(usual.recall)} to {rounded(larger.recall)}" in price.reveal
    assert larger.certificate is not None
    assert larger.certificate.proves_optimality
    contains(held_out.reveal, rounded(nlpl_of(usual)), rounded(nlpl_of(larger)))
    assert nlpl_of(usual) < nlpl_of(larger)
    for result, text in zip((usual, larger), held_out.choices, strict=True):
        contains(text, result.n_edges - right_edges(result))
    assert none.n_edges == 0
    assert "best of 780: " in none.stop_reason
    assert ", 0.0273)" in none.stop_reason
    contains(empty.reveal, 780, "0.0273")


def nlpl_of(result: Result) -> float:
    value = result.nlpl_test
    assert value is not None
    return value


def test_numbers_of_lesson_rows() -> None:
    fewer, noise, more = GUIDES["rows"].stops
    all_rows, few = learned(), learned("?rows=200")
    contains(fewer.text, f"{material(PAGE_DATA).train.n_rows:,}", right_edges(all_rows))
    contains(fewer.reveal, right_edges(few))
    assert few.n_edges == all_rows.n_edges == 45
    best = {rows: learned(f"?rows={rows}&preset=best") for rows in (100, 200, 1000)}
    assert [result.n_edges - right_edges(result) for result in best.values()] == [1, 0, 0]
    contains(noise.reveal, *(result.n_edges for result in best.values()))
    assert steps_of(best[200]) == read(noise.opens).step
    path = model_path(PAGE_DATA)
    assert path is not None
    model, truth = read_model(path), truth_of(PAGE_DATA)
    tables = {rows: sample_gibbs(model, rows, seed=1).table for rows in (30_000, 50_000, 100_000)}
    usual = BestChoice(**default_options(BestChoice, material(PAGE_DATA).suggested))
    for rows in (30_000, 100_000):
        assert len(edges_of(learn(tables[rows], usual)) - truth) == 17
    for rows in (50_000, 100_000):
        found = edges_of(learn(tables[rows], BestChoice(preset="best")))
        assert found >= truth
        assert len(found - truth) == 1
        contains(more.reveal, f"{rows:,}")
    assert "100,000 rows still 17 of 45" in more.reveal


@pytest.mark.slow
def test_numbers_of_lesson_regions() -> None:
    weak_stop, field_stop, hub_stop = GUIDES["regions"].stops
    bounds: list[list[float]] = []
    coefficients: list[float] = []
    for view in ("regions", "regions?t2=1", field_stop.opens):
        options = read(view)
        shown = grid_model(options.side, options.t1, options.t2, options.seed)
        limits = {"tolerance": options.tolerance, "max_size": options.size}
        grown = grow_region(shown.model, shown.usual_query, **limits)
        bounds.append([step.bound for step in grown])
        coefficients.append(dobrushin_coefficient(shown.model))
        if view == "regions?t2=1":
            local = local_marginal(shown.model, shown.usual_query, **limits).marginal
            exact = infer(shown.model, method="exact").node[shown.usual_query]
            contains(weak_stop.reveal, f"{np.abs(local - exact).max():.3f}")
    weak, strong, stubborn = bounds
    assert coefficients[0] < 1 < coefficients[2] < coefficients[1]
    assert weak[-1] <= 0.01
    assert min(strong) > 0.73
    assert round(strong[0], 2) == 0.75
    assert len(strong) == 16
    assert f"c is {coefficients[1]:.1f}" in weak_stop.reveal
    contains(field_stop.reveal, f"{stubborn[-1]:.3f}")
    assert f"c is {coefficients[2]:.1f}" in field_stop.text
    options = read(hub_stop.opens)
    model = learn(material(options.data).train, BestChoice()).model
    grown = grow_region(model, options.query, tolerance=options.tolerance, max_size=options.size)
    assert min(step.bound for step in grown) > 0.99
    assert model.names[options.query] == "member 34"
    degrees = model.degrees()
    assert degrees[options.query] == degrees.max() == 17


def measured(view: str) -> Measured:
    options: DynamicsOptions = read(view)
    given = source(options, None)
    *_, found = measuring(given, plan_of(options, given))
    assert found is not None
    return found


@pytest.mark.slow
def test_numbers_of_lesson_series() -> None:
    views = ("dynamics?seeds=6", "dynamics?seeds=30", "dynamics?learner=dense")
    few, all_seeds, dense = map(measured, views)
    seeds, sparse = GUIDES["series"].stops
    for found, text in ((few, seeds.reveal), (all_seeds, seeds.text)):
        assert found.recall is not None
        assert f"{found.recall:.0%}".replace("%", " %") in text
    assert f"from {all_seeds.pred_error_test:.2f} to {few.pred_error_test:.2f}" in seeds.reveal
    assert (dense.entries, all_seeds.entries) == (900, 150)
    contains(sparse.text, dense.entries, all_seeds.entries)
    held_out = f"{all_seeds.pred_error_test:.3f} against {dense.pred_error_test:.3f}"
    assert held_out in sparse.reveal
    assert f"{dense.pred_error_train:.3f} against {all_seeds.pred_error_train:.3f}" in sparse.reveal
