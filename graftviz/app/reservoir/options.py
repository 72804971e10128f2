"""Options of the Reservoir page."""

from __future__ import annotations

from dataclasses import dataclass

from graftviz.app.url import seed_option
from graftviz.evaluation.reservoir import MOST_DRAWS, MOST_TRIALS, MOST_VARIABLES
from graftviz.utils.options import check_options, option

# Small enough to rank all pairs at every step interactively.
DATA = ("scale-free-60", "scale-free-40", "karate", "grid-8x8", "les-miserables", "digits-2")


@dataclass(frozen=True)
class ReservoirOptions:
    """Settings of the page; all of them are in its URL."""

    reservoir: int = option(
        20,
        "number of edges in the reservoir: marked on the left, used by the run on the right",
        label="Reservoir size |R|",
        minimum=1,
        maximum=100,
    )
    alpha: float = option(
        0.75,
        "how selective a step is: 1 takes only the best edge, 0 all above the reservoir's mean",
        label="α",
        minimum=0.0,
        maximum=1.0,
    )
    n: int = option(
        400,
        "number of variables; there are n(n−1)/2 pairs to draw from",
        label="Variables n",
        minimum=2,
        maximum=MOST_VARIABLES,
    )
    largest: int = option(
        500,
        "largest size |R| of the simulation, from 1",
        label="Largest |R|",
        minimum=1,
        maximum=MOST_DRAWS,
    )
    trials: int = option(
        100, "number of trials per reservoir size", label="Trials", minimum=1, maximum=MOST_TRIALS
    )
    seed: int = seed_option("random seed of the draws and of both runs")
    logarithmic: bool = option(
        False,
        "logarithmic axis of ranks, on which the expected rank is nearly a straight line",
        label="Log axis",
    )
    data: str = option(DATA[0], "data to learn from", label="Data of the run", choices=DATA)
    tests: int = option(
        60,
        "edge tests between two activation steps of the run",
        label="Tests per step",
        minimum=1,
        maximum=5000,
    )
    step: int = option(
        31,
        "the step of the run whose reservoir is shown below",
        label="Step",
        minimum=1,
        maximum=100_000,
    )

    def __post_init__(self) -> None:
        check_options(self)
