"""Forecasts: consistent sums, growth with the amount of work, agreement with measurements."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fakes import random_table

from graftviz.errors import InputError
from graftviz.forecasting import chunk_bytes, duration_text, forecast, loading_bytes
from graftviz.learners.base import Learner
from graftviz.learners.best_choice import BestChoice
from graftviz.learners.edge_grafting import EdgeGrafting
from graftviz.learners.feature_grafting import FeatureGrafting
from graftviz.learners.first_hit import FirstHit
from graftviz.learners.grafting_light import GraftingLight
from graftviz.memory import free_bytes, parse_size, resident_bytes, size_text
from graftviz.options import option_specs
from graftviz.table import DiscreteTable, file_extent, open_table, read_table

LEARNERS = (BestChoice, EdgeGrafting, FirstHit, FeatureGrafting, GraftingLight)


@pytest.mark.parametrize("learner", LEARNERS)
def test_forecast_is_sum_of_its_parts(learner):
    known = forecast((300, 90, 3), learner(max_edges=5))
    assert known.peak_bytes == pytest.approx(sum(part.bytes for part in known.parts), abs=1)
    assert known.seconds == pytest.approx(sum(part.seconds for part in known.parts))
    assert 0 < known.added_bytes < known.peak_bytes
    assert [part.bytes for part in known.parts] == sorted(
        (part.bytes for part in known.parts), reverse=True
    )
    assert size_text(known.peak_bytes) in known.sentence
    assert (known.assumptions == ()) == (learner is EdgeGrafting)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("less", "more"),
    [
        ((5_000, 200, 3), (50_000, 200, 3)),
        ((5_000, 200, 3), (5_000, 2_000, 3)),
        ((5_000, 200, 3), (5_000, 200, 8)),
    ],
)
def test_larger_problems_need_more_memory_and_time(learner, less, more):
    # Without screening, because it is omitted beyond a number of pairs.
    options = {"screening": "none"} if learner is BestChoice else {}
    few, many = learner(max_edges=50, **options), learner(max_edges=150, **options)
    small, large = forecast(less, few), forecast(more, few)
    assert large.peak_bytes > small.peak_bytes
    assert large.seconds > small.seconds
    assert forecast(less, many).seconds > small.seconds


def test_best_choice_is_cheaper_for_ten_thousand_variables():
    shape = (20_000, 10_000, 5)
    every = forecast(shape, EdgeGrafting(max_edges=100, screening="all"))
    some = forecast(shape, BestChoice(alpha=1.0, max_edges=100))
    assert every.added_bytes > 4e9
    assert some.added_bytes - 20_000 * 10_000 < 1e9
    assert every.seconds > 60
    assert some.seconds < every.seconds / 5
    sampled = forecast(shape, EdgeGrafting(max_edges=100))
    assert sampled.added_bytes < every.added_bytes / 5
    assert "need more than 4 GB" in " ".join(sampled.assumptions)


def test_forecast_of_shape_matches_table_of_that_shape():
    table = DiscreteTable.from_codes(np.arange(40_000).reshape(100, 400).T % 4)
    ours, theirs = forecast(table, BestChoice()), forecast((400, 100, 4), BestChoice())
    of_run = [{part for part in known.parts if part.name != "program"} for known in (ours, theirs)]
    assert of_run[0] == of_run[1]
    assert ours.seconds == theirs.seconds
    assert theirs.added_bytes - ours.added_bytes == table.codes.nbytes


def test_cache_bound_limits_pair_counts():
    every = EdgeGrafting(screening="all")
    free = forecast((1_000, 2_000, 5), every)
    bound = forecast((1_000, 2_000, 5), every, cache_bytes=10**6)
    cells = 8 * 25 * 2_000 * 1_999 // 2
    assert free.peak_bytes - bound.peak_bytes == pytest.approx(cells - 10**6, rel=0.01)


def test_assumptions_are_listed():
    assert "are assumed" in " ".join(forecast((1_000, 40, 3), BestChoice()).assumptions)
    assert "tests are assumed" in " ".join(
        forecast((1_000, 400, 3), FirstHit(max_edges=9)).assumptions
    )

    class Unknown(FirstHit):
        cost = Learner.cost

    unknown = forecast((1_000, 40, 3), Unknown())
    assert "is unknown" in " ".join(unknown.assumptions)
    assert unknown.peak_bytes > 0


def test_all_pairs_are_counted_without_edge_budget():
    # With 2,000 variables and a budget of 100 edges, best choice tests only some of the pairs.
    some = forecast((1_000, 2_000, 5), BestChoice(alpha=1.0, max_edges=100))
    every = forecast((1_000, 2_000, 5), BestChoice(alpha=1.0))
    assert every.peak_bytes > some.peak_bytes + 4 * 25 * 10**6


def test_tables_in_chunks_need_planes_or_pair_counts(tmp_path):
    table = random_table(1, 30, 9_000)
    table.to_frame().to_parquet(tmp_path / "t.parquet")
    for memory, name in ((10**9, "bit planes"), (40_000, "counts of all pairs")):
        opened = open_table(tmp_path / "t.parquet", max_memory=memory)
        names = [part.name for part in forecast(opened, BestChoice(max_edges=3)).parts]
        assert name in names
    with pytest.raises(InputError, match=r"Counting t\.parquet needs"):
        forecast(open_table(tmp_path / "t.parquet", max_memory=100), BestChoice())


def test_memory_for_reading_a_file(tmp_path):
    table = random_table(1, 50, 2_000)
    table.to_frame().to_csv(tmp_path / "t.csv", index=False)
    table.to_frame().to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.csv").n_rows == 2_000
    cells = 50 * 2_000
    dates = {f"x{i}": pd.to_datetime(codes, unit="D").date for i, codes in enumerate(table.codes)}
    pd.DataFrame(dates).to_parquet(tmp_path / "dates.parquet")
    bounds = {"t.csv": (20, 50), "t.parquet": (5, 15), "dates.parquet": (25, 40)}
    for name, (low, high) in bounds.items():
        assert low * cells < loading_bytes(file_extent(tmp_path / name)) < high * cells
    assert chunk_bytes(10) < chunk_bytes(100_000)


_MEASURE = """
import json, sys
import numpy as np
from pathlib import Path
from graftviz.forecasting import forecast
from graftviz.learners.registry import learner_class
from graftviz.runs import learn
from graftviz.table import DiscreteTable

