"""Lessons for a class: what to look at in a prepared state of the app, and questions about it.

The texts are in ``texts/<language>/lessons.toml``. What a lesson opens is in
:mod:`graftviz.ui.lessons`, under the same key and in the same order. Every number of an
answer is computed by ``tests/test_lessons.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from graftviz.texts import catalogue


class Question(NamedTuple):
    """A question to the class, with its answer."""

    question: str
    answer: str


class Lesson(NamedTuple):
    """One idea, and the states of the app that show it.

    Attributes
    ----------
    key : str
        Also the anchor on the page.
    title, why : str
    views : tuple of str
        Labels of the links.
    look : str
        What to look at there.
    questions : tuple of Question
    """

    key: str
    title: str
    why: str
    views: tuple[str, ...]
    look: str
    questions: tuple[Question, ...]


LESSONS = tuple(
    Lesson(
        key,
        entry["title"],
        entry["why"],
        tuple(entry["views"]),
        entry["look"],
        tuple(Question(**question) for question in entry["questions"]),
    )
    for key, entry in catalogue("lessons").items()
)
