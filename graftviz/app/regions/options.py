"""Options of the Regions page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftviz.app.material import UPLOAD
from graftviz.app.player.region_records import RULES, RegionQuery
from graftviz.app.url import LinkReader, fingerprint_part, part, seed_option, step_option
from graftviz.data.sets.registry import dataset_title
from graftviz.inference.local.local_model import Cut
from graftviz.inference.local.marginal import Bound, Expansion, ExpansionOptions, Growth
from graftviz.utils.options import check_options, option, option_of

GRID = "ising-grid"
RUN = "run"  # the model of a run on the Grow page
# Small enough to learn while the page waits.
LEARNED = ("grid-8x8", "scale-free-40", "karate", "les-miserables", "survey", "digits-2")
_DATA = {
    GRID: "Ising grid",
    **{key: f"Learned: {dataset_title(key)}" for key in LEARNED},
    RUN: "Run of the Grow page",
    UPLOAD: "Upload a model…",
}
LARGEST_FIELD, LARGEST_COUPLING = 3.0, 1.0
PLACES = ("step", "state")  # written into the address by the browser
RESETS = {
    "data": ("query", "step", "state", "fingerprint", "run"),
    "fingerprint": ("query", "step", "state"),
    **dict.fromkeys(("side", "query"), ("step", "state")),
}
_LONGEST_RUN = 600  # characters of an address on the Grow page


def _read_run(link: LinkReader, values: Mapping[str, Any]) -> str:
    if values["data"] != RUN:
        link.ignore([RUN], "applies to runs of the Grow page only")
    return link.left.pop(RUN, "")


@dataclass(frozen=True)
class RegionOptions:
    """Settings of the page; all of them are part of its URL.

    Attributes
    ----------
    fingerprint : str
        Fingerprint of the uploaded model; empty otherwise.
    run : str
        URL of a run on the Grow page, if its model is shown.
    """

    data: str = option(
        GRID,
        "the model that is queried",
        label="Model",
        choices=tuple(_DATA),
        titles=tuple(_DATA.values()),
    )
    fingerprint: str = fingerprint_part()
    run: str = part("", _read_run, lambda text: {RUN: text}, {RUN: _LONGEST_RUN})
    side: int = option(
        20, "numbers of rows and columns of the grid", label="Grid size", minimum=2, maximum=30
    )
    t2: float = option(
        0.2,
        "T₂: the coupling of every edge is drawn from −T₂ … T₂. Stronger couplings carry "
        "influence further",
        label="Couplings T₂",
        minimum=0.0,
        maximum=LARGEST_COUPLING,
    )
    t1: float = option(
        1.0,
        "T₁: the field of every node is drawn from −T₁ … T₁. Strong fields reduce the influence "
        "of the neighbours",
        label="Fields T₁",
        minimum=0.0,
        maximum=LARGEST_FIELD,
    )
    query: int | None = option(
        None,
        "the variable whose marginal is computed",
        label="Query",
        minimum=0,
        none_means="the middle of a grid, otherwise a variable with a small bound",
    )
    tolerance: float = option(
        0.01,
        "the region grows until the error bound is at most this",
        label="Tolerance",
        minimum=1e-6,
        maximum=0.5,
        scale="log",
    )
    size: int = option(
        16,
        "the region stops growing at this many nodes",
        label="Maximum region size",
        minimum=1,
        maximum=40,
    )
    expansion: Expansion = option(
        "greedy",
        "the neighbour that is added next: the one that gives the smallest bound, a random one, or "
        "the one with the strongest edge into the region",
        label="Expansion rule",
        choices=tuple(RULES),
        titles=("greedy: smallest bound", "random", "strongest edge"),
    )
    cut: Cut = option(
        "drop",
        "edges that leave the region are dropped, or replaced by the mean field of the neighbour "
        "outside",
        label="Treatment of cut edges",
        choices=("drop", "mean-field"),
        titles=("dropped", "mean field"),
    )
    growth: Growth = option_of(ExpansionOptions, "growth")
    bound: Bound = option_of(ExpansionOptions, "bound")
    seed: int = seed_option("random seed of the grid's weights and of the random rule")
    state: int | None = option(
        None,
        "the state whose probability is shown; the bound holds for every state",
        label="State",
        minimum=0,
        none_means="the last state",
    )
    step: int | None = step_option()

    def __post_init__(self) -> None:
        check_options(self)


def question_of(options: RegionOptions, query: int) -> RegionQuery:
    """Return the settings that the options of the page give for a query."""
    return RegionQuery(
        query,
        options.expansion,
        options.cut,
        options.tolerance,
        options.size,
        options.seed,
        options.growth,
        options.bound,
    )
