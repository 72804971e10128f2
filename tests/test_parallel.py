"""Work on other cores: the same answers in the same order, what is shared sent once."""

from __future__ import annotations

import os
import pickle
import time

import joblib
import numpy as np
import pytest
from hypothesis import given, strategies as st
from parallel_cases import Counted, in_mapped_file, look, no_sevens, process

from graftviz.errors import InputError
from graftviz.parallel import Shared, in_threads, parallel_map, processor_time
from graftviz.table import DiscreteTable

ITEMS = range(12)
PROCESSES = ("loky", "multiprocessing")
BACKENDS = (*PROCESSES, "threading", "sequential")


@pytest.fixture(scope="module")
def table() -> DiscreteTable:
    return DiscreteTable.from_codes(np.random.default_rng(0).integers(0, 5, (3000, 40)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_answers_are_those_of_a_loop_wherever_they_come_from(table, backend):
    done = []
    with joblib.parallel_config(backend=backend):
        seen = parallel_map(
            look, ITEMS, shared=Counted(table), jobs=2, callback=lambda *counts: done.append(counts)
        )
    assert [s.total for s in seen] == [int(table.codes[k].sum()) for k in ITEMS]
    assert done == [(k, len(ITEMS)) for k in range(1, len(ITEMS) + 1)]


@pytest.mark.parametrize("backend", PROCESSES)
def test_a_process_unpacks_what_is_shared_once(table, backend):
    with joblib.parallel_config(backend=backend):
        seen = parallel_map(look, ITEMS, shared=Counted(table), jobs=2)
        assert parallel_map(in_mapped_file, ITEMS, shared=table, jobs=2) == [True] * len(ITEMS)
    processes = {s.process for s in seen}
    assert os.getpid() not in processes
    # Were it unpacked for every task, a process would count further while it works.
    assert len({(s.process, s.unpacked) for s in seen}) == len(processes)


def test_what_stays_in_the_process_is_not_packed_at_all(table):
    shared = Counted(table)
    before = Counted.unpacked
    parallel_map(look, ITEMS, shared=shared)
    with joblib.parallel_config(backend="threading"):
        parallel_map(look, ITEMS, shared=shared, jobs=2)
    assert Counted.unpacked == before


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_refusal_arrives_as_it_was_said(backend):
    with (
        joblib.parallel_config(backend=backend),
        pytest.raises(InputError, match=r"^Column 'age', row 8 holds a seven; leave it out\.$"),
    ):
        parallel_map(no_sevens, ITEMS, jobs=2)


@pytest.mark.filterwarnings("ignore:.*have been cancelled")
def test_what_progress_raises_ends_the_work(table):
    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel_map(look, ITEMS, shared=Counted(table), jobs=2, callback=stop)
    # And the next one finds its workers in order.
    assert len(parallel_map(look, ITEMS, shared=Counted(table), jobs=2)) == len(ITEMS)


def test_jobs_left_out_follow_the_surroundings():
    here = os.getpid()
    assert set(parallel_map(process, ITEMS)) == {here}
    with joblib.parallel_config(n_jobs=2):
        assert here not in parallel_map(process, ITEMS)
        assert set(parallel_map(process, ITEMS, jobs=1)) == {here}
    assert parallel_map(process, [], jobs=2) == []


@pytest.mark.parametrize("jobs", [0, 1.5, "two", True])
def test_a_number_of_jobs_that_is_none_is_refused(jobs):
    with pytest.raises(InputError, match=r"number of jobs must be from 1 to 10,000, or −1"):
        parallel_map(process, ITEMS, jobs=jobs)


@given(st.lists(st.integers(0, 200), max_size=5), st.sampled_from(["u1", "i8", "f8"]))
def test_packing_and_unpacking_gives_the_same_back(sizes, dtype):
    rng = np.random.default_rng(len(sizes))
    arrays = [rng.integers(0, 200, size).astype(dtype) for size in sizes]
    again = pickle.loads(pickle.dumps(Shared({"arrays": arrays, "words": "as they were"}))).value
    assert again["words"] == "as they were"
    for array, copy in zip(arrays, again["arrays"], strict=True):
        assert copy.dtype == array.dtype
        np.testing.assert_array_equal(copy, array)
        assert not copy.flags.writeable
        assert copy.ctypes.data % 8 == 0


def test_what_is_shared_is_known_again(table):
    shared = Shared(table)
    assert pickle.loads(pickle.dumps(shared)) is pickle.loads(pickle.dumps(shared))
    assert pickle.loads(pickle.dumps(shared)) is not pickle.loads(pickle.dumps(Shared(table)))


def test_threads_add_to_the_processor_time_of_the_thread_that_uses_them(monkeypatch):
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
