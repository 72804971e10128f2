"""The live player inside Streamlit, and the messages it is fed with."""

from __future__ import annotations

import json

from graftviz.player.assets import player_css, player_javascript
from graftviz.ui.mounted import MountedView

PLAYER = MountedView("player", "GraftvizPlayer", player_javascript, player_css)


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
    """Put JSON texts together to the message that ``assets/mount_player.js`` reads.

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
    pairs = (f'"{name}":{text}' for name, text in parts.items() if text is not None)
    return "{" + ",".join(pairs) + "}"
