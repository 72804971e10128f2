"""Files that were brought are read once: not again in every run of the page they lie on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import streamlit as st

T = TypeVar("T")


class _Remembered(NamedTuple):
    asked: tuple[Any, ...]
    value: Any


def read_once(
    key: str, files: Iterable[Any | None], how: tuple[Any, ...], read: Callable[[], T]
) -> T:
    """Return what `read` returned when it was called last, if for the same files.

    Parameters
    ----------
    key : str
        Under which this session remembers it.
    files : iterable of uploaded file or None
    how : tuple
        What else decides the result.
    read : callable
        What it raises goes through, and nothing new is remembered.
    """
    asked = (*(file.file_id if file else None for file in files), *how)
    remembered: _Remembered | None = st.session_state.get(key)
    if remembered is None or remembered.asked != asked:
        remembered = _Remembered(asked, read())
        st.session_state[key] = remembered
    value: T = remembered.value
    return value
