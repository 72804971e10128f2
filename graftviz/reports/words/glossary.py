"""Glossary: terms, their forms in sentences, definitions and further reading.

The texts are in ``reports/texts/en/glossary.toml``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from graftviz.reports.texts import catalogue


class Term(NamedTuple):
    """One entry.

    Attributes
    ----------
    key : str
        Also the anchor on the page.
    name : str
        Heading of the entry.
    forms : tuple of str
        Forms in sentences, in lower case; matched as whole words, ignoring case.
    meaning : str
        One or two sentences.
    formula : str
        Short, as plain text; empty if there is none.
    page : str
        Of the folder docs, without ``.md``.
    source : str
        Paper and equation; empty if given on the page.
    """

    key: str
    name: str
    forms: tuple[str, ...]
    meaning: str
    formula: str = ""
    page: str = "methods/best-choice"
    source: str = ""


GLOSSARY = tuple(
    Term(key, **{**entry, "forms": tuple(entry["forms"])})
    for key, entry in catalogue("glossary").items()
)


def glossary_records() -> list[dict[str, Any]]:
    """Return the definitions of the terms that occur in the sentences of the player's steps."""
    return [
        {
            "name": term.name,
            "forms": list(term.forms),
            "meaning": term.meaning,
            "formula": term.formula,
            "read": term.source or f"docs/{term.page}.md",
        }
        for term in GLOSSARY
        if term.forms
    ]
