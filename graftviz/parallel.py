"""Parallel map over items, in this process, on other cores, or on other machines.

A thin layer over joblib. ``joblib.parallel_config`` selects the backend: processes of this machine
by default, a Dask cluster with ``parallel_config(backend="dask")``. In addition, the large object
that all tasks share, usually a table, is sent once and unpacked once per process instead of once
per task.
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
_LARGEST_COPIED = 10_000  # bytes: larger arrays are memory-mapped by processes of this machine


class Parcel(NamedTuple):
    """Pickled object without its arrays.

    Attributes
    ----------
    key : str
        Digest of the content, by which a process recognises an object that it has unpacked.
    head : bytes
    """

    key: str
    head: bytes


_last_unpacked: dict[str, Any] = {}  # the object that this process unpacked last, by key
_unpack_lock = threading.Lock()


def parallel_map(
    function: Callable[[Any, Item], Value],
    items: Iterable[Item],
    *,
    shared: Any = None,
    jobs: int | None = None,
    on_done: Callable[[int, int], Any] | None = None,
) -> list[Value]:
    """Return ``[function(shared, item) for item in items]``, computed in parallel.

    Parameters
    ----------
    function : callable
        Defined at the top level of a module, so that other processes can import it.
    items : iterable
        Small objects; each is sent with its task.
    shared : object, optional
        Object that all tasks read, such as a :class:`graftviz.table.DiscreteTable`. It is sent
        once, and each process unpacks it once without copying its arrays: processes of one machine
        share the memory.
    jobs : int, optional
        Number of concurrent tasks: 1 runs them in this process, −1 uses every core, −2 all but
        one. Default: the value of ``joblib.parallel_config``, otherwise 1. A Dask cluster always
        uses all its workers (unless `jobs` is 1).
    on_done : callable, optional
        Called in this process as ``on_done(done, of)`` after each task. With joblib's
        ``multiprocessing``, which returns all results together, it is called at the end.

    Returns
    -------
    list
        Results in the order of `items`.

    Raises
    ------
    InputError
        If `jobs` is 0 or no integer. Exceptions of `function` propagate, and tasks that have not
        started are cancelled.
    """
    tasks = list(items)
    backend, configured = get_active_backend()
    n_jobs = _checked_jobs(jobs) or configured or backend.default_n_jobs
    if n_jobs == 1 or len(tasks) < 2 or backend.effective_n_jobs(n_jobs) == 1:
        return _in_order(((k, function(shared, x)) for k, x in enumerate(tasks)), tasks, on_done)
    piecewise = getattr(backend, "supports_return_generator", False)
    pool = joblib.Parallel(
        n_jobs=n_jobs,
        return_as="generator_unordered" if piecewise else "list",
        max_nbytes=_LARGEST_COPIED,
    )
    if getattr(backend, "supports_sharedmem", False):
        calls = [joblib.delayed(_call)(function, shared, k, item) for k, item in enumerate(tasks)]
    else:
        # Each array is an argument: joblib memory-maps arguments for processes of this machine,
        # and its Dask backend scatters them.
        parcel, arrays = pack(shared)
        calls = [
            joblib.delayed(_unpack_and_call)(function, parcel, k, item, *arrays)
            for k, item in enumerate(tasks)
        ]
    results = pool(calls)
    if isinstance(results, Generator):
        # If `on_done` raises, closing the generator cancels tasks that have not started.
        with contextlib.closing(results):
            return _in_order(results, tasks, on_done)
    return _in_order(results, tasks, on_done)


def pack(value: Any) -> tuple[Parcel, list[np.ndarray]]:
    """Return an object as its pickle and the bytes of its arrays."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    arrays = [np.asarray(buffer.raw(), dtype=np.uint8) for buffer in buffers]
    digest = hashlib.sha256(head)
    for array in arrays:
        array.flags.writeable = False
        digest.update(array.data)
    return Parcel(digest.hexdigest(), head), arrays


def unpack(parcel: Parcel, *arrays: np.ndarray) -> Any:
    """Return the packed object, with read-only arrays that share the memory of `arrays`.

    Each process caches the object that it unpacked last.
    """
    with _unpack_lock:  # workers of a Dask cluster may run several threads
        if parcel.key not in _last_unpacked:
            _last_unpacked.clear()
            for array in arrays:
                array.flags.writeable = False
            _last_unpacked[parcel.key] = pickle.loads(parcel.head, buffers=arrays)
        return _last_unpacked[parcel.key]


def _call(
    function: Callable[[Any, Item], Value], shared: Any, k: int, item: Item
) -> tuple[int, Value]:
    return k, function(shared, item)


def _unpack_and_call(
    function: Callable[[Any, Item], Value],
    parcel: Parcel,
    k: int,
    item: Item,
    *arrays: np.ndarray,
) -> tuple[int, Value]:
    return k, function(unpack(parcel, *arrays), item)


def _in_order(
    results: Iterable[tuple[int, Value]],
    tasks: Sequence[Any],
    on_done: Callable[[int, int], Any] | None,
) -> list[Value]:
    values: dict[int, Value] = {}
    for k, value in results:
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
