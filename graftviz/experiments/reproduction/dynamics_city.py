"""Activity of a city, made up or given, and what learners of it predict (thesis, section 2.3.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graftviz import dynamics
from graftviz.dynamics import DynamicsLearner, DynamicsResult, ScalableStructure, TimeSeries
from graftviz.dynamics.solving import SolverOptions
from graftviz.errors import InputError
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dynamics_methods import finite, learned, options_of
from graftviz.experiments.reproduction.experiment import Part, Results, Study

SOURCE = "series"
WEEK = 168
HORIZONS = (1, 6, 24)
_ACTIVE = 100.0  # fewer pick-ups and drop-offs in all, and a block is left out, as in the thesis
_TEST_FRACTION = 0.2
_LEAST_WEEKS = 3  # so many, and the held-out rows are at least a week


class CitySize(NamedTuple):
    """How much of a city is looked at.

    Attributes
    ----------
    side, weeks : int
        Of the made-up city: side² blocks.
    most_series, most_rows : int
        Of given series: the most active ones, and the first rows.
    """

    side: int
    weeks: int
    most_series: int
    most_rows: int


class City(NamedTuple):
    """What is learned from and what is held out, every series divided by its largest size.

    Attributes
    ----------
    title : str
    train, test : TimeSeries
    activity : float array, shape (n,)
        Sum of the sizes of each series before they were divided.
    """

    title: str
    train: TimeSeries
    test: TimeSeries
    activity: np.ndarray


def city_of(data: Data, size: CitySize, seed: int) -> City:
    """Return the given series, or a made-up city where none are given.

    Of counts (whole numbers, none negative), series with a sum below 100 are left out. The last
    fifth of the rows is held out, and of three weeks or more at least a week.
    """
    if data.has(SOURCE):
        given = data.time_series(SOURCE)
        series = replace(given, values=given.values[: size.most_rows], times=())
        title = f"{given.title}: "
    else:
        series = dynamics.simulate_city(size.side, size.weeks * WEEK, seed=seed)
        title = "a made-up city: "
    values = series.values
    sizes = np.abs(values).sum(axis=0)
    counts = bool((values >= 0.0).all() and (values == np.rint(values)).all())
    active = np.flatnonzero((np.ptp(values, axis=0) > 0.0) & (sizes >= _ACTIVE * counts))
    kept = np.sort(active[np.argsort(-sizes[active], kind="stable")[: size.most_series]])
    if len(kept) < 2 or len(values) < 2 * len(HORIZONS) + max(HORIZONS):
        raise InputError(
            f"{given_or_made(data)} has {len(values)} rows and {len(kept)} series that are active; "
            f"at least {2 * len(HORIZONS) + max(HORIZONS)} rows and 2 series are needed."
        )
    shown = values[:, kept] / np.abs(values[:, kept]).max(axis=0)
    whole = dynamics.series_of(shown, tuple(series.names[i] for i in kept))
    held_out = max(round(_TEST_FRACTION * len(shown)), max(HORIZONS) + 1)
    if len(shown) >= _LEAST_WEEKS * WEEK:
        held_out = max(held_out, WEEK)
    train, test = whole.split(held_out / len(shown))
    words = f"{title}{len(kept):,} series, {train.n_rows:,} + {test.n_rows:,} rows"
    return City(words, train, test, sizes[kept])


def given_or_made(data: Data) -> str:
    """Return what messages call the series."""
    return data.time_series(SOURCE).title if data.has(SOURCE) else "The made-up city"


def fitting(learner: DynamicsLearner, n: int, rows: int) -> DynamicsLearner:
    """Return the learner, with no more parents than there are series, or than rows can tell."""
    if not isinstance(learner, SolverOptions):
        return learner
    return replace(learner, parents=min(learner.parents or n, n, rows - 3))


@dataclass(frozen=True)
class CityPart(Part):
    """One learner on a city, drawn with one seed.

    Attributes
    ----------
    size : CitySize
    name : str
        What the learner is called.
    learner : DynamicsLearner
    draw : int
        Seed of the learner; the city has the seed of the experiment.
    seed : int
    busiest : int
        For so many of the busiest series, forecasts are returned as well.
    """

    size: CitySize
    name: str
    learner: DynamicsLearner
    draw: int
    seed: int
    busiest: int = 0

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return self.name

    @property
    def work(self) -> int:
        """About how many series are regressed."""
        n = self.size.side**2
        if not isinstance(self.learner, ScalableStructure):
            return n
        return max(round(self.learner.seeds * n), 1)

    def settings(self, data: Data) -> dict[str, Any]:
        """Return learner, seeds, and which series: their digest where they are given."""
        size: dict[str, Any] = {"side": self.size.side, "weeks": self.size.weeks}
        if data.has(SOURCE):
            values = data.time_series(SOURCE).values
            size = {
                "given": hashlib.sha256(values.tobytes()).hexdigest(),
                "most_series": self.size.most_series,
                "most_rows": self.size.most_rows,
            }
        return {
            "part": "city",
            **size,
            **options_of(self.learner),
            "draw": self.draw,
            "busiest": self.busiest,
            "seed": self.seed,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: times are not compared here."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn, and return errors in training and on held-out rows by horizon."""
        city = city_of(data, self.size, self.seed)
        train, test = city.train, city.test
        learner = fitting(self.learner, train.n_series, train.n_rows)
        result = learned(train, learner, self.draw)
        found = {
            "data": city.title,
            "n": train.n_series,
            "parents": learner.parents if isinstance(learner, SolverOptions) else train.n_series,
            "seeds": len(result.seeds),
            "unspoken": len(result.unspoken),
            "train": finite(result.pred_error_train),
            "persistence": persistence_error(test),
            "spectral_radius": finite(result.system.spectral_radius),
            "test": {
                str(steps): finite(dynamics.prediction_error(result.system, test, steps=steps))
                for steps in HORIZONS
            },
        }
        if self.busiest:
            found["forecasts"] = _forecasts(result, city, self.busiest)
        return found


class CityStudy(Study):
    """A study of :class:`CityPart`, perhaps beside others: of a given city or a made-up one."""

    def needs(self) -> tuple[str, ...]:
        """Return nothing: without data a city is made up."""
        return ()

    def accepts(self) -> tuple[str, ...]:
        """Return the source of the series that may be given in place of the city."""
        return (SOURCE,)


def city_results(results: Results) -> Iterator[tuple[CityPart, dict[str, Any]]]:
    """Yield what was measured on the city."""
    for part, found in results.items():
        if isinstance(part, CityPart):
            yield part, found


def about(results: Results) -> str:
    """Return what was learned from, for people; empty if nothing was."""
    return next((str(found["data"]) for _, found in city_results(results)), "")


def persistence_error(test: TimeSeries) -> float:
    """Return the PredError of expecting the next hour to be like this one."""
    gap = np.linalg.norm(np.diff(test.values, axis=0))
    return float(gap / np.linalg.norm(test.values[1:]))


def _forecasts(result: DynamicsResult, city: City, count: int) -> list[dict[str, Any]]:
    """Return what happened to the busiest series in the first held-out week, and its forecasts."""
    train, test = city.train, city.test
    busiest = np.argsort(-city.activity, kind="stable")[:count]
    expected = dynamics.one_step(result.system, test.values)[:WEEK]
    deviation = dynamics.residual_deviation(result.system, train.values)
    return [
        {
            "name": train.names[i],
            "actual": test.values[1 : WEEK + 1, i].tolist(),
            "predicted": [finite(value) for value in expected[:, i]],
            "deviation": float(deviation[i]),
        }
        for i in busiest.tolist()
    ]
