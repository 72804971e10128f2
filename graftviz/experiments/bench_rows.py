"""Declared measurements of the benchmark."""

from __future__ import annotations

import math

from graftviz.experiments import (
    bench_engine as engine,
    bench_exact as exact,
    bench_learners as learners,
    bench_regions as regions,
)
from graftviz.experiments.bench import Goal, Measurement, Size, Yardstick

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
NODES = (50, 100, 200, 400, 600)
FEW_ROWS, MANY_ROWS = 2_000, 19_000
STATES = 5
NLTCS = Size(16, 16_181, 2, 3_236, source="nltcs")
DEFAULTS = "best-choice, package defaults"
SEEDS = (1, 2, 3, 4, 5)  # samples of few rows differ much in difficulty


def size_of(nodes: int) -> Size:
    """Return the size of the generated data for n variables."""
    return Size(nodes, FEW_ROWS if nodes <= 100 else MANY_ROWS, STATES)


def measurements(*, large: bool = False, nltcs: bool = False) -> tuple[Measurement, ...]:
    """Return all measurements; with `large`, also those that take minutes."""
    found = [*_counting(), *_propagation_rows(), *_fitting(), *_regions()]
    found += [*_defaults(), *_grafting()]
    if nltcs:
        found += _nltcs()
    if large:
        found += _large()
    return (*found, *_exact())


def _exact() -> list[Measurement]:
    return [
        Measurement(
            "exact inference, 20 × 20 binary grid",
            Size(400, 0, 2),
            exact.grid_marginals,
            goals=(Goal("seconds", 10.0, 3.0),),
        ),
        Measurement(
            f"exact inference, a band of 11 states, width {exact.BAND}",
            Size(30, 0, 11),
            exact.band_marginals,
            goals=(Goal("seconds", 30.0, 5.0),),
        ),
    ]


def _counting() -> list[Measurement]:
    most = size_of(600)
    scaled = f"loop of np.bincount ({engine.BINCOUNT_PAIRS:,} pairs, scaled)"
    bincount = Yardstick(scaled, engine.count_by_bincount)
    scaled = f"loop of pandas.crosstab ({engine.CROSSTAB_PAIRS} pairs, scaled)"
    crosstab = Yardstick(scaled, engine.count_by_crosstab)
    return [
        Measurement("count all pairs", size_of(n), engine.count_pairs, yardstick=bincount)
        for n in NODES[:-1]
    ] + [
        Measurement(
            "count all pairs",
            most,
            engine.count_pairs,
            yardstick=bincount,
            goals=(Goal("ratio", 50, 150),),
        ),
        Measurement("count all pairs", most, engine.count_pairs, yardstick=crosstab),
    ]


def _propagation_rows() -> list[Measurement]:
    # 1,800 edges of moderate strength resemble a learned model of 600 variables.
    size = Size(600, 0, STATES, edges=1800, edge_sigma=0.5)
    goals = (Goal("ratio", 25, 40),)
    yardsticks = (
        Yardstick("NumPy, in logs throughout", engine.textbook_sweep),
        Yardstick("NumPy, logs of messages only", engine.plain_sweep_in_logs),
        Yardstick("NumPy, products only (underflows at hubs)", engine.plain_sweep),
    )
    rows = [
        Measurement("BP sweep, 1,800 edges", size, engine.sweep, yardstick=yardstick, goals=goals)
        for yardstick in yardsticks
    ]
    products = Yardstick("NumPy, products only", engine.plain_converge)
    return [
        *rows,
        Measurement("BP to 1e-6, 1,800 edges", size, engine.converge, yardstick=products),
    ]


def _fitting() -> list[Measurement]:
    around = Yardstick("L-BFGS around converged BP", engine.plain_fit)
    return [
        Measurement("fit of the true edges", size_of(50), engine.fit, yardstick=around),
        *(Measurement("fit of the true edges", size_of(n), engine.fit) for n in NODES[1:]),
    ]


def _regions() -> list[Measurement]:
    goals = (Goal(regions.SLOWER, 1.5, 1.1),)
    return [
        Measurement(
            "local query, 16 nodes of a grid",
            Size(nodes, 0, 2),
            regions.local_queries,
            goals=goals if nodes > regions.SMALL_NODES else (),
        )
        for nodes in (regions.SMALL_NODES, 100 * regions.SMALL_NODES)
    ]


