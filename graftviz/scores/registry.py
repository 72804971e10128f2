"""Registry of scores: every named Score defined in a module of this package."""

from __future__ import annotations

import functools

from graftviz import scores
from graftviz.discovery import named_classes
from graftviz.scores.base import Score


@functools.cache
def all_scores() -> dict[str, Score]:
    """Return all scores by name, sorted."""
    return {name: kind() for name, kind in named_classes(scores, Score).items()}
