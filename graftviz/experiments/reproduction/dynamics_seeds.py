"""Choice of seed series: at random, the most active, or spread out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz import dynamics
from graftviz.dynamics import ScalableStructure, SparsityInducing, has_seeds
from graftviz.dynamics.seeds import CHOICES
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dobrushin import model_seed
from graftviz.experiments.reproduction.dynamics_city import (
    CityPart,
    CitySize,
    CityStudy,
    city_results,
    data_title,
)
from graftviz.experiments.reproduction.dynamics_methods import (
    INDUCING,
    INDUCING_LOOK,
    MEASURES,
    PREDICTION,
    STRUCTURE,
    all_measures,
    learn_single_threaded,
    mean_line,
)
from graftviz.experiments.reproduction.experiment import (
    Cells,
    Claim,
    NotMeasured,
    Part,
    Results,
    Verdict,
)
from graftviz.experiments.reproduction.verdicts import verdict
from graftviz.figures.reproduction import Look
from graftviz.figures.reproduction_dynamics import SpreadPanel, spread_figure
from graftviz.figures.style import BLUE, GREEN, ORANGE

RANDOM, ACTIVITY, SPREAD = CHOICES
TITLES = {RANDOM: "at random", ACTIVITY: "most active", SPREAD: "spread out"}
_LOOKS = {
    RANDOM: Look(BLUE, "solid", "circle"),
    ACTIVITY: Look(ORANGE, "dash", "square"),
    SPREAD: Look(GREEN, "dashdot", "diamond"),
}
_CITY_PARENTS = 15
_MOST_DRAWS = 5  # of random seeds on the city
_STANDARD_ERRORS = 2.0  # above which a mean difference counts


def seeds_learner(parents: int, share: float, choice: str) -> ScalableStructure:
    """Return scalable learning whose result depends on the seeds only.

    Series not covered by a seed get common parents of the seeds: if they were learned from their
    own data, few seeds could do better than many.
    """
    return ScalableStructure(parents=parents, seeds=share, seed_choice=choice, unspoken="common")


class SeedSizes(NamedTuple):
    """Sizes of the study at one scale.

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


