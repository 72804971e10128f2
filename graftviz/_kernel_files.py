"""Files of compiled kernels that several processes write at the same time.

numba keeps one index file per function, which it reads, changes and writes again: of two processes
that do so together, one loses its kernel, or gets the file of the other. Here each overload is a
file of its own, named by its key, so there is no index.

An overload that is missing is compiled by one process. It holds a lock of the operating system,
which is released when the process ends; other processes wait and load the kernel. Kernels do not
call each other in cycles, and a process that holds the lock of a kernel waits for callees of that
kernel only, so processes cannot wait for each other. Within a process, numba's compiler lock lets
one thread at a time compile, load or wait.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import io
import logging
import os
import pickle
import sys
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LONGEST_WAIT = 120.0  # seconds for which a process waits for another one that compiles a kernel
_LOOK = 0.02  # seconds between two attempts to get a lock
_LOCK_FILE = "lock"
_POSITIONS = 2**30  # positions in a lock file, which is empty
_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
UNREADABLE = "A cached kernel could not be read and is compiled again: %s."
_CHECKSUM = 4  # bytes
log = logging.getLogger(__name__)

# Of a thread: `locks` of the kernel that it compiles, and `action`, see at_first_compilation.
_thread = threading.local()
_lock_files: dict[Path, int] = {}  # closing a file would release all its locks
stored_actions: list[Callable[[int], object]] = []  # called with the bytes of each stored kernel


class OverloadFiles:
    """Files of the overloads of one function, in place of numba's `IndexDataCacheFile`.

    A file has a checksum, the pickled key, and the pickled kernel.

    Parameters
    ----------
    folder : Path
        Folder of the kernels that are compiled from the same sources.
    prefix : str
        Identifies the function in the folder.
    dumps : callable
        Pickles keys and kernels.
    """

    def __init__(self, folder: Path, prefix: str, dumps: Callable[[Any], bytes]) -> None:
        self._folder, self._prefix, self._dumps = folder, prefix, dumps

    def load(self, key: Any) -> Any:
        """Return the kernel with a key; None if it has to be compiled.

        In that case this process holds the lock of the kernel until the end of
        :func:`releasing_locks`, unless a lock cannot be had.
        """
        name = self._name(key)
        found = self._read(name, key)
        locks = getattr(_thread, "locks", None)
        if found is None and locks is not None:
            _announce()
            locks.enter_context(_lock(self._folder, name))
            found = self._read(name, key)  # another process may have compiled it
        return found

    def save(self, key: Any, kernel: Any) -> None:
        """Write the file of a kernel; readers see the complete file or none."""
        content = self._dumps(key) + self._dumps(kernel)
        path = self._folder / self._name(key)
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}")
        try:
            part.write_bytes(zlib.crc32(content).to_bytes(_CHECKSUM, "big") + content)
            os.replace(part, path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        for action in stored_actions:
            action(len(content))

    def flush(self) -> None:
        """Remove the files of all overloads."""
        for path in self._folder.glob(f"{self._prefix}.*.nbc"):
            path.unlink(missing_ok=True)

    def _name(self, key: Any) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return f"{self._prefix}.{digest}.nbc"

    def _read(self, name: str, key: Any) -> Any:
        """Return the kernel in a file; None if there is none, or a damaged one."""
        try:
            data = (self._folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        checksum, content = data[:_CHECKSUM], memoryview(data)[_CHECKSUM:]
        if zlib.crc32(content).to_bytes(_CHECKSUM, "big") != checksum:
            warn_once(UNREADABLE, "damaged file")
            return None
        file = io.BytesIO(content)
        return pickle.load(file) if pickle.load(file) == key else None


def releasing_locks(compile_overload: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that compiles or loads an overload, and releases its lock in any case.

    Parameters
    ----------
    compile_overload : callable
        ``numba.core.dispatcher.Dispatcher.compile``.
    """

    @functools.wraps(compile_overload)
    def compile_and_release(*arguments: Any) -> Any:
        callers = getattr(_thread, "locks", None)
        with contextlib.ExitStack() as _thread.locks:
            try:
                return compile_overload(*arguments)
            finally:
                _thread.locks = callers

    return compile_and_release


@contextlib.contextmanager
def at_first_compilation(action: Callable[[], None]) -> Iterator[None]:
    """Call `action` before the first kernel that this thread compiles or waits for inside."""
    outer = getattr(_thread, "action", None)
    _thread.action = action
    try:
        yield
    finally:
        _thread.action = outer


def _announce() -> None:
    action, _thread.action = getattr(_thread, "action", None), None
    if action is not None:
        action()


@contextlib.contextmanager
def _lock(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of a kernel; without it if there are no locks, or after `LONGEST_WAIT`."""
    position = int(hashlib.sha256(name.encode()).hexdigest(), 16) % _POSITIONS
    file = _opened_lock_file(folder)
    end = time.monotonic() + LONGEST_WAIT
    is_locked = False
    while file is not None and not is_locked and time.monotonic() < end:
        is_locked = _try_lock(file, position)
        if not is_locked:
            time.sleep(_LOOK)
    try:
        yield
    finally:
        if file is not None and is_locked:
            _unlock(file, position)


def _opened_lock_file(folder: Path) -> int | None:
    """Return the descriptor of the lock file of a folder; None if it cannot be created."""
    if folder not in _lock_files:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _lock_files[folder] = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return None
    return _lock_files[folder]


def _try_lock(file: int, position: int) -> bool:
    """Lock one byte of a file, which need not exist; return False if another process holds it.

    Where the file system has no locks, each process compiles for itself.
    """
    try:
        if sys.platform == "win32":
            os.lseek(file, position, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, position)
    except OSError as error:
        return error.errno not in _HELD
    return True


def _unlock(file: int, position: int) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            os.lseek(file, position, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
        else:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, position)


_warned: set[str] = set()


def warn_once(message: str, problem: object) -> None:
    """Log each kind of error only once, as there are hundreds of kernels."""
    if message not in _warned:
        _warned.add(message)
        log.warning(message, problem)
