"""Declared measurements of the benchmark."""

from __future__ import annotations

import math

from graftviz.evaluation.benchmarks import bench_work as work
from graftviz.evaluation.benchmarks.bench import Goal, Measurement, Size, Work, Yardstick
from graftviz.evaluation.benchmarks.plain import Propagation
from graftviz.learning.grafting.edge_grafting import EdgeGrafting

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
NODES = (50, 100, 200, 400, 600)
FEW_ROWS, MANY_ROWS = 2_000, 19_000
STATES = 5
NLTCS = Size(16, 16_181, 2, 3_236, source="nltcs")
DEFAULTS = "best-choice, package defaults"
SEEDS = (1, 2, 3, 4, 5)  # samples of few rows differ much in difficulty
# 1,800 edges of moderate strength resemble a learned model of 600 variables.
_LEARNED = Size(600, 0, STATES, edges=1800, edge_sigma=0.5)
_BINCOUNT = f"loop of np.bincount ({work.BINCOUNT_PAIRS:,} pairs, scaled)"
_CROSSTAB = f"loop of pandas.crosstab ({work.CROSSTAB_PAIRS} pairs, scaled)"
_SWEEPS = (
    Yardstick("NumPy, in logs throughout", work.textbook_sweep),
    Yardstick("NumPy, logs of messages only", work.plain_sweep(Propagation.sweep_in_logs)),
    Yardstick("NumPy, products only (underflows at hubs)", work.plain_sweep(Propagation.sweep)),
)
_NODEWISE = "scikit-learn, nodewise ℓ₁"
_DEFAULT_GOALS = {
    50: (Goal("F1", 0.90, 0.96), Goal("best F1", 0.95, 0.98), Goal("seconds", 3.0, 1.0)),
    100: (Goal("F1", 0.88, 0.95), Goal("best F1", 0.93, 0.97), Goal("seconds", 8.0, 2.0)),
    200: (Goal("NLPL gap", 0.02, 0.008),),
}


def size_of(nodes: int) -> Size:
    """Return the size of the generated data for n variables."""
    return Size(nodes, FEW_ROWS if nodes <= 100 else MANY_ROWS, STATES)


def measurements(*, large: bool = False, nltcs: bool = False) -> tuple[Measurement, ...]:
    """Return all measurements; with `large`, also those that take minutes."""
    found = [*_counting(), *_propagation(), *_fitting(), *_regions(), *_defaults(), *_grafting()]
    if nltcs:
        goals = (Goal("NLPL", 5.02, 4.96), Goal("seconds", math.inf, 1.0))
        run = work.learning(work.defaults)
        found.append(Measurement(f"{DEFAULTS}, nltcs", NLTCS, run, None, goals, "learners"))
    if large:
        found += _large()
    return (*found, *_exact())


def _counting() -> list[Measurement]:
    name, most = "count all pairs", NODES[-1]
    bincount = Yardstick(_BINCOUNT, work.count_by_bincount)
    crosstab = Yardstick(_CROSSTAB, work.count_by_crosstab)
    goals = {most: (Goal("ratio", 50, 150),)}
    run = work.count_pairs
    found = [Measurement(name, size_of(n), run, bincount, goals.get(n, ())) for n in NODES]
    return [*found, Measurement(name, size_of(most), run, crosstab)]


def _propagation() -> list[Measurement]:
    goals = (Goal("ratio", 25, 40),)
    products = Yardstick("NumPy, products only", work.plain_converge)
    return [
        *(Measurement("BP sweep, 1,800 edges", _LEARNED, work.sweep, y, goals) for y in _SWEEPS),
        Measurement("BP to 1e-6, 1,800 edges", _LEARNED, work.converge, products),
    ]


def _fitting() -> list[Measurement]:
    around = {NODES[0]: Yardstick("L-BFGS around converged BP", work.plain_fit)}
    return [
        Measurement("fit of the true edges", size_of(n), work.fit, around.get(n)) for n in NODES
    ]


def _regions() -> list[Measurement]:
    name, small = "local query, 16 nodes of a grid", work.SMALL_NODES
    goals = (Goal(work.SLOWER, 1.5, 1.1),)
    return [
        Measurement(name, Size(small, 0, 2), work.local_queries),
        Measurement(name, Size(100 * small, 0, 2), work.local_queries, goals=goals),
    ]


