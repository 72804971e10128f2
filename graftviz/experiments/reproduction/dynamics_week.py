"""One-hour forecasts of the four busiest series over a week: figure 2.8 of the thesis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from graftviz.dynamics import Dense, ScalableStructure
from graftviz.experiments.reproduction.dynamics_city import (
    HORIZONS,
    CityPart,
    CitySize,
    CityStudy,
    city_results,
    data_title,
)
from graftviz.experiments.reproduction.dynamics_methods import DENSE
from graftviz.experiments.reproduction.dynamics_sweep import CITY_PARENTS, SCALABLE
from graftviz.experiments.reproduction.experiment import (
    Cells,
    Claim,
    NotMeasured,
    Results,
    Verdict,
)
from graftviz.experiments.reproduction.verdicts import verdict
from graftviz.figures.reproduction_dynamics import Forecasts, week_figure

BUSIEST = 4
SHARE = 0.2
_FOLLOWS = 0.9  # least correlation of forecast and observation
_WRONG = 1.5  # ratio of errors that counts as clearly wrong


@dataclass(frozen=True)
class WeekStudy(CityStudy):
    """Forecasts of scalable and dense learning on a city.

    Attributes
    ----------
    sizes : dict
        By scale.
    """

    sizes: Mapping[str, CitySize]

    def parts(self, scale: str, seed: int) -> Sequence[CityPart]:
        """Return scalable and dense learning."""
        learner = ScalableStructure(parents=CITY_PARENTS, seeds=SHARE)
        size = self.sizes[scale]
        return [
            CityPart(size, SCALABLE, learner, seed, seed, BUSIEST),
            CityPart(size, DENSE, Dense(), 0, seed, BUSIEST),
        ]

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            "learner": f"scalable, k = {CITY_PARENTS}, {SHARE:.0%} seeds",
            "forecasts": "of every hour from the hour before; the first held-out week",
            "busiest": "largest sum over all rows",
            "band": "forecast ± 2 root mean squares of the errors in training",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw one panel for each of the busiest series."""
        both = _both(results)
        found = [
            Forecasts(
                f"{one['name']} ({data_title(results)})" if k == 0 else one["name"],
                one["actual"],
                one["predicted"],
                one["deviation"],
                other["predicted"],
            )
            for k, (one, other) in enumerate(both)
        ]
        return week_figure(
            title,
            found,
            name=f"scalable, {SHARE:.0%} seeds",
            baseline=DENSE,
            x_title="hours of the held-out week",
        )

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every series and hour."""
        yield ("series", "hour", "actual", "scalable", "scalable_deviation", "dense")
        for one, other in _both(results) if len(results) == 2 else ():
            columns = (one["actual"], one["predicted"], other["predicted"])
            for hour, (seen, mine, its) in enumerate(zip(*columns, strict=True)):
                yield (one["name"], hour, seen, mine, one["deviation"], its)

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the error of both methods over all series, by horizon."""
        return [
            {
                "method": part.name,
                "data": found["data"],
                "parents": found["parents"],
                "seeds": found["seeds"],
                "train": found["train"],
                "persistence": found["persistence"],
                **{f"test_{steps}": found["test"][str(steps)] for steps in HORIZONS},
            }
            for part, found in city_results(results)
        ]


def _both(results: Results) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return pairs of forecasts by scalable and by dense learning, one per series.

    If dense learning was not measured, its forecasts are replaced by those of scalable learning, so
    that the figure of an interrupted run can be drawn.
    """
    found = {part.name: one["forecasts"] for part, one in city_results(results)}
    if SCALABLE not in found:
        raise NotMeasured("Scalable learning was not measured.")
    return list(zip(found[SCALABLE], found.get(DENSE, found[SCALABLE]), strict=True))


def _forecast_columns(
    results: Results,
) -> list[tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]]:
    if len(results) < 2:
        raise NotMeasured("Both methods are needed.")
    columns = []
    for one, other in _both(results):
        seen, mine, its = (
            np.array(column, dtype=np.float64)
            for column in (one["actual"], one["predicted"], other["predicted"])
        )
        columns.append((one, seen, mine, its))
    return columns


def follows_the_rise_and_fall(results: Results) -> Verdict:
    """Judge that forecasts correlate with observations and beat persistence."""
    met, phrases, numbers = [], [], {}
    for one, seen, mine, _ in _forecast_columns(results):
        together = float(np.corrcoef(seen, mine)[0, 1])
        # Persistence has no forecast for the first hour.
        before = _rms(seen[1:] - seen[:-1])
        error = _rms(seen[1:] - mine[1:])
        met += [together >= _FOLLOWS, error < before]
        phrases.append(f"{one['name']}: {together:.3f}, error {error:.3f} against {before:.3f}")
        numbers[one["name"]] = {"correlation": together, "error": error, "hour_before": before}
    return verdict(
        met,
        f"Correlation of forecast and truth over the held-out week on {data_title(results)} "
        f"({_FOLLOWS} counts), and root mean square error against that of the value an hour "
        f"before: {'; '.join(phrases)}.",
        series=numbers,
    )


def dense_is_clearly_wrong(results: Results) -> Verdict:
    """Judge that dense learning has a much larger error in each of the series."""
    met, phrases, numbers = [], [], {}
    for one, seen, mine, its in _forecast_columns(results):
        ratio = _rms(seen - its) / _rms(seen - mine)
        met.append(ratio >= _WRONG)
        phrases.append(f"{one['name']} {ratio:.2f}")
        numbers[one["name"]] = ratio
    return verdict(
        met,
        f"Root mean square error of dense learning as a multiple of that of scalable learning on "
        f"{data_title(results)}: {', '.join(phrases)} ({_WRONG} counts as clearly wrong).",
        error_ratio=numbers,
    )


def _rms(gaps: np.ndarray) -> float:
    return float(np.sqrt(np.mean(gaps**2)))


CLAIMS = (
    Claim(
        "The learned system predicts the rise and fall of activity in the busiest blocks.",
        follows_the_rise_and_fall,
    ),
    Claim("Dense learning makes predictions that are clearly incorrect.", dense_is_clearly_wrong),
)
