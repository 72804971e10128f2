"""Options of the Budget page, and ranges of τ for each measure of complexity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from graftviz.datasets import dataset_title
from graftviz.datasets.networks import DENSE, DENSE_TITLE
from graftviz.learners.bounded_inference import BoundedInference
from graftviz.options import OptionSpec, check_options, option, option_of, option_specs
from graftviz.tradeoff import COSTS, QUALITIES
from graftviz.ui.url_state import seed_option, step_option

_SAMPLES = ("survey", "random-30", "karate")
_RUN = ("data", "complexity", "bound", "lam2", "seed")  # what decides a run
PLACES = ("step",)  # written into the address by the browser
RESETS = {**dict.fromkeys(_RUN, ("step",)), "complexity": ("step", "bound")}


class Bounds(NamedTuple):
    """Range of τ for a measure of complexity.

    Attributes
    ----------
    usual : float
        Default of the slider.
    least, most : float
        Ends of the slider.
    ladder : tuple of float
        Bounds of the models in the charts.
    whole : bool
        Whether τ is a whole number.
    method : str
        The inference whose cost the charts show.
    """

    usual: float
    least: float
    most: float
    ladder: tuple[float, ...]
    whole: bool = False
    method: str = "exact"


_SWEEPS = Bounds(20.0, 2.0, 200.0, (5.0, 10.0, 20.0, 50.0))
BOUNDS: Mapping[str, Bounds] = {
    "treewidth": Bounds(3.0, 1.0, 8.0, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), whole=True),
    "bp-sweeps": _SWEEPS._replace(method="bp"),
    "trbp-sweeps": _SWEEPS._replace(method="trbp"),
    "seconds": Bounds(0.01, 0.0005, 1.0, (0.002, 0.005, 0.01, 0.02), method="trbp"),
    "circuit-size": Bounds(500.0, 50.0, 50_000.0, (100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)),
    "approximation-error": Bounds(0.1, 0.001, 10.0, (0.01, 0.05, 0.2, 0.5), method="trbp"),
}


@dataclass(frozen=True)
class BudgetOptions:
    """Settings of the page; all of them are part of its URL."""

    data: str = option(
        DENSE,
        "data to learn from",
        label="Data",
        choices=(DENSE, *_SAMPLES),
        titles=(DENSE_TITLE, *map(dataset_title, _SAMPLES)),
    )
    complexity: str = option_of(BoundedInference, "complexity")
    bound: float | None = option_of(BoundedInference, "bound")
    lam2: float = option_of(BoundedInference, "lam2")
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
        "cost of all marginals of one and of two variables: seconds on this server, or number of "
        "operations",
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
