"""Option of learners that compare all scores: which of them a step computes again."""

from __future__ import annotations

from typing import Any, Literal

from graftviz.utils.options import option

Rescoring = Literal["needed", "all"]


def rescoring_option(scored: str) -> Any:
    """Return the option `rescoring` of a learner that scores edges or features."""
    return option(
        "needed",
        f"which inactive {scored} a step scores again. needed: those that could be the best, by "
        f"bounds on the change of their scores; all: every one, as in the paper. The {scored} are "
        "the same, the tests and the time are not",
        label="Rescoring",
    )
