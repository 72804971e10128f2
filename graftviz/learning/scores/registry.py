"""Registry of scores."""

from __future__ import annotations

from graftviz.learning.scores.base import Score
from graftviz.learning.scores.belief import BeliefScore
from graftviz.learning.scores.pseudo_likelihood import PseudoLikelihoodScore

SCORES: dict[str, Score] = {score.name: score for score in (BeliefScore(), PseudoLikelihoodScore())}
