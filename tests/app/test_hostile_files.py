"""Hostile files are refused in one sentence within time and memory limits, or shown as text."""

from __future__ import annotations

import csv
import gc
import io
import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hostile_files import BAD_NAMES, MODELS, PAIRS, SERIES, TABLES, csv_of
from hostile_tables import SERIES_CORPUS, TABLE_CORPUS
from table_cases import upload

import graftviz as gv
from graftviz import InputError, Result, read_table
from graftviz.app.dynamics_panels import MOST_BYTES
from graftviz.data.series.reading import read_series
from graftviz.data.sets.files import read_positions, read_truth
from graftviz.reports.files.table_csv import shown_cell
from graftviz.reports.files.tables import marginals_csv
from graftviz.reports.files.uploads import read_uploaded_model

MOST_SECONDS = 2.0  # of processor time on a machine that adds a million numbers in 16 ms
MOST_MEMORY = 300.0  # MB of additional memory
STATM = Path("/proc/self/statm")
CASES = [
    *((kind, case, "table") for kind, case in TABLES.items()),
    *((kind, case, "series") for kind, case in SERIES.items()),
    *((kind, case, "table") for kind, case in TABLE_CORPUS.items()),
    *((kind, case, "series") for kind, case in SERIES_CORPUS.items()),
    *((kind, case, "model") for kind, case in MODELS.items()),
    *((kind, case, how) for kind, case in PAIRS.items() for how in ("truth", "places")),
]
ACCEPTED = {"hostile names and labels", "5,000 columns", "a billion as a state", "prototypes"}


READERS: dict[str, Callable[[str, bytes], Any]] = {
    "table": lambda name, content: read_table(upload(name, content), missing="state"),
    "series": lambda name, content: read_series(upload(name, content), max_bytes=MOST_BYTES),
    "model": lambda name, content: read_uploaded_model({name: content}),
    "truth": lambda name, content: read_truth(upload(name, content), ("a", "b")),
    "places": lambda name, content: read_positions(upload(name, content), ("a", "b")),
}


class Memory:
    """Memory that this process allocates while a block runs, in MB."""

    def __enter__(self) -> Memory:
        self.before = self.peak = self.now()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @staticmethod
    def now() -> float:
        return int(STATM.read_text().split()[1]) * 4096 / 1e6 if STATM.exists() else 0.0

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.peak = max(self.peak, self.now())

    @property
    def extra(self) -> float:
        return self.peak - self.before


def slowness() -> float:
    """Return the ratio of this machine's time to that of the limit, at least 1."""
    began, total = time.process_time(), 0
    for number in range(1_000_000):
        total += number
    return max((time.process_time() - began) / 0.016, 1.0)


@pytest.fixture(scope="module")
def few_objects() -> Iterator[None]:
    """Exclude the objects of earlier tests from garbage collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize(("kind", "case", "how"), CASES, ids=[f"{c[2]}-{c[0]}" for c in CASES])
def test_file_is_read_or_refused_within_time_and_memory_limits(
    kind: str, case: tuple[str, Callable[[], bytes]], how: str
) -> None:
    name, content = case[0], case[1]()
    refused = None
    pa.default_memory_pool().release_unused()
    slow = slowness()
    began = time.process_time()
    with Memory() as memory:
        try:
            READERS[how](name, content)
        except InputError as error:
            refused = str(error)
    seconds = time.process_time() - began
    assert seconds < MOST_SECONDS * max(slow, slowness())
    assert memory.extra < MOST_MEMORY
    assert kind not in ACCEPTED or how in ("truth", "places") or refused is None, refused
    if refused is not None:
        assert refused.endswith((".", "?"))
        assert len(refused) < 400
        assert "\n" not in refused
        assert "Error" not in refused
        assert tempfile.gettempdir() not in refused


def trap(path: Path) -> bytes:
    """Return a pickle that writes a file when it is loaded."""

    class Trap:
        def __reduce__(self) -> tuple[Any, tuple[str, str]]:
            return exec, (f"open({str(path)!r}, 'w').close()",)

    return pickle.dumps(Trap())


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.npz", "m.uai", "m.json", "m.zip"])
@pytest.mark.parametrize("how", READERS)
def test_nothing_is_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, name: str
) -> None:
    written = tmp_path / "sprung"

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("unpickled")

    with pytest.raises(InputError):
        READERS[how](name, trap(written))
    for loader in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, loader, refuse)
    objects = io.BytesIO()
    np.savez(objects, a=np.array([{}, []], dtype=object))
    with pytest.raises(InputError):
        READERS[how](name, objects.getvalue())
    assert not written.exists()


@pytest.fixture(scope="module")
def learned() -> Result:
    """Result with hostile names and labels."""
    table = read_table(upload("t.csv", csv_of(BAD_NAMES)))
    assert table.names == BAD_NAMES
    return gv.learn(table, gv.ChowLiu(), seed=0)


def test_no_cell_of_marginals_csv_is_a_formula(learned: Result) -> None:
    text = marginals_csv(learned.model, gv.infer(learned.model))
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    assert "'=cmd|' /C calc'!A0" in cells


@pytest.mark.parametrize("cell", ["-1", "+2.5e-3", "-inf", 3, -2.5, None, "plain", "a=b", ""])
def test_numbers_and_plain_text_are_unchanged(cell: object) -> None:
    assert shown_cell(cell) == cell


@pytest.mark.parametrize("cell", ["=1+1", "+a", "-a", "@a", "\t=1", "\r=1", "-1+2", " =1", "＝1"])
def test_formulas_are_escaped(cell: str) -> None:
    assert shown_cell(cell) == "'" + cell
