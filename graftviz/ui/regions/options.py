"""What can be chosen on the Regions page."""

from __future__ import annotations

from dataclasses import dataclass

from graftviz.options import check_options, option
from graftviz.ui.url_state import MAX_SEED, UPLOAD

GRID = "ising-grid"
RUN = "run"  # the model of a run on the Grow page
# Small enough to learn while somebody waits.
LEARNED = ("grid-8x8", "scale-free-60", "karate", "les-miserables", "survey", "digits-2")
DATA = (GRID, *LEARNED, RUN, UPLOAD)
LARGEST_FIELD, LARGEST_COUPLING = 3.0, 1.0
# Where the browser is; it writes these into the address itself.
PLACES = ("step", "state")


@dataclass(frozen=True)
class RegionOptions:
    """Settings of the page; all of them stand in its address."""

    data: str = option(GRID, "whose variables are asked about", label="Model", choices=DATA)
    side: int = option(
        20,
        "the grid has this many nodes in a row and in a column",
        label="Nodes a side",
        minimum=2,
        maximum=30,
    )
    t2: float = option(
        0.2,
        "T₂: the coupling of every edge is drawn from −T₂ … T₂. The stronger, the further "
        "nodes feel each other",
        label="Couplings T₂",
        minimum=0.0,
        maximum=LARGEST_COUPLING,
    )
    t1: float = option(
        1.0,
        "T₁: the field of every node is drawn from −T₁ … T₁. Strong fields make nodes stubborn: "
        "they feel their neighbours less",
        label="Fields T₁",
        minimum=0.0,
        maximum=LARGEST_FIELD,
    )
    query: int | None = option(
        None,
        "the variable whose probability is asked for",
        label="Query",
        minimum=0,
        none_means="the middle of a grid, or else a variable about which a region promises much",
    )
    tolerance: float = option(
        0.01,
        "the region grows until the bound on the error is no larger than this",
        label="Tolerance",
        minimum=1e-6,
        maximum=0.5,
        scale="log",
    )
    size: int = option(
        16, "the region stops growing at this many nodes", label="Most nodes", minimum=1, maximum=40
    )
    expansion: str = option(
        "greedy",
        "which neighbour joins next: the one with the smallest bound, any, or the one with the "
        "strongest edge into the region",
        label="Which neighbour joins",
        choices=("greedy", "random", "norm"),
    )
    cut: str = option(
        "drop",
        "what becomes of edges that leave the region: left out, or replaced by the mean field of "
        "the neighbour outside",
        label="Edges that are cut",
        choices=("drop", "mean-field"),
    )
    seed: int = option(
        0,
        "of the grid's strengths and of the random rule; same seed, same picture",
        label="Seed",
        minimum=0,
        maximum=MAX_SEED,
    )
    state: int | None = option(
        None,
        "the state whose probability is shown; the bound holds for every one",
        label="State",
        minimum=0,
        none_means="the last one",
    )
    step: int | None = option(
        None,
        "the step of the growing region that is shown",
        label="Step",
        minimum=0,
        none_means="the end",
    )

    def __post_init__(self) -> None:
        check_options(self)
