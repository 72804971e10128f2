"""Reading of time series: accepted forms, and refusals in one sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from graftviz import InputError, dynamics
from graftviz.data.reading import raw
from graftviz.data.series.reading import read_parents, read_series
from graftviz.data.series.series import TimeSeries
from graftviz.reports.reproduction.data import read_series_file

HOURS = ["2015-01-01 00:00", "2015-01-01 01:00", "2015-01-01 02:00", "2015-01-01 03:00"]


def written(tmp_path, text, name="series.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def table(times, columns="a,b", time="time"):
    lines = [f"{t},{k},{k * k}" for k, t in enumerate(times)]
    return "\n".join([f"{time},{columns}", *lines, ""])


@pytest.mark.parametrize(
    ("times", "name"),
    [
        (HOURS, "time"),
        (HOURS, "when"),  # dates are recognised under any name
        (["2015-01-31T00:00:00Z", "2015-02-01T00:00:00Z", "2015-02-02T00:00:00Z"], "date"),
        (["2015-01-01", "2015-02-01", "2015-03-01", "2015-04-01"], "date"),  # months
        (["2012-02-29", "2016-02-29", "2020-02-29"], "date"),
        (["0", "0.1", "0.2", "0.3"], "t"),
        (["3", "5", "7"], "Time"),
    ],
)
def test_wide_table_with_times(tmp_path, times, name):
    series = read_series(written(tmp_path, table(times, time=name)))
    assert series.names == ("a", "b")
    assert series.times == tuple(times)
    assert series.values.tolist() == [[k, k * k] for k in range(len(times))]
    with pytest.raises(ValueError):
        series.values[0, 0] = 1.0


def test_wide_table_without_times(tmp_path):
    path = written(tmp_path, "a,b\n1,2\n3,-4.5\n5,6e2\n")
    assert read_series(path).values.tolist() == [[1, 2], [3, -4.5], [5, 600]]
    assert read_series(path).times == ()
    assert read_series(path, time="a").names == ("b",)
    timed = written(tmp_path, "t,b\n1,2\n3,4\n5,7\n")
    assert read_series(timed).names == ("b",)
    assert read_series(timed, time="none").names == ("t", "b")


def test_long_table_is_pivoted(tmp_path):
    rows = [(t, s, v) for v, (t, s) in enumerate((t, s) for t in HOURS for s in ("p", "q"))]
    rows = [rows[k] for k in (5, 2, 7, 0, 1, 6, 3, 4)]
    text = "value,time,series\n" + "".join(f"{v},{t},{s}\n" for t, s, v in rows)
    series = read_series(written(tmp_path, text))
    assert series.names == ("q", "p")  # in order of appearance
    assert series.times == tuple(HOURS)
    assert series.values.tolist() == [[1, 0], [3, 2], [5, 4], [7, 6]]


def test_frames_and_arrays():
    values = np.random.default_rng(0).standard_normal((6, 3))
    from_frame = read_series(pd.DataFrame(values, columns=["u", "v", "w"]))
    assert np.array_equal(from_frame.values, values)
    assert np.array_equal(read_series(values).values, values)
    values[2, 1] = np.nan
    filled = read_series(values, missing="interpolate")
    assert filled.values[2, 1] == pytest.approx((values[1, 1] + values[3, 1]) / 2)


@pytest.mark.parametrize(
    "text",
    [
        "time,a,b\n2015-01-01,1,0.1\n2015-01-02,NA,1e-3\n2015-01-03,4,5\n",
        "a,b\n1,2.5\n3,-4\n5,6\n",
        "a,b\n1,2.5\n\n3, -4\n5,6\n",
        '"a, too",b\n1,2.5\n3,4\n',
        "series,time,value\np,0,1\nq,0,2\np,1,3\nq,1,4\n",
    ],
)
def test_numbers_of_large_files_equal_those_of_small_files(tmp_path, monkeypatch, text):
    path = written(tmp_path, text)
    usual = read_series(path, missing="interpolate")
    monkeypatch.setattr(raw, "_MANY", 0)  # numbers are parsed without an object each
    large = read_series(path, missing="interpolate")
    assert np.array_equal(large.values, usual.values)
    assert (large.names, large.times, large.title) == (usual.names, usual.times, usual.title)


def test_error_in_large_file_names_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(raw, "_MANY", 0)
    path = written(tmp_path, "time,a\n0,1\n1,2\n2.5,4\n")
    with pytest.raises(InputError, match=r"series\.csv: .* line 4 comes 1\.5 after"):
        read_series(path)


def test_short_gaps_are_interpolated_linearly(tmp_path):
    text = "time,a,b\n0,0,1\n1,,2\n2,NA,3\n3,6,4\n5,10,6\n"
    path = written(tmp_path, text)
    series = read_series(path, missing="interpolate")
    assert series.values.tolist() == [[0, 1], [2, 2], [4, 3], [6, 4], [8, 5], [10, 6]]
    assert "4 missing values" in series.notes[-1]
    with pytest.raises(
        InputError, match="series 'a' lacks more than 1 values in a row from '1' on"
    ):
        read_series(path, missing="interpolate", longest_gap=1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time,a\n0,1\n1,\n2,3\n", "series 'a' has no value at '1'"),
        ("a,b\n1,2\n3,\n5,6\n", "series 'b' has no value in row 2"),
        ("time,a\n0,1\n1,2\n3,4\n", "no value in the time steps after '1', which are absent"),
        ("time,a\n0,1\n1,2\n2.5,4\n", "line 4 comes 1.5 after '1', .* not a multiple of 1"),
        (
            "time,a\n2024-03-01 00:00,1\n2024-03-01 00:40,2\n2024-03-01 01:31,4\n",
            "line 4 comes 51 minutes after .* not a multiple of 40 minutes",
        ),
        ("time;a\n0;1,5\n1;2,5\n", "not a finite number; write decimals with a point"),
        ("time,a\n0,1\n2,2\n1,4\n", "line 4 has the time '1', which does not come after '2'"),
        ("time,a\n0,1\n0,2\n", "does not come after '0'"),
        ("time,a\nJan,1\nFeb,2\n", "line 2 has the time 'Jan', which is neither a number nor"),
        ("time,a\n,1\n1,2\n", "line 2 has no time"),
        ("time,a\n0,1\n1e310,2\n2,4\n", "line 3 has the time '1e310', which is not finite"),
        (
            "time,a\n0,1\n1,2\n1e20,4\n",
            "line 4 .* '1e20', too long after '1' for the smallest time step, 1;",
        ),
        ("time,a\n0,1\n1e-320,2\n1,3\n", "line 4 has the time '1', too long after '1e-320'"),
        ("time,a\n-1.7e308,1\n1.7e308,2\n", "line 3 has the time '1.7e308', too long after"),
        ("date,station,y\n0,a,1\n0,b,2\n", "name the columns time, series and value"),
        ("a,b\n1,2\n3,x\n", "line 3 has the value 'x' in series 'b', which is not a finite number"),
        ("a,b\n1,2\n3,inf\n", "line 3 has the value 'inf'"),
        ("a,b\n1,2\n3,1e154\n", r"line 3 has the value '1e154' in series 'b', which is beyond"),
        ("a,b\n1,2\n3,-1.1e50\n", r"beyond ±1e\+50; correct the value, or use another unit"),
        ("a,b\n1,2e-300\n3,3e-300\n", "series 'b' is 2e-300 at all times"),
        ("a,b\n1,NA\n3,NA\n", "series 'b' has no values at all"),
        ("a,b\n1,2\n3,2\n", "series 'b' is 2 at all times .1 of 2 series are constant"),
        ("a,b\n1,2\n", "at least two rows"),
        ("time\n1\n2\n", "times but no series"),
        ("a,a\n1,2\n2,3\n", "columns 1 and 2 have the same name 'a'"),
        ("time,series,value\n0,a,1\n0,a,2\n1,a,2\n", "line 3 has a second value of series 'a'"),
        ("time,series,value\n0,a,1\n1,a,2\n1,b,2\n", "series 'b' has no value at '0'"),
    ],
)
def test_invalid_tables_are_refused(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_series(written(tmp_path, text))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"layout": "long"}, "a long table has the columns time, series and value"),
        ({"time": "when"}, "no column 'when'"),
        ({"longest_gap": 0}, "at least 1; got 0"),
    ],
)
def test_invalid_options_are_refused(tmp_path, options, sentence):
    with pytest.raises(InputError, match=sentence):
        read_series(written(tmp_path, "a,b\n1,2\n2,3\n"), **options)


def test_gaps_at_the_ends_are_refused(tmp_path):
    path = written(tmp_path, "time,a\n0,\n1,2\n2,3\n")
    with pytest.raises(InputError, match="cannot be interpolated, from '0' on"):
        read_series(path, missing="interpolate")


def test_constant_series_are_dropped(tmp_path):
    path = written(tmp_path, "a,b,c\n1,2,0\n3,2,1\n")
    series = read_series(path, constant="drop")
    assert series.names == ("a", "c")
    assert "1 of 3" in series.notes[0]
    with pytest.raises(InputError, match="all 2 series are constant"):
        read_series(written(tmp_path, "a,b\n1,2\n1,2\n"), constant="drop")


def test_constant_series_are_kept_and_series_are_selected(tmp_path):
    series = read_series(written(tmp_path, "a,b,c\n1,2,0\n3,2,1\n"), constant="keep")
    assert series.selected(("c", "b")).values.tolist() == [[0, 2], [1, 2]]
    with pytest.raises(InputError, match="no series 'd'"):
        series.selected(("a", "d"))


def test_split_keeps_order_of_time():
    series = TimeSeries.from_array(np.arange(20.0).reshape(10, 2))
    train, test = series.split(0.2)
    assert np.array_equal(np.vstack([train.values, test.values]), series.values)
    assert test.n_rows == 2
    for wrong in (0.0, 1.0, 0.1, 0.95):
        with pytest.raises(InputError):
            series.split(wrong)


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((1, 2)), np.array([[1.0], [np.inf]])])
def test_invalid_arrays_are_refused(wrong):
    with pytest.raises(InputError):
        TimeSeries.from_array(wrong)


def test_transitions_are_three_views_of_the_rows():
    series = TimeSeries(np.arange(8.0).reshape(4, 2), ("a", "b"))
    pairs = series.transitions()
    assert np.array_equal(pairs.before[1:], pairs.after[:-1])
    assert np.array_equal(pairs.later, series.values[2:])


@pytest.mark.parametrize(
    "text",
    [
        "source,target\na,a\nb,a\nc,b\n",
        "0,0\n1,0\n2,1\n2,1\n",
        "a,b,c\n0.5,-1,0\n0,0,2\n0,0,0\n",
        "target,a,b,c\na,0.5,-1,0\nb,0,0,2\nc,0,0,0\n",
    ],
)
def test_parents_are_read_from_arrows_or_matrix(tmp_path, text):
    path = written(tmp_path, text, "parents.csv")
    assert read_parents(path, ("a", "b", "c")) == ((0, 1), (2,), ())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("source,target\na,d\n", "Row 2 of parents.csv names the variable 'd'"),
        ("source,target\n", "holds no arrows"),
        ("a,b,c\n1,0,0\n", "needs 3 rows"),
        ("target,a,b,c\nb,1,0,0\na,0,0,0\nc,0,0,0\n", "in their order"),
        ("a,b,c\n1,0,0\n0,x,0\n0,0,0\n", "Row 2 of parents.csv has 'x' for series 'b'"),
    ],
)
def test_invalid_parents_are_refused(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_parents(written(tmp_path, text, "parents.csv"), ("a", "b", "c"))


# A simulated city, and files of series for experiments.


WEEK = 168


@pytest.fixture(scope="module")
def city():
    return dynamics.simulate_city(5, 6 * WEEK, seed=2)


def test_city_has_counts_and_starts_on_monday(city):
    assert city.values.shape == (6 * WEEK, 25)
    assert len(set(city.names)) == 25
    assert city.times[0] == "2024-01-01T00:00"
    assert city.times[25] == "2024-01-02T01:00"
    assert np.array_equal(city.values, np.rint(city.values))
    assert city.values.min() == 0.0
    again = dynamics.simulate_city(5, 6 * WEEK, seed=2)
    assert np.array_equal(again.values, city.values)
    assert not np.array_equal(dynamics.simulate_city(5, 6 * WEEK, seed=3).values, city.values)


def test_city_has_daily_and_weekly_seasons_and_a_centre(city):
    total = city.values.sum(axis=1)
    total = total - total.mean()

    def autocorrelation(lag):
        return float(np.corrcoef(total[:-lag], total[lag:])[0, 1])

    assert autocorrelation(24) > 0.5 > autocorrelation(12)
    assert autocorrelation(WEEK) > autocorrelation(3 * 24 + 12)
    activity = city.values.mean(axis=0).reshape(5, 5)
    assert activity[1:4, 1:4].mean() > 2.0 * activity[[0, 0, -1, -1], [0, -1, 0, -1]].mean()


def test_packed_arrays_are_read_with_positions_as_names(tmp_path):
    values = np.arange(12, dtype=np.uint16).reshape(4, 3) % 5
    values[:, 1] = 2  # constant
    lat, lon = np.array([40.7, 40.8, 40.9]), np.array([-74.0, -74.0, -73.9])
    np.savez(tmp_path / "taxi.npz", hourly=values, lon=lon, lat=lat, half_hourly=np.ones((8, 3)))
    series = read_series_file(tmp_path / "taxi.npz")
    assert series.names == ("40.700, -74.000", "40.900, -73.900")
    assert np.array_equal(series.values, values[:, [0, 2]])
    assert series.title == "taxi.npz"
    assert np.array_equal(read_series_file(tmp_path).values, series.values)
    # Equal positions cannot be names.
    np.savez(tmp_path / "same.npz", hourly=values, lon=np.zeros(3), lat=np.zeros(3))
    assert read_series_file(tmp_path / "same.npz").names == ("x0", "x2")


def test_tables_are_read_without_constant_series(tmp_path):
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
def test_invalid_packed_arrays_are_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "given.npz", **arrays)
    with pytest.raises(InputError, match=sentence):
        read_series_file(tmp_path / "given.npz")


def test_folder_or_file_without_series_is_refused(tmp_path):
    with pytest.raises(InputError, match="no time series"):
        read_series_file(tmp_path)
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="No arrays can be read"):
        read_series_file(tmp_path / "broken.npz")
