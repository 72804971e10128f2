"""Tables of the Inspect page: variables, edges, effect of the evidence, and comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from graftviz.figures import change_figure, norms_figure
from graftviz.inference import Beliefs
from graftviz.inspection import (
    ModelDifference,
    degree_ranks,
    entropies,
    mutual_informations,
    strongest_partners,
    total_variations,
)
from graftviz.inspection.difference import COMMON, GAINED, LOST
from graftviz.model import PairwiseMRF
from graftviz.narrative.inspection import difference_words
from graftviz.narrative.phrases import plural, short
from graftviz.ui.boundary import guarded
from graftviz.ui.chart import show_figure
from graftviz.ui.frame.texts import plain
from graftviz.ui.inspect.state import InspectState

_KINDS = {COMMON: "in both", LOST: "only in the first", GAINED: "only in the second"}
_KEY = "inspect.table.difference"

_HEIGHT = 380
_MOST_CHANGED = 12
NORM_HELP = (
    "Norm of the log potentials once rows and columns sum to zero; empty where a potential is zero"
)
_COLUMN = st.column_config


def node_frame(
    model: PairwiseMRF, before: Beliefs | None = None, after: Beliefs | None = None
) -> pd.DataFrame:
    """Return the table of variables, in the order of the model."""
    information = None if before is None else mutual_informations(before.edge)
    best = strongest_partners(model, information)
    norms = finite_norms(model)
    other = [
        "" if e < 0 else model.names[int(model.edges[e].sum()) - i] for i, e in enumerate(best)
    ]
    frame = pd.DataFrame(
        {
            "variable": list(model.names),
            "degree": model.degrees(),
            "rank": degree_ranks(model),
        }
    )
    for title, beliefs in (("marginal", before), ("posterior", after)):
        if beliefs is not None:
            frame[title] = [marginal.tolist() for marginal in beliefs.node]
            frame[f"{title}: most likely"] = _most_likely(model, beliefs)
    if before is not None and after is not None:
        frame["change"] = total_variations(before.node, after.node)
    shown = after if after is not None else before
    if shown is not None:
        frame["entropy"] = entropies(shown.node)
    frame["strongest partner"] = other
    frame["weight"] = [float(norms[e]) if e >= 0 else None for e in best.tolist()]
    frame["states"] = model.cardinalities
    return frame


def edge_frame(model: PairwiseMRF, beliefs: Beliefs | None = None) -> pd.DataFrame:
    """Return the table of edges, in the order of the model."""
    frame = pd.DataFrame(
        {
            "source": [model.names[i] for i in model.edges[:, 0].tolist()],
            "target": [model.names[j] for j in model.edges[:, 1].tolist()],
            "weight": finite_norms(model),
        }
    )
    if beliefs is not None:
        frame["mutual information"] = mutual_informations(beliefs.edge)
    return frame


def finite_norms(model: PairwiseMRF) -> np.ndarray:
    """Return the norms of all edges, with NaN where a zero potential makes them infinite."""
    norms = model.edge_norms()
    return np.where(np.isfinite(norms), norms, np.nan)


def strongest_first(model: PairwiseMRF, beliefs: Beliefs | None) -> np.ndarray:
    """Return the edges by falling mutual information; by falling norm without marginals."""
    strengths = model.edge_norms() if beliefs is None else mutual_informations(beliefs.edge)
    return np.argsort(-strengths, kind="stable")


def _most_likely(model: PairwiseMRF, beliefs: Beliefs) -> list[str]:
    best = [(int(np.argmax(marginal)), float(marginal.max())) for marginal in beliefs.node]
    return [
        f"{short(labels[k])} ({p:.2f})" for labels, (k, p) in zip(model.labels, best, strict=True)
    ]


def matching(names: Sequence[Sequence[str]], pattern: str) -> np.ndarray:
    """Return the rows in whose names `wanted` occurs, in whatever case."""
    text = pattern.strip().casefold()
    rows = zip(*names, strict=True)
    found = [k for k, row in enumerate(rows) if any(text in name.casefold() for name in row)]
    return np.array(found, dtype=np.int64)


def show_nodes(state: InspectState, before: Beliefs | None, after: Beliefs | None) -> None:
    """Show the table of variables; a row that is selected selects its node."""
    assert state.loaded is not None
    model = state.loaded.model
    frame = node_frame(model, before, after)
    rows = _searched(frame, ("variable",), "inspect.search.nodes", "Search variables")
    config = {
        "variable": _COLUMN.TextColumn("Variable", pinned=True),
        "states": _COLUMN.NumberColumn("States", width="small"),
        "degree": _COLUMN.NumberColumn("Degree", width="small"),
        "rank": _COLUMN.NumberColumn("Rank", help="Rank by degree", width="small"),
        "strongest partner": _COLUMN.TextColumn(
            "Strongest partner", help="By mutual information without evidence"
        ),
        "weight": _COLUMN.NumberColumn("Partner ‖w‖", help=NORM_HELP, format="%.3f", width="small"),
        "marginal": _bars("Marginal"),
        "marginal: most likely": _COLUMN.TextColumn("Most likely"),
        "posterior": _bars("Posterior"),
        "posterior: most likely": _COLUMN.TextColumn("Most likely (posterior)"),
        "entropy": _COLUMN.NumberColumn(
            "Entropy", help="In nats; conditional on the evidence, if any", format="%.3f"
        ),
        "change": _COLUMN.NumberColumn(
            "Change",
            help="Total variation distance: half the sum of absolute changes",
            format="%.3f",
        ),
    }
    chosen = None if state.node is None else np.flatnonzero(rows == state.node)
    _selectable(
        frame.iloc[rows],
        config,
        "inspect.table.nodes",
        "All variables of the model",
        None if chosen is None or not len(chosen) else int(chosen[0]),
        lambda row: state.select_node(None if row is None else int(rows[row])),
    )


def show_edges(state: InspectState, beliefs: Beliefs | None) -> None:
    """Show the table of edges; a row that is selected selects its edge."""
    assert state.loaded is not None
    model = state.loaded.model
    if model.n_edges == 0:
        st.caption("This model has no edges.")
        return
    frame = edge_frame(model, beliefs)
    order = strongest_first(model, beliefs)
    found = _searched(
        frame.iloc[order], ("source", "target"), "inspect.search.edges", "Search edges"
    )
    rows = order[found]
    config = {
        "source": _COLUMN.TextColumn("Variable 1"),
        "target": _COLUMN.TextColumn("Variable 2"),
        "weight": _COLUMN.NumberColumn("‖w‖", help=NORM_HELP, format="%.3f"),
        "mutual information": _COLUMN.NumberColumn(
            "Mutual information",
            help="In nats; conditional on the evidence, if any",
            format="%.4f",
        ),
    }
    number = None if state.edge is None else state.edge_number(state.edge)
    chosen = np.flatnonzero(rows == number) if number is not None else np.zeros(0)

    def select(row: int | None) -> None:
        if row is None:
            state.select_node(None)
        else:
            i, j = model.edges[rows[row]].tolist()
            state.select_edge(i, j)

    _selectable(
        frame.iloc[rows],
        config,
        "inspect.table.edges",
        "All edges of the model",
        int(chosen[0]) if len(chosen) else None,
        select,
    )


def show_changed(state: InspectState, before: Beliefs, after: Beliefs) -> None:
    """Show the variables whose marginals the evidence changes most."""
    assert state.loaded is not None
    model = state.loaded.model
    change = total_variations(before.node, after.node)
    order = [i for i in np.argsort(-change, kind="stable").tolist() if i not in state.evidence]
    moved = [i for i in order if change[i] > 1e-9]
    if not moved:
        st.caption("The evidence changes no other variable.")
        return
    shown = moved[:_MOST_CHANGED]
    # The state whose probability changed most.
    states = [int(np.argmax(np.abs(after.node[i] - before.node[i]))) for i in shown]
    starts = [float(before.node[i][k]) for i, k in zip(shown, states, strict=True)]
    ends = [float(after.node[i][k]) for i, k in zip(shown, states, strict=True)]
    i, k = shown[0], states[0]
    words = (
        f"{plural(len(moved), 'variable')} changed. Largest change: {short(model.names[i])}, "
        f"p({short(model.labels[i][k])}) from {starts[0]:.2f} to {ends[0]:.2f}."
    )
    st.markdown(plain(words))
    show_figure(change_figure(model, shown, starts, ends, states), key="inspect_changed", alt=words)


def _bars(title: str) -> Any:
    return _COLUMN.BarChartColumn(title, y_min=0.0, y_max=1.0, width="small")


def _searched(
    frame: pd.DataFrame, columns: Sequence[str], key: str, placeholder: str
) -> np.ndarray:
    """Show a field to search in and return the rows that match."""
    text = st.text_input(
        placeholder, key=key, placeholder=placeholder, label_visibility="collapsed"
    )
    rows = matching([frame[column].tolist() for column in columns], text)
    if text:
        st.caption(f"{len(rows):,} of {len(frame):,}")
    return rows


def _selectable(
    frame: pd.DataFrame,
    config: Mapping[str, Any],
    key: str,
    alt: str,
    chosen: int | None,
    on_select: Callable[[int | None], None],
) -> None:
    """Show a table of which one row can be selected; `chosen` is selected already."""

    def changed() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        on_select(rows[0] if rows else None)

    chosen_rows = [] if chosen is None else [chosen]
    selected: Any = {"selection": {"rows": chosen_rows, "columns": [], "cells": []}}
    if key in st.session_state and st.session_state[key]["selection"]["rows"] != chosen_rows:
        st.session_state[key] = selected
    st.dataframe(
        frame,
        key=key,
        hide_index=True,
        height=min(_HEIGHT, 40 + 35 * max(1, len(frame))),
        column_config=config,
        placeholder="–",
        on_select=guarded(changed),
        selection_mode="single-row",
        selection_default=selected,
        alt=alt,
    )


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
