"""The button that begins the tour of the Grow page; everything else of it is in the browser."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from graftviz.narrative.tour import tour_records
from graftviz.ui.teaching import takes_tour

_SCRIPT = Path(__file__).parent.parent / "assets" / "tour.js"


@cache
def _component() -> Any:
    return st.components.v2.component("graftviz_tour", js=_SCRIPT.read_text(encoding="utf-8"))


def show_tour() -> None:
    """Show the button. The tour never speaks to the server, so no run of the page disturbs it."""
    _component()(
        key="tour",
        data={"stops": tour_records(), "start": takes_tour()},
        width="content",
        height="content",
    )
