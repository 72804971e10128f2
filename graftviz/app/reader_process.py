"""Process that reads an upload: ``python -m graftviz.app.reader_process``.

A file that needs too much memory or time, or that stops its reader, ends this process and costs its
session one sentence. Request and answer are single npz files over standard input and output;
nothing is unpickled. Streamlit is not imported here.

There is a reader for each kind of upload, which returns a value or raises InputError.
"""

from __future__ import annotations

import dataclasses
import io
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from graftviz.data.coding import TableOptions
from graftviz.data.reading.reading import read_rows
from graftviz.data.series.reading import read_parents, read_series
from graftviz.data.series.series import TimeSeries
from graftviz.data.sets.dataset import positions_from_names
from graftviz.data.sets.files import read_positions, read_truth
from graftviz.data.sets.public import PUBLIC
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.records import ModelFile
from graftviz.model.readwrite.uai import parse_evidence
from graftviz.reports.files.uploads import MOST_CHARACTERS, read_uploaded_model
from graftviz.utils.errors import InputError
from graftviz.utils.wording import shortened

try:
    import resource
except ImportError:  # Windows, where only the time on the clock is limited
    resource = None  # type: ignore[assignment]


class UploadedFile(NamedTuple):
    """Uploaded file.

    Attributes
    ----------
    role : str
        Purpose of the file, such as "table" or "truth".
    name : str
    data : bytes
    """

    role: str
    name: str
    data: bytes

    def stream(self) -> io.BytesIO:
        """Return the content as a binary file, with the name of the upload if it has one."""
        file = io.BytesIO(self.data)
        if self.name:
            file.name = self.name
        return file


class TableUpload(NamedTuple):
    """Table, with its true edges and the positions of its variables if there are any.

    `observed` says where values are known if some are still to be drawn; None: all are.
    """

    table: DiscreteTable
    truth: np.ndarray | None
    positions: np.ndarray | None
    observed: np.ndarray | None = None


class SeriesUpload(NamedTuple):
    """Time series, with the positions and the parents of the series if there are any."""

    series: TimeSeries
    positions: np.ndarray | None
    parents: tuple[tuple[int, ...], ...] | None


# ------------------------------------------------------------------------------------------ tables


def read_table_upload(files: Sequence[UploadedFile], options: Mapping[str, Any]) -> TableUpload:
    """Read a table, and its true edges and positions if there are such files.

    Parameters
    ----------
    files : sequence of UploadedFile
        Files with the roles "table", "truth" and "places".
    options : mapping
        Of :class:`TableOptions`.
    """
    streams = {file.role: file.stream() for file in files}
    # Missing values are drawn where the kernels of the learner are compiled.
    table, observed, _ = read_rows(streams["table"], TableOptions(**options))
    _check_lengths(table.names, table.labels)
    truth = read_truth(streams["truth"], table.names) if "truth" in streams else None
    if "places" in streams:
        positions: np.ndarray | None = read_positions(streams["places"], table.names)
    else:
        positions = positions_from_names(table.names)
    return TableUpload(table, truth, positions, observed)


def read_public_upload(files: Sequence[UploadedFile], options: Mapping[str, Any]) -> TableUpload:
    """Read the published files of a public data set.

    Parameters
    ----------
    files : sequence of UploadedFile
        Their roles are the name of the data set.
    options : mapping
        Options of its reader.

    Raises
    ------
    InputError
        When two files have the same name, or are not those of the data set.
    """
    contents = _by_name(files, "data set")
    data = PUBLIC[files[0].role](**options).read(contents)
    _check_lengths(data.table.names, data.table.labels)
    return TableUpload(data.table, None, data.positions)


def _by_name(files: Sequence[UploadedFile], what: str) -> dict[str, bytes]:
    contents = {file.name: file.data for file in files}
    if len(contents) < len(files):
        raise InputError(f"Two of these files have the same name; upload one {what} at a time.")
    return contents


def _check_lengths(names: Sequence[str], labels: Sequence[Sequence[str]] = ()) -> None:
    """Refuse names of columns and labels that are too long to display."""
    for name, own in zip_longest(names, labels, fillvalue=()):
        longest = max((name, *own), key=len)
        if len(longest) > MOST_CHARACTERS:
            what = "name" if longest is name else "value"
            raise InputError(
                f"Column {name[:20]!r} has a {what} of {len(longest):,} characters; the maximum is "
                f"{MOST_CHARACTERS:,}. Shorten it, or remove the column."
            )


