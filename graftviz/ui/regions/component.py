"""The growing region inside Streamlit: one component that loads it once, one that shows it.

The same division as in :mod:`graftviz.ui.grow.player_component`, for the same reason: Streamlit
sends a component's script again with every message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from graftviz.player.assets import region_css, region_javascript

_MOUNT = Path(__file__).parent.parent / "assets" / "mount_region.js"
_KEY = "region_component"
TRIGGERS = ("need", "ask", "rule", "strengths", "moved")
Trigger = Callable[[Mapping[str, Any]], None]


@cache
def _components() -> tuple[Any, Any]:
    """Register both components, once per process."""
    library = (
        f"{region_javascript()}\n"
        f"globalThis.GraftvizRegion.style = {json.dumps(region_css())};\n"
        "export default () => {};\n"
    )
    return (
        st.components.v2.component("graftviz_region_library", js=library),
        st.components.v2.component("graftviz_region", js=_MOUNT.read_text(encoding="utf-8")),
    )


def load_region() -> None:
    """Send the script to the browser; call once per page, outside the fragment that shows it."""
    _components()[0](key="region_library", height=1)


def show_region(message: str, callbacks: Mapping[str, Trigger], *, key: str = _KEY) -> None:
    """Show a region and hand it a message.

    Parameters
    ----------
    message : str
        JSON, see :func:`graftviz.ui.regions.live.region_message`.
    callbacks : mapping
        Called, before the fragment that shows the region runs again, with what the browser sent,
        by the names of `TRIGGERS`: what it needs, which variable was clicked, which rule is to
        grow the region, where the strengths were dragged, which step and state are on show. Each
        comes with the `token` of the region it is about.
    key : str
    """

    def passed_on(name: str) -> Callable[[], None]:
        def call() -> None:
            value = st.session_state[key].get(name)
            if isinstance(value, Mapping):
                callbacks[name](value)

        return call

    _components()[1](
        key=key,
        # Bytes are passed through as they are; anything else would be parsed and written again.
        data=message.encode("utf-8", "replace"),
        **{f"on_{name}_change": passed_on(name) for name in TRIGGERS},
    )
