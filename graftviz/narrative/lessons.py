"""Lessons for a class: prepared states of the app with instructions and questions.

The texts are in ``texts/<language>/lessons.toml``. Every number of an answer is computed by
``tests/test_lessons.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from typing import NamedTuple

from graftviz.texts import catalogue

# Key of a lesson → addresses, as the pages write them; those without a path are of the Grow page.
_VIEWS: Mapping[str, tuple[str, ...]] = {
    "alpha": (
        "?data=les-miserables&alpha=0&step=1",
        "?data=les-miserables&alpha=1&step=1",
        "race?data=les-miserables&edges=231&r1=best-choice:alpha=0&r2=best-choice:alpha=0.5"
        "&r3=best-choice:alpha=1&axis=edges",
    ),
    "reservoir": ("reservoir", "reservoir?reservoir=1", "reservoir?reservoir=5"),
    "hub": ("?data=scale-free-60&step=31", "?data=scale-free-60&step=114"),
    "heuristic": (
        "race?data=les-miserables&edges=231&r1=best-choice:alpha=0.5,hubs=true"
        "&r2=best-choice:alpha=0.5,hubs=false&axis=edges",
        "race?data=karate&edges=102&r1=best-choice:alpha=0,hubs=true"
        "&r2=best-choice:alpha=0,hubs=false&axis=edges",
    ),
    "correlation": ("?data=scale-free-60&step=4", "?data=scale-free-60&compare=best&step=61"),
    "vacuous": (
        "regions",
        "regions?t2=1",
        "regions?t2=0.6&t1=3",
        "regions?data=karate&query=33",
    ),
    "lam": tuple(
        f"?data=scale-free-60&{rest}"
        for rest in ("lam=0.0035&step=114", "lam=0.01&step=44", "lam=0.03")
    ),
    "first-hit": (
        "race?data=scale-free-60&edges=120&r1=first-hit&r2=best-choice:alpha=1&r3=edge-grafting",
    ),
    "treewidth": tuple(f"budget?data=survey&bound={bound}" for bound in (1, 2, 5)),
    "seeds": ("dynamics?seeds=6", "dynamics?seeds=30", "dynamics?learner=dense"),
}


class Question(NamedTuple):
    """Question with its answer."""

    question: str
    answer: str


class View(NamedTuple):
    """Link to a prepared state of the app: label, and address as the page writes it."""

    label: str
    address: str


class Lesson(NamedTuple):
    """One idea, and the states of the app that show it.

    Attributes
    ----------
    key : str
        Also the anchor on the page.
    title, why : str
    views : tuple of View
    look : str
        What to look at there.
    questions : tuple of Question
    """

    key: str
    title: str
    why: str
    views: tuple[View, ...]
    look: str
    questions: tuple[Question, ...]


LESSONS = tuple(
    Lesson(
        key,
        entry["title"],
        entry["why"],
        tuple(starmap(View, zip(entry["views"], _VIEWS[key], strict=True))),
        entry["look"],
        tuple(Question(**question) for question in entry["questions"]),
    )
    for key, entry in catalogue("lessons").items()
)
