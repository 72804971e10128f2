"""Uploads in worker processes: same values, faults, answers and limits."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import faulty_worker
import numpy as np
import psutil
import pytest
from fakes import random_table
from hypothesis import given, strategies as st
from waiting import wait_until

from graftviz import ChowLiu, InputError, learn, read_table
from graftviz.dynamics import read_parents, read_series
from graftviz.formats.graphml import model_graphml
from graftviz.formats.uai import uai_text
from graftviz.sandbox.frames import (
    Frame,
    FrameError,
    Packed,
    packed_frame,
    read_frame,
    unpacked_frame,
    write_frame,
)
from graftviz.sandbox.pool import BusyError, WorkerPool
from graftviz.sandbox.readers import KINDS, UploadedFile
from graftviz.sandbox.worker import CAN_FORK, ReadLimits

LIMITS = ReadLimits(memory=600_000_000, seconds=2.0)
needs_fork = pytest.mark.skipif(not CAN_FORK, reason="the limits of a child process need a fork")


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    faulty_worker.register()  # the server unpacks the answers
    found = WorkerPool(LIMITS, most=1, patience=0.5, module="tests.faulty_worker")
    yield found
    found.close()


def one(role: str, name: str, text: str) -> list[UploadedFile]:
    return [UploadedFile(role, name, text.encode())]


ROWS = "".join(f"{k % 2},{k % 3},{'xyz'[k % 3]}\n" for k in range(40))
TABLE = one("table", "t.csv", "a,b,é\n" + ROWS)


RARELY_NEEDED = ("numba", "scipy", "xlrd", "plotly", "streamlit")


def test_a_worker_imports_no_library_that_reading_rarely_needs() -> None:
    shown = "import sys, graftviz.sandbox.worker as _; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", shown], capture_output=True, check=True)
    assert not set(RARELY_NEEDED) & set(modules.stdout.decode().split())


# ------------------------------------------------------------------------------------ same values


def test_table_equals_that_read_in_this_process(pool: WorkerPool) -> None:
    files = [
        *TABLE,
        UploadedFile("truth", "e.csv", b"source,target\nb,a\n"),
        UploadedFile("places", "p.csv", "name,x,y\na,0,0\nb,1,0\né,0,2\n".encode()),
    ]
    found = pool.read("table", files, {"missing": "state"})
    wanted = read_table(TABLE[0].stream(), missing="state")
    assert (found.table.names, found.table.labels) == (wanted.names, wanted.labels)
    np.testing.assert_array_equal(found.table.codes, wanted.codes)
    assert found.table.fingerprint == wanted.fingerprint
    assert found.truth.tolist() == [[0, 1]]
    assert found.positions.shape == (3, 2)
    for array in (found.table.codes, found.truth, found.positions):
        assert not array.flags.writeable


@pytest.mark.parametrize("missing", ["available", "em"])
def test_missing_values_and_weights_equal_those_of_the_file(pool: WorkerPool, missing: str) -> None:
    files = one("table", "t.csv", "a,b,w\n1,2,1\n,1,0.5\n2,,2\n1,1,1\n")
    found = pool.read("table", files, {"missing": missing, "weights": "w"}).table
    wanted = read_table(files[0].stream(), missing="available", weights="w")
    assert (
        found.fingerprint == wanted.fingerprint
    )  # em is computed by the server, which has kernels
    assert found.warnings == wanted.warnings


def test_series_equal_those_read_in_this_process(pool: WorkerPool) -> None:
    text = "time,a,b\n" + "".join(f"{k},{k * k},{k % 7}\n" for k in range(30))
    arrows = "source,target\na,b\n"
    found = pool.read("series", one("series", "s.csv", text) + one("parents", "p.csv", arrows))
    wanted = read_series(one("", "s.csv", text)[0].stream())
    np.testing.assert_array_equal(found.series.values, wanted.values)
    assert (found.series.times, found.series.title) == (wanted.times, wanted.title)
    assert found.parents == read_parents(io.BytesIO(arrows.encode()), wanted.names)
    assert not found.series.values.flags.writeable


def test_model_equals_that_read_in_this_process(pool: WorkerPool) -> None:
    model = learn(random_table(0, 5, 100), ChowLiu(), seed=0).model
    found = pool.read("model", one("model", "m.uai", uai_text(model)))
    np.testing.assert_array_equal(found.model.edges, model.edges)
    np.testing.assert_allclose(found.model.weights, model.weights)
    assert found.notes


@pytest.mark.parametrize("options", [{}, {"continuous": "bin", "bins": 3}, {"header": False}])
def test_options_reach_the_reader(pool: WorkerPool, options: dict[str, Any]) -> None:
    text = "".join(f"{k / 7},{k % 2}\n" for k in range(60))

    def outcome(read: Any) -> Any:
        try:
            return read().labels
        except InputError as refusal:
            return str(refusal)

    files = one("table", "t.csv", text)
    here = outcome(lambda: read_table(files[0].stream(), **options))
    assert outcome(lambda: pool.read("table", files, options).table) == here


# ----------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("abort", "damaged"),
        ("kill", "damaged"),
        ("kill reader", "was ended, perhaps as memory ran out"),
        ("spin", "more than 2 seconds"),
        ("allocate", "more than 600 MB"),
        ("raise", "unexpected error"),
        ("lie", "damaged"),
    ],
)
def test_a_fault_is_one_sentence_and_the_next_upload_is_read(
    pool: WorkerPool, kind: str, reason: str
) -> None:
    name = "x\n" + "y" * 300 + ".csv"
    with pytest.raises(InputError, match=reason) as refusal:
        pool.read(kind, one("table", name, "a"))
    sentence = str(refusal.value)
    assert len(sentence) < 250
    assert sentence.isprintable()
    assert pool.read("table", TABLE).table.n_rows == 40


def test_hanging_worker_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graftviz.sandbox.pool._WALL_SLACK", 0.5)
    patient = WorkerPool(ReadLimits(10**9, 0.1), module="tests.faulty_worker")
    try:
        with pytest.raises(InputError, match="seconds"):
            patient.read("sleep", TABLE)
    finally:
        patient.close()


def test_an_unexpected_error_is_logged_with_its_traceback(
    pool: WorkerPool, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InputError, match="unexpected error"):
        pool.read("raise", TABLE)
    assert "a fault of the reader" in caplog.text
    assert "faulty_worker.py" in caplog.text


def test_worker_without_fork_is_replaced_by_one_idle_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("graftviz.sandbox.pool.CAN_FORK", False)
    pool = WorkerPool(LIMITS)
    try:
        assert pool.read("table", TABLE).table.n_rows == 40
        wait_until(lambda: pool._idle)
        idle = list(pool._idle)
        assert len(idle) == 1
        time.sleep(1.0)
        assert pool._idle == idle
    finally:
        pool.close()


def test_refusal_has_the_sentence_of_the_reader(pool: WorkerPool) -> None:
    with pytest.raises(InputError, match=r"^Line 3 is wrong; mend it\.$"):
        pool.read("refuse", TABLE)


def test_text_printed_by_a_library_does_not_disturb_the_answer(pool: WorkerPool) -> None:
    assert pool.read("print", TABLE) == {"printed": True}


@needs_fork
def test_no_reader_can_write_a_file(pool: WorkerPool) -> None:
    assert pool.read("write", TABLE) == {"written": False}


@needs_fork
def test_each_upload_has_its_own_process_that_ends(pool: WorkerPool) -> None:
    first, second = (pool.read("process", TABLE)["pid"] for _ in range(2))
    assert first != second
    assert not psutil.pid_exists(first)


def test_uploads_beyond_the_number_of_turns_are_refused(pool: WorkerPool) -> None:
    def read_for_long() -> None:
        with pytest.raises(InputError):
            pool.read("spin", TABLE)

    slow = threading.Thread(target=read_for_long)
    slow.start()
    wait_until(lambda: pool._turns._value == 0)
    with pytest.raises(BusyError, match="try again"):
        pool.read("table", TABLE)
    slow.join()


def test_a_closed_pool_leaves_no_process() -> None:
    pool = WorkerPool(LIMITS)
    pool.read("table", TABLE)
    (worker,) = pool._idle
    process = psutil.Process(worker._process.pid)
    assert process.is_running()
    pool.close()
    assert not process.is_running()


# ----------------------------------------------------------------------------------------- frames


ARRAYS = {
    "codes": np.arange(6, dtype=np.uint8).reshape(2, 3),
    "wide": np.arange(6, dtype=np.uint16)[::2],
    "none": np.zeros((0, 2), dtype=np.int64),
    "values": np.array([[0.5, -np.inf]]),
}


def sent(packed: Packed) -> bytes:
    stream = io.BytesIO()
    write_frame(stream, *packed_frame(packed))
    return stream.getvalue()


@given(st.dictionaries(st.text(), st.text() | st.lists(st.integers())))
def test_a_frame_returns_what_was_packed(plain: dict[str, Any]) -> None:
    frame = read_frame(io.BytesIO(sent(Packed(plain, ARRAYS))), 10_000_000)
    assert frame is not None
    found = unpacked_frame(frame)
    assert found.plain == plain
    assert found.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found.arrays[name], array)
        assert found.arrays[name].dtype == array.dtype
        assert not found.arrays[name].flags.writeable


def test_damaged_frame_raises_only_frame_error() -> None:
    whole = sent(Packed({"names": ["a"]}, ARRAYS))
    for k in range(1, len(whole)):
        with pytest.raises(FrameError):
            read_frame(io.BytesIO(whole[:k]), 10_000)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        try:
            frame = read_frame(io.BytesIO(damaged), 10_000)
            assert frame is not None
            unpacked_frame(frame)
        except FrameError:
            pass


def test_lengths_are_checked_before_memory_is_allocated() -> None:
    huge = struct.pack("<4sQQ", b"GVF1", 10, 2**60)
    with pytest.raises(FrameError, match="too large"):
        read_frame(io.BytesIO(huge), 10_000)


@pytest.mark.parametrize("dtype", ["|O8", "<M8[s]", "<f2", "|V8"])
def test_other_types_of_arrays_are_refused(dtype: str) -> None:
    header = {"plain": {}, "arrays": [{"name": "a", "dtype": dtype, "shape": [1]}]}
    with pytest.raises(FrameError, match="type"):
        unpacked_frame(Frame(header, (bytes(8),)))


# -------------------------------------------------------------------------------- checks in server


def packed_of(kind: str) -> Packed:
    table = [UploadedFile("table", "t.csv", b"a,b\n" + b"0,1\n1,0\n" * 9)]
    series = [UploadedFile("series", "s.csv", b"a,b\n" + b"0,1\n1,0\n" * 9)]
    edges = b"source,target\na,b\n"
    model = model_graphml(learn(random_table(0, 4, 100), ChowLiu(), seed=0).model, [1, 2, 3])
    files = {
        "table": [*table, UploadedFile("truth", "e.csv", edges)],
        "public": [UploadedFile("plants", "plants.data", b"abies,ca,or\nacer,ny\n")],
        "series": [*series, UploadedFile("parents", "e.csv", edges)],
        "model": [UploadedFile("model", "m.graphml", model)],
        "evidence": [UploadedFile("evidence", "e.evid", b"1 0 1")],
    }[kind]
    options = {"cardinalities": [2, 2]} if kind == "evidence" else {}
    packed = KINDS[kind].pack(KINDS[kind].read(files, options))
    frame = read_frame(io.BytesIO(sent(packed)), 1_000_000)
    assert frame is not None
    return unpacked_frame(frame)


@pytest.mark.parametrize("kind", KINDS)
def test_inconsistent_answer_raises_error(kind: str) -> None:
    packed = packed_of(kind)
    KINDS[kind].unpack(packed)
    for wrong in contradictions(packed):
        with pytest.raises((ValueError, TypeError, KeyError, IndexError)):
            KINDS[kind].unpack(wrong)


def contradictions(packed: Packed) -> Iterator[Packed]:
    """Yield the packed value with one part at a time replaced by an inconsistent one."""
    plain, arrays = packed
    for name in plain.keys() - {"notes", "warnings"}:
        for wrong in (7, ["x"], {"a": 1}):
            yield Packed({**plain, name: wrong}, arrays)
    for name, array in arrays.items():
        beyond = np.full_like(array, 77) if array.dtype.kind in "iu" else np.nan * array
        for changed in (array[..., None], beyond):
            yield Packed(plain, {**arrays, name: changed})
