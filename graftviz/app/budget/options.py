"""Options of the Budget page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftviz.app.material import UPLOAD
from graftviz.app.url import fingerprint_part, reading_part, seed_option, step_option
from graftviz.data.sets.registry import DENSE, DENSE_TITLE, dataset_title
from graftviz.evaluation.tradeoff import BOUNDS, COSTS, QUALITIES
from graftviz.learning.bounded.bounded_inference import BoundedInference, Complexity, Norm
from graftviz.utils.options import OptionSpec, check_options, option, option_of, option_specs

_SAMPLES = ("survey", "random-30", "karate")
_RUN = (
    *("data", "fingerprint", "reading", "complexity", "bound", "lam2", "lam1", "norm", "seed"),
)  # what decides a run
PLACES = ("step",)  # written into the address by the browser
RESETS = {
    **dict.fromkeys(_RUN, ("step",)),
    "data": ("step", "fingerprint", "reading"),
    "complexity": ("step", "bound"),
}


@dataclass(frozen=True)
class BudgetOptions:
    """Settings of the page; all of them are part of its URL."""

    data: str = option(
        DENSE,
        "data to learn from",
        label="Data",
        choices=(DENSE, *_SAMPLES, UPLOAD),
        titles=(DENSE_TITLE, *map(dataset_title, _SAMPLES), "Your own data…"),
    )
    fingerprint: str = fingerprint_part()
    reading: Mapping[str, Any] = reading_part()
    complexity: Complexity = option_of(BoundedInference, "complexity")
    bound: float | None = option_of(BoundedInference, "bound")
    lam2: float = option_of(BoundedInference, "lam2")
    lam1: float = option_of(BoundedInference, "lam1")
    norm: Norm = option_of(BoundedInference, "norm")
    seed: int = seed_option("random seed of the network and its rows, or of the held-out rows")
    quality: str = option(
        QUALITIES[0],
        "accuracy on held-out rows: negative log-likelihood of whole rows (NLL), of half of each "
        "row given the other half (NCMLL), or of each value given all others (NLPL)",
        label="Quality",
        choices=QUALITIES,
        titles=tuple(map(str.upper, QUALITIES)),
    )
    cost: str = option(
        "operations",
        "cost of all marginals of one and of two variables: processor seconds on this server, or "
        "number of operations",
        label="Cost",
        choices=COSTS,
    )
    step: int | None = step_option()

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def tau(self) -> float:
        """The chosen bound, or the default."""
        return BOUNDS[self.complexity].usual if self.bound is None else float(self.bound)


def slider_of(complexity: str) -> OptionSpec:
    """Return the spec of the slider of τ for a measure."""
    bound = BOUNDS[complexity]
    specs = {spec.name: spec for spec in option_specs(BudgetOptions)}
    return specs["bound"]._replace(
        kind="int" if bound.whole else "float",
        minimum=bound.least,
        maximum=bound.most,
        above=None,
        default=bound.usual,
        scale="linear" if bound.whole else "log",
        none_means="",  # always a number here, so that the control is a slider
    )
