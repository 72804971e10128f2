"""Options of the Dynamics page, and the runs they select."""

from __future__ import annotations

from dataclasses import dataclass

from graftviz.app.material import ASK_SECONDS, UPLOAD, RunCheck
from graftviz.app.url import fingerprint_part, seed_option, step_option
from graftviz.data.series.reading import SeriesOptions
from graftviz.dynamics.base import DynamicsLearner
from graftviz.dynamics.learners import LEARNERS, ScalableStructure, SolverOptions, takes_parents
from graftviz.dynamics.measuring import DynamicsPlan, PreparedSeries, sample_keys
from graftviz.dynamics.search import seed_count
from graftviz.utils.memory import size_text
from graftviz.utils.options import check_options, option, option_of, option_specs
from graftviz.utils.wording import duration_text

_NUMBER = 60  # bytes a number takes in steps, records and messages together
_MOST_NUMBERS = 700_000  # beyond, a message to the browser would be too large

RANDOM = "random"
DATA = (RANDOM, *sample_keys(), UPLOAD)
# The browser writes this into the address itself.
PLACES = ("step", "node")
USUAL_PARENTS = 5
USUAL_SEEDS = 0.2  # of the series
FEW_SERIES = 10  # that are all regressed
MOST_PARENTS = 50


@dataclass(frozen=True)
class DynamicsOptions:
    """Settings of the page; all of them are part of its URL."""

    data: str = option(RANDOM, "data to learn from", label="Data", choices=DATA)
    fingerprint: str = fingerprint_part()
    size: int = option(
        30, "number of series of the random system", label="Series", minimum=4, maximum=120
    )
    density: float = option(
        0.1, "share of non-zero entries of A", label="Density", minimum=0.02, maximum=0.5
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
        "scalable",
        "the method that learns A",
        label="Method",
        choices=tuple(LEARNERS),
        titles=tuple(cls.title for cls in LEARNERS.values()),
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
        none_means=f"a fifth of the series; all of at most {FEW_SERIES}",
    )
    wiring: str = option(
        "truth",
        "parents used by sparsity enforcing learning: those of the true system, of another method, "
        "or of a file",
        label="Given parents",
        choices=("truth", "inducing", "scalable", "file"),
        titles=("true system", "sparsity inducing", "scalable structure", "uploaded file"),
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
    seed: int = seed_option(
        "random seed of the system, the choice of seeds, and the order of gradient descent"
    )
    seed_choice: str = option_of(ScalableStructure, "seed_choice")
    uncovered: str = option_of(ScalableStructure, "uncovered")
    solver: str = option_of(SolverOptions, "solver")
    lam: float | None = option_of(SolverOptions, "lam")
    path: int = option_of(SolverOptions, "path")
    tolerance: float = option_of(SolverOptions, "tolerance")
    two_hop_tolerance: float = option_of(ScalableStructure, "two_hop_tolerance")
    max_passes: int = option_of(SolverOptions, "max_passes")
    centre: bool = option_of(DynamicsLearner, "centre")
    layout: str = option_of(SeriesOptions, "layout")
    missing: str = option_of(SeriesOptions, "missing")
    longest_gap: int = option_of(SeriesOptions, "longest_gap")
    constant: str = option_of(SeriesOptions, "constant")
    difference: int = option_of(SeriesOptions, "difference")
    period: int | None = option(
        None,
        "rows of a season: its naive prediction is the value one season earlier",
        label="Season",
        minimum=2,
        maximum=100_000,
        none_means="the lag of the largest autocorrelation of the training rows",
    )
    step: int | None = step_option()
    node: int | None = option(
        None,
        "index of the selected series, from 0",
        label="Selected series",
        minimum=0,
        none_means="none",
    )

    def __post_init__(self) -> None:
        check_options(self)


OF_SYSTEM = ("size", "density", "rows", "noise")
OF_READING = tuple(spec.name for spec in option_specs(SeriesOptions))
OF_LEARNING = (
    *("seed_choice", "uncovered", "lam", "solver", "path", "tolerance", "max_passes"),
    *("two_hop_tolerance", "centre"),
)
_PICTURE = (*OF_SYSTEM, "seed")  # what decides which series there are, besides the data
RESETS = {
    **{spec.name: ("step",) for spec in option_specs(DynamicsOptions)},
    **dict.fromkeys(_PICTURE, ("step", "node")),
    **dict.fromkeys(("step", "node", "horizon", "period"), ()),
    "data": ("step", "node", "fingerprint"),
    "fingerprint": ("step", "node"),
}


def parent_count(options: DynamicsOptions, n: int) -> int:
    """Return k for n series: the choice or the default, at most n."""
    return min(USUAL_PARENTS if options.parents is None else options.parents, n)


def seeds_of(options: DynamicsOptions, n: int) -> int:
    """Return |S| for n series: the choice or the default, at most n."""
    if options.seeds is not None:
        return min(options.seeds, n)
    return n if n <= FEW_SERIES else seed_count(USUAL_SEEDS, n)


def learner_of(options: DynamicsOptions, n: int, name: str | None = None) -> DynamicsLearner:
    """Return the learner of the settings for n series.

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
    values = {option: getattr(options, option) for option in OF_LEARNING}
    values |= {"parents": parent_count(options, n), "seeds": float(seeds_of(options, n))}
    return cls(
        **{spec.name: values[spec.name] for spec in option_specs(cls) if spec.name in values}
    )


def plan_of(
    options: DynamicsOptions, material: PreparedSeries, name: str | None = None
) -> DynamicsPlan:
    """Return the run of the settings, or of another learner.

    Parents that are not available, of an unknown truth or a file that was not uploaded,
    are those of sparsity inducing learning.

    Raises
    ------
    InputError
        When options do not go together, or there are too few rows for them.
    """
    plan = DynamicsPlan(learner_of(options, material.n, name), options.seed)
    if takes_parents(plan.learner):
        parents = {"truth": material.truth, "file": material.parents}.get(options.wiring, True)
        wiring = "inducing" if parents is None else options.wiring
        source = learner_of(options, material.n, wiring) if wiring in LEARNERS else None
        plan = plan._replace(wiring=wiring, source=source)
    if not takes_parents(plan.costly):
        plan.costly.check(material.train)
    return plan


def judge_system(n: int, rows: int, learner: DynamicsLearner) -> RunCheck:
    """Return whether a run on n series may begin, with the estimate if not."""
    seconds, stored = learner.seconds(n, rows), learner.stored_numbers(n)
    estimate = (
        f"Estimated {duration_text(seconds)} and {size_text(_NUMBER * stored)} of memory for "
        f"{n:,} series and {rows:,} rows."
    )
    if stored > _MOST_NUMBERS:
        return RunCheck(
            refusal=f"{estimate} Too much to display. Not started. Reduce seeds or parents, upload "
            "fewer series, or use python -m graftviz dynamics."
        )
    if seconds <= ASK_SECONDS:
        return RunCheck()
    return RunCheck(
        question=f"{estimate} Limit: {ASK_SECONDS:g} s. Not started. Fewer seeds reduce the time."
    )
