"""Values of automatic options, for the controls that show them."""

from __future__ import annotations

import dataclasses
from typing import Any

from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.learners.grafting_options import GraftingOptions
from graftviz.learners.settings import Settings
from graftviz.options import option_specs
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
    """Return option → value that "automatic" comes to, for the options that rules decide.

    The value of an option that was chosen is what "automatic" would come to instead.

    Raises
    ------
    InputError
        When the options do not go together.
    """
    values = learner.automatic(material.counts)
    for spec in option_specs(learner):
        if spec.optional and getattr(learner, spec.name) is not None:
            values.pop(spec.name, None)
            try:
                undecided = dataclasses.replace(learner, **{spec.name: None})
                value = undecided.automatic(material.counts).get(spec.name)
            except InputError:
                continue  # the other options require a choice
            if value is not None:
                values[spec.name] = value
    n = material.train.n_variables
    if values.get("max_edges") == 3 * n:
        values["max_edges"] = f"3n = {3 * n:,}"
    return values
