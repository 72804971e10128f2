"""Process that reads uploads: limits, faults, and names."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import faulty_reader
import numpy as np
import pytest
from fakes import random_table
from hostile_files import deflated
from waiting import wait_until

from graftviz import ChowLiu, InputError, PairwiseMRF, learn, read_model, read_table
from graftviz.app.reader_process import BusyError, Reader, UploadedFile
from graftviz.data.coding import TableOptions
from graftviz.data.reading.reading import read_rows
from graftviz.data.series.reading import read_parents, read_series
from graftviz.model.readwrite.graphml import model_graphml
from graftviz.model.readwrite.reading import node_link_json
from graftviz.model.readwrite.uai import names_text, uai_text
from graftviz.reports.files.uploads import read_uploaded_model

FAULTY = "tests.faulty_reader"


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    faulty_reader.register()  # this process unpacks the answers
    found = Reader(600_000_000, seconds=2.0, patience=0.5, module=FAULTY)
    yield found
    found._next.kill()


def one(role: str, name: str, text: str) -> list[UploadedFile]:
    return [UploadedFile(role, name, text.encode())]


ROWS = "".join(f"{k % 2},{k % 3},{'xyz'[k % 3]}\n" for k in range(40))
TABLE = one("table", "t.csv", "a,b,é\n" + ROWS)


def test_process_imports_no_library_that_reading_rarely_needs() -> None:
    shown = "import sys, graftviz.app.reader_process as _; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", shown], capture_output=True, check=True)
    rarely_needed = {"numba", "scipy", "plotly", "streamlit"}
    assert not rarely_needed & set(modules.stdout.decode().split())


# ------------------------------------------------------------------------------------ same values


def test_table_equals_that_read_in_this_process(reader: Reader) -> None:
    files = [
        *TABLE,
        UploadedFile("truth", "e.csv", b"source,target\nb,a\n"),
        UploadedFile("places", "p.csv", "name,x,y\na,0,0\nb,1,0\né,0,2\n".encode()),
    ]
    found = reader.read("table", files, {"missing": "state"})
    wanted = read_table(TABLE[0].stream(), missing="state")
    assert (found.table.names, found.table.labels) == (wanted.names, wanted.labels)
    np.testing.assert_array_equal(found.table.codes, wanted.codes)
    assert found.table.fingerprint == wanted.fingerprint
    assert found.truth.tolist() == [[0, 1]]
    assert found.positions.shape == (3, 2)
    for array in (found.table.codes, found.truth, found.positions):
        assert not array.flags.writeable


def test_missing_values_and_weights_equal_those_of_the_file(reader: Reader) -> None:
    files = one("table", "t.csv", "a,b,w\n1,2,1\n,1,0.5\n2,,2\n1,1,1\n")
    found = reader.read("table", files, {"missing": "em", "weights": "w"})
    # The app draws the missing values, as it has the kernels of the learner.
    wanted = read_rows(files[0].stream(), TableOptions(missing="em", weights="w"))
    assert found.table.fingerprint == wanted.table.fingerprint
    assert found.table.warnings == wanted.table.warnings
    np.testing.assert_array_equal(found.observed, wanted.observed)
    assert not wanted.observed.all()


def test_weights_equal_those_of_the_file(reader: Reader) -> None:
    files = one("table", "t.csv", "a,b,w\n1,2,1\n2,1,0.5\n2,2,2\n1,1,1\n")
    found = reader.read("table", files, {"weights": "w"}).table
    wanted = read_table(files[0].stream(), weights="w")
    assert found.fingerprint == wanted.fingerprint
    assert found.warnings == wanted.warnings


def test_series_equal_those_read_in_this_process(reader: Reader) -> None:
    text = "time,a,b\n" + "".join(f"{k},{k * k},{k % 7}\n" for k in range(30))
    arrows = "source,target\na,b\n"
    files = one("series", "s.csv", text) + one("parents", "p.csv", arrows)
    found = reader.read("series", files, {})
    wanted = read_series(one("", "s.csv", text)[0].stream())
    np.testing.assert_array_equal(found.series.values, wanted.values)
    assert (found.series.times, found.series.title) == (wanted.times, wanted.title)
    assert found.parents == read_parents(io.BytesIO(arrows.encode()), wanted.names)
    assert not found.series.values.flags.writeable


def test_model_equals_that_read_in_this_process(reader: Reader) -> None:
    model = learn(random_table(0, 5, 100), ChowLiu(), seed=0).model
    found = reader.read("model", one("model", "m.uai", uai_text(model)), {})
    np.testing.assert_array_equal(found.model.edges, model.edges)
    np.testing.assert_allclose(found.model.weights, model.weights)
    assert found.model.labels
    assert found.notes


def test_evidence_is_read(reader: Reader) -> None:
    found = reader.read("evidence", one("", "e.evid", "1 2 1"), {"cardinalities": [2, 2, 3]})
    assert found == {2: 1}


@pytest.mark.parametrize("options", [{}, {"continuous": "bin", "bins": 3}, {"header": "no"}])
def test_options_reach_the_reader(reader: Reader, options: dict[str, Any]) -> None:
    text = "".join(f"{k / 7},{k % 2}\n" for k in range(60))

    def outcome(read: Any) -> Any:
        try:
            return read().labels
        except InputError as refusal:
            return str(refusal)

    files = one("table", "t.csv", text)
    here = outcome(lambda: read_table(files[0].stream(), **TableOptions(**options).arguments()))
    assert outcome(lambda: reader.read("table", files, options).table) == here


# ----------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("abort", "damaged"),
        ("kill", "was ended, perhaps as memory ran out"),
        ("spin", "more than 2 seconds"),
        ("allocate", "more than 600 MB"),
        ("raise", "failed unexpectedly"),
    ],
)
def test_a_fault_is_one_sentence_and_the_next_upload_is_read(
    reader: Reader, caplog: pytest.LogCaptureFixture, kind: str, reason: str
) -> None:
    name = "x\n" + "y" * 300 + ".csv"
    with pytest.raises(InputError, match=reason) as refusal:
        reader.read(kind, one("table", name, "a"), {})
    sentence = str(refusal.value)
    assert len(sentence) < 250
    assert sentence.isprintable()
    assert ("a fault of the reader" in caplog.text) is (kind == "raise")
    assert reader.read("table", TABLE, {}).table.n_rows == 40


def test_hanging_process_is_ended() -> None:
    patient = Reader(seconds=-2.0, module=FAULTY)  # two seconds on the clock
    with pytest.raises(InputError, match="seconds"):
        patient.read("sleep", TABLE, {})
    patient._next.kill()


def test_refusal_has_the_sentence_of_the_reader(reader: Reader) -> None:
    with pytest.raises(InputError, match=r"^Line 3 is wrong; mend it\.$"):
        reader.read("refuse", TABLE, {})


def test_text_printed_by_a_library_does_not_disturb_the_answer(reader: Reader) -> None:
    assert reader.read("print", TABLE, {}) == {"printed": True}


def test_each_upload_has_its_own_process_that_ends(reader: Reader) -> None:
    process = reader._next
    assert reader.read("process", TABLE, {}) == {"pid": process.pid}
    assert process.poll() == 0
    assert reader._next.pid != process.pid


def test_upload_is_refused_while_others_take_long(reader: Reader) -> None:
    def read_for_long() -> None:
        with pytest.raises(InputError):
            reader.read("spin", TABLE, {})

    slow = threading.Thread(target=read_for_long)
    slow.start()
    wait_until(reader._turn.locked)
    with pytest.raises(BusyError, match="try again"):
        reader.read("table", TABLE, {})
    slow.join()


def test_waiting_process_ends_with_the_server() -> None:
    process = Reader()._next
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 0


STEMS = {
    "300 characters": "x" * 300,
    "300 characters in words": "a word " * 43,
    "10 kB": "y" * 10_000,
    "NUL": "a\0b",
    "lone surrogate": "a\udc80b\ud800",
    "direction marks": "a\u202eb\u2066",
    "line breaks": "a\nb\r\u2028c",
    "a way out": "../../../../etc/passwd",
    "a drive": "C:\\windows\\m",
    "device": "/dev/full",
    "dots": "..",
    "blank": " ",
}


def model(name: str = "a", label: str = "yes") -> PairwiseMRF:
    return PairwiseMRF.from_tables(
        [np.array([0.0, 0.5]), np.array([0.2, 0.0, 0.1])],
        {(0, 1): np.arange(6.0).reshape(2, 3)},
        names=(name, "second"),
        labels=(("no", label), ("x", "y", "z")),
    )


CONTENTS: Mapping[str, Callable[[PairwiseMRF], bytes]] = {
    ".uai": lambda model: uai_text(model).encode(),
    ".graphml": model_graphml,
    ".json": lambda model: node_link_json(model).encode(),
}


def check_sentence(refused: pytest.ExceptionInfo[InputError]) -> None:
    sentence = str(refused.value)
    assert len(sentence) < 400
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    sentence.encode("utf-8")


@pytest.mark.parametrize("suffix", CONTENTS)
@pytest.mark.parametrize("stem", STEMS.values(), ids=STEMS)
@pytest.mark.parametrize("packed", [False, True], ids=["file", "archive"])
def test_file_of_any_name_is_read_with_short_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stem: str, suffix: str, packed: bool
) -> None:
    monkeypatch.chdir(tmp_path)

    def upload(content: bytes) -> Mapping[str, bytes]:
        name = stem + suffix
        if not packed:
            return {name: content}
        entry = name.encode("utf-8", "replace").decode()  # as an archive can store it
        return {f"{stem}.zip": deflated({entry: content})}

    if packed and stem in ("a\0b", ".."):  # zipfile cuts names at NUL; hidden files are ignored
        with pytest.raises(InputError, match="holds no model"):
            read_uploaded_model(upload(CONTENTS[suffix](model())))
        return
    found = read_uploaded_model(upload(CONTENTS[suffix](model())))
    assert found.model.n_edges == 1
    for note in found.notes:
        assert len(note) < 300
        note.encode("utf-8")
    for content in (b"", b"not a model", b"\xff\0"):
        with pytest.raises(InputError) as refused:
            read_uploaded_model(upload(content))
        check_sentence(refused)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["name", "label"])
@pytest.mark.parametrize("suffix", CONTENTS)
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x" * 10_000, "has 10,000 characters"),
        ("a word " * 1430, "has 10,010 characters"),
        ("a\ud800b", "holds a lone surrogate"),
    ],
)
def test_texts_that_cannot_be_shown_are_refused(
    what: str, suffix: str, text: str, complaint: str
) -> None:
    hostile = model(**{what: text})
    files = {f"m{suffix}": CONTENTS[suffix](hostile)}
    if suffix == ".uai":
        files["m.names.json"] = names_text(hostile).encode()
    with pytest.raises(InputError, match=complaint) as refused:
        read_uploaded_model(files)
    check_sentence(refused)


def test_model_with_names_invalid_as_file_names_is_read(tmp_path: Path) -> None:
    path = tmp_path / f"{'x' * 250}.uai"  # with .names.json, longer than file names can be
    path.write_bytes(uai_text(model()).encode())
    assert read_model(path).names == ("x0", "x1")
