"""Lanes against numpy on short arrays, for all sizes of chunks."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from graftviz.inference.lanes import (
    any_less,
    lane,
    larger,
    largest,
    load,
    minus,
    over,
    plus,
    scaled,
    smaller,
    splat,
    store,
    times,
    total,
    with_lane,
)

COUNTS = [1, 7, 8]  # 7 = 4 + 2 + 1 has a chunk of every size, 8 = 4 + 4 two of one size


@njit
def combine(size, a, b, factor, out):
    left, right = load(a, np.uint64(1), size), load(b, np.uint64(0), size)
    n = np.uint64(len(size))
    store(out, n * np.uint64(0), plus(left, right))
    store(out, n * np.uint64(1), minus(left, right))
    store(out, n * np.uint64(2), times(left, right))
    store(out, n * np.uint64(3), over(left, right))
    store(out, n * np.uint64(4), smaller(left, right))
    store(out, n * np.uint64(5), larger(left, right))
    store(out, n * np.uint64(6), scaled(left, factor))
    store(out, n * np.uint64(7), splat(factor, size))
    return total(left), largest(right)


@njit
def turn(size, a, out):
    """Reverse the lanes one by one."""
    given, turned = load(a, np.uint64(0), size), splat(0.0, size)
    for x in range(len(size)):
        turned = with_lane(turned, len(size) - 1 - x, lane(given, x))
    store(out, np.uint64(0), turned)


@njit
def compare(size, a, b):
    return any_less(load(a, np.uint64(0), size), load(b, np.uint64(0), size))


@pytest.mark.parametrize("count", COUNTS)
def test_arithmetic_matches_numpy_and_writes_within_bounds(count):
    rng = np.random.default_rng(count)
    a, b = rng.normal(size=count + 2), rng.uniform(0.5, 2.0, size=count)
    out = np.full(8 * count + 1, 7.0)
    sums = combine((0,) * count, a, b, 3.0, out)
    left = a[1 : count + 1]
    wanted = [left + b, left - b, left * b, left / b, np.minimum(left, b), np.maximum(left, b)]
    wanted += [3.0 * left, np.full(count, 3.0)]
    assert np.array_equal(out[:-1].reshape(8, count), wanted)
    assert out[-1] == 7.0
    assert sums[0] == pytest.approx(left.sum(), rel=1e-14, abs=1e-15)
    assert sums[1] == b.max()


@pytest.mark.parametrize("count", COUNTS)
def test_single_lanes_are_read_and_written(count):
    a, out = np.arange(1.0, count + 1), np.zeros(count)
    turn((0,) * count, a, out)
    assert np.array_equal(out, a[::-1])


@pytest.mark.parametrize("count", COUNTS)
def test_any_less_finds_smaller_lane_at_any_position(count):
    b = np.ones(count)
    assert not compare((0,) * count, b.copy(), b)
    for x in range(count):
        for number in (0.5, np.nan):
            a = b.copy()
            a[x] = number
            assert compare((0,) * count, a, b)