def read_series_upload(files: Sequence[UploadedFile], options: Mapping[str, Any]) -> SeriesUpload:
    """Read time series, and their positions and parents if there are such files.

    Parameters
    ----------
    files : sequence of UploadedFile
        Files with the roles "series", "places" and "parents".
    options : mapping
        Arguments of :func:`graftviz.dynamics.read_series`.
    """
    streams = {file.role: file.stream() for file in files}
    series = read_series(streams["series"], **options)
    names = series.names
    _check_lengths(names)
    positions = read_positions(streams["places"], names) if "places" in streams else None
    parents = read_parents(streams["parents"], names) if "parents" in streams else None
    return SeriesUpload(series, positions, parents)


def read_model_upload(files: Sequence[UploadedFile], _options: Mapping[str, Any]) -> ModelFile:
    """Read the model in one or several files.

    Raises
    ------
    InputError
        When two files have the same name, or hold no valid model.
    """
    return read_uploaded_model(_by_name(files, "model"))


def read_evidence_upload(
    files: Sequence[UploadedFile], options: Mapping[str, Any]
) -> dict[int, int]:
    """Read evidence in UAI format.

    Parameters
    ----------
    files : sequence of UploadedFile
        One file.
    options : mapping
        ``cardinalities``: the number of states of every variable of the model.
    """
    return parse_evidence(files[0].name, files[0].data, options["cardinalities"])


KINDS: Mapping[str, Callable[[Sequence[UploadedFile], Mapping[str, Any]], Any]] = {
    "table": read_table_upload,
    "public": read_public_upload,
    "series": read_series_upload,
    "model": read_model_upload,
    "evidence": read_evidence_upload,
}
# Classes of values that are passed between the processes.
_CLASSES = {
    cls.__name__: cls
    for cls in (TableUpload, SeriesUpload, ModelFile, DiscreteTable, TimeSeries, PairwiseModel)
}

MODULE = "graftviz.app.reader_process"
_SHOWN = 60  # characters of a file name in a sentence
_DAMAGED = "the file is damaged and stopped the process that reads it; save it again"
_KILLED = "the process that reads it was ended, perhaps as memory ran out; try a smaller file"
_ADVICE = "use fewer rows or columns, or read it with graftviz in Python"
log = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------- the server


class BusyError(InputError):
    """Error while other uploads are read; a later attempt may succeed."""


class Reader:
    """Processes that read one upload each, one after the other; the next one waits in advance.

    Parameters
    ----------
    memory : int
        Bytes that reading may need.
    seconds : float
        Processor time that it may need; it may take four times as long on a busy machine.
    patience : float
        Seconds that an upload waits for others.
    module : str
        Main module of the processes.
    """

    def __init__(
        self,
        memory: int = 10**9,
        seconds: float = 30.0,
        patience: float = 60.0,
        module: str = MODULE,
    ) -> None:
        self._limits = {"memory": memory, "seconds": seconds}
        self._too_large = f"this needs more than {memory / 1e6:,.0f} MB of memory; {_ADVICE}"
        self._too_slow = f"this takes more than {seconds:g} seconds; {_ADVICE}"
        self._patience = patience
        self._module = module
        self._turn = threading.Lock()
        self._next = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        # The session of its own keeps Ctrl-C away; it ends when its standard input is closed. What
        # libraries write to the error stream may contain parts of the file.
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        command = [sys.executable, "-m", self._module]
        return subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=null, start_new_session=True
        )

    def read(self, kind: str, files: Sequence[UploadedFile], options: Mapping[str, Any]) -> Any:
        """Return the value in uploaded files; `kind` is a key of `KINDS`.

        Raises
        ------
        InputError
            When the files are refused, stop the process or exceed a limit.
        """
        title = shortened((files[0].name if files else "") or "The file", _SHOWN)
        contents = [(f.role, f.name, np.frombuffer(f.data, np.uint8)) for f in files]
        request = {"kind": kind, "files": contents, "options": dict(options), **self._limits}
        if not self._turn.acquire(timeout=self._patience):
            raise BusyError(f"{title} was not read, as other files are; try again in a minute.")
        try:
            answer = self._answer(_packed(request))
        finally:
            self._turn.release()
        match answer:
            case {"value": value}:
                return value
            case {"refused": sentence}:
                raise InputError(sentence)
            case {"failed": trace}:
                log.error("Reading an upload failed.\n%s", trace)
                answer = {"reason": "reading it failed unexpectedly; see the log of the server"}
        raise InputError(f"{title} cannot be read: {answer['reason']}.")

    def _answer(self, request: bytes) -> dict[str, Any]:
        """Return the answer of the waiting process, and start another one."""
        process = self._next
        try:
            written, _ = process.communicate(request, 4 * self._limits["seconds"] + 10)
        except subprocess.TimeoutExpired:
            return {"reason": self._too_slow}
        finally:
            process.kill()
            process.wait()
            self._next = self._start()
        if process.returncode == 0:
            answer: dict[str, Any] = _unpacked(written)
            return {"reason": self._too_large} if "memory" in answer else answer
        ends = {"SIGXCPU": self._too_slow, "SIGKILL": _KILLED}
        signals = {-getattr(signal, name, 0): reason for name, reason in ends.items()}
        return {"reason": signals.get(process.returncode, _DAMAGED)}


