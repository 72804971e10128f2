"""Two models beside each other: what they share, listed, and how strong it is in each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from graftviz.figures import norms_figure
from graftviz.inspection import ModelDifference
from graftviz.inspection.difference import COMMON, GAINED, LOST
from graftviz.narrative.inspection import difference_words
from graftviz.ui.boundary import guarded
from graftviz.ui.chart import show_figure
from graftviz.ui.frame.texts import plain
from graftviz.ui.inspect.state import InspectState
from graftviz.ui.inspect.tables import NORM_HELP

_KINDS = {COMMON: "in both", LOST: "only in the first", GAINED: "only in the second"}
_KEY = "inspect.table.difference"


def difference_frame(difference: ModelDifference, names: tuple[str, ...]) -> pd.DataFrame:
    """Return a row per edge of either model."""
    return pd.DataFrame(
        {
            "source": [names[i] for i in difference.edges[:, 0].tolist()],
            "target": [names[j] for j in difference.edges[:, 1].tolist()],
            "where": [_KINDS[status] for status in difference.status],
            "first": _shown_norms(difference.first, difference.numbers[:, 0]),
            "second": _shown_norms(difference.second, difference.numbers[:, 1]),
        }
    )


def _shown_norms(norms: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return norms with NaN for an edge the model lacks, and where a potential is zero."""
    shown: np.ndarray = np.where((numbers >= 0) & np.isfinite(norms), norms, np.nan)
    return shown


def show_comparison(state: InspectState, difference: ModelDifference | None, trouble: str) -> None:
    """Show how the second model differs from the first."""
    first, second = state.first.loaded, state.second.loaded
    if trouble:
        st.error(plain(trouble))
        return
    if difference is None or first is None or second is None:
        st.caption("Choose the model to compare with in the side bar.")
        return
    words = difference_words(difference)
    st.markdown(plain(f"{words} {difference.note}".strip()))
    st.caption(plain(f"First: {first.title}. Second: {second.title}."))
    listed, drawn = st.columns([6, 5], gap="medium")
    with listed:
        _show_table(state, difference, first.model.names)
    with drawn:
        show_figure(
            norms_figure(difference, first.model.names, "the first", "the second"),
            key="inspect_norms",
            alt=f"Weight norms in both models, a point per edge. {words}",
        )


def _show_table(state: InspectState, difference: ModelDifference, names: tuple[str, ...]) -> None:
    kinds = st.pills(
        "Show edges",
        tuple(_KINDS.values()),
        selection_mode="multi",
        default=tuple(_KINDS.values()),
        key="inspect.difference.kinds",
        label_visibility="collapsed",
    )
    frame = difference_frame(difference, names)
    rows = np.flatnonzero(frame["where"].isin(kinds).to_numpy())

    def select() -> None:
        chosen = st.session_state[_KEY]["selection"]["rows"]
        if chosen:
            i, j = difference.edges[rows[chosen[0]]].tolist()
            if state.edge_number((i, j)) is None:
                state.select_node(i)  # the first model has no such edge to look at
            else:
                state.select_edge(i, j)

    st.dataframe(
        frame.iloc[rows],
        key=_KEY,
        hide_index=True,
        height=360,
        column_config={
            "source": st.column_config.TextColumn("Variable 1"),
            "target": st.column_config.TextColumn("Variable 2"),
            "where": st.column_config.TextColumn("Edge", width="small"),
            "first": st.column_config.NumberColumn(
                "First ‖w‖", help=NORM_HELP, format="%.3f", width="small"
            ),
            "second": st.column_config.NumberColumn(
                "Second ‖w‖", help=NORM_HELP, format="%.3f", width="small"
            ),
        },
        placeholder="–",
        on_select=guarded(select),
        selection_mode="single-row",
        alt="Edges of both models",
    )
