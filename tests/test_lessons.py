"""Lessons: links open what the lesson says, and the numbers of answers are computed there."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from app_pages import open_page

from graftviz import (
    BestChoice,
    BoundedInference,
    Result,
    dobrushin_coefficient,
    grow_region,
    infer,
    learn,
    load_dataset,
    local_marginal,
)
from graftviz.dynamics.measuring import Measured, measuring
from graftviz.learners.registry import learner_class, learner_names
from graftviz.material import Material, default_options, prepare
from graftviz.narrative.glossary import GLOSSARY
from graftviz.narrative.lessons import LESSONS
from graftviz.player.budget_records import BoundedProgress
from graftviz.player.models import grid_model
from graftviz.ranks import RankedStep, ranked_steps, simulated_ranks
from graftviz.ui.budget.options import BudgetOptions
from graftviz.ui.budget.state import BudgetMaterial, run_progress
from graftviz.ui.dynamics.options import DynamicsOptions, plan_of
from graftviz.ui.dynamics.state import source
from graftviz.ui.grow.options import GrowOptions
from graftviz.ui.lessons import address_of
from graftviz.ui.race.options import RaceOptions
from graftviz.ui.regions.options import RegionOptions
from graftviz.ui.reservoir.jobs import RUN_ALPHA
from graftviz.ui.reservoir.options import ReservoirOptions
from graftviz.ui.url_state import parse_options_of, write_options_of

LEARNERS = {name: learner_class(name) for name in learner_names()}
BY_KEY = {lesson.key: lesson for lesson in LESSONS}
VIEWS = {lesson.key: [view.address for view in lesson.views] for lesson in LESSONS}
ALL_VIEWS = [view for views in VIEWS.values() for view in views]
OPTIONS: dict[str, Any] = {
    "": GrowOptions,
    "race": RaceOptions,
    "budget": BudgetOptions,
    "dynamics": DynamicsOptions,
    "regions": RegionOptions,
    "reservoir": ReservoirOptions,
}
EVERY_VIEW = [(key, place) for key, views in VIEWS.items() for place in range(len(views))]

every_view = pytest.mark.parametrize(("key", "place"), EVERY_VIEW)


def answer(key: str, number: int) -> str:
    return BY_KEY[key].questions[number - 1].answer


def query_of(view: str) -> dict[str, str]:
    return dict(parse_qsl(view.partition("?")[2]))


def settings_of(key: str, place: int) -> Any:
    return read(VIEWS[key][place])


def read(view: str) -> Any:
    """Read an address as its page does; nothing may be complained about."""
    cls = OPTIONS[view.partition("?")[0]]
    values, complaints = parse_options_of(cls, query_of(view))
    assert complaints == ()
    return cls(**values)


def write_again(settings: Any) -> dict[str, str]:
    """Write an address as the page of these settings does."""
    return write_options_of(type(settings), vars(settings))


@cache
def material(data: str) -> Material:
    return prepare(load_dataset(data), 0)


@cache
def _learned(data: str, name: str, options: tuple[tuple[str, Any], ...]) -> Result:
    given, cls = material(data), LEARNERS[name]
    chosen = dict(options)
    values = {**default_options(cls, given.suggested, chosen.get("preset")), **chosen}
    return learn(given.train, cls(**values), test=given.test, truth=given.truth)


def learned(settings: GrowOptions, **more: Any) -> Result:
    """Run what a link to the Grow page runs."""
    options = tuple({**settings.options, **more}.items())
    return _learned(settings.data, settings.learner, options)


def raced(settings: RaceOptions) -> list[Result]:
    """Run what a link to the Race page runs, one racer after the other."""
    return [
        _learned(
            settings.data,
            racer.learner,
            tuple({"max_edges": settings.edges, **racer.options}.items()),
        )
        for racer in settings.racers
    ]


def edges_of(result: Result) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in np.sort(result.model.edges, axis=1)}


def truth_of(data: str) -> set[tuple[int, int]]:
    truth = material(data).truth
    assert truth is not None
    return {(int(i), int(j)) for i, j in np.sort(truth, axis=1)}


def two(value: float | None) -> str:
    assert value is not None
    return f"{value:.2f}"


# ------------------------------------------------------------------------------ words and links


def test_lessons_and_views_belong_together() -> None:
    assert [lesson.key for lesson in LESSONS] == list(VIEWS)
    for lesson in LESSONS:
        assert len(lesson.views) == len(VIEWS[lesson.key])
        assert len(lesson.questions) == 2
        assert all(len(text) > 40 for text in (lesson.why, lesson.look))


@every_view
def test_an_address_is_written_as_its_page_writes_it(key: str, place: int) -> None:
    view = VIEWS[key][place]
    assert list(query_of(view).items()) == list(write_again(read(view)).items())
    parts = urlsplit(address_of(view, {"present": "1"}))
    assert parts.path == f"./{view.partition('?')[0]}"
    assert dict(parse_qsl(parts.query)) == {**query_of(view), "present": "1"}


def test_the_page_has_every_lesson_with_its_answers_folded_away() -> None:
    app = open_page("lessons")
    assert [header.value for header in app.header] == [*(x.title for x in LESSONS), "Glossary"]
    assert {term.name for term in GLOSSARY} <= {header.value for header in app.subheader}
    assert len(app.expander) == 2 * len(LESSONS)
    assert not any(expander.proto.expanded for expander in app.expander)
    links = [link.proto.url for link in app.get("link_button")]
    assert links[0] == "./?tour=1"
    assert links[1:] == [address_of(view, {}) for view in ALL_VIEWS]


# ------------------------------------------------------------------------------------ the answers


def test_what_alpha_does() -> None:
    greedy, choosy = (learned(settings_of("alpha", place)) for place in (0, 1))
    first = [next(iter(result.trace)) for result in (greedy, choosy)]
    assert [len(step.reservoir.scores) for step in first if step.reservoir] == [16, 16]
    assert [len(step.activated) for step in first] == [4, 1]
    assert len(first[0].skipped_adjacent) == 2
    reservoir = first[0].reservoir
    assert int((reservoir.scores >= reservoir.mean).sum()) == 6
    assert "One and four." in answer("alpha", 1)
    assert (greedy.edges, choosy.edges) == (231, 231)
    steps = [len(list(result.trace)) for result in (greedy, choosy)]
    printed = answer("alpha", 2)
    assert f"{steps[1]} steps" in printed
    assert f"{steps[0]} steps" in printed
    assert f"{choosy.recall:.0%}".replace("%", " %") in printed
    assert f"{greedy.recall:.0%}".replace("%", " %") in printed
    assert [r.edges for r in raced(settings_of("alpha", 2))] == [231] * 3


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


def test_why_the_reservoir() -> None:
    options = settings_of("reservoir", 0)
    *_, found = simulated_ranks(options.n, options.largest, options.trials, options.seed)
    assert found.pairs == 79_800
    printed = answer("reservoir", 1)
    assert 1 / (19 + 1) == 0.05
    assert 1 / (99 + 1) == 0.01
    assert f"{options.reservoir} draws" in printed
    assert f"top {100 * found.mean[options.reservoir - 1]:.1f} %" in printed
    ours = ranks_of(options, options.reservoir, options.tests)
    theirs = ranks_of(options, 1, 1)
    printed = answer("reservoir", 2)
    assert f"rank is {np.median([s.rank for s in ours]):.3g}" in printed
    assert f"{np.median([s.rank for s in theirs]):.3g}." in printed
    best = sum(step.rank == 1 for step in ours)
    assert f"In {best} of the {len(ours)} steps" in printed
    assert f"{options.tests} tests instead of {ours[0].inactive:,}" in printed


def test_what_a_hub_is() -> None:
    result = learned(settings_of("hub", 0))
    steps = list(result.trace)
    at = settings_of("hub", 0).step
    degrees = steps[at - 2].model().degrees()
    hubs = steps[at - 1].hubs
    assert set(np.flatnonzero(degrees > degrees.mean())) == set(hubs)
    printed = answer("hub", 1)
    assert printed.startswith(f"{len(hubs)}, and two edges are enough")
    assert degrees[list(hubs)].min() == 2
    assert f"is {degrees.mean():.1f}" in printed
    assert settings_of("hub", 1).step == len(steps)
    truth = material("scale-free-60").truth
    true_degrees = np.bincount(truth.ravel())
    ends = result.model.degrees()
    ours, theirs = int(np.argmax(ends)), int(np.argmax(true_degrees))
    printed = answer("hub", 2)
    assert f"x{ours} with {ends[ours]} edges" in printed
    assert f"x{theirs}, with {true_degrees[theirs]}" in printed
    assert f"has {ends[theirs]}." in printed


def test_when_the_heuristic_hurts() -> None:
    for place, has_helped in ((0, False), (1, True)):
        settings = settings_of("heuristic", place)
        having, leaving = raced(settings)
        printed = answer("heuristic", place + 1)
        assert having.edges == leaving.edges == settings.edges
        assert having.recall is not None
        assert leaving.recall is not None
        assert (having.recall > leaving.recall) == has_helped
        assert having.tests < leaving.tests
        numbers = (
            two(having.recall),
            two(leaving.recall),
            f"{having.tests:,}",
            f"{leaving.tests:,}",
        )
        assert all(number in printed for number in numbers)


def test_correlation_against_structure() -> None:
    paper = learned(settings_of("correlation", 0))
    best = learned(settings_of("correlation", 1), preset="best")
    truth = truth_of("scale-free-60")
    neighbours: dict[int, set[int]] = {}
    for i, j in truth:
        neighbours.setdefault(i, set()).add(j)
        neighbours.setdefault(j, set()).add(i)
    steps = list(paper.trace)
    (taken,) = steps[settings_of("correlation", 0).step - 1].activated
    pair = (taken.source, taken.target)
    assert pair == (9, 14)
    assert pair not in truth
    assert 2.9 < taken.score / 0.0035 < 3.1
    assert neighbours[9] & neighbours[14] == {0}
    false = edges_of(paper) - truth
    shared = [edge for edge in false if neighbours[edge[0]] & neighbours[edge[1]]]
    printed = answer("correlation", 2)
    question = BY_KEY["correlation"].questions[1].question
    assert f"{paper.edges} edges, {len(false)} of them false" in question
    assert f"{len(shared)} of {len(false)}." in printed
    assert (
        f"ends with {best.edges} edges, of which {len(edges_of(best) - truth)} is false" in printed
    )
    assert pair not in edges_of(best)
    assert settings_of("correlation", 1).step == len(list(best.trace))


@pytest.mark.slow
def test_when_a_bound_is_vacuous() -> None:
    bounds: list[list[float]] = []
    coefficients: list[float] = []
    for place in range(3):
        options = settings_of("vacuous", place)
        shown = grid_model(options.side, options.t1, options.t2, options.seed)
        limits = {"tolerance": options.tolerance, "max_size": options.size}
        grown = grow_region(shown.model, shown.usual_query, **limits)
        bounds.append([step.bound for step in grown])
        coefficients.append(dobrushin_coefficient(shown.model))
        if place == 1:
            local = local_marginal(shown.model, shown.usual_query, **limits).marginal
            exact = infer(shown.model, method="exact").node[shown.usual_query]
            error = np.abs(local - exact).max()
    weak, strong, stubborn = bounds
    assert coefficients[0] < 1 < coefficients[2] < coefficients[1]
    assert weak[-1] <= 0.01
    assert len(weak) < settings_of("vacuous", 0).size
    printed = answer("vacuous", 1)
    assert min(strong) > 0.73
    assert round(strong[0], 2) == 0.75
    assert len(strong) == 16
    assert f"c = {coefficients[1]:.1f}" in printed
    assert f"only {error:.3f}" in printed
    assert f"down to {stubborn[-1]:.3f}" in BY_KEY["vacuous"].questions[1].question
    assert f"c is {coefficients[2]:.1f}" in BY_KEY["vacuous"].questions[1].question
    options = settings_of("vacuous", 3)
    model = learn(material(options.data).train, BestChoice()).model
    grown = grow_region(model, options.query, tolerance=options.tolerance, max_size=options.size)
    assert min(step.bound for step in grown) > 0.99
    assert model.names[options.query] == "member 34"
    degrees = model.degrees()
    assert degrees[options.query] == degrees.max() == 17


def test_lam_and_when_to_stop() -> None:
    many, few, none = (learned(settings_of("lam", place)) for place in range(3))
    printed = answer("lam", 1)
    assert f"{many.edges} edges become {few.edges}." in printed
    assert f"from {two(many.precision)} to {two(few.precision)}" in printed
    assert f"from {two(many.recall)} to {two(few.recall)}" in printed
    assert [settings_of("lam", k).step for k in (0, 1)] == [len(list(r.trace)) for r in (many, few)]
    assert none.edges == 0
    assert "best of 1,770: " in none.stop_reason
    assert ", 0.0229)" in none.stop_reason
    assert "1,770 scores is 0.0229" in answer("lam", 2)
    assert all(r.certificate and r.certificate.proves_optimality for r in (many, few, none))


def test_first_hit_against_best_choice() -> None:
    results = raced(settings_of("first-hit", 0))
    hit, ours, all_pairs = results
    assert [result.edges for result in results] == [120] * 3
    printed = answer("first-hit", 1)
    assert all(f"{result.tests:,}" in printed for result in results)
    assert all_pairs.tests > 100 * ours.tests
    printed = answer("first-hit", 2)
    wanted = edges_of(all_pairs)
    assert edges_of(ours) == wanted
    assert f"first hit {len(edges_of(hit) & wanted)}." in printed
    assert f"{two(hit.recall)} against {two(ours.recall)}" in printed


def bounded(options: BudgetOptions) -> BoundedProgress:
    source = BudgetMaterial(material(options.data))
    learner = BoundedInference(complexity=options.complexity, bound=options.tau)
    *_, printed = run_progress(source, learner)
    return printed


@pytest.mark.slow
def test_what_treewidth_buys() -> None:
    points = [bounded(settings_of("treewidth", place)).point for place in range(3)]
    tree, two_wide, wide = points
    assert tree is not None
    assert two_wide is not None
    assert wide is not None
    assert [p.edges for p in (tree, two_wide, wide)] == [10, 19, 40]
    printed = answer("treewidth", 1)
    assert f"NLL {two_wide.nll:.3f} against {tree.nll:.3f}" in printed
    assert f"40 edges and {wide.nll:.3f}" in printed
    assert two_wide.nll < wide.nll < tree.nll
    printed = answer("treewidth", 2)
    assert f"{two_wide.operations:,} with width 2, {wide.operations:,} with width 5" in printed
    assert round(wide.operations / two_wide.operations) == 16


def measured(options: DynamicsOptions) -> Measured:
    given = source(options, None)
    *_, found = measuring(given, plan_of(options, given))
    assert found is not None
    return found


@pytest.mark.slow
def test_seeds_of_a_dynamical_system() -> None:
    few, all_seeds, dense = (measured(settings_of("seeds", place)) for place in range(3))
    printed = answer("seeds", 1)
    assert few.recall is not None
    assert all_seeds.recall is not None
    assert f"{few.recall:.0%}".replace("%", " %") in printed
    assert f"{all_seeds.recall:.0%}".replace("%", " %") in printed
    assert f"from {all_seeds.pred_error_test:.2f} to {few.pred_error_test:.2f}" in printed
    printed = answer("seeds", 2)
    assert (dense.entries, all_seeds.entries) == (900, 150)
    assert f"{all_seeds.pred_error_test:.3f} against {dense.pred_error_test:.3f}" in printed
    assert f"{dense.pred_error_train:.3f} against {all_seeds.pred_error_train:.3f}" in printed
