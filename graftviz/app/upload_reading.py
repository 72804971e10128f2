"""Reading of uploaded files: in another process, and once for all runs of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import streamlit as st

from graftviz.app.reader_process import BusyError, Reader
from graftviz.app.upload_readers import UploadedFile
from graftviz.utils.errors import InputError

T = TypeVar("T")


@dataclass
class _Reading:
    """Identity and value of the files that were read last, and the sentence if they are refused."""

    result: tuple[tuple[Any, ...], Any, str] | None = None


@st.cache_resource(show_spinner=False)
def reader() -> Reader:
    """Return the processes that read the uploads of this server."""
    return Reader()


def read_files(
    kind: str, files: Iterable[tuple[str, Any | None]], options: Mapping[str, Any] | None = None
) -> Any:
    """Read uploaded files in another process.

    Parameters
    ----------
    kind : str
        Key of :data:`graftviz.app.upload_readers.KINDS`.
    files : iterable of (str, binary file or None)
        The role of each uploaded file.
    options : mapping, optional
        Arguments of the reader.

    Raises
    ------
    InputError
        When the files are refused.
    """
    uploaded = [
        UploadedFile(role, str(getattr(file, "name", "")), file.getvalue())
        for role, file in files
        if file is not None
    ]
    return reader().read(kind, uploaded, options or {})


def read_once(
    key: str,
    files: Iterable[tuple[str, Any | None]],
    options: tuple[Any, ...],
    read: Callable[[], T],
) -> T:
    """Return the result of `read`, or raise its error again, for the same files and options.

    Parameters
    ----------
    key : str
        Name of the reading within the session.
    files : iterable of (str, uploaded file or None)
    options : tuple
        Anything else that decides the result.
    read : callable

    Raises
    ------
    InputError
        When the files are refused; a file that is refused is not read again either.
    """
    identity = (*(file.file_id if file else None for _, file in files), *options)
    # One holder that changes: Streamlit holds a replaced value until the next run of the page.
    reading: _Reading = st.session_state.setdefault(key, _Reading())
    found: tuple[tuple[Any, ...], Any, str] | None = reading.result
    if found is None or found[0] != identity:
        reading.result = found = None
        with st.spinner("Reading the file…"):
            try:
                found = identity, read(), ""
            except BusyError:  # another time, the file may be read
                raise
            except InputError as error:  # the sentence only: the error refers to the files
                found = identity, None, str(error)
            reading.result = found
    if found[2]:
        raise InputError(found[2])
    return cast(T, found[1])
