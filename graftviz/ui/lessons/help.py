"""Headline and explanation of the Lessons page."""

from __future__ import annotations

HEADLINE = "Prepared settings of the app with questions for a class, and a glossary."
HELP = """
Every link opens the app in a prepared state, in a tab of its own. The answers are folded away;
their numbers were computed in that very state.
"""
