"""Parallel work: same results in the same order, and shared data sent once."""

from __future__ import annotations

import os
import pickle
import time

import joblib
import numpy as np
import pytest
from hypothesis import given, strategies as st
from parallel_cases import Counted, in_mapped_file, look, no_sevens, process

from graftviz.data.table import DiscreteTable
from graftviz.utils.errors import InputError
from graftviz.utils.parallel import Shared, in_threads, parallel_map, processor_time

ITEMS = range(12)
PROCESSES = ("loky", "multiprocessing")
BACKENDS = (*PROCESSES, "threading", "sequential")


@pytest.fixture(scope="module")
def table() -> DiscreteTable:
    return DiscreteTable.from_codes(np.random.default_rng(0).integers(0, 5, (3000, 40)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_equal_those_of_a_loop_for_every_backend(table, backend):
    done = []
    with joblib.parallel_config(backend=backend):
        seen = parallel_map(
            look, ITEMS, shared=Counted(table), jobs=2, callback=lambda *counts: done.append(counts)
        )
    assert [s.total for s in seen] == [int(table.codes[k].sum()) for k in ITEMS]
    assert done == [(k, len(ITEMS)) for k in range(1, len(ITEMS) + 1)]


@pytest.mark.parametrize("backend", PROCESSES)
def test_process_unpacks_shared_data_once(table, backend):
    with joblib.parallel_config(backend=backend):
        seen = parallel_map(look, ITEMS, shared=Counted(table), jobs=2)
        assert parallel_map(in_mapped_file, ITEMS, shared=table, jobs=2) == [True] * len(ITEMS)
    processes = {s.process for s in seen}
    assert os.getpid() not in processes
    # If it were unpacked for every task, the count of a process would grow.
    assert len({(s.process, s.unpacked) for s in seen}) == len(processes)


def test_shared_data_are_not_packed_within_a_process(table):
    shared = Counted(table)
    before = Counted.unpacked
    parallel_map(look, ITEMS, shared=shared)
    with joblib.parallel_config(backend="threading"):
        parallel_map(look, ITEMS, shared=shared, jobs=2)
    assert Counted.unpacked == before


@pytest.mark.parametrize("backend", BACKENDS)
def test_refusal_in_worker_is_raised_unchanged(backend):
    with (
        joblib.parallel_config(backend=backend),
        pytest.raises(InputError, match=r"^Column 'age', row 8 holds a seven; leave it out\.$"),
    ):
        parallel_map(no_sevens, ITEMS, jobs=2)


@pytest.mark.filterwarnings("ignore:.*have been cancelled")
def test_exception_of_progress_callback_ends_the_work(table):
    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel_map(look, ITEMS, shared=Counted(table), jobs=2, callback=stop)
    # The workers can be used afterwards.
    assert len(parallel_map(look, ITEMS, shared=Counted(table), jobs=2)) == len(ITEMS)


def test_default_number_of_jobs_follows_parallel_config():
    here = os.getpid()
    assert set(parallel_map(process, ITEMS)) == {here}
    with joblib.parallel_config(n_jobs=2):
        assert here not in parallel_map(process, ITEMS)
        assert set(parallel_map(process, ITEMS, jobs=1)) == {here}
    assert parallel_map(process, [], jobs=2) == []


@pytest.mark.parametrize("jobs", [0, 1.5, "two", True])
def test_invalid_number_of_jobs_is_refused(jobs):
    with pytest.raises(InputError, match=r"number of jobs must be from 1 to 10,000, or −1"):
        parallel_map(process, ITEMS, jobs=jobs)


@given(st.lists(st.integers(0, 200), max_size=5), st.sampled_from(["u1", "i8", "f8"]))
def test_pickle_round_trip_of_shared_data(sizes, dtype):
    rng = np.random.default_rng(len(sizes))
    arrays = [rng.integers(0, 200, size).astype(dtype) for size in sizes]
    unpacked = pickle.loads(pickle.dumps(Shared({"arrays": arrays, "words": "as they were"}))).value
    assert unpacked["words"] == "as they were"
    for array, copy in zip(arrays, unpacked["arrays"], strict=True):
        assert copy.dtype == array.dtype
        np.testing.assert_array_equal(copy, array)
        assert not copy.flags.writeable
        assert copy.ctypes.data % 8 == 0


def test_shared_data_are_unpacked_once(table):
    shared = Shared(table)
    assert pickle.loads(pickle.dumps(shared)) is pickle.loads(pickle.dumps(shared))
    assert pickle.loads(pickle.dumps(shared)) is not pickle.loads(pickle.dumps(Shared(table)))


def test_processor_time_includes_time_of_worker_threads(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    began, own = processor_time(), time.thread_time()

    def work(_item):
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass

    in_threads(work, range(4))
    assert processor_time() - began >= 0.2
    assert time.thread_time() - own < 0.1


def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda item: 1 // item, [2, 1, 0])
