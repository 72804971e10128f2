"""A Plotly figure in the page, and its files: HTML, CSV, and SVG from the figure's own toolbar."""

from __future__ import annotations

from functools import partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from graftviz.app.frame.header import PageFile, file_button
from graftviz.reports.figures.style import figure_csv, figure_html

_FILES = (("html", "Page (HTML, opens offline)", figure_html), ("csv", "Data (CSV)", figure_csv))


def show_figure(figure: go.Figure, key: str, alt: str, **options: Any) -> Any:
    """Show a figure with a menu that saves it.

    Parameters
    ----------
    figure : go.Figure
    key : str
        Of the chart in the session; its files are named after it.
    alt : str
        The figure in words.
    **options
        For ``st.plotly_chart``.

    Returns
    -------
    object
        The return value of ``st.plotly_chart``: the selection, if `options` request one.
    """
    name = key.replace("_", "-")
    event = st.plotly_chart(
        figure,
        key=key,
        alt=alt,
        config={
            "displaylogo": False,
            "modeBarButtons": [["toImage", "resetScale2d"]],
            "toImageButtonOptions": {"format": "svg", "filename": name},
        },
        **options,
    )
    with st.popover("Save figure", key=f"{key}.save", type="tertiary", width="content"):
        for suffix, label, write in _FILES:
            file = PageFile(f"{name}.{suffix}", label, partial(write, figure))
            file_button(file, f"{key}.{suffix}")
        st.caption("The camera in the figure's toolbar saves it as SVG.")
    return event