def line(name):
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.split(name + ":")[1].split()[0])

name, options, rows, n = json.loads(sys.argv[1])
learner = learner_class(name)(**options)
codes = np.random.default_rng(0).integers(0, 5, size=(rows, n), dtype=np.uint8)
codes[:, 1::2] = np.where(np.arange(rows)[:, None] % 3 > 0, codes[:, ::2], codes[:, 1::2])
small = DiscreteTable.from_codes(codes[:300, :6] % 3)
learn(small, learner_class(name)(**{**options, "max_edges": 3}))
table = DiscreteTable.from_codes(codes)
known, held = forecast(table, learner), line("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
learn(table, learner)
print(json.dumps([known.added_bytes, line("VmHWM") - held, known.peak_bytes, line("VmHWM")]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("edge-grafting", {"max_edges": 5}),
        ("best-choice", {"max_edges": 40, "alpha": 1.0}),
        ("best-choice", {"max_edges": 400, "lam": 1e-4}),
    ],
)
def test_peak_memory_is_within_a_factor_of_two(name, options):
    if "score" in {spec.name for spec in option_specs(BestChoice)}:
        options = {**options, "preset": "paper"}
    for variables in (200, 1_600):  # the first may compile, which needs memory too
        case = json.dumps([name, options, 4_000, variables])
        completed = subprocess.run(
            [sys.executable, "-c", _MEASURE, case], capture_output=True, text=True, check=True
        )
    added, measured, peak, measured_peak = json.loads(completed.stdout)
    assert 0.5 < peak / measured_peak < 2
    if measured > 100e6:
        assert 0.5 < added / measured < 2


def test_free_and_resident_memory():
    free, held = free_bytes(), resident_bytes()
    assert free > 10**6
    assert 10**7 < held < 10**12


@pytest.mark.parametrize(
    ("text", "size"),
    [("4G", 4 * 10**9), ("500 MB", 5 * 10**8), ("1.5GiB", 3 * 2**29), ("2000000", 2_000_000)],
)
def test_sizes_are_parsed(text, size):
    assert parse_size(text, "--max-memory") == size


@pytest.mark.parametrize("text", ["", "much", "4X", "-1G", "0", "1e9", "0.0001"])
def test_invalid_sizes_are_refused(text):
    with pytest.raises(InputError, match="--max-memory needs a size such as 500M or 4G"):
        parse_size(text, "--max-memory")


@pytest.mark.parametrize(
    ("size", "text"),
    [(12, "12 bytes"), (1_000, "1.0 kB"), (999_900_000, "1.0 GB"), (123_456_789, "123 MB")],
)
def test_sizes_are_formatted(size, text):
    assert size_text(size) == text


def test_durations_are_formatted():
    assert [duration_text(s) for s in (0.2, 5, 99, 600, 36_000)] == [
        *("less than a second", "5 s", "99 s", "10 minutes", "10 hours")
    ]
