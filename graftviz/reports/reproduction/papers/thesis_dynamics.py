"""Methods of chapter 2 of the thesis, their measures, and their cost: table 2.1, figure 2.2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from graftviz import dynamics
from graftviz.reports.figures.style import BLACK, GREY, VERMILION
from graftviz.reports.reproduction.claims import (
    Checks,
    Frame,
    NotMeasured,
    Row,
    Series,
    changes,
    claim,
    mean,
    power,
)
from graftviz.reports.reproduction.experiment import (
    Experiment,
    MeasuringTask,
    Paper,
    Part,
    model_seed,
)
from graftviz.reports.reproduction.figures import Look, line_figure, scale_look
from graftviz.utils.options import option_values

THESIS = Paper("thesis", "Thesis, chapter 2")
Observed: TypeAlias = dynamics.TimeSeries | dynamics.Transitions
Learner: TypeAlias = dynamics.DynamicsLearner
PARENTS = 15  # of the synthetic experiments
FRACTIONS = (0.1, 0.2, 0.5)
DENSE, INDUCING, ENFORCING = "dense", "sparsity inducing", "sparsity enforcing, parents given"
STRUCTURE, PRECISION, COEFFICIENTS = "structure_recall", "structure_precision", "coefficient_error"
PREDICTION, TWO_STEPS = "prediction_error", "prediction_error_2_steps"
MEASURES: Mapping[str, str] = {
    STRUCTURE: "StructRec",
    PRECISION: "precision of the parents",
    COEFFICIENTS: "CoeffRecError",
    PREDICTION: "PredError",
    TWO_STEPS: "PredError two steps ahead",
}
UNCOVERED = (
    "The thesis does not state the treatment of series that are not a parent of any seed. Here "
    "they get the parents with the largest gradient of their own error (grafted) or common parents "
    "of the seeds (common), without using their data, as in the thesis."
)


def scalable(share: float, *, common: bool = False) -> str:
    """Return the name of scalable learning with a share of the series as seeds.

    With `common`, series not covered by a seed get common parents of the seeds, as in the thesis.
    Otherwise they are learned from their own data.
    """
    return f"scalable, {share:.0%} seeds{', common' if common else ''}"


SCALABLE = {
    scalable(share, common=common): (share, common)
    for common in (False, True)
    for share in FRACTIONS
}
LOOKS: dict[str, Look] = {
    DENSE: Look(VERMILION, "dot", "star"),
    INDUCING: Look(BLACK, "solid", "x"),
    ENFORCING: Look(GREY, "dash", "triangle-up"),
    **{
        name: scale_look(2 * FRACTIONS.index(share), faint=common)
        for name, (share, common) in SCALABLE.items()
    },
}


def learners(parents: int) -> dict[str, Learner]:
    """Return all methods by name; the measurement gives the true parents to enforcing."""
    found: dict[str, Learner] = {
        DENSE: dynamics.Dense(),
        INDUCING: dynamics.SparsityInducing(parents=parents),
        ENFORCING: dynamics.SparsityEnforcing(),
    }
    for name, (share, common) in SCALABLE.items():
        found[name] = dynamics.ScalableStructure(
            parents=parents, seeds=share, uncovered="common" if common else "graft"
        )
    return found


def options_of(learner: Learner) -> Row:
    """Return name and options of a learner as JSON values."""
    return {"learner": learner.name, **option_values(learner)}


def learn_to_the_end(data: Observed, learner: Learner, seed: int) -> dynamics.DynamicsResult:
    """Learn a system.

    Raises
    ------
    KeyboardInterrupt
        If learning was interrupted: an incomplete system must not be measured.
    """
    result = dynamics.learn(data, learner, seed=seed)
    if not result.complete:
        raise KeyboardInterrupt
    return result


def warm_up_all(_: object) -> None:
    """Learn tiny systems by all learners, so that compilation is not timed."""
    tiny = dynamics.simulate(dynamics.random_system(6, density=0.5), 60)
    few = dynamics.SparsityInducing(parents=2), dynamics.ScalableStructure(parents=2)
    for learner in (dynamics.Dense(), *few):
        learn_to_the_end(tiny, learner, 0)


def all_measures(
    system: dynamics.LinearSystem, truth: dynamics.LinearSystem, test: Observed
) -> dict[str, float]:
    """Return all measures of a learned system against the true one."""
    return {
        STRUCTURE: dynamics.structure_recall(system, truth),
        PRECISION: dynamics.structure_precision(system, truth),
        COEFFICIENTS: dynamics.coefficient_error(system, truth),
        PREDICTION: dynamics.prediction_error(system, test),
        TWO_STEPS: dynamics.prediction_error(system, test, horizon=2),
    }


def spread_table(rows: Frame, count: str, *by: str) -> Frame:
    """Return number, means and standard deviations of the rows by columns; NaN without a value.

    Parameters
    ----------
    count : str
        Column of the number of rows.
    """
    rows = rows.reindex(columns=[*by, *MEASURES]).astype(dict.fromkeys(MEASURES, float))
    groups = rows.groupby([*by], sort=False)
    statistics = {count: groups.size()}
    for key in MEASURES:
        statistics[f"{key}_mean"] = groups[key].agg(mean)
        statistics[f"{key}_sd"] = groups[key].agg(lambda values: np.std(values.to_numpy()))
    return pd.DataFrame(statistics).reset_index()


# --- figure 2.2: growing systems ----------------------------------------------------------------

_TENTH = scalable(0.1)
_SECONDS, _OPERATIONS = "seconds", "operations"


def growth_parts(
    seed: int, n: tuple[int, ...], most_whole: int, rows: int, seeds: int, repeats: int
) -> Iterator[Part]:
    """Yield one part for every size, random system and method.

    The methods are dense, inducing, a tenth as seeds, and a fixed number of seeds.

    Parameters
    ----------
    n : tuple of int
        Numbers of series.
    most_whole : int
        Largest n for methods that regress every series.
    rows, seeds, repeats : int
        Transitions, the fixed number of seeds, and systems per size.
    """
    k = min(PARENTS, n[0])
    shown = {name: learners(k)[name] for name in (DENSE, INDUCING, _TENTH)}
    fixed = dynamics.ScalableStructure(parents=k, seeds=seeds, uncovered="common")
    shown[f"scalable, {seeds} seeds, common"] = fixed
    for size in n:
        for number in range(repeats):
            for method, learner in shown.items():
                few = dynamics.has_seeds(learner)
                if few or size <= most_whole:
                    place = {"method": method, "n": size, "rows": rows, "system": number}
                    system = size, rows, learner, model_seed(seed, number)
                    work = size if few else size * max(size, 10) // 10
                    settings = {**options_of(learner), "seed": seed}
                    measure = partial(_measure_growth, *system)
                    yield Part(place, measure, work, settings, warm_up=warm_up_all)


@lru_cache(maxsize=1)
def _noisy_transitions(n: int, rows: int, seed: int) -> dynamics.Transitions:
    """Return transitions of a random system of density 0.1 with noise half as strong."""
    truth = dynamics.random_system(n, density=0.1, seed=seed)
    spread = float(np.sqrt(np.mean(np.asarray(truth.coefficients.power(2).sum(axis=1)))))
    return dynamics.simulate_transitions(truth, rows, noise=0.5 * spread, seed=seed)


def _measure_growth(
    n: int, rows: int, learner: Learner, seed: int, task: MeasuringTask
) -> list[Row]:
    """Learn, and return seconds, operations by phase, and passes through the rows."""
    result = learn_to_the_end(_noisy_transitions(n, rows, seed), learner, seed)
    passes = [
        step.passes / (1 if step.two_hop is None else 2) for step in result.steps if step.passes
    ]
    work = result.work
    row = {"seconds": result.seconds, **work._asdict()}
    row |= {"operations": work.structure + work.coefficients}
    row |= {"passes": float(np.mean(passes)) if passes else None}
    return [row | {"seeds": len(result.seeds), "uncovered": len(result.uncovered)}]


def _costs(rows: Frame, quantity: str) -> dict[str, Series]:
    """Return the mean cost by method and n, for sizes with all repeats only."""
    found = {}
    for method, runs in rows.groupby("method", sort=False):
        by_n = runs.groupby("n")[quantity]
        found[method] = by_n.mean()[by_n.size() == by_n.size().max()]
    return found


def _both_costs(rows: Frame) -> dict[str, dict[str, Series]]:
    return {key: _costs(rows, key) for key in (_OPERATIONS, _SECONDS)}


def _draw_growth(title: str, rows: Frame) -> go.Figure:
    counted = _costs(rows, _OPERATIONS)
    shown = [n in counted[method] for method, n in zip(rows["method"], rows["n"], strict=True)]
    return line_figure(
        title,
        rows[shown],
        x="n",
        x_title="series n",
        y={_SECONDS: "seconds", _OPERATIONS: "multiplications"},
        looks={name: LOOKS.get(name, scale_look(2)) for name in counted},
        log_x=True,
        log_y=True,
        power_of="n",
    )


def _powers(rows: Frame, name: str) -> dict[str, float]:
    return {key: power(_costs(rows, key)[name]) for key in (_SECONDS, _OPERATIONS)}


def _growth_summary(rows: Frame) -> Iterator[Row]:
    """Yield the cost of every method at its largest n, and the powers of n."""
    for name, by_n in _costs(rows, _OPERATIONS).items():
        n = max(by_n.index)
        row = {"method": name, "n": n, _SECONDS: _costs(rows, _SECONDS)[name][n]}
        powers = _powers(rows, name).items() if len(by_n) > 1 else ()
        yield {**row, _OPERATIONS: by_n[n], **{f"power_of_n_{key}": x for key, x in powers}}


@claim(
    "With a tenth of the series as seeds scalable learning takes less than sparsity inducing "
    "learning."
)
def _tenth_is_cheaper(rows: Frame) -> Checks:
    ratios = {key: found[INDUCING] / found[_TENTH] for key, found in _both_costs(rows).items()}
    yield "cost of inducing to that of a tenth as seeds by n", ratios, "above 1"


@claim(
    "Its cost evolves slower with the number of series.",
    "As a power of n both are alike, since a share of n is seeds.",
)
def _tenth_grows_slower(rows: Frame) -> Checks:
    costs = _both_costs(rows).items()
    increases = {key: changes(found[INDUCING] - found[_TENTH]) for key, found in costs}
    yield "increase of inducing less that of a tenth as seeds", increases, "above 0"
    yield "powers of n", {name: _powers(rows, name) for name in (_TENTH, INDUCING)}


@claim(
    "Dense learning scales poorly: its cost grows drastically with n.",
    "Its decomposition runs in LAPACK, where an operation takes a fraction of the time.",
)
def _dense_grows_fast(rows: Frame) -> Checks:
    costs = _both_costs(rows).items()
    less = {key: power(found[DENSE]) - power(found[_TENTH]) for key, found in costs}
    ratios = {
        key: found[DENSE].iloc[-1] / found[_TENTH][found[DENSE].index[-1]] for key, found in costs
    }
    yield "power of n less that of a tenth as seeds", less, "above 0"
    yield "cost at the largest n to that of a tenth as seeds", ratios, "above 1"
    yield "powers of n", {name: _powers(rows, name) for name in (_TENTH, DENSE)}


@claim("With the number of seeds held constant the total cost is linear in n (section 2.2).")
def _fixed_seeds_are_linear(rows: Frame) -> Checks:
    fixed = [name for name in rows["method"].unique() if name.endswith(" seeds, common")]
    if not fixed:
        raise NotMeasured("Learning with a fixed number of seeds was not measured.")
    powers = _powers(rows, fixed[0])
    yield "power of n of operations", powers[_OPERATIONS], "0.8 to 1.25"
    yield "power of n of seconds", powers[_SECONDS]


@claim(
    "Not in the thesis: with a share of the series as seeds it is quadratic.",
    "There least squares, linear in n, weigh less.",
)
def _share_of_seeds_is_quadratic(rows: Frame) -> Checks:
    local = power(_costs(rows, _OPERATIONS)[_TENTH].iloc[-2:])
    yield "power of n of operations over the two largest", local, "1.75 to 2.25"
    yield "powers of n over all sizes", _powers(rows, _TENTH)


@claim(
    "Gradient descent needs fewer steps than there are rows, t < N, in most cases (section 2.2).",
    "Descent here goes through all rows at least once and stops when a pass hardly "
    "moves the coefficients.",
)
def _few_passes(rows: Frame) -> Checks:
    runs = rows[rows["method"] == INDUCING]
    passes = runs.groupby("n", sort=False)["passes"].agg(lambda of_n: of_n.iloc[-1])
    yield "mean t / N of a regression of inducing learning by n", passes, "below 1"


# --- table 2.1: counted work --------------------------------------------------------------------

_WIDE, _SOME = "dense, fewer rows than series", "scalable"
_WORK_LOOKS = {
    **{DENSE: LOOKS[DENSE], _WIDE: scale_look(4)},
    **{INDUCING: LOOKS[INDUCING], _SOME: scale_look(1)},
}
_PHASE_LOOKS = {
    **{
        f"{method}: structure": look._replace(dash="dash", symbol=f"{look.symbol}-open")
        for method, look in _WORK_LOOKS.items()
    },
    **{f"{method}: coefficients": look for method, look in _WORK_LOOKS.items()},
}
_NEVER = 1e-9  # tolerance that is never met, so that all passes are made
_FACTORS = {"n": "series n", "rows": "rows N", "passes": "t / N", "k": "parents k", "seeds": "|S|"}
# Stated exponents of n, N, t / N, k and |S|. The number of steps t is passes × N here, and k is
# small compared with t in (t + k) |S| n.
STATED: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    DENSE: {"coefficients": {"n": 2, "rows": 1}},
    _WIDE: {"coefficients": {"n": 1, "rows": 2}},
    INDUCING: {
        "structure": {"n": 2, "rows": 1, "passes": 1, "k": 0},
        "coefficients": {"n": 1, "rows": 1, "passes": 0, "k": 2},
    },
    _SOME: {
        "structure": {"n": 1, "rows": 1, "passes": 1, "k": 0, "seeds": 1},
        "coefficients": {"n": 1, "rows": 1, "passes": 0, "k": 2, "seeds": 0},
    },
}


def work_parts(seed: int, tall: Row, wide: Row) -> Iterator[Part]:
    """Yield every method with one factor multiplied at a time.

    `tall` and `wide` are amounts of all factors with more and with fewer rows than series.
    """
    for method, phases in STATED.items():
        base = wide if method == _WIDE else tall
        for factor in dict.fromkeys(key for stated in phases.values() for key in stated):
            for multiple in (1, 2, 4):
                at = base | {factor: base[factor] * multiple}
                columns = {"method": method, "changed": factor, **at}
                measure = partial(_measure_work, method, at, seed)
                yield Part(columns, measure, at["n"], {"seed": seed})


def _measure_work(method: str, at: Row, seed: int, task: MeasuringTask) -> list[Row]:
    """Learn with all passes, and return the multiplications of both phases."""
    exactly = {"max_passes": at["passes"], "tolerance": _NEVER, "lam": 0.0, "parents": at["k"]}
    seeds = {"two_hop_tolerance": _NEVER, "seeds": at["seeds"], "uncovered": "common"}
    learner: Learner = dynamics.Dense()
    if method == INDUCING:
        learner = dynamics.SparsityInducing(**exactly)
    if method == _SOME:
        learner = dynamics.ScalableStructure(**exactly, **seeds)
    truth = dynamics.random_system(at["n"], density=0.1, seed=seed)
    seen = dynamics.simulate_transitions(truth, at["rows"], noise=0.1, seed=seed)
    return [learn_to_the_end(seen, learner, seed).work._asdict()]


def _work(rows: Frame, method: str, factor: str, phase: str) -> Series:
    """Return the work of a method by value of the changed factor."""
    runs = rows[(rows["changed"] == factor) & (rows["method"] == method)]
    if runs.empty:
        raise NotMeasured(f"{method} was not measured.")
    return runs.groupby(factor)[phase].mean()


def _draw_work(title: str, rows: Frame) -> go.Figure:
    """Draw the work relative to that of the smallest amount of each factor."""
    points = []
    for (factor, method), runs in rows.groupby(["changed", "method"], sort=False):
        for phase in STATED[INDUCING]:
            counts = _work(runs, method, factor, phase)
            if counts.iloc[0] > 0:
                line = {"panel": _FACTORS[factor], "method": f"{method}: {phase}"}
                times, work = counts.index / counts.index[0], counts / counts.iloc[0]
                points.append(pd.DataFrame({**line, "times": times, "work": work}))
    order = [*_FACTORS.values()]
    return line_figure(
        title,
        pd.concat(points).sort_values(
            "panel", key=lambda names: names.map(order.index), kind="stable"
        ),
        x="times",
        x_title="times as much",
        y={"work": "times the work"},
        looks=_PHASE_LOOKS,
        log_x=True,
        log_y=True,
    )


def _as_stated(rows: Frame, *methods: str) -> Checks:
    """Check that the exponents of these methods are those of the table."""
    exponents: Row = {}
    less: Row = {}
    for method in methods:
        for phase, stated in STATED[method].items():
            found = {factor: power(_work(rows, method, factor, phase)) for factor in stated}
            place = f"{method}, {phase}"
            exponents[place] = {_FACTORS[factor]: found[factor] for factor in stated}
            less[place] = {_FACTORS[factor]: found[factor] - stated[factor] for factor in stated}
    yield "exponents less the stated ones", less, "at most 0.15"
    yield "exponents", exponents


@claim("Dense learning costs O(min{nN², Nn²}), all of it for the coefficients.")
def _dense_as_stated(rows: Frame) -> Checks:
    return _as_stated(rows, DENSE, _WIDE)


@claim("Dense learning has no structure to learn.")
def _dense_has_no_structure(rows: Frame) -> Checks:
    most = rows.groupby("method", sort=False)["structure"].max().loc[[DENSE, _WIDE]]
    yield "multiplications for the structure", most, "at most 0"


@claim(
    "Sparsity inducing learning costs O(tn²) for the structure and O(nNk²) for the coefficients."
)
def _inducing_as_stated(rows: Frame) -> Checks:
    return _as_stated(rows, INDUCING)


@claim(
    "Scalable structure learning costs O((t + k)|S|n) for the structure and O(nNk²) "
    "for the coefficients: linear in n and N with |S| held constant."
)
def _scalable_as_stated(rows: Frame) -> Checks:
    return _as_stated(rows, _SOME)


def _amounts(n: int, rows: int, passes: int, k: int, seeds: int) -> Row:
    return {"n": n, "rows": rows, "passes": passes, "k": k, "seeds": seeds}


_TALL = (_amounts(16, 80, 2, 2, 4), _amounts(50, 400, 2, 5, 8), _amounts(100, 800, 4, 5, 10))
_FLAT = (_amounts(32, 8, 2, 2, 4), _amounts(128, 16, 2, 5, 8), _amounts(256, 32, 4, 5, 10))
EXPERIMENTS = (
    Experiment(
        **THESIS.item("table 2.1", "2.2"),
        title="Counted work against the stated complexities of dynamical systems",
        sizes={"tall": _TALL, "wide": _FLAT},
        parts=work_parts,
        figure=_draw_work,
        settings={
            "counted": "multiplications, as they are made: coefficients updated at each row by "
            "gradient descent and scores added up (structure); products of least squares and of "
            "residuals, and N n min(N, n) for a decomposition (coefficients)",
            "passes": "the same for every size, through all rows: t = passes × N steps",
            "λ": 0.0,
            "uncovered": "common: as in the thesis, series not covered by a seed are not learned",
        },
        claims=(
            _dense_as_stated,
            _dense_has_no_structure,
            _inducing_as_stated,
            _scalable_as_stated,
        ),
        notes=(
            "One of n, N, t / N, k and |S| is doubled twice while the others are fixed. Steps t "
            "are whole passes through the rows here, so t / N is changed, and the structure "
            "phase grows with N as well.",
            "With fewer rows than series the decomposition costs nN², as stated; the product that "
            "forms A, which has n² entries, and the residuals cost Nn² each, so that the whole "
            "is quadratic in n.",
            UNCOVERED,
        ),
        cost=("5 s", "15 s"),
    ),
    Experiment(
        **THESIS.item("figure 2.2", "2.3.1"),
        title="Time of learning against the number of series",
        sizes={
            "n": ((16, 32), (50, 100, 200, 400), (250, 500, 1_000, 2_000)),
            "most_whole": (32, 400, 1_000),
            "rows": (200, 1_500, 12_500),
            "seeds": (4, 10, 25),
            "repeats": (1, 3, 1),
        },
        parts=growth_parts,
        figure=_draw_growth,
        summary=_growth_summary,
        settings={
            "data": "X′ standard normal, X″ = A X′ with noise half as strong; density of A 0.1",
            "operations": "multiplications: coefficients updated at each row by gradient descent, "
            "k² per row and series by least squares, and N n min(N, n) by the decomposition",
            "seconds": "wall time of learning, without drawing the data",
            "fixed seeds": "series not covered by a seed get common parents of the seeds "
            "(uncovered=common): learning each of them separately costs O(n)",
        },
        claims=(
            _tenth_is_cheaper,
            _tenth_grows_slower,
            _dense_grows_fast,
            _fixed_seeds_are_linear,
            _share_of_seeds_is_quadratic,
            _few_passes,
        ),
        notes=(
            "Density 0.1 and 12,500 rows as in the thesis; its numbers of series are missing in "
            "our copy of the text. Methods that learn every series are measured up to 1,000.",
            "The fixed number of seeds is not in the thesis's figure, but in its analysis: with a "
            "share of the series as seeds the cost is quadratic, with a fixed number linear.",
            UNCOVERED,
            "The small scale leaves out systems above 400 series, and 12,500 rows.",
        ),
        cost=("20 s", "8 min"),
    ),
)
