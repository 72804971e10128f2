"""Sentences on runs: steps with their reasons, and reasons for edges and missing edges."""

from graftviz.narrative.answers import node_facts, why_edge, why_not
from graftviz.narrative.steps import (
    learner_at,
    outcome_words,
    overfitting_words,
    path_words,
    screening_words,
    step_words,
)

__all__ = [
    "learner_at",
    "node_facts",
    "outcome_words",
    "overfitting_words",
    "path_words",
    "screening_words",
    "step_words",
    "why_edge",
    "why_not",
]
