"""Small races whose ends differ: for tests of everything that compares runs."""

from __future__ import annotations

from functools import lru_cache

from graftviz import BestChoice, ChowLiu, EdgeGrafting, FirstHit, Run, load_dataset
from graftviz.app.material import Material, prepare
from graftviz.evaluation.race import Course, Race, course_of
from graftviz.learning.base import Learner

LAM = 0.0035


@lru_cache(maxsize=1)
def karate() -> Material:
    return prepare(load_dataset("karate"), 0)


def racers() -> tuple[Learner, ...]:
    common = {"preset": "paper", "lam": LAM, "max_edges": 60}
    return (
        BestChoice(alpha=0.25, **common),
        BestChoice(alpha=1.0, **common),
        EdgeGrafting(**common),
        FirstHit(**common),
        ChowLiu(),
    )


def run_of(learner: Learner, steps: int | None = None, *, with_truth: bool = True) -> Run:
    """Return a run on the karate club, to its end or for some steps."""
    material = karate()
    truth = material.truth if with_truth else None
    run = Run(material.train, learner, seed=0, test=material.test, truth=truth)
    while (steps is None or len(run.steps) < steps) and run.advance():
        pass
    return run


@lru_cache(maxsize=1)
def finished_runs() -> tuple[Run, ...]:
    return tuple(run_of(learner) for learner in racers())


def finished_race() -> Race:
    return Race(tuple(course(k) for k in range(len(racers()))))


def course(k: int) -> Course:
    run = finished_runs()[k]
    kind = "tree" if isinstance(run.learner, ChowLiu) else "paper"
    return course_of(run, f"racer {k}", kind)