@dataclass(frozen=True)
class SeedsPart(Part):
    """One choice of seeds at all shares, or inducing learning, on one random system's run.

    Attributes
    ----------
    sizes : SeedSizes
    number : int
        Index of the system, from 0.
    choice : str
        One of :data:`~graftviz.dynamics.seeds.CHOICES`, or the name of inducing learning.
    seed : int
    """

    sizes: SeedSizes
    number: int
    choice: str
    seed: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{TITLES.get(self.choice, self.choice)}, system {self.number}"

    @property
    def work(self) -> int:
        """Number of learned systems."""
        return 1 if self.choice == INDUCING else len(self.sizes.shares)

    def settings(self, data: Data) -> dict[str, Any]:
        """Return system, choice, shares and seed, without the number of systems."""
        sizes = self.sizes._asdict()
        del sizes["systems"], sizes["city"]
        return {
            "part": "choice of seeds",
            **sizes,
            "choice": self.choice,
            "number": self.number,
            "seed": self.seed,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: times are not compared."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn with every share, and return the measures by name and share."""
        sizes = self.sizes
        seed = model_seed(self.seed, self.number)
        truth = dynamics.random_system(sizes.n, entries=sizes.entries, seed=seed)
        train, test = dynamics.simulate(truth, 2 * sizes.rows, seed=seed).split(0.5)
        learners: list[SparsityInducing | ScalableStructure] = [
            seeds_learner(sizes.parents, share, self.choice)
            for share in sizes.shares
            if self.choice != INDUCING
        ] or [SparsityInducing(parents=sizes.parents)]
        found: dict[str, list[float]] = {name: [] for name in MEASURES}
        for k, learner in enumerate(learners, start=1):
            result = learn_single_threaded(train, learner, seed)
            for name, value in all_measures(result.system, truth, test).items():
                found[name].append(value)
            on_progress(k)
        return found


@dataclass(frozen=True)
class SeedsStudy(CityStudy):
    """Comparison of seed choices by number of seeds, on random systems and on a city."""

    sizes: Mapping[str, SeedSizes]

    def parts(self, scale: str, seed: int) -> Sequence[Part]:
        """Return parts for every system and choice, and for the city."""
        sizes = self.sizes[scale]
        parts: list[Part] = [
            SeedsPart(sizes, number, choice, seed)
            for number in range(sizes.systems)
            for choice in (INDUCING, *CHOICES)
        ]
        whole = SparsityInducing(parents=_CITY_PARENTS)
        parts.append(CityPart(sizes.city, INDUCING, whole, 0, seed))
        for choice in CHOICES:
            for share in sizes.shares:
                learner = seeds_learner(_CITY_PARENTS, share, choice)
                draws = min(sizes.systems, _MOST_DRAWS) if choice == RANDOM else 1
                parts += [
                    CityPart(sizes.city, choice, learner, draw, seed) for draw in range(draws)
                ]
        return parts

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            RANDOM: "uniformly, as in the thesis",
            ACTIVITY: "the largest variances, in the series' own units",
            SPREAD: "the most active, then repeatedly the least correlated with the seeds so far",
            "random systems": "one run with process noise; the second half is held out",
            "parents on the city": _CITY_PARENTS,
            "unspoken": "common: series not covered by a seed get common parents of the seeds",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw StructRec and PredError on random systems, and PredError on the city."""
        panels = []
        for key in (STRUCTURE, PREDICTION):
            runs = by_share(results, key)
            count = max(
                (len(values) for one in runs.values() for values in one.values()), default=0
            )
            panels.append(_panel(f"{count} random systems", MEASURES[key], runs))
        panels.append(_panel(data_title(results), MEASURES[PREDICTION], city_errors(results)))
        return spread_figure(title, [panel for panel in panels if panel.lines])

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every choice and share, with the StructRec of inducing."""
        spread = tuple(f"{name}_{kind}" for name in MEASURES for kind in ("mean", "sd"))
        yield ("data", "choice", "share_of_seeds", "runs", *spread, "inducing_structure_recall")
        runs = {key: by_share(results, key) for key in MEASURES}
        whole = _mean_of_whole(runs[STRUCTURE]) if INDUCING in runs[STRUCTURE] else None
        for choice, shares in runs[STRUCTURE].items():
            for share, values in shares.items():
                of_key = [runs[key][choice][share] for key in MEASURES]
                cells = [float(x) for one in of_key for x in (np.mean(one), np.std(one))]
                yield ("random systems", choice, share, len(values), *cells, whole)
        for choice, shares in city_errors(results).items():
            for share, values in shares.items():
                stated: list[float | None] = []
                for key in MEASURES:
                    here = key == PREDICTION
                    stated += [float(np.mean(values)) if here else None]
                    stated += [float(np.std(values)) if here else None]
                yield (data_title(results), choice, share, len(values), *stated, None)

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the rows as dicts."""
        header, *rows = self.rows(results)
        return [dict(zip(map(str, header), row, strict=True)) for row in rows]


Runs = dict[str, dict[float, list[float]]]


def by_share(results: Results, key: str) -> Runs:
    """Return a measure on random systems by choice and share, with inducing at every share."""
    found: Runs = {}
    for part, result in results.items():
        if isinstance(part, SeedsPart):
            values = result[key]
            if part.choice == INDUCING:
                values = values * len(part.sizes.shares)
            for share, value in zip(part.sizes.shares, values, strict=True):
                found.setdefault(part.choice, {}).setdefault(share, []).append(value)
    return found


def city_errors(results: Results) -> Runs:
    """Return one-hour PredError on the city by choice and share, with inducing at every share."""
    found: Runs = {}
    whole = None
    for part, result in city_results(results):
        error = float(result["test"]["1"])
        if has_seeds(part.learner):
            found.setdefault(part.name, {}).setdefault(part.learner.seeds, []).append(error)
        else:
            whole = error
    shares = sorted({share for one in found.values() for share in one})
    if whole is not None and shares:
        found[INDUCING] = {share: [whole] for share in shares}
    return found


def _panel(title: str, y_title: str, runs: Runs) -> SpreadPanel:
    lines = [
        mean_line(TITLES.get(choice, choice), by_x, _LOOKS.get(choice, INDUCING_LOOK))
        for choice, by_x in runs.items()
    ]
    return SpreadPanel(title, "share of the series that are seeds", y_title, lines)


def _mean_of_whole(runs: Runs) -> float:
    return float(np.mean(next(iter(runs[INDUCING].values()))))


def better_than_random(choice: str) -> Callable[[Results], Verdict]:
    """Judge that a choice finds more true parents and predicts better than random seeds."""

    def judge(results: Results) -> Verdict:
        met: list[bool] = []
        phrases, numbers = [], {}
        for key, sign in ((STRUCTURE, 1.0), (PREDICTION, -1.0)):
            runs = by_share(results, key)
            if not {choice, RANDOM, INDUCING} <= runs.keys():
                raise NotMeasured(f"Seeds {TITLES[choice]} were not measured.")
            words = []
            for share, values in runs[choice].items():
                others = runs[RANDOM][share][: len(values)]
                gaps = sign * (np.array(values[: len(others)]) - np.array(others))
                error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.inf
                met.append(bool(gaps.mean() > _STANDARD_ERRORS * error))
                words.append(f"{np.mean(values):.3f} against {np.mean(others):.3f} at {share:.0%}")
                numbers[f"{key}, {share:g}"] = {"gain": float(gaps.mean()), "met": met[-1]}
            phrases.append(
                f"{MEASURES[key]} {', '.join(words)} (inducing {_mean_of_whole(runs):.3f})"
            )
        return verdict(
            met,
            f"Seeds {TITLES[choice]} against random ones, over {len(gaps)} systems: "
            f"{'; '.join(phrases)}. Better by more than two standard errors in {sum(met)} of "
            f"{len(met)} comparisons.",
            **numbers,
        )

    return judge


def on_the_city(results: Results) -> Verdict:
    """Judge that both choices predict better on the city than random seeds on average."""
    runs = city_errors(results)
    if not set(CHOICES) <= runs.keys():
        raise NotMeasured("All choices are needed.")
    met, phrases, numbers = [], [], {}
    for choice in (ACTIVITY, SPREAD):
        words = []
        for share, (error, *_) in runs[choice].items():
            others = runs[RANDOM][share]
            met.append(error < float(np.mean(others)) - float(np.std(others)))
            words.append(f"{error:.4f} against {np.mean(others):.4f} at {share:.0%}")
            numbers[f"{choice}, {share:g}"] = error / float(np.mean(others))
        phrases.append(f"{TITLES[choice]} {', '.join(words)}")
    whole = f" (inducing {_mean_of_whole(runs):.4f})" if INDUCING in runs else ""
    return verdict(
        met,
        f"PredError on {data_title(results)}: {'; '.join(phrases)}{whole}. Better by more than the "
        f"standard deviation of random draws in {sum(met)} of {len(met)} comparisons.",
        ratio_to_random=numbers,
    )


CLAIMS = (
    Claim(
        "Not in the thesis, but its outlook: the most active series as seeds give a better "
        "structure with fewer seeds than random ones.",
        better_than_random(ACTIVITY),
    ),
    Claim(
        "Not in the thesis, but its outlook: seeds that are spread out give a better structure "
        "with fewer seeds than random ones.",
        better_than_random(SPREAD),
    ),
    Claim("Not in the thesis: on a city both choices predict better.", on_the_city),
)
