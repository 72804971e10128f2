"""Look-ups of single keys in Streamlit's session state, without a copy of all of it.

Each number input, select box, slider and radio button reads one key of
``SafeSessionState.filtered_state``, and Streamlit builds a dictionary of the whole session state
for it: eighteen dictionaries of sixty values in one run of the Grow page, a quarter of its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamlit.runtime.state.safe_session_state import SafeSessionState


class SessionValues(Mapping[str, Any]):
    """Read-only view of the session state under the keys that pages use.

    Parameters
    ----------
    state : SafeSessionState
    """

    def __init__(self, state: SafeSessionState) -> None:
        self._state = state

    def __getitem__(self, key: str) -> Any:
        with self._state._lock:
            return self._state._state[key]

    def __contains__(self, key: object) -> bool:
        with self._state._lock:
            return key in self._state._state

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def _all(self) -> dict[str, Any]:
        with self._state._lock:
            return self._state._state.filtered_state


def look_up_single_keys() -> None:
    """Let Streamlit's widgets look up the key they read; where its names differ, change nothing.

    Streamlit has no public way to do this.
    """
    if isinstance(getattr(SafeSessionState, "filtered_state", None), property):
        SafeSessionState.filtered_state = property(SessionValues)  # type: ignore[assignment, method-assign]
