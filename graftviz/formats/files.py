"""Files read whole with a sentence for each error, and written whole or not at all."""

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
        When it is missing, cannot be read, or is larger than any model of ours.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with NUL or a lone surrogate
        reason = getattr(error, "strerror", None) or "no file can have such a name"
        raise InputError(f"{shortened(str(path))} cannot be read: {reason}.") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path.name} is larger than {MAX_BYTES // 1_000_000} MB.")
    return content


def write_whole(path: Path | str, content: str | bytes) -> Path:
    """Write `content` (text as UTF-8, line ends untouched) so that no reader sees half of it.

    The content goes to a temporary file beside `path`, which is then renamed. Temporary files of
    interrupted programs in the same folder are removed.

    Raises
    ------
    OSError
        When the folder is missing or cannot be written; an older file of that name is then intact.
    """
    path = Path(path)
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
    """Return text as UTF-8; a lone surrogate, which no file can hold, becomes a question mark."""
    return content.encode("utf-8", errors="replace") if isinstance(content, str) else content


def write_temporary(folder: Path, data: bytes) -> Path:
    """Write a temporary file in `folder`, to be renamed, and return its path.

    Call this inside :func:`lock_folder`: outside, a temporary file is a leftover.
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
    """Make renamed files in `folder` survive a loss of power, where the system can do that."""
    with contextlib.suppress(OSError), _opened(folder) as handle:
        os.fsync(handle)


@contextlib.contextmanager
def lock_folder(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Wait for other programs that write to `folder`, and exclude them for the time of a block.

    The lock is one of the system on the folder itself; it ends with the process, and leaves no
    file behind. Systems without such locks go on without.

    Parameters
    ----------
    folder : Path
    shared : bool
        For reading: other readers are not excluded.
    """
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(OSError, ValueError):
                handle = stack.enter_context(_opened(folder))
                fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)
