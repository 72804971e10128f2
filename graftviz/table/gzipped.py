"""Files compressed by gzip, unpacked in memory up to a limit."""

from __future__ import annotations

import gzip
import io
import zlib

from graftviz.errors import InputError

SUFFIX = ".gz"
_BLOCK = 2**20


def is_gzipped(name: str) -> bool:
    """Return whether a file of that name is compressed by gzip."""
    return name.lower().endswith(SUFFIX)


def without_suffix(name: str) -> str:
    """Return the name of the file inside: without ".gz" at the end."""
    return name[: -len(SUFFIX)] if is_gzipped(name) else name


def unzipped(data: bytes, title: str, most: int) -> bytes:
    """Return the content of a gzip file.

    Parameters
    ----------
    data : bytes
    title : str
        Name of the file in messages.
    most : int
        Limit in bytes; no more than a block of 1 MB beyond it is unpacked.

    Raises
    ------
    InputError
        If the file is damaged or truncated, or its content is larger.
    """
    content = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while len(content) <= most and (block := file.read(_BLOCK)):
                content += block
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(
            f"{title} is not a complete gzip file ({problem}); download it again."
        ) from None
    if len(content) > most:
        raise InputError(
            f"{title} unpacks to more than the limit of {most / 1e6:.1f} MB; use fewer rows or "
            "columns."
        )
    return bytes(content)
