"""The live player inside Streamlit: one component that loads it once, one that shows it.

Streamlit sends a component's script again with every message. The player is a hundred kilobytes, so
it travels by itself, in a component without data that is sent once; the component that shows runs
carries only the glue of ``assets/mount.js``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from graftviz.player.assets import player_css, player_javascript

_MOUNT = Path(__file__).parent.parent / "assets" / "mount.js"
_KEY = "player"
Trigger = Callable[[Mapping[str, Any]], None]


@cache
def _components() -> tuple[Any, Any]:
    """Register both components, once per process."""
    library = (
        f"{player_javascript()}\n"
        f"globalThis.GraftvizPlayer.style = {json.dumps(player_css())};\n"
        "export default () => {};\n"
    )
    return (
        st.components.v2.component("graftviz_library", js=library),
        st.components.v2.component("graftviz_player", js=_MOUNT.read_text(encoding="utf-8")),
    )


def load_player() -> None:
    """Send the player to the browser; call once per page, outside the fragment that shows it."""
    _components()[0](key="player_library", height=1)


def show_player(
    message: str,
    *,
    on_need: Trigger,
    on_ask: Trigger,
    on_beside: Trigger,
    on_branch: Trigger,
    on_moved: Trigger,
    key: str = _KEY,
) -> None:
    """Show the player and hand it a message.

    Parameters
    ----------
    message : str
        JSON, see :func:`player_message`.
    on_need, on_ask, on_beside, on_branch, on_moved : callable
        Called, before the fragment that shows the player runs again, with what the browser sent:
        ``{run, from, count}`` (and ``header`` when it does not know the run), a question with its
        ``run``, ``{run, from}`` (what is missing of the run shown beside), and ``{run, t}`` (to
        branch at step t; to say that step t is on show).
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
        on_ask_change=passed_on("ask", on_ask),
        on_beside_change=passed_on("beside", on_beside),
        on_branch_change=passed_on("branch", on_branch),
        on_moved_change=passed_on("moved", on_moved),
    )


def player_message(
    run: str,
    *,
    header: str | None = None,
    step: int | None = None,
    feed: str | None = None,
    answer: str | None = None,
    ghost: tuple[str, str] | None = None,
    stability: str | None = None,
    late: str | None = None,
) -> str:
    """Put JSON texts together to the message that ``assets/mount.js`` reads.

    Parameters
    ----------
    run : str
        Token of the run that is to be shown.
    header : str or None
        None when the browser is believed to have it; it asks if not.
    step : int or None
        Where a new mount point opens.
    feed, answer : str or None
    ghost : pair of str or None
        Header and feed of the run to show beside it.
    stability : str or None
        How often every pair was found, see ``stabilise`` in docs/player.md.
    late : str or None
        Feed of the run that is shown beside already.
    """
    parts = {
        "run": json.dumps(run),
        "header": header,
        "step": None if step is None else str(step),
        "feed": feed,
        "answer": answer,
        "ghost": f'{{"header":{ghost[0]},"feed":{ghost[1]}}}' if ghost else None,
        "stability": stability,
        "late": late,
    }
    given = (f'"{name}":{text}' for name, text in parts.items() if text is not None)
    return "{" + ",".join(given) + "}"
