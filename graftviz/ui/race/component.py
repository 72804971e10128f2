"""The race inside Streamlit: one component that loads it once, one that shows it.

The same division as in :mod:`graftviz.ui.grow.player_component`, for the same reason: Streamlit
sends a component's script again with every message.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from graftviz.player.assets import race_css, race_javascript
from graftviz.ui.race.url import END

_MOUNT = Path(__file__).parent.parent / "assets" / "mount_race.js"
_KEY = "race_component"
Trigger = Callable[[Mapping[str, Any]], None]


@cache
def _components() -> tuple[Any, Any]:
    """Register both components, once per process."""
    library = (
        f"{race_javascript()}\n"
        f"globalThis.GraftvizRace.style = {json.dumps(race_css())};\n"
        "export default () => {};\n"
    )
    return (
        st.components.v2.component("graftviz_race_library", js=library),
        st.components.v2.component("graftviz_race", js=_MOUNT.read_text(encoding="utf-8")),
    )


def load_race() -> None:
    """Send the script to the browser; call once per page, outside the fragment that shows it."""
    _components()[0](key="race_library", height=1)


def show_race(message: str, *, on_need: Trigger, on_moved: Trigger, key: str = _KEY) -> None:
    """Show the race and hand it a message.

    Parameters
    ----------
    message : str
        JSON, see :func:`race_message`.
    on_need, on_moved : callable
        Called, before the fragment that shows the race runs again, with what the browser sent:
        ``{race, wants: [[run, from, count], …]}`` (and ``header`` when it does not know the race),
        and ``{race, axis, at}`` (to say which place is on show).
    key : str
    """

    def passed_on(name: str, callback: Trigger) -> Callable[[], None]:
        def call() -> None:
            # Nothing is left of the component when its message comes after the page was left.
            value = (st.session_state.get(key) or {}).get(name)
            if isinstance(value, Mapping):
                callback(value)

        return call

    _components()[1](
        key=key,
        # Bytes are passed through as they are; anything else would be parsed and written again.
        data=message.encode("utf-8", "replace"),
        on_need_change=passed_on("need", on_need),
        on_moved_change=passed_on("moved", on_moved),
    )


def _place_json(axis: str, at: float) -> str:
    return json.dumps({"axis": axis, "at": END if math.isinf(at) else at})


def race_message(
    race: str,
    *,
    header: str | None = None,
    place: tuple[str, float] | None = None,
    runs: Iterable[tuple[str | None, str]] = (),
    failures: Mapping[str, str] | None = None,
    replies: bool = False,
) -> str:
    """Put JSON texts together to the message that ``assets/mount_race.js`` reads.

    Parameters
    ----------
    race : str
        Token of the race that is to be shown.
    header : str or None
        None when the browser is believed to have it; it asks if not.
    place : (str, float) or None
        Axis and position where a new mount point opens.
    runs : iterable of (str or None, str)
        What is known of a run after its first step, and a feed of it.
    failures : mapping
        Token of a run → why it stopped before its end.
    replies : bool
        Whether this answers a `need`.
    """
    feeds = ",".join(f'{{"head":{head or "null"},"feed":{feed}}}' for head, feed in runs)
    parts = {
        "race": json.dumps(race),
        "header": header,
        "place": None if place is None else _place_json(*place),
        "feeds": f"[{feeds}]",
        "failures": json.dumps(dict(failures or {}), ensure_ascii=False),
        "replies": json.dumps(replies),
    }
    return "{" + ",".join(f'"{k}":{text}' for k, text in parts.items() if text is not None) + "}"
