"""Values of automatic options, for the controls that show them."""

from __future__ import annotations

from typing import Any

from graftviz.learners.base import Learner
from graftviz.learners.best_choice import BestChoice
from graftviz.learners.feature_options import FeatureOptions
from graftviz.learners.grafting_options import GraftingOptions
from graftviz.learners.settings import Settings
from graftviz.ui.material import Material


def settings_of(learner: Learner, material: Material) -> Settings | None:
    """Return the settings of a grafting learner on the rows of `material`; None for others.

    Raises
    ------
    InputError
        When the options do not go together.
    """
    return learner.settings(material.counts) if isinstance(learner, GraftingOptions) else None


def automatic_values(learner: Learner, material: Material) -> dict[str, Any]:
    """Return option → value for the options that rules and presets decide.

    Raises
    ------
    InputError
        When the options do not go together.
    """
    if isinstance(learner, FeatureOptions):
        own = learner.settings(material.counts)
        return {"lam": own.lam, "lam2": own.penalty.lam2}
    settings = settings_of(learner, material)
    if settings is None:
        return {}
    values: dict[str, Any] = {
        "score": settings.score,
        "objective": settings.objective,
        "significance": settings.significance,
        "refit": settings.refit,
        "lam": settings.lam,
        "lam2": settings.penalty.lam2,
    }
    n = material.train.n_variables
    if isinstance(learner, GraftingOptions):
        budget = learner.edge_budget(n)
        is_preset = learner.max_edges is None and budget == 3 * n
        if budget < n * (n - 1) // 2:
            values["max_edges"] = f"3n = {budget:,}" if is_preset else budget
    if isinstance(learner, BestChoice):
        plan = learner.plan(n)
        values |= {
            "reservoir": plan.capacity,
            "t_max": plan.limit,
            "first_tests": plan.first_limit,
            "screening": plan.screening,
            "hubs": plan.hubs,
        }
    return values
