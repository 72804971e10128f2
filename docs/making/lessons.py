"""Page of the lessons, from the texts of the app's Lessons page."""

from __future__ import annotations

from graftviz.narrative.lessons import LESSONS, Lesson

_HEAD = """# Lessons

What the page *Lessons* of the app has, to be read beforehand or printed. An address is to be put
behind that of the app, for example `http://127.0.0.1:8501/`; add `present=1` for a projector. Every
number of an answer is computed by the tests, in the state that the address opens. Written by
`python -m docs.making` from [`lessons.toml`](../graftviz/texts/en/lessons.toml); see
[how to teach with it](teaching.md).
"""


def lessons_page() -> str:
    """Return ``docs/lessons.md``."""
    return "\n".join([_HEAD, *map(_lesson, LESSONS)])


def _lesson(lesson: Lesson) -> str:
    lines = [f"## {lesson.title}", "", lesson.why, ""]
    lines += [f"- {label}: `{address}`" for label, address in lesson.views]
    lines += ["", f"**Look at:** {lesson.look}", ""]
    for number, question in enumerate(lesson.questions, start=1):
        answer = f"<details><summary>Answer</summary>\n\n{question.answer}\n\n</details>"
        lines += [f"**Question {number}.** {question.question}", "", answer, ""]
    return "\n".join(lines)
