"""Choice of seed series: at random, the most active, or spread out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz import dynamics
from graftviz.dynamics import (
    DynamicsLearner,
    ScalableStructure,
    SparsityInducing,
)
from graftviz.dynamics.seeds import CHOICES
from graftviz.experiments.reproduction.claims import (
    Check,
    Claim,
    above,
)
from graftviz.experiments.reproduction.data import Data
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
from graftviz.experiments.reproduction.experiment import (
    PAPER,
    REHEARSAL,
    SMALL,
    Experiment,
    Part,
    Progress,
    model_seed,
)
from graftviz.experiments.reproduction.papers.thesis_city import (
    CITY,
    CITY_SIZES,
    NO_GRID,
    SHARES,
    SOURCE,
    THESIS,
    CitySize,
    city_part,
)
from graftviz.experiments.reproduction.rows import (
    Found,
    Row,
    Rows,
    group,
    mean,
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
_SEED_LOOKS = {
    _TITLES[RANDOM]: Look(BLUE, "solid", "circle"),
    _TITLES[ACTIVITY]: Look(ORANGE, "dash", "square"),
    _TITLES[SPREAD]: Look(GREEN, "dashdot", "diamond"),
    INDUCING: LOOKS[INDUCING],
}
_SEED_PARENTS = 15  # on the city
_MOST_DRAWS = 5  # of random seeds on the city
_SYSTEMS = "random systems"
_JUDGED = {STRUCTURE: 1.0, PREDICTION: -1.0}  # with the sign of a gain


class SeedSizes(NamedTuple):
    """Sizes of the study of seeds.

    Attributes
    ----------
    n, entries, parents, rows : int
        Random systems: series, non-zeros of A, k, and training rows of a run.
    shares : tuple of float
        |S| / n.
    systems : int
        Number of systems, and of draws of random seeds on the city (at most 5).
    city : CitySize
    """

    n: int
    entries: int
    parents: int
    rows: int
    shares: tuple[float, ...]
    systems: int
    city: CitySize


def _seeds_learner(parents: int, share: float, choice: str) -> ScalableStructure:
    """Return scalable learning whose result depends on the seeds only.

    Series not covered by a seed get common parents of the seeds: if they were learned from their
    own data, few seeds could do better than many.
    """
    return ScalableStructure(parents=parents, seeds=share, seed_choice=choice, unspoken="common")


def seeds_parts(sizes: SeedSizes, seed: int) -> Iterator[Part]:
    """Yield every choice of seeds on every random system, and on the city."""
    numbers = {key: getattr(sizes, key) for key in ("n", "entries", "parents", "rows", "shares")}
    for number in range(sizes.systems):
        for choice in (INDUCING, *CHOICES):
            yield Part(
                f"{_TITLES[choice]}, system {number}",
                1 if choice == INDUCING else len(sizes.shares),
                {
                    **{"part": "choice of seeds", **numbers},
                    **{"choice": choice, "number": number, "seed": seed},
                },
                partial(_measure_seeds, sizes, choice, model_seed(seed, number)),
                {"data": _SYSTEMS, "choice": choice, "system": number},
            )
    whole = city_part(sizes.city, INDUCING, SparsityInducing(parents=_SEED_PARENTS), 0, seed)
    yield _of_choice(whole, INDUCING)
    for choice in CHOICES:
        for share in sizes.shares:
            learner = _seeds_learner(_SEED_PARENTS, share, choice)
            for draw in range(min(sizes.systems, _MOST_DRAWS) if choice == RANDOM else 1):
                part = city_part(sizes.city, _TITLES[choice], learner, draw, seed)
                yield _of_choice(part, choice)


def _of_choice(part: Part, choice: str) -> Part:
    return replace(part, columns={**part.columns, "choice": choice})


def _measure_seeds(
    sizes: SeedSizes, choice: str, seed: int, data: Data, on_progress: Progress
) -> Rows:
    """Learn with every share; inducing once, with the same result at every share."""
    truth = dynamics.random_system(sizes.n, entries=sizes.entries, seed=seed)
    train, test = dynamics.simulate(truth, 2 * sizes.rows, seed=seed).split(0.5)

    def measures(learner: DynamicsLearner) -> dict[str, float]:
        return all_measures(learn_single_threaded(train, learner, seed).system, truth, test)

    if choice == INDUCING:
        whole = measures(SparsityInducing(parents=sizes.parents))
        return [{"share_of_seeds": share, **whole} for share in sizes.shares]
    rows = []
    for k, share in enumerate(sizes.shares, start=1):
        learner = _seeds_learner(sizes.parents, share, choice)
        rows.append({"share_of_seeds": share, **measures(learner)})
        on_progress(k)
    return rows


def by_share(rows: Rows, key: str) -> Found:
    """Return a measure on random systems by choice and share, one value per system."""
    return nested(where(rows, data=_SYSTEMS), key, "choice", "share_of_seeds", of=list)


def city_errors(rows: Rows) -> Found:
    """Return one-hour PredError on the city by choice and share, with inducing at every share."""
    here = [row for row in rows if row["data"] != _SYSTEMS]
    found = Found(nested(here, "test_1", "choice", "share_of_seeds", of=list))
    whole = found.pop(INDUCING, {None: []})[None]
    shares = sorted({share for one in found.values() for share in one})
    return Found(found | ({INDUCING: dict.fromkeys(shares, whole)} if whole and shares else {}))


def _city_title(rows: Rows) -> str:
    return next((row["data"] for row in rows if row["data"] != _SYSTEMS), "")


def _draw_seeds(title: str, rows: Rows) -> go.Figure:
    """Draw StructRec and PredError on random systems, and PredError on the city."""
    systems = f"{len(group(where(rows, data=_SYSTEMS), 'system'))} random systems"
    charts = [(systems, key, by_share(rows, key)) for key in (STRUCTURE, PREDICTION)]
    charts.append((_city_title(rows), PREDICTION, city_errors(rows)))
    panels = []
    for words, key, found in charts:
        lines = {_TITLES[choice]: runs for choice, runs in found.items()}
        x_title = "share of the series that are seeds"
        panels += [panel(words, x_title, MEASURES[key], lines, _SEED_LOOKS)] if lines else []
    return lines_figure(title, panels)


def _seeds_table(rows: Rows) -> Iterator[Row]:
    """Yield one row for every choice and share, with the StructRec of inducing."""
    runs = {key: by_share(rows, key) for key in MEASURES}
    beside = runs[STRUCTURE].get(INDUCING)
    whole = None if beside is None else mean(next(iter(beside.values())))
    for choice, shares in runs[STRUCTURE].items():
        for share, values in shares.items():
            spread = spread_columns({key: np.array(runs[key][choice][share]) for key in MEASURES})
            yield _seeds_row(_SYSTEMS, choice, share, values, spread, whole)
    for choice, shares in city_errors(rows).items():
        for share, values in shares.items():
            spread = spread_columns({PREDICTION: np.array(values)})
            yield _seeds_row(_city_title(rows), choice, share, values, spread, None)


def _seeds_row(
    data: str, choice: str, share: float, values: list[float], spread: Row, whole: float | None
) -> Row:
    place = {"data": data, "choice": choice, "share_of_seeds": share, "runs": len(values)}
    return {**place, **spread, "inducing_structure_recall": whole}


def _mean_shares(choice: str, key: str, rows: Rows) -> Row:
    """Return means by share of a choice, of random seeds and of inducing."""
    runs = by_share(rows, key)
    return {
        _TITLES[name]: {f"{share:.0%}": mean(values) for share, values in runs[name].items()}
        for name in (choice, RANDOM, INDUCING)
    }


def better_than_random(choice: str) -> tuple[Check, ...]:
    """Check that a choice finds more true parents and predicts better than random seeds."""

    def gains(rows: Rows, of: Any) -> Row:
        found: Row = {}
        for key, sign in _JUDGED.items():
            runs = by_share(rows, key)
            runs[INDUCING]  # the reference is required too
            values, others = runs[choice], runs[RANDOM]
            found[MEASURES[key]] = {}
            for share in values:
                count = min(len(values[share]), len(others[share]))
                gain = sign * (np.array(values[share][:count]) - np.array(others[share][:count]))
                found[MEASURES[key]][f"{share:.0%}"] = of(gain)
        return found

    words = f"gain of seeds {_TITLES[choice]} over random ones"
    return (
        Check(f"{words}, in standard errors", lambda rows: gains(rows, standard_errors), above(2)),
        Check("mean gain", lambda rows: gains(rows, mean)),
        *(Check(f"mean {MEASURES[key]}", partial(_mean_shares, choice, key)) for key in _JUDGED),
    )


def _on_the_city(rows: Rows, of: Any) -> Row:
    """Return a function of the error and of those of random seeds, by choice and share."""
    runs = city_errors(rows)
    return {
        _TITLES[choice]: {
            f"{share:.0%}": of(error, runs[RANDOM][share])
            for share, (error, *_) in runs[choice].items()
        }
        for choice in (ACTIVITY, SPREAD)
    }


EXPERIMENTS = (
    Experiment(
        name="thesis-seeds",
        title="Seeds at random, by activity, or spread out",
        place=f"{THESIS}, section 2.2, and the outlook of chapter 4",
        accepts=(SOURCE,),
        sizes={
            PAPER: SeedSizes(100, 1_000, PARENTS, 1_000, SHARES[PAPER], 20, CITY[PAPER]),
            SMALL: SeedSizes(100, 1_000, PARENTS, 1_000, SHARES[SMALL], 5, CITY[SMALL]),
            REHEARSAL: SeedSizes(12, 36, 4, 80, SHARES[REHEARSAL], 2, CITY[REHEARSAL]),
        },
        parts=seeds_parts,
        draw=_draw_seeds,
        table=_seeds_table,
        settings={
            RANDOM: "uniformly, as in the thesis",
            ACTIVITY: "the largest variances, in the series' own units",
            SPREAD: "the most active, then repeatedly the least correlated with the seeds so far",
            "random systems": "one run with process noise; the second half is held out",
            "parents on the city": _SEED_PARENTS,
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
                Check(
                    "mean less deviation of PredError with random seeds, less that of the choice",
                    lambda rows: _on_the_city(
                        rows, lambda e, random: mean(random) - np.std(random) - e
                    ),
                    above(0),
                ),
                Check(
                    "PredError to the mean with random seeds",
                    lambda rows: _on_the_city(rows, lambda error, random: error / mean(random)),
                ),
                Check("data", _city_title),
            ),
        ),
        notes=(
            NO_GRID,
            CITY_SIZES,
            "20 systems, 5 at the small scale. They are run on with process noise, unlike in "
            "figures 2.3 to 2.5: with independent states all series would be equally active, and "
            "equally far apart.",
            UNCOVERED,
        ),
        cost={SMALL: "15 s", PAPER: "5 min"},
    ),
)
