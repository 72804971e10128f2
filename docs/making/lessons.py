"""Page of the lessons: the teacher's sheets of the app's Lessons page."""

from __future__ import annotations

from graftviz.reports.words.lessons import LESSONS, sheet_markdown

_HEAD = """# Lessons

The teacher's sheets of the lessons of the app; the page *Lessons* offers each as a file to print.
An address is to be put behind that of the app, for example `http://127.0.0.1:8501/`; add
`present=1` for a projector. Every number of an answer is computed by the tests. Written by
`python -m docs.making` from [`lessons.toml`](../graftviz/reports/texts/en/lessons.toml); see
[how to teach with it](teaching.md).
"""


def lessons_page() -> str:
    """Return ``docs/lessons.md``."""
    return "\n".join([_HEAD, *map(sheet_markdown, LESSONS)])
