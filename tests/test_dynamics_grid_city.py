"""A made-up city, and series as they are given to experiments."""

from __future__ import annotations

import numpy as np
import pytest

from graftviz import InputError, dynamics
from graftviz.experiments.reproduction.data import read_series_file

WEEK = 168


@pytest.fixture(scope="module")
def city():
    return dynamics.simulate_city(5, 6 * WEEK, seed=2)


def test_a_city_counts_and_begins_on_a_monday(city):
    assert city.values.shape == (6 * WEEK, 25)
    assert len(set(city.names)) == 25
    assert city.times[0] == "2024-01-01T00:00"
    assert city.times[25] == "2024-01-02T01:00"
    assert np.array_equal(city.values, np.rint(city.values))
    assert city.values.min() == 0.0
    again = dynamics.simulate_city(5, 6 * WEEK, seed=2)
    assert np.array_equal(again.values, city.values)
    assert not np.array_equal(dynamics.simulate_city(5, 6 * WEEK, seed=3).values, city.values)


def test_a_city_has_days_weeks_and_a_centre(city):
    whole = city.values.sum(axis=1)
    whole = whole - whole.mean()

    def alike(lag):
        return float(np.corrcoef(whole[:-lag], whole[lag:])[0, 1])

    assert alike(24) > 0.5 > alike(12)
    assert alike(WEEK) > alike(3 * 24 + 12)
    activity = city.values.mean(axis=0).reshape(5, 5)
    assert activity[1:4, 1:4].mean() > 2.0 * activity[[0, 0, -1, -1], [0, -1, 0, -1]].mean()


def test_packed_arrays_are_read_with_their_places(tmp_path):
    values = np.arange(12, dtype=np.uint16).reshape(4, 3) % 5
    values[:, 1] = 2  # never changes
    lat, lon = np.array([40.7, 40.8, 40.9]), np.array([-74.0, -74.0, -73.9])
    np.savez(tmp_path / "taxi.npz", hourly=values, lon=lon, lat=lat, half_hourly=np.ones((8, 3)))
    series = read_series_file(tmp_path / "taxi.npz")
    assert series.names == ("40.700, -74.000", "40.900, -73.900")
    assert np.array_equal(series.values, values[:, [0, 2]])
    assert series.title == "taxi.npz"
    assert np.array_equal(read_series_file(tmp_path).values, series.values)
    # Two series at one place cannot be called by it.
    np.savez(tmp_path / "same.npz", hourly=values, lon=np.zeros(3), lat=np.zeros(3))
    assert read_series_file(tmp_path / "same.npz").names == ("x0", "x2")


def test_tables_are_read_without_what_never_changes(tmp_path):
    (tmp_path / "a.csv").write_text("time,a,b,c\n0,1,5,2\n1,2,5,3\n2,4,5,1\n")
    assert read_series_file(tmp_path).names == ("a", "c")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"other": np.ones((3, 3))}, "should contain the series as a numeric array"),
        ({"hourly": np.ones(3)}, "should contain the series as a numeric array"),
        ({"X": np.full((3, 2), "a")}, "should contain the series as a numeric array"),
        ({"values": np.ones((3, 2))}, "all series are constant"),
    ],
)
def test_arrays_that_are_no_series_are_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "given.npz", **arrays)
    with pytest.raises(InputError, match=sentence):
        read_series_file(tmp_path / "given.npz")


def test_a_folder_or_file_without_series_is_refused(tmp_path):
    with pytest.raises(InputError, match="no time series"):
        read_series_file(tmp_path)
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="No arrays can be read"):
        read_series_file(tmp_path / "broken.npz")