def _defaults() -> list[Measurement]:
    nodewise_l1 = Yardstick("scikit-learn, nodewise ℓ₁", learners.nodewise)
    tenth = Yardstick(
        f"scikit-learn, nodewise ℓ₁ ({learners.NODEWISE_PART} variables, scaled)", learners.nodewise
    )
    yardsticks = {50: nodewise_l1, 100: tenth}
    goals = {
        50: (Goal("F1", 0.90, 0.96), Goal("best F1", 0.95, 0.98), Goal("seconds", 3.0, 1.0)),
        100: (Goal("F1", 0.88, 0.95), Goal("best F1", 0.93, 0.97), Goal("seconds", 8.0, 2.0)),
        200: (Goal("NLPL gap", 0.02, 0.008),),
    }
    half_more = (
        Goal("precision of n", 0.98, 1.0),
        Goal("recall of 1.5 n", 0.70, 0.75),
        Goal("seconds", math.inf, 5.0),
    )
    return [
        Measurement(
            DEFAULTS if n > 100 else f"{DEFAULTS}, median of {len(SEEDS)} samples",
            size_of(n),
            learners.learning(learners.defaults),
            group="learners",
            yardstick=yardsticks.get(n),
            goals=reached,
            seeds=() if n > 100 else SEEDS,
        )
        for n, reached in goals.items()
    ] + [
        Measurement(
            f"{DEFAULTS}, 1.5 n edges",
            size_of(200),
            learners.half_more_edges,
            group="learners",
            goals=half_more,
        )
    ]


def _nltcs() -> list[Measurement]:
    goals = (Goal("NLPL", 5.02, 4.96), Goal("seconds", math.inf, 1.0))
    return [
        Measurement(
            f"{DEFAULTS}, nltcs",
            NLTCS,
            learners.learning(learners.defaults),
            "learners",
            goals=goals,
        )
    ]


def _grafting() -> list[Measurement]:
    reference = Yardstick("NumPy, by the book", learners.plain_edge_grafting)
    found = [
        Measurement(
            f"edge grafting, first {learners.FEW_EDGES} edges",
            size_of(50),
            learners.learning(learners.few_edges),
            yardstick=reference,
        )
    ]
    for n in NODES:
        found += _grafting_of(n)
    return found


def _grafting_of(n: int) -> list[Measurement]:
    size, most = size_of(n), n == NODES[-1]
    exhaustive = Yardstick("edge grafting", learners.edge_grafting_row, rehearse=False)
    found = [
        Measurement(
            f"edge grafting, {learners.PAPER}",
            size,
            learners.learning(learners.edge_grafting),
            group="learners",
            goals=(Goal("seconds", 3.0, 0.7), Goal("KKT residual", 1e-5, 1e-5)) if most else (),
        )
    ]
    choices = [(alpha, True) for alpha in ALPHAS] + ([(0.75, False)] if most else [])
    for alpha, hubs in choices:
        goals: tuple[Goal, ...] = ()
        if most and alpha == 0.75:
            goals = (Goal("seconds", 1.0, 0.3), Goal("objective gap", 0.005, 0.005))
            goals += (Goal("ratio", 1.0, 2.0),)
        name = f"best-choice, {learners.PAPER}, α = {alpha:g}"
        found.append(
            Measurement(
                name if hubs else f"{name}, no hub rule",
                size,
                learners.learning(learners.best_choice(alpha, hubs=hubs)),
                group="learners",
                yardstick=exhaustive,
                goals=goals,
            )
        )
    return found


def _large() -> list[Measurement]:
    return [
        Measurement(
            f"best-choice, {learners.PAPER}, α = 1, first {learners.LARGE_EDGES} edges",
            Size(10_000, 20_000, STATES),
            learners.first_activations,
            group="learners",
            goals=(
                Goal("seconds", 5.0, 1.0),
                Goal("share of pairs", 0.03, 0.005),
                Goal("precision", 0.6, 0.9),
            ),
        )
    ]
