"""Runs told in words: what a step did and why, and why an edge is there or is not."""

from graftviz.narrative.answers import node_facts, why_edge, why_not
from graftviz.narrative.steps import learner_at, outcome_words, step_words

__all__ = ["learner_at", "node_facts", "outcome_words", "step_words", "why_edge", "why_not"]
