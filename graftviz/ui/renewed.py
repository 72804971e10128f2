"""Keys of controls whose value may also change elsewhere while they are folded away.

A control in a closed popover is not in the browser's page. It misses the value that the server sets
and sends its own old one with the next message, as if it had been chosen again. So a control
whose value was changed elsewhere is replaced by a new one under another key.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

_NUMBERS = "renewed.numbers"


def key_that_shows(name: str, value: Any) -> str:
    """Return the key of a control, a new one if the present control has another value."""
    numbers: dict[str, int] = st.session_state.setdefault(_NUMBERS, {})
    key = _key(name, numbers.get(name, 0))
    if key in st.session_state and st.session_state[key] != value:
        numbers[name] = numbers.get(name, 0) + 1
        key = _key(name, numbers[name])
    return key


def is_current(name: str, key: str) -> bool:
    """Return whether a key still belongs to the control that is shown."""
    numbers: dict[str, int] = st.session_state.get(_NUMBERS, {})
    return key == _key(name, numbers.get(name, 0))


def _key(name: str, number: int) -> str:
    return f"{name}.r{number}" if number else name
