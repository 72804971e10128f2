"""Settings of the Grow page: a learner on data, a branch of its run, a comparison, and the step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graftviz.app.url import (
    BEST,
    MAX_STEP,
    DataOptions,
    LearnerOption,
    LinkReader,
    changes_text,
    part,
    texts,
)
from graftviz.learning.registry import learner_class, learner_names
from graftviz.utils.options import option, option_of, option_specs
from graftviz.utils.wording import quoted

FEWEST_ROWS = 50  # below, most pairs of states have no row


@dataclass(frozen=True)
class BranchPoint:
    """From step `at` on the run uses `options` instead of its own."""

    at: int
    options: Mapping[str, Any] = field(default_factory=dict)


def option_names(learner: str) -> set[str]:
    """Return the names of the options of a learner."""
    return {spec.name for spec in option_specs(learner_class(learner))}


def has_presets(learner: str) -> bool:
    """Return whether a learner can be run by the preset best."""
    specs = option_specs(learner_class(learner))
    return any(spec.name == "preset" and BEST in spec.choices for spec in specs)


def _read_options(link: LinkReader, values: Mapping[str, Any]) -> dict[str, Any]:
    options = link.take_options(learner_class(values["learner"]))
    others = set().union(*map(option_names, learner_names()))
    link.ignore(
        [name for name in link.left if name in others], f"does not apply to {values['learner']}"
    )
    return options


def _read_compare(link: LinkReader, values: Mapping[str, Any]) -> bool:
    text, why = link.left.pop("compare", "").strip(), ""
    if text and text != BEST:
        why = f"A run can be compared with {BEST}, not {quoted(text)}."
    elif text and "branch" in link.left:
        why = f"A branch cannot be compared with {BEST}; showing the branch."
    elif text and not has_presets(values["learner"]):
        why = f"This learner has no presets, so there is no {BEST} to compare with."
    link.complaints += [why] if why else []
    return bool(text) and not why


def _read_branch(link: LinkReader, values: Mapping[str, Any]) -> BranchPoint | None:
    def read(text: str) -> BranchPoint | None:
        at, _, changes = text.partition(":")
        if not re.fullmatch(r"\d{1,9}", at.strip(), re.ASCII):
            return None
        cls = learner_class(values["learner"])
        unknown = "A branch cannot change {}; ignored."
        return BranchPoint(int(at), link.take_changes(changes, cls, unknown))

    rule = "A branch is written as step:option=value, for example 7:alpha=0.2, not {}; ignored."
    return link.take("branch", None, read, rule)


@dataclass(frozen=True)
class GrowOptions(DataOptions):
    """Settings of the page.

    Attributes
    ----------
    rows : int or None
    held_out : float or None
        Arguments of :meth:`graftviz.app.material.Material.divided`.
    options : mapping
        Options of the learner that differ from their defaults.
    compare : bool
        Whether the run of the preset best on the same data is shown in front.
    branch : BranchPoint or None
    """

    rows: int | None = option(
        None,
        "training rows that the run learns from, drawn by the seed: fewer rows are a subset of "
        "more. The held-out rows stay the same",
        label="Rows used",
        minimum=FEWEST_ROWS,
        none_means="all training rows",
    )
    held_out: float | None = option(
        None,
        "share of the rows that are held out; the training rows are the others",
        label="Held-out share",
        minimum=0.0,
        maximum=0.5,
        none_means="the share of the data set",
        advanced=True,
    )
    learner: str = option_of(LearnerOption, "learner")
    options: Mapping[str, Any] = part({}, _read_options, texts)
    compare: bool = part(False, _read_compare, lambda _: {"compare": BEST})
    branch: BranchPoint | None = part(  # noqa: RUF009 (a field)
        None,
        _read_branch,
        lambda branch: {"branch": f"{branch.at}:{changes_text(branch.options)}"},
        {"branch": 600},
    )
    step: int = option(0, "Step that is shown", minimum=0, maximum=MAX_STEP)
