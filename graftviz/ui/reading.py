"""Reading of uploaded files: in a worker process, and once for all runs of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import streamlit as st
from joblib import cpu_count

from graftviz.errors import InputError
from graftviz.formats.model_records import ModelFile
from graftviz.formats.models import may_be_model
from graftviz.sandbox.pool import BusyError, WorkerPool
from graftviz.sandbox.readers import UploadedFile
from graftviz.sandbox.worker import Limits
from graftviz.ui.limits import limits
from graftviz.ui.scheduler import foreground

T = TypeVar("T")


@lru_cache(maxsize=1)
def worker_pool() -> WorkerPool:
    """Return the worker processes that read the uploads of this server."""
    server = limits()
    # Half of the cores stay free for the sessions that play.
    readers = server.readers or max(1, cpu_count() // 2)
    return WorkerPool(Limits(server.read_memory * 1_000_000, server.read_seconds), readers)


def read_files(
    kind: str, files: Iterable[tuple[str, Any | None]], options: Mapping[str, Any] | None = None
) -> Any:
    """Read uploaded files in a worker process.

    Parameters
    ----------
    kind : str
        Key of :data:`graftviz.sandbox.readers.KINDS`.
    files : iterable of (str, binary file or None)
        The role of each file; files that were not uploaded are left out.
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
    with foreground.waiting():
        return worker_pool().read(kind, uploaded, options)


def show_uploaders(prefix: str, uploaders: Sequence[tuple[str, str, list[str]]]) -> list[Any]:
    """Show uploaders of one file each side by side; return the files, None before an upload.

    Parameters
    ----------
    prefix : str
        Prefix of the keys of the uploaders.
    uploaders : sequence of (role, label, file types)
    """
    most = limits().upload_memory
    return [
        column.file_uploader(label, kinds, key=f"{prefix}.{role}", max_upload_size=most)
        for column, (role, label, kinds) in zip(st.columns(len(uploaders)), uploaders, strict=True)
    ]


def upload_model(
    key: str, label: str, most_mb: int, make: Callable[[str, ModelFile], T], **more: Any
) -> T | None:
    """Show an uploader of models, and return the one that was uploaded last.

    Parameters
    ----------
    key : str
        Prefix of the keys of the uploader within the session.
    label : str
    most_mb : int
        Maximum size of a file; less if the server allows less.
    make : callable
        ``make(title, file)`` returns the value of a model; called once per upload.
    **more
        Other arguments of the uploader, such as ``help``.

    Raises
    ------
    InputError
        When the files are refused.
    """
    files = st.file_uploader(
        label,
        ["uai", "graphml", "xml", "json", "zip"],
        accept_multiple_files=True,
        key=f"{key}.files",
        max_upload_size=min(most_mb, limits().upload_memory),
        **more,
    )
    latest = _latest_model(f"{key}.files", files)
    if not latest:
        return None
    models = [file.name for file in latest if not file.name.lower().endswith(".names.json")]
    title = models[0] if len(models) == 1 else "Result folder"

    def read() -> T:
        return make(title, read_files("model", (("model", file) for file in latest)))

    return read_once(f"{key}.read", latest, (), read)


def _latest_model(key: str, files: Sequence[Any]) -> list[Any]:
    """Return the files of the model that was uploaded last.

    An uploader of several files keeps all of them, so a second model is added to the first. Files
    that hold no model, such as names, belong to the model uploaded before or after them.

    Parameters
    ----------
    key : str
        Name of the uploader within the session.
    files : sequence of uploaded file
    """
    batches: list[list[str]] = st.session_state.setdefault(f"{key}.batches", [])
    by_id = {file.file_id: file for file in files}
    batches[:] = [rest for batch in batches if (rest := [i for i in batch if i in by_id])]
    seen = {i for batch in batches for i in batch}
    added = [i for i in by_id if i not in seen]

    def holds_model(batch: list[str]) -> bool:
        return any(may_be_model(by_id[i].name) for i in batch)

    if added and batches and not (holds_model(added) and holds_model(batches[-1])):
        batches[-1] += added
    elif added:
        batches.append(added)
    return [by_id[i] for i in batches[-1]] if batches else []


def read_once(
    key: str, files: Iterable[Any | None], options: tuple[Any, ...], read: Callable[[], T]
) -> T:
    """Return what `read` returned, or raise what it raised, for the same files and options.

    Parameters
    ----------
    key : str
        Name of the reading within the session.
    files : iterable of uploaded file or None
    options : tuple
        Anything else that decides the result.
    read : callable

    Raises
    ------
    InputError
        When the files are refused; a file that is refused is not read again either.
    """
    identity = (*(file.file_id if file else None for file in files), *options)
    if st.session_state.get(key, (None,))[0] != identity:
        value, refusal = None, ""
        with st.spinner("Reading the file…"):
            try:
                value = read()
            except BusyError:  # another time, the file may be read
                raise
            except InputError as error:  # the sentence only: the error refers to the files
                refusal = str(error)
        st.session_state[key] = identity, value, refusal
    found: tuple[Any, T, str] = st.session_state[key]
    if found[2]:
        raise InputError(found[2])
    return found[1]
