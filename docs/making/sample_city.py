"""Generator of the sample data `city`: hourly numbers of people at its places.

People stay at a place for a while or walk to a nearby one, and every place has its own peak hours:
the factory in the morning, the theatre in the evening, the stadium on Saturdays. The walks are a
linear dynamical system; the arrivals at peak hours are an external input that is not part of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.data.series.series import TimeSeries
from graftviz.utils.arrays import read_only
from graftviz.utils.files import csv_text

DAYS = 28
_STAY = 0.4  # share of people in the same place an hour later
_WALK = 0.5  # share of people who have moved to a nearby place
_REACH = 3  # number of nearby places that people walk to
_SPREAD = 0.3  # standard deviation of the input, as a share of the size of the place
_KILOMETRE = 1.0 / 111.0  # degrees, near the equator
_FIRST_WEEKEND_DAY = 5
_BURN_IN = 7  # days simulated before the first day of the result


class Place(NamedTuple):
    """Place: kilometres from the south-western corner, size, and kind of peak hours."""

    name: str
    east: float
    north: float
    size: float
    kind: str


PLACES = (
    Place("harbour", 1.2, 0.6, 60, "work"),
    Place("fish market", 2.0, 1.3, 45, "morning"),
    Place("old town", 3.4, 2.6, 90, "leisure"),
    Place("cathedral", 3.9, 3.3, 30, "leisure"),
    Place("town hall", 4.3, 2.4, 55, "work"),
    Place("central station", 5.3, 3.0, 160, "commute"),
    Place("theatre", 3.0, 3.5, 40, "evening"),
    Place("cinema", 4.7, 3.9, 50, "evening"),
    Place("museum", 2.5, 2.0, 35, "leisure"),
    Place("university", 6.4, 4.4, 120, "work"),
    Place("library", 5.8, 4.9, 50, "work"),
    Place("hospital", 7.4, 3.4, 80, "always"),
    Place("factory", 8.7, 1.1, 110, "work"),
    Place("brewery", 7.6, 1.6, 35, "evening"),
    Place("stadium", 8.9, 4.6, 70, "saturday"),
    Place("park", 4.6, 5.4, 60, "leisure"),
    Place("zoo", 3.2, 5.6, 40, "leisure"),
    Place("north end", 5.2, 6.6, 75, "home"),
    Place("south end", 4.4, 0.9, 85, "home"),
    Place("west side", 1.1, 4.0, 90, "home"),
    Place("east side", 9.6, 2.9, 80, "home"),
    Place("lakeside", 7.3, 6.2, 55, "home"),
    Place("bus depot", 6.4, 2.0, 70, "commute"),
    Place("airport", 10.8, 6.3, 95, "always"),
)
# Peak hours on weekdays, and the factor at weekends.
_HOURS: dict[str, tuple[tuple[float, ...], float]] = {
    "work": ((8.5, 13.0), 0.25),
    "morning": ((6.5, 9.0), 1.3),
    "leisure": ((12.0, 16.0), 1.8),
    "evening": ((19.5, 21.0), 1.5),
    "commute": ((7.5, 17.5), 0.5),
    "always": ((11.0, 18.0), 0.9),
    "saturday": ((15.0, 20.0), 2.6),
    "home": ((7.0, 19.0), 1.1),
}
_WIDTH = 2.2  # hours


def city_walks() -> np.ndarray:
    """Return the transition matrix A of the walks, shape (24, 24), read-only."""
    at = np.array([(place.east, place.north) for place in PLACES])
    gaps = np.linalg.norm(at[:, None] - at[None, :], axis=2)
    walks = np.zeros(gaps.shape)
    for source in range(len(PLACES)):
        near = np.argsort(gaps[source], kind="stable")[1 : _REACH + 1]
        shares = 1.0 / gaps[source, near]
        walks[near, source] = _WALK * shares / shares.sum()
        walks[source, source] = _STAY
    return read_only(walks)


def city_positions() -> np.ndarray:
    """Return longitude and latitude of the places in degrees, shape (24, 2), read-only.

    The coordinates are in the sea off West Africa.
    """
    kilometres = np.array([(place.east, place.north) for place in PLACES])
    return read_only(np.round(kilometres * _KILOMETRE, 4))


def city_series(seed: int = 1) -> TimeSeries:
    """Return the hourly numbers of people at each place for four weeks from a Monday: 672 × 24.

    The unit is ten people; values are rounded to one decimal.
    """
    random = np.random.default_rng(seed)
    walks = city_walks()
    sizes = np.array([place.size for place in PLACES])
    state = sizes.copy()
    rows = []
    for hour in range(24 * (DAYS + _BURN_IN)):
        noise = 1.0 + _SPREAD * random.standard_normal(len(PLACES))
        state = walks @ state + 0.3 * sizes * _inputs(hour % 24, hour // 24 % 7) * noise
        rows.append(state)
    values = np.round(np.array(rows[24 * _BURN_IN :]), 1)
    start = np.datetime64("2024-01-01T00")  # a Monday
    times = np.datetime_as_string(start + np.arange(len(values)), unit="m")
    names = tuple(place.name for place in PLACES)
    labels = tuple(str(time).replace("T", " ") for time in times)
    return TimeSeries(read_only(values), names, labels, "The city")


def _inputs(hour: int, day: int) -> np.ndarray:
    inputs = []
    for place in PLACES:
        peaks, at_weekends = _HOURS[place.kind]
        away = np.array([min(abs(hour - peak), 24.0 - abs(hour - peak)) for peak in peaks])
        value = 0.08 + float(np.exp(-0.5 * (away / _WIDTH) ** 2).sum())
        inputs.append(value * (at_weekends if day >= _FIRST_WEEKEND_DAY else 1.0))
    return np.array(inputs)


def series_csv(series: TimeSeries) -> str:
    """Return series as a wide CSV: the times, if there are any, and one column per series."""
    rows = [[*(["time"] if series.times else []), *series.names]]
    for row, values in enumerate(series.values.tolist()):
        rows.append([*([series.times[row]] if series.times else []), *map(repr, values)])
    return csv_text(rows)


def positions_csv(series: TimeSeries, degrees: np.ndarray) -> str:
    """Return longitudes and latitudes, shape (n, 2), as CSV: name, lon, lat."""
    lines = [
        f"{name},{lon:.4f},{lat:.4f}"
        for name, (lon, lat) in zip(series.names, degrees.tolist(), strict=True)
    ]
    return "\n".join(["name,lon,lat", *lines]) + "\n"
