"""Page of the lessons, from the texts of the app's Lessons page."""

from __future__ import annotations

from graftviz.datasets import dataset_keys
from graftviz.learners.registry import learner_class, learner_names
from graftviz.narrative.lessons import LESSONS, Lesson
from graftviz.ui.lessons.views import VIEWS, View, query_of
from graftviz.ui.url_state import Vocabulary

_HEAD = """# Lessons

What the page *Lessons* of the app has, to be read beforehand or printed. An address is to be put
behind that of the app, for example `http://127.0.0.1:8501/`; add `present=1` for a projector. Every
number of an answer is computed by the tests, in the state that the address opens. Written by
`python -m docs.making` from [`lessons.toml`](../graftviz/texts/en/lessons.toml); see
[how to teach with it](teaching.md).
"""


def lessons_page() -> str:
    """Return ``docs/lessons.md``."""
    learners = {name: learner_class(name) for name in learner_names()}
    vocabulary = Vocabulary(dataset_keys(), learners, "scale-free-60", "best-choice")
    return "\n".join([_HEAD, *(_lesson(lesson, vocabulary) for lesson in LESSONS)])


def _lesson(lesson: Lesson, vocabulary: Vocabulary) -> str:
    lines = [f"## {lesson.title}", "", lesson.why, ""]
    views = zip(lesson.views, VIEWS[lesson.key], strict=True)
    lines += [f"- {label}: `{_address(view, vocabulary)}`" for label, view in views]
    lines += ["", f"**Look at:** {lesson.look}", ""]
    for number, question in enumerate(lesson.questions, start=1):
        answer = f"<details><summary>Answer</summary>\n\n{question.answer}\n\n</details>"
        lines += [f"**Question {number}.** {question.question}", "", answer, ""]
    return "\n".join(lines)


def _address(view: View, vocabulary: Vocabulary) -> str:
    query = "&".join(f"{name}={text}" for name, text in query_of(view, vocabulary).items())
    return f"{view.page}?{query}" if query else f"{view.page}"
