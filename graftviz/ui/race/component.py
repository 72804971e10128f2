"""The race inside Streamlit, and the messages it is fed with."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from graftviz.player.assets import race_css, race_javascript
from graftviz.ui.mounted import MountedView
from graftviz.ui.race.url import END

RACE = MountedView("race", "GraftvizRace", race_javascript, race_css)


def _place_json(axis: str, at: float) -> str:
    return json.dumps({"axis": axis, "at": END if math.isinf(at) else at})


def race_message(
    race: str,
    *,
    header: str | None = None,
    place: tuple[str, float] | None = None,
    feeds: str = "[]",
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
    feeds : str
        What is known of runs after their first step, and feeds of them.
    failures : mapping
        Token of a run → why it stopped before its end.
    replies : bool
        Whether this answers a `need`.
    """
    parts = {
        "race": json.dumps(race),
        "header": header,
        "place": None if place is None else _place_json(*place),
        "feeds": feeds,
        "failures": json.dumps(dict(failures or {}), ensure_ascii=False),
        "replies": json.dumps(replies),
    }
    return "{" + ",".join(f'"{k}":{text}' for k, text in parts.items() if text is not None) + "}"
