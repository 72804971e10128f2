"""Headline and explanation of the Lessons page."""

from __future__ import annotations

HEADLINE = "Prepared settings of the app with questions for a class, and a glossary."
HELP = """
Every link opens the app in a prepared state, in a new tab. The answers are collapsed; their numbers
were computed in that state.
"""
