"""Parallel map over items, in this process, on other cores, or on other machines.

A thin layer over joblib. ``joblib.parallel_config`` selects the backend: processes of this machine
by default, a Dask cluster with ``parallel_config(backend="dask")``. In addition, the large object
that all tasks share, usually a table, is sent once and unpacked once per process instead of once
per task.
"""

from __future__ import annotations

import contextlib
import operator
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

import joblib
import numpy as np
from joblib.parallel import get_active_backend

from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

Item = TypeVar("Item")
Value = TypeVar("Value")

_MOST_JOBS = 10_000
_MOST_THREADS = 4
_LARGEST_COPIED = 10_000  # bytes: larger arrays are memory-mapped by processes of this machine


_last_unpacked: dict[str, Any] = {}  # the object that this process unpacked last, by key
_helpers = threading.local()  # `seconds`: processor time of the threads used by a thread
_unpack_lock = threading.Lock()


class Shared:
    """Object that all tasks share, unpacked once by each process that receives it repeatedly.

    It is pickled with its arrays beside it: joblib memory-maps these for processes of this machine.

    Parameters
    ----------
    value : object
    key : str, optional
        Identifier by which a process recognises what it has unpacked, whichever process sent it.
    """

    def __init__(self, value: Any, key: str = "") -> None:
        self.value = value
        self._key = key or uuid.uuid4().hex

    def __sizeof__(self) -> int:
        """Return the size of the arrays: joblib's Dask backend sends large objects only once."""
        return sum(array.nbytes for array in self._packed[2])

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the object as its pickle and the bytes of its arrays."""
        return _unpack, self._packed

    @cached_property
    def _packed(self) -> tuple[str, bytes, list[np.ndarray]]:
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(self.value, protocol=5, buffer_callback=buffers.append)
        arrays = [np.asarray(buffer.raw(), dtype=np.uint8) for buffer in buffers]
        return self._key, head, arrays


def _unpack(key: str, head: bytes, arrays: list[np.ndarray]) -> Shared:
    """Return the packed object, with read-only arrays that share the memory of `arrays`."""
    with _unpack_lock:  # workers of a Dask cluster may run several threads
        if key not in _last_unpacked:
            _last_unpacked.clear()
            for array in arrays:
                array.flags.writeable = False
            _last_unpacked[key] = Shared(pickle.loads(head, buffers=arrays), key)
        unpacked: Shared = _last_unpacked[key]
        return unpacked


def parallel_map(
    function: Callable[[Any, Item], Value],
    items: Iterable[Item],
    *,
    shared: Any = None,
    jobs: int | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> list[Value]:
    """Return ``[function(shared, item) for item in items]``, computed in parallel.

    Parameters
    ----------
    function : callable
        Defined at the top level of a module, so that other processes can import it.
    items : iterable
        Small objects; each is sent with its task.
    shared : object, optional
        Object that all tasks read, such as a :class:`graftviz.data.table.DiscreteTable`. It is sent
        once, and each process unpacks it once without copying its arrays: processes of one machine
        share the memory.
    jobs : int, optional
        Number of concurrent tasks: 1 runs them in this process, −1 uses every core, −2 all but
        one. Default: the value of ``joblib.parallel_config``, otherwise 1. A Dask cluster always
        uses all its workers (unless `jobs` is 1).
    callback : callable, optional
        Called in this process as ``callback(done, of)`` after each task. With joblib's
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
        return _in_order(((k, function(shared, x)) for k, x in enumerate(tasks)), tasks, callback)
    piecewise = getattr(backend, "supports_return_generator", False)
    pool = joblib.Parallel(
        n_jobs=n_jobs,
        return_as="generator_unordered" if piecewise else "list",
        max_nbytes=_LARGEST_COPIED,
    )
    common = Shared(shared)
    results = pool(joblib.delayed(_call)(function, common, k, x) for k, x in enumerate(tasks))
    if isinstance(results, Generator):
        # If `callback` raises, closing the generator cancels tasks that have not started.
        with contextlib.closing(results):
            return _in_order(results, tasks, callback)
    return _in_order(results, tasks, callback)


def in_threads(function: Callable[[Item], Any], items: Sequence[Item]) -> None:
    """Call ``function(item)`` for all items, in as many threads as there are cores, at most four.

    For kernels that release the interpreter and write to disjoint places; the results are then the
    same whatever the number of threads. If a call raises, so does this function.
    """
    cores = min(_MOST_THREADS, joblib.cpu_count(), len(items))
    if cores < 2:
        for item in items:
            function(item)
        return

    def timed(item: Item) -> float:
        began = time.thread_time()
        function(item)
        return time.thread_time() - began

    with ThreadPoolExecutor(cores) as pool:
        _helpers.seconds = getattr(_helpers, "seconds", 0.0) + sum(pool.map(timed, items))


def processor_time() -> float:
    """Return the processor time of this thread, and of the threads it has used, in seconds."""
    return time.thread_time() + getattr(_helpers, "seconds", 0.0)


def lazy_map(
    function: Callable[[Any, Item], Value], items: Iterable[Item], *, shared: Any, jobs: int | None
) -> Iterator[Value]:
    """Yield the values of :func:`parallel_map`; one by one as computed, if `jobs` is None or 1."""
    if jobs in (None, 1):
        yield from (function(shared, item) for item in items)
    else:
        yield from parallel_map(function, items, shared=shared, jobs=jobs)


def _call(
    function: Callable[[Any, Item], Value], shared: Shared, k: int, item: Item
) -> tuple[int, Value]:
    return k, function(shared.value, item)


def _in_order(
    results: Iterable[tuple[int, Value]],
    tasks: Sequence[Any],
    callback: Callable[[int, int], Any] | None,
) -> list[Value]:
    values: dict[int, Value] = {}
    for k, value in results:
        values[k] = value
        if callback is not None:
            callback(len(values), len(tasks))
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
