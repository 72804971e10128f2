"""Options of the Dynamics page, and the learners they select."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftviz.dynamics import LEARNERS, DynamicsLearner, ScalableStructure, SparsityEnforcing
from graftviz.dynamics.reading import LONGEST_GAP
from graftviz.dynamics.samples import sample_keys
from graftviz.dynamics.seeds import seed_count
from graftviz.dynamics.solving import SolverOptions
from graftviz.options import OptionSpec, check_options, option, option_of, option_specs
from graftviz.ui.url_state import MAX_SEED, UPLOAD

RANDOM = "random"
DATA = (RANDOM, *sample_keys(), UPLOAD)
# The browser writes this into the address itself.
PLACES = ("step", "node")
USUAL_PARENTS = 5
USUAL_SEEDS = 0.2  # of the series
MOST_PARENTS = 50
_SOLVING = ("lam", "solver", "path", "tolerance", "max_passes")
_SEEDING = ("seed_choice", "unspoken", "two_hop_tolerance")
WIRINGS = ("truth", "inducing", "scalable", "file")


@dataclass(frozen=True)
class DynamicsOptions:
    """Settings of the page; all of them are part of its URL."""

    data: str = option(RANDOM, "data to learn from", label="Data", choices=DATA)
    size: int = option(
        30, "number of series of the random system", label="Series", minimum=4, maximum=120
    )
    density: float = option(
        0.1,
        "share of non-zero entries of A",
        label="Density",
        minimum=0.02,
        maximum=0.5,
    )
    rows: int = option(
        600, "number of simulated time steps", label="Rows", minimum=50, maximum=5000
    )
    noise: float = option(
        0.2,
        "standard deviation of the observation noise; that of the noise driving the system is 1",
        label="Noise",
        minimum=0.0,
        maximum=2.0,
    )
    learner: str = option(
        "scalable", "the method that learns A", label="Method", choices=tuple(LEARNERS)
    )
    parents: int | None = option(
        None,
        "largest number of parents of a series",
        label="k (parents)",
        minimum=1,
        maximum=MOST_PARENTS,
        none_means=f"{USUAL_PARENTS}, at most the number of series",
    )
    seeds: int | None = option(
        None,
        "number of series that are regressed; the parents of all others are inferred from these",
        label="|S| (seeds)",
        minimum=1,
        none_means="a fifth of the series",
    )
    wiring: str = option(
        "truth",
        "parents used by sparsity enforcing learning: those of the true system, of another method, "
        "or of a file",
        label="Given parents",
        choices=WIRINGS,
    )
    horizon: int = option(
        1,
        "number of time steps that the predictions look ahead",
        label="Steps ahead",
        minimum=1,
        maximum=24,
    )
    held_out: float = option(
        0.2,
        "share of the rows, at the end, that are held out",
        label="Held out",
        minimum=0.05,
        maximum=0.5,
    )
    seed: int = option(
        0,
        "random seed of the system, the choice of seeds, and the order of gradient descent",
        label="Seed",
        minimum=0,
        maximum=MAX_SEED,
    )
    seed_choice: str = option_of(ScalableStructure, "seed_choice")
    unspoken: str = option_of(ScalableStructure, "unspoken")
    solver: str = option_of(SolverOptions, "solver")
    lam: float | None = option_of(SolverOptions, "lam")
    path: int = option_of(SolverOptions, "path")
    tolerance: float = option_of(SolverOptions, "tolerance")
    two_hop_tolerance: float = option_of(ScalableStructure, "two_hop_tolerance")
    max_passes: int = option_of(SolverOptions, "max_passes")
    centre: bool = option_of(DynamicsLearner, "centre")
    layout: str = option(
        "auto",
        "layout of the file: one column per series, or the columns time, series and value",
        label="Layout",
        choices=("auto", "wide", "long"),
        advanced=True,
    )
    missing: str = option(
        "reject",
        "missing values: raise an error, or fill short gaps by linear interpolation",
        label="Missing values",
        choices=("reject", "interpolate"),
        advanced=True,
    )
    longest_gap: int = option(
        LONGEST_GAP,
        "largest number of consecutive values to fill",
        label="Longest gap",
        minimum=1,
        maximum=1000,
        advanced=True,
    )
    constant: str = option(
        "reject",
        "constant series: raise an error, drop them, or keep them",
        label="Constant series",
        choices=("reject", "drop", "keep"),
        advanced=True,
    )
    step: int | None = option(
        None, "the step that is shown", label="Step", minimum=0, none_means="the last step"
    )
    node: int | None = option(
        None,
        "index of the selected series, from 0",
        label="Selected series",
        minimum=0,
        none_means="none",
    )

    def __post_init__(self) -> None:
        check_options(self)


SPECS: Mapping[str, OptionSpec] = {spec.name: spec for spec in option_specs(DynamicsOptions)}
OF_SYSTEM = ("size", "density", "rows", "noise")
OF_READING = ("layout", "missing", "longest_gap", "constant")
OF_LEARNING = ("seed_choice", "unspoken", *_SOLVING, "two_hop_tolerance", "centre")


def parent_count(options: DynamicsOptions, n: int) -> int:
    """Return k for n series: the choice or the default, at most n."""
    return min(USUAL_PARENTS if options.parents is None else options.parents, n)


def seeds_of(options: DynamicsOptions, n: int) -> int:
    """Return |S| for n series: the choice or the default, at most n."""
    return seed_count(USUAL_SEEDS, n) if options.seeds is None else min(options.seeds, n)


def learner_of(options: DynamicsOptions, n: int, name: str | None = None) -> DynamicsLearner:
    """Return the learner that settings lead to, for n series.

    Parameters
    ----------
    options : DynamicsOptions
    n : int
    name : str, optional
        Another learner than the chosen one.

    Raises
    ------
    InputError
        When options do not go together.
    """
    cls = LEARNERS[name or options.learner]
    values: dict[str, Any] = {"centre": options.centre}
    if issubclass(cls, SolverOptions):
        values |= {option: getattr(options, option) for option in _SOLVING}
        values["parents"] = parent_count(options, n)
    if cls is ScalableStructure:
        values |= {option: getattr(options, option) for option in _SEEDING}
        values["seeds"] = float(seeds_of(options, n))
    return cls(**values)


def needs_parents(learner: DynamicsLearner) -> bool:
    """Whether a learner needs given parents."""
    return isinstance(learner, SparsityEnforcing)
