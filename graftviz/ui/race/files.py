"""Files of the displayed race, built on request."""

from __future__ import annotations

import time

from graftviz.figures import figure_html, race_figure
from graftviz.formats.race_csv import race_csv
from graftviz.racing import Race
from graftviz.ui.race.state import RaceState

PATIENCE = 120.0  # seconds a download waits for the end of the race; then it holds what there is


def build_race_csv(state: RaceState) -> str:
    """Let the race finish (or run out of patience) and return its data."""
    race = _finished(state)
    return "" if race is None else race_csv(race, state.settings.axis)


def build_race_html(state: RaceState) -> str:
    """Let the race finish (or run out of patience) and return its curves and winners as a page."""
    race, title = _finished(state), state.material.title if state.material is not None else ""
    return "" if race is None else figure_html(race_figure(race, title, state.settings.axis))


def _finished(state: RaceState) -> Race | None:
    until = time.monotonic() + PATIENCE
    runs = [entry.run for entry in state.entries if entry.run is not None]
    for run in runs:
        run.grant()
    for run in runs:
        run.wait_for_end(max(0.0, until - time.monotonic()))
    return state.race()
