"""The same work on many items: here, on other cores, or on other machines.

A thin layer over joblib. Where the work is done is for whoever runs the program to say, with
``joblib.parallel_config``: processes of this machine by default, a Dask cluster with
``parallel_config(backend="dask")``. What this adds is that the one large thing all tasks need,
usually a table, travels once and is unpacked once in every process, not once for every task.
"""

from __future__ import annotations

import contextlib
import hashlib
import operator
import pickle
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import joblib
import numpy as np
from joblib.parallel import get_active_backend

from graftviz.errors import InputError
from graftviz.wording import quoted

Item = TypeVar("Item")
Value = TypeVar("Value")

_MOST_JOBS = 10_000
_ALIGNMENT = 64  # bytes: arrays unpacked in place start where a cache line does
_LARGEST_COPIED = 10_000  # bytes: processes of this machine get larger arrays as a mapped file


class Parcel(NamedTuple):
    """How to unpack what :func:`pack` made.

    Attributes
    ----------
    key : str
        Digest of the content: a process that has unpacked it needs to do so no more.
    ends : tuple of int
        Where each part of the content ends: first the pickle, then the arrays taken out of it.
    """

    key: str
    ends: tuple[int, ...]


_unpacked: dict[str, Any] = {}  # what this process has unpacked last, by its key
_unpacking = threading.Lock()


def parallel_map(
    function: Callable[[Any, Item], Value],
    items: Iterable[Item],
    *,
    shared: Any = None,
    jobs: int | None = None,
    on_done: Callable[[int, int], Any] | None = None,
) -> list[Value]:
    """Return ``[function(shared, item) for item in items]``, worked out side by side.

    Parameters
    ----------
    function : callable
        Defined at the top level of a module, so that other processes can import it.
    items : iterable
        Small things; each travels with its task.
    shared : object, optional
        What all tasks need, such as a :class:`graftviz.table.DiscreteTable`, and none changes. It
        is sent once, each process unpacks it once, and its arrays are not copied in doing so:
        processes of one machine look at the same memory.
    jobs : int, optional
        How many tasks at a time: 1 works through them in this process, −1 takes every core, −2 all
        but one. Default: what the surrounding ``joblib.parallel_config`` says, 1 without one. A
        Dask cluster always works with all it has (unless `jobs` is 1).
    on_done : callable, optional
        Called in this process as ``on_done(done, of)`` whenever another task has ended. With
        joblib's ``multiprocessing``, which hands back everything at once, only then.

    Returns
    -------
    list
        In the order of `items`, whatever the order they were done in.

    Raises
    ------
    InputError
        When `jobs` is 0 or no whole number. Whatever `function` raises is raised here as it is,
        and tasks that have not begun are left undone.
    """
    tasks = list(items)
    backend, configured = get_active_backend()
    wanted = _checked_jobs(jobs) or configured or backend.default_n_jobs
    if wanted == 1 or len(tasks) < 2 or backend.effective_n_jobs(wanted) == 1:
        return _in_order(((k, function(shared, x)) for k, x in enumerate(tasks)), tasks, on_done)
    piecewise = getattr(backend, "supports_return_generator", False)
    pool = joblib.Parallel(
        n_jobs=wanted,
        return_as="generator_unordered" if piecewise else "list",
        max_nbytes=_LARGEST_COPIED,
    )
    if getattr(backend, "supports_sharedmem", False):
        calls = [joblib.delayed(_do)(function, shared, k, item) for k, item in enumerate(tasks)]
    else:
        # One array that is an argument of its own: joblib maps it from a file for processes of
        # this machine, and its Dask backend scatters it.
        parcel, content = pack(shared)
        calls = [
            joblib.delayed(_unpack_and_do)(function, parcel, content, k, item)
            for k, item in enumerate(tasks)
        ]
    answers = pool(calls)
    if isinstance(answers, Generator):
        # Closing it, should `on_done` raise, lets joblib call off what has not begun.
        with contextlib.closing(answers):
            return _in_order(answers, tasks, on_done)
    return _in_order(answers, tasks, on_done)


def pack(value: Any) -> tuple[Parcel, np.ndarray]:
    """Pickle `value` into one read-only array of bytes, with the arrays in it side by side."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    parts = [memoryview(head), *(array.raw() for array in arrays)]
    ends: list[int] = []
    for part in parts:
        ends.append(_starts(ends)[-1] + part.nbytes)
    content = np.zeros(ends[-1], dtype=np.uint8)
    for part, start, end in zip(parts, _starts(ends), ends, strict=False):
        content[start:end] = np.frombuffer(part, dtype=np.uint8)
    content.flags.writeable = False
    return Parcel(hashlib.sha256(content.data).hexdigest(), tuple(ends)), content


def unpack(parcel: Parcel, content: np.ndarray) -> Any:
    """Return what was packed, its arrays read-only and in place.

    A process keeps what it has unpacked last, and returns it when asked for it again.
    """
    with _unpacking:  # workers of a Dask cluster may run several threads
        if parcel.key not in _unpacked:
            _unpacked.clear()
            frozen = np.asarray(content).view()
            frozen.flags.writeable = False
            head, *arrays = (
                frozen[start:end].data
                for start, end in zip(_starts(parcel.ends), parcel.ends, strict=False)
            )
            _unpacked[parcel.key] = pickle.loads(head, buffers=arrays)
        return _unpacked[parcel.key]


def _starts(ends: Sequence[int]) -> list[int]:
    """Return where each part starts, and where one more would."""
    return [0, *(-(-end // _ALIGNMENT) * _ALIGNMENT for end in ends)]


def _do(
    function: Callable[[Any, Item], Value], shared: Any, k: int, item: Item
) -> tuple[int, Value]:
    return k, function(shared, item)


def _unpack_and_do(
    function: Callable[[Any, Item], Value],
    parcel: Parcel,
    content: np.ndarray,
    k: int,
    item: Item,
) -> tuple[int, Value]:
    return k, function(unpack(parcel, content), item)


def _in_order(
    answers: Iterable[tuple[int, Value]],
    tasks: Sequence[Any],
    on_done: Callable[[int, int], Any] | None,
) -> list[Value]:
    values: dict[int, Value] = {}
    for k, value in answers:
        values[k] = value
        if on_done is not None:
            on_done(len(values), len(tasks))
    return [values[k] for k in range(len(tasks))]


def _checked_jobs(jobs: int | None) -> int | None:
    if jobs is None:
        return None
    try:
        number = operator.index(jobs)
    except TypeError:
        number = 0
    if not -_MOST_JOBS <= number <= _MOST_JOBS or number == 0 or isinstance(jobs, bool):
        raise InputError(
            f"The number of jobs must be from 1 to {_MOST_JOBS:,}, or −1, which takes every core; "
            f"got {quoted(jobs)}."
        )
    return number