def _defaults() -> list[Measurement]:
    some = f"{_NODEWISE} ({work.NODEWISE_PART} variables, scaled)"
    yardsticks = {50: Yardstick(_NODEWISE, work.nodewise), 100: Yardstick(some, work.nodewise)}
    half_more = (
        Goal("precision of n", 0.98, 1.0),
        Goal("recall of 1.5 n", 0.70, 0.75),
        Goal("seconds", math.inf, 5.0),
    )
    learning, found = work.learning(work.defaults), []
    for n, goals in _DEFAULT_GOALS.items():
        name = DEFAULTS if n > 100 else f"{DEFAULTS}, median of {len(SEEDS)} samples"
        shared = size_of(n), learning, yardsticks.get(n), goals, "learners"
        found.append(Measurement(name, *shared, seeds=() if n > 100 else SEEDS))
    name, run = f"{DEFAULTS}, 1.5 n edges", work.half_more_edges
    return [*found, Measurement(name, size_of(200), run, None, half_more, "learners")]


def _grafting() -> list[Measurement]:
    name, run = f"edge grafting, first {work.FEW_EDGES} edges", work.learning(work.few_edges)
    reference = Yardstick("NumPy, by the book", work.plain_edge_grafting)
    found = [Measurement(name, size_of(50), run, reference)]
    for n in NODES:
        found += _grafting_of(n)
    return found


def _grafting_of(n: int) -> list[Measurement]:
    size, most = size_of(n), n == NODES[-1]
    exhaustive = Yardstick("edge grafting", work.edge_grafting_row, warm_up=False)
    own = (Goal("seconds", 3.0, 0.7), Goal("KKT residual", 1e-5, 1e-5)) if most else ()
    name, run = f"edge grafting, {work.PAPER}", work.learning(work.edge_grafting)
    found = [Measurement(name, size, run, None, own, "learners")]
    choices = [(alpha, True) for alpha in ALPHAS] + ([(0.75, False)] if most else [])
    for alpha, hubs in choices:
        goals: tuple[Goal, ...] = ()
        if most and alpha == 0.75:
            goals = (Goal("seconds", 1.0, 0.3), Goal("objective gap", 0.005, 0.005))
            goals += (Goal("ratio", 1.0, 2.0),)
        name = f"best-choice, {work.PAPER}, α = {alpha:g}{'' if hubs else ', no hub rule'}"
        run = work.learning(work.best_choice(alpha, hubs=hubs))
        found.append(Measurement(name, size, run, exhaustive, goals, "learners"))
    return found


def _large() -> list[Measurement]:
    """Return the rows of package defaults on many variables, beside the other learners."""
    found: list[Measurement] = []
    to_the_end = (Goal("precision", 0.95, 0.97), Goal("recall", 0.85, 0.90))
    seconds = {400: (20, 8), 600: (40, 15), 1_000: (120, 40)}
    for n, (least, target) in seconds.items():
        size, edges = Size(n, 20_000, STATES), f"{DEFAULTS}, first n edges"
        first = (Goal("precision", 0.98, 0.995),)
        by_edge = Yardstick(
            "edge grafting, defaults",
            work.first_edges(1.0, lambda _: EdgeGrafting()),
            warm_up=False,
        )
        found += [
            _of_edges(edges, size, work.first_edges(1.0), first, by_edge if n < 1_000 else None),
            _of_edges(
                f"{DEFAULTS}, to the end",
                size,
                work.learning(work.defaults),
                (*to_the_end, Goal("seconds", least, target)),
            ),
        ]
    tree = Size(10_000, 20_000, STATES, tree=True)
    chow_liu = Yardstick("Chow–Liu", work.learning(work.chow_liu), warm_up=False)
    few = (Goal("precision", 0.99, 1.0), Goal("seconds", 12.0, 6.0))
    every = (Goal("precision", 0.97, 0.98), Goal("recall", 0.90, 0.95), Goal("wall", 60.0, 25.0))
    larger = Size(30_000, 4_000, 3, tree=True)
    most = (Goal("precision", 0.98, 1.0), Goal("wall", 90.0, 40.0))
    return [
        *found,
        _of_edges(f"{DEFAULTS}, tree, first n / 10 edges", tree, work.first_edges(0.1), few),
        _of_edges(
            f"{DEFAULTS}, tree, to the end", tree, work.learning(work.defaults), every, chow_liu
        ),
        _of_edges(f"{DEFAULTS}, tree, first n / 30 edges", larger, work.first_edges(1 / 30), most),
    ]


def _of_edges(
    name: str,
    size: Size,
    run: Work,
    goals: tuple[Goal, ...],
    yardstick: Yardstick | None = None,
) -> Measurement:
    return Measurement(name, size, run, yardstick, goals, "learners", judge=work.of_edges)


def _exact() -> list[Measurement]:
    grid, band = (Goal("seconds", 10.0, 3.0),), (Goal("seconds", 30.0, 5.0),)
    square = "exact inference, 20 × 20 binary grid"
    name = f"exact inference, a band of 11 states, width {work.BAND}"
    return [
        Measurement(square, Size(400, 0, 2), work.grid_marginals, goals=grid),
        Measurement(name, Size(30, 0, 11), work.band_marginals, goals=band),
    ]
