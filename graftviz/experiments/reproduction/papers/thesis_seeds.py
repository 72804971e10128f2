"""Choice of seed series: at random, the most active, or spread out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go

from graftviz import dynamics
from graftviz.dynamics import DynamicsLearner, ScalableStructure, SparsityInducing
from graftviz.dynamics.seeds import CHOICES
from graftviz.experiments.reproduction.claims import Cases, Check, Claim
from graftviz.experiments.reproduction.dynamics import (
    INDUCING,
    LOOKS,
    MEASURES,
    PARENTS,
    PREDICTION,
    STRUCTURE,
    UNCOVERED,
    all_measures,
    learn_single_threaded,
    spread_columns,
)
from graftviz.experiments.reproduction.experiment import Experiment, MeasuringTask, Part, model_seed
from graftviz.experiments.reproduction.papers import thesis_city
from graftviz.experiments.reproduction.rows import (
    Found,
    Row,
    Rows,
    group,
    nested,
    panel,
    standard_errors,
    where,
)
from graftviz.figures.reproduction import Look
from graftviz.figures.reproduction_lines import lines_figure
from graftviz.figures.style import BLUE, GREEN, ORANGE

RANDOM, ACTIVITY, SPREAD = CHOICES
_TITLES = {RANDOM: "at random", ACTIVITY: "most active", SPREAD: "spread out", INDUCING: INDUCING}
_LOOKS = {
    _TITLES[RANDOM]: Look(BLUE, "solid", "circle"),
    _TITLES[ACTIVITY]: Look(ORANGE, "dash", "square"),
    _TITLES[SPREAD]: Look(GREEN, "dashdot", "diamond"),
    INDUCING: LOOKS[INDUCING],
}
_CITY_PARENTS = 15
_MOST_DRAWS = 5  # of random seeds on the city
_SYSTEMS = "random systems"
_JUDGED = {STRUCTURE: 1.0, PREDICTION: -1.0}  # with the sign of a gain


def _learner(parents: int, share: float, choice: str) -> DynamicsLearner:
    """Return inducing, or scalable learning whose result depends on the seeds only.

    Series not covered by a seed get common parents of the seeds: if they were learned from their
    own data, few seeds could do better than many.
    """
    if choice == INDUCING:
        return SparsityInducing(parents=parents)
    return ScalableStructure(parents=parents, seeds=share, seed_choice=choice, unspoken="common")


def seeds_parts(
    seed: int,
    n: int,
    entries: int,
    parents: int,
    rows: int,
    shares: tuple[float, ...],
    systems: int,
    city: thesis_city.CitySize,
) -> Iterator[Part]:
    """Yield every choice of seeds on every random system, and on the city.

    Parameters
    ----------
    n, entries, parents, rows : int
        Random systems: series, non-zeros of A, k, and training rows of a run.
    shares : tuple of float
        |S| / n.
    systems : int
        Number of systems, and of draws of random seeds on the city (at most 5).
    """
    size: Row = {"n": n, "entries": entries, "parents": parents, "rows": rows, "shares": shares}
    for number in range(systems):
        for choice in (INDUCING, *CHOICES):
            columns = {"data": _SYSTEMS, "choice": choice, "system": number}
            measure = partial(_measure, **size, choice=choice, seed=model_seed(seed, number))
            yield Part(columns, measure, len(shares), {**size, "seed": seed})
    for choice in (INDUCING, *CHOICES):
        draws = min(systems, _MOST_DRAWS) if choice == RANDOM else 1
        for share in shares[: 1 if choice == INDUCING else None]:
            learner = _learner(_CITY_PARENTS, share, choice)
            for draw in range(draws):
                name = _TITLES[choice]
                yield thesis_city.city_part(city, name, learner, draw, seed, choice=choice)


def _measure(
    task: MeasuringTask,
    n: int,
    entries: int,
    parents: int,
    rows: int,
    shares: tuple[float, ...],
    choice: str,
    seed: int,
) -> Rows:
    """Learn with every share; inducing once, with the same result at every share."""
    truth = dynamics.random_system(n, entries=entries, seed=seed)
    train, test = dynamics.simulate(truth, 2 * rows, seed=seed).split(0.5)
    found: list[Row] = []
    for k, share in enumerate(shares, start=1):
        if choice != INDUCING or not found:
            learner = _learner(parents, share, choice)
            system = learn_single_threaded(train, learner, seed).system
            measures = all_measures(system, truth, test)
        found.append({"share_of_seeds": share, **measures})
        task.progress(k)
    return found


def by_share(rows: Rows, key: str) -> Found:
    """Return a measure on random systems by choice and share, one value per system."""
    here = where(rows, data=_SYSTEMS)
    found: Found = nested(here, key, "choice", "share_of_seeds", of=list)
    return found


def _on_city(rows: Rows) -> list[Row]:
    """Return the one-hour errors on the city, those of inducing at every share."""
    here = [row for row in rows if row["data"] != _SYSTEMS]
    shares = sorted({row["share_of_seeds"] for row in here if row["share_of_seeds"]})
    return [
        {**row, PREDICTION: row["test_1"], "share_of_seeds": share}
        for row in here
        for share in ([row["share_of_seeds"]] if row["share_of_seeds"] else shares)
    ]


def city_errors(rows: Rows) -> Found:
    """Return one-hour PredError on the city by choice and share, with inducing at every share."""
    found: Found = nested(_on_city(rows), PREDICTION, "choice", "share_of_seeds", of=list)
    return found


def _city_title(rows: Rows) -> str:
    return next((row["data"] for row in rows if row["data"] != _SYSTEMS), "")


def _draw(title: str, rows: Rows) -> go.Figure:
    """Draw StructRec and PredError on random systems, and PredError on the city."""
    systems = f"{len(group(where(rows, data=_SYSTEMS), 'system'))} random systems"
    charts = [(systems, key, by_share(rows, key)) for key in _JUDGED]
    charts.append((_city_title(rows), PREDICTION, city_errors(rows)))
    panels = []
    for words, key, found in charts:
        lines = {_TITLES[choice]: runs for choice, runs in found.items()}
        x_title = "share of the series that are seeds"
        panels += [panel(words, x_title, MEASURES[key], lines, _LOOKS)] if lines else []
    return lines_figure(title, panels)


def _table(rows: Rows) -> Iterator[Row]:
    """Yield one row for every choice and share, with the StructRec of inducing."""
    systems = where(rows, data=_SYSTEMS)
    beside = [row[STRUCTURE] for row in where(systems, choice=INDUCING)]
    for data, here in group([*systems, *_on_city(rows)], "data").items():
        whole = np.mean(beside) if data == _SYSTEMS and beside else None
        for choice, of_choice in group(here, "choice").items():
            for share, found in group(of_choice, "share_of_seeds").items():
                place = {"data": data, "choice": choice, "share_of_seeds": share}
                spread = {"runs": len(found), **spread_columns(found)}
                yield {**place, **spread, "inducing_structure_recall": whole}


def _gains(choice: str, of: Callable[[np.ndarray], Any]) -> Cases:
    """Return a function of the gains of a choice over random seeds, by measure and share."""

    def cases(rows: Rows) -> Row:
        found: Row = {}
        for key, sign in _JUDGED.items():
            runs = by_share(rows, key)
            for share, values in runs[choice].items():
                others = runs[RANDOM][share][: len(values)]
                gains = sign * (np.array(values[: len(others)]) - np.array(others))
                found.setdefault(MEASURES[key], {})[f"{share:.0%}"] = of(gains)
        return found

    return cases


def _mean_check(choice: str, key: str) -> Check:
    """Report means by share of a choice, of random seeds and of inducing."""

    def cases(rows: Rows) -> Row:
        means = nested(where(rows, data=_SYSTEMS), key, "choice", "share_of_seeds")
        return {_TITLES[name]: means[name] for name in (choice, RANDOM, INDUCING)}

    return f"mean {MEASURES[key]} by share", cases


def better_than_random(choice: str) -> tuple[Check, ...]:
    """Check that a choice finds more true parents and predicts better than random seeds."""
    words = f"gain of seeds {_TITLES[choice]} over random ones"
    return (
        (f"{words}, in standard errors", _gains(choice, standard_errors), "above 2"),
        ("mean gain", _gains(choice, np.mean)),
        *(_mean_check(choice, key) for key in _JUDGED),
    )


def _of_city(of: Callable[[float, list[float]], Any]) -> Cases:
    """Return a function of the error and of those of random seeds, by choice and share."""

    def cases(rows: Rows) -> Row:
        runs = city_errors(rows)
        found: Row = {}
        for choice in (ACTIVITY, SPREAD):
            for share, (error, *_) in runs[choice].items():
                others = runs[RANDOM][share]
                found.setdefault(_TITLES[choice], {})[f"{share:.0%}"] = of(error, others)
        return found

    return cases


_SYSTEM = {"n": 100, "entries": 1_000, "parents": PARENTS, "rows": 1_000}
_SMALL, _LARGE = (
    {**_SYSTEM, "shares": thesis_city.SHARES[k], "systems": systems, "city": thesis_city.CITY[k]}
    for k, systems in ((1, 5), (2, 20))
)
EXPERIMENTS = (
    Experiment(
        name="thesis-seeds",
        title="Seeds at random, by activity, or spread out",
        place=f"{thesis_city.THESIS}, section 2.2, and the outlook of chapter 4",
        accepts=(thesis_city.SOURCE,),
        sizes=(
            {
                "n": 12,
                "entries": 36,
                "parents": 4,
                "rows": 80,
                "systems": 2,
                "shares": thesis_city.SHARES[0],
                "city": thesis_city.CITY[0],
            },
            _SMALL,
            _LARGE,
        ),
        parts=seeds_parts,
        draw=_draw,
        table=_table,
        settings={
            RANDOM: "uniformly, as in the thesis",
            ACTIVITY: "the largest variances, in the series' own units",
            SPREAD: "the most active, then repeatedly the least correlated with the seeds so far",
            "random systems": "one run with process noise; the second half is held out",
            "parents on the city": _CITY_PARENTS,
            "unspoken": "common: series not covered by a seed get common parents of the seeds",
        },
        claims=(
            Claim(
                "Not in the thesis, but its outlook: the most active series as seeds give a "
                "better structure with fewer seeds than random ones.",
                *better_than_random(ACTIVITY),
            ),
            Claim(
                "Not in the thesis, but its outlook: seeds that are spread out give a better "
                "structure with fewer seeds than random ones.",
                *better_than_random(SPREAD),
            ),
            Claim(
                "Not in the thesis: on a city both choices predict better.",
                (
                    "mean less deviation of PredError with random seeds, less that of the choice",
                    _of_city(lambda error, others: np.mean(others) - np.std(others) - error),
                    "above 0",
                ),
                (
                    "PredError to the mean with random seeds",
                    _of_city(lambda error, others: error / np.mean(others)),
                ),
                ("data", _city_title),
            ),
        ),
        notes=(
            thesis_city.NO_GRID,
            thesis_city.CITY_SIZES,
            "20 systems, 5 at the small scale. They are run on with process noise, unlike in "
            "figures 2.3 to 2.5: with independent states all series would be equally active, and "
            "equally far apart.",
            UNCOVERED,
        ),
        cost=("15 s", "5 min"),
    ),
)
