"""Page of the glossary, from the terms that the app explains."""

from __future__ import annotations

from graftviz.reports.words.lessons import GLOSSARY, Term

_HEAD = """# Glossary

What the words mean that the app uses. In the words of a step, on the Grow page and in
`replay.html`, the first of each is underlined and opens this text; the Lessons page has them all.
Written by `python -m docs.making` from
[`glossary.toml`](../graftviz/reports/texts/en/glossary.toml).
"""


def glossary_page() -> str:
    """Return ``docs/glossary.md``."""
    terms = sorted(GLOSSARY, key=lambda term: term.name.casefold())
    return "\n".join([_HEAD, *(_entry(term) for term in terms)])


def _entry(term: Term) -> str:
    lines = [f"## {term.name}", "", term.meaning, ""]
    if term.formula:
        lines += [f"`{term.formula}`", ""]
    source = f"; {term.source}" if term.source else ""
    return "\n".join([*lines, f"Read more: [{term.page}]({term.page}.md){source}.", ""])
