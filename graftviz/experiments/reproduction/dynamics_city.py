"""Activity of a simulated city or from a file, and its prediction (thesis, section 2.3.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graftviz import dynamics
from graftviz.dynamics import (
    DynamicsLearner,
    DynamicsResult,
    TimeSeries,
    has_seeds,
)
from graftviz.dynamics.solving import SolverOptions
from graftviz.errors import InputError
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dynamics_methods import (
    finite,
    learn_single_threaded,
    options_of,
)
from graftviz.experiments.reproduction.experiment import Part, Results, Study

SOURCE = "series"
WEEK = 168
HORIZONS = (1, 6, 24)
_ACTIVE = 100.0  # blocks with fewer pick-ups and drop-offs are dropped, as in the thesis
_TEST_FRACTION = 0.2
_LEAST_WEEKS = 3  # from which the held-out rows are at least a week


class CitySize(NamedTuple):
    """Size of the city data.

    Attributes
    ----------
    side, weeks : int
        Side of the simulated city, which has side² blocks, and its duration.
    most_series, most_rows : int
        Limits on series from a file: the most active ones, and the first rows.
    """

    side: int
    weeks: int
    most_series: int
    most_rows: int


class City(NamedTuple):
    """Training and held-out series, each divided by its largest absolute value.

    Attributes
    ----------
    title : str
    train, test : TimeSeries
    activity : float array, shape (n,)
        Sum of absolute values of each series before the division.
    """

    title: str
    train: TimeSeries
    test: TimeSeries
    activity: np.ndarray


def city_of(data: Data, size: CitySize, seed: int) -> City:
    """Return the series from a file, or a simulated city if there is none.

    Counts (non-negative whole numbers) with a sum below 100 are dropped. The last fifth of the rows
    is held out, and at least a week of three weeks or more.
    """
    if data.has(SOURCE):
        file_series = data.time_series(SOURCE)
        series = replace(file_series, values=file_series.values[: size.most_rows], times=())
        title = f"{file_series.title}: "
    else:
        series = dynamics.simulate_city(size.side, size.weeks * WEEK, seed=seed)
        title = "a simulated city: "
    values = series.values
    sizes = np.abs(values).sum(axis=0)
    counts = bool((values >= 0.0).all() and (values == np.rint(values)).all())
    active = np.flatnonzero((np.ptp(values, axis=0) > 0.0) & (sizes >= _ACTIVE * counts))
    chosen = np.sort(active[np.argsort(-sizes[active], kind="stable")[: size.most_series]])
    if len(chosen) < 2 or len(values) < 2 * len(HORIZONS) + max(HORIZONS):
        raise InputError(
            f"{source_title(data)} has {len(values)} rows and {len(chosen)} active series; "
            f"at least {2 * len(HORIZONS) + max(HORIZONS)} rows and 2 series are needed."
        )
    shown = values[:, chosen] / np.abs(values[:, chosen]).max(axis=0)
    whole = dynamics.series_of(shown, tuple(series.names[i] for i in chosen))
    held_out = max(round(_TEST_FRACTION * len(shown)), max(HORIZONS) + 1)
    if len(shown) >= _LEAST_WEEKS * WEEK:
        held_out = max(held_out, WEEK)
    train, test = whole.split(held_out / len(shown))
    words = f"{title}{len(chosen):,} series, {train.n_rows:,} + {test.n_rows:,} rows"
    return City(words, train, test, sizes[chosen])


def source_title(data: Data) -> str:
    """Return the title of the series for messages."""
    return data.time_series(SOURCE).title if data.has(SOURCE) else "The simulated city"


def fitting(learner: DynamicsLearner, n: int, rows: int) -> DynamicsLearner:
    """Return the learner with the number of parents limited by series and rows."""
    if not isinstance(learner, SolverOptions):
        return learner
    return replace(learner, parents=min(learner.parents or n, n, rows - 3))


@dataclass(frozen=True)
class CityPart(Part):
    """One learner on a city with one seed.

    Attributes
    ----------
    size : CitySize
    name : str
        Display name of the learner.
    learner : DynamicsLearner
    draw : int
        Seed of the learner; the city has the seed of the experiment.
    seed : int
    busiest : int
        Number of the busiest series of which forecasts are returned too.
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
        """Approximate number of regressed series."""
        n = self.size.side**2
        if not has_seeds(self.learner):
            return n
        return max(round(self.learner.seeds * n), 1)

    def settings(self, data: Data) -> dict[str, Any]:
        """Return learner, seeds and size, and the digest of series from a file."""
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
        """Do nothing: times are not compared."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn, and return training error and held-out errors by horizon."""
        city = city_of(data, self.size, self.seed)
        train, test = city.train, city.test
        learner = fitting(self.learner, train.n_series, train.n_rows)
        result = learn_single_threaded(train, learner, self.draw)
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
    """Base of studies with parts :class:`CityPart`, on series from a file or a simulated city."""

    def needs(self) -> tuple[str, ...]:
        """Return nothing: without data a city is simulated."""
        return ()

    def accepts(self) -> tuple[str, ...]:
        """Return the source of series that replace the simulated city."""
        return (SOURCE,)


def city_results(results: Results) -> Iterator[tuple[CityPart, dict[str, Any]]]:
    """Yield the results of city parts."""
    for part, found in results.items():
        if isinstance(part, CityPart):
            yield part, found


def data_title(results: Results) -> str:
    """Return the description of the training data; empty if there are no results."""
    return next((str(found["data"]) for _, found in city_results(results)), "")


def persistence_error(test: TimeSeries) -> float:
    """Return the PredError of the forecast that the next hour equals this one."""
    gap = np.linalg.norm(np.diff(test.values, axis=0))
    return float(gap / np.linalg.norm(test.values[1:]))


def _forecasts(result: DynamicsResult, city: City, count: int) -> list[dict[str, Any]]:
    """Return values and forecasts of the busiest series in the first held-out week."""
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