def _packed(value: Any) -> bytes:
    """Return a value as an npz file of its arrays, and of its other parts as JSON."""
    arrays: list[np.ndarray] = []
    plain = json.dumps(_plain(value, arrays)).encode()
    file = io.BytesIO()
    own = {str(k): array for k, array in enumerate(arrays)}
    np.savez(file, allow_pickle=False, plain=np.frombuffer(plain, np.uint8), **own)
    return file.getvalue()


def _plain(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return a value as JSON data, with objects for what JSON lacks; its arrays are added."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if type(value).__name__ in _CLASSES:
        names = getattr(value, "_fields", None) or [each.name for each in dataclasses.fields(value)]
        fields = {name: _plain(getattr(value, name), arrays) for name in names}
        return {"class": type(value).__name__, "fields": fields}
    if isinstance(value, Mapping):
        return {"items": [[key, _plain(entry, arrays)] for key, entry in value.items()]}
    if isinstance(value, tuple | list):
        return {"tuple": [_plain(entry, arrays) for entry in value]}
    return value


def _unpacked(data: bytes) -> Any:
    """Return the value in a file of :func:`_packed`, with read-only arrays."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file)
    for array in arrays.values():
        array.setflags(write=False)
    return _restored(json.loads(arrays["plain"].tobytes()), arrays)


def _restored(plain: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    match plain:
        case {"array": number}:
            return arrays[str(number)]
        case {"class": name, "fields": fields}:
            return _CLASSES[name](**{key: _restored(x, arrays) for key, x in fields.items()})
        case {"items": items}:
            return {key: _restored(entry, arrays) for key, entry in items}
        case {"tuple": values}:
            return tuple(_restored(entry, arrays) for entry in values)
    return plain


# ------------------------------------------------------------------------------------ the process


def main() -> None:
    """Read the upload that arrives at standard input, within its limits."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries may print
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own does not heed the limit
    if not (data := sys.stdin.buffer.read()):
        return  # the server has ended
    request = _unpacked(data)
    if resource is not None:
        os.nice(10)
        _limit(request["memory"], int(request["seconds"]) + 1)
    files = [
        UploadedFile(role, name, content.tobytes()) for role, name, content in request["files"]
    ]
    answers.write(_read(request["kind"], files, request["options"]))
    answers.close()


def _limit(memory: int, seconds: int) -> None:
    """Limit the memory and the processor time of this process, where the system allows it."""
    used = 0
    with suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[5]) * resource.getpagesize()
    limits = {resource.RLIMIT_DATA: used + memory, resource.RLIMIT_CPU: seconds}
    for limit, most in {**limits, resource.RLIMIT_CORE: 0}.items():
        with suppress(OSError, ValueError):
            resource.setrlimit(limit, (most, most + (limit == resource.RLIMIT_CPU)))


def _read(kind: str, files: Sequence[UploadedFile], options: Mapping[str, Any]) -> bytes:
    try:
        return _packed({"value": KINDS[kind](files, options)})
    except Exception as error:  # noqa: BLE001 (the server logs it)
        if isinstance(error, MemoryError) or isinstance(error.__context__, MemoryError):
            return _packed({"memory": True})
        if isinstance(error, InputError):
            return _packed({"refused": str(error)})
        return _packed({"failed": traceback.format_exc()[-4000:]})


if __name__ == "__main__":
    main()
