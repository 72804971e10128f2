"""Page with the player, served by a script in the page instead of by the app."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graftviz.reports.replay.bundle import view_script, view_style

_SERVER = Path(__file__).with_name("server.js")
Output = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any] | None]


def served_page(runs: Iterable[Output]) -> str:
    """Return an HTML page whose ``server`` serves the given runs by their tokens."""
    by_token = {
        header["run"]: {"header": header, "records": records, "outcome": outcome}
        for header, records, outcome in runs
    }
    data = json.dumps(by_token).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>player</title>'
        '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">'
        f"<style>body{{margin:12px}}{view_style('player')}</style>"
        '<label>elsewhere <input id="elsewhere"></label><div id="player"></div>'
        f'<script type="application/json" id="runs">{data}</script>'
        f"<script>{view_script('player')}</script>"
        f"<script>{_SERVER.read_text(encoding='utf-8')}</script>"
    )
