"""Reading of whole files with clear errors, atomic writing, and locks on folders."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from graftviz.errors import InputError
from graftviz.wording import shortened

MAX_BYTES = 500_000_000
_TEMPORARY = ".graftviz-temporary-"


def read_bytes(path: Path | str) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InputError
        When the file is missing, cannot be read, or is larger than :data:`MAX_BYTES`.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with NUL or a lone surrogate
        reason = getattr(error, "strerror", None) or "the name is not a valid file name"
        raise InputError(f"{shortened(str(path))} cannot be read: {reason}.") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path.name} is larger than {MAX_BYTES // 1_000_000} MB.")
    return content


def write_whole(path: Path | str, content: str | bytes) -> Path:
    """Write `content` (text as UTF-8, line ends unchanged) atomically.

    The content is written to a temporary file in the same folder, which is then renamed. Temporary
    files of interrupted programs in the folder are removed. A device or a pipe, such as
    ``/dev/null``, is written to and stays what it is.

    Raises
    ------
    OSError
        When the folder is missing or cannot be written; an older file of that name is unchanged.
    """
    path = Path(path)
    # These are False for invalid names, for which methods of Path raise.
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        path.write_bytes(as_bytes(content))
        return path
    with lock_folder(path.parent):
        remove_leftovers(path.parent)
        temporary = write_temporary(path.parent, as_bytes(content))
        try:
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    return path


def as_bytes(content: str | bytes) -> bytes:
    """Return text as UTF-8; lone surrogates, which UTF-8 cannot encode, become question marks."""
    return content.encode("utf-8", errors="replace") if isinstance(content, str) else content


def write_temporary(folder: Path, data: bytes) -> Path:
    """Write a temporary file in `folder`, to be renamed, and return its path.

    Call this inside :func:`lock_folder`; other programs delete temporary files outside the lock.
    """
    temporary = folder / f"{_TEMPORARY}{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of interrupted programs; call this inside :func:`lock_folder`."""
    for path in folder.glob(f"{_TEMPORARY}*"):
        with contextlib.suppress(OSError):
            path.unlink()


def sync_folder(folder: Path) -> None:
    """Flush the directory entry of `folder` to disk, where the system supports it."""
    with contextlib.suppress(OSError), _open_folder(folder) as handle:
        os.fsync(handle)


@contextlib.contextmanager
def lock_folder(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock on `folder` that excludes other programs for the duration of a block.

    The lock is the operating system's lock on the folder; it ends with the process and creates no
    file. On systems without such locks, the block runs without a lock.

    Parameters
    ----------
    folder : Path
    shared : bool
        Whether to use a read lock, which does not exclude other readers.
    """
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(OSError, ValueError):
                handle = stack.enter_context(_open_folder(folder))
                fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)
