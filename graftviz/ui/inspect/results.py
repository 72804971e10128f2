"""Results of the Inspect page: graph, selected node or edge, tables, and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from graftviz import inspection
from graftviz.figures import change_figure, degree_figure, edge_figure, node_figure, norms_figure
from graftviz.formats.gexf import model_gexf
from graftviz.formats.graphml import model_graphml
from graftviz.formats.model_tables import marginals_csv, model_edges_csv
from graftviz.formats.node_link import node_link_json
from graftviz.formats.svg import graph_svg
from graftviz.formats.uai import names_text, uai_text
from graftviz.formats.uai_results import mar_text
from graftviz.inference import Beliefs
from graftviz.inspection import ModelDifference, mutual_informations
from graftviz.inspection.difference import COMMON, GAINED, LOST
from graftviz.model import PairwiseMRF
from graftviz.narrative import inspection as narrative
from graftviz.narrative.phrases import pair, plural, short
from graftviz.ui.boundary import guarded
from graftviz.ui.chart import show_figure
from graftviz.ui.controls import replaceable
from graftviz.ui.frame.header import PageFile
from graftviz.ui.frame.panels import show_until
from graftviz.ui.frame.texts import plain
from graftviz.ui.frame.view import INSPECT
from graftviz.ui.inspect.state import InspectState, Shown
from graftviz.ui.session_run import to_json

_SQUARE = 1.5  # a computed layout may be stretched this far to fill its place; a map is not
_KINDS = {COMMON: "in both", LOST: "only in the first", GAINED: "only in the second"}
_PARTNERS = 8
_MOST_CHANGED = 12
_MOST_PILLS = 10  # states that are offered as buttons; more in a list
_LONGEST_STATE = 18
_HEIGHT = 380
_NORM_HELP = (
    "Norm of the log potentials once rows and columns sum to zero; empty where a potential is zero"
)
_MIMES = {
    "json": "application/json",
    "graphml": "application/xml",
    "gexf": "application/xml",
    "svg": "image/svg+xml",
    "csv": "text/csv",
}
_GIVEN = "In nats; conditional on the evidence, if any"


def show_button(label: str, key: str, act: Callable[..., object], *args: Any, **look: Any) -> None:
    """Show a button that calls a function with arguments before the page is drawn again."""
    st.button(label, key=key, on_click=guarded(act), args=args, **look)


# ---------------------------------------------------------------------------------------- graph


def show_graph(state: InspectState, shown: Shown) -> None:
    """Show the graph; a click selects a node or an edge."""
    INSPECT.show(graph_message(state, shown), {"picked": partial(select_picked, state)})
    if shown.picture.note:
        st.caption(plain(shown.picture.note))


def select_picked(state: InspectState, picked: Mapping[str, Any]) -> None:
    """Select the clicked node or edge; clicks on a graph no longer shown are ignored."""
    loaded = state.loaded
    if loaded is None or not str(picked.get("token", "")).startswith(loaded.fingerprint):
        return
    edge = picked.get("edge")
    ends: list[Any] = edge if isinstance(edge, list) and len(edge) == 2 else [picked.get("node")]
    n = loaded.model.n_variables
    exist = all(isinstance(end, int | float) and 0 <= end < n for end in ends)
    state.select(*map(int, ends if exist else ()))


def graph_message(state: InspectState, shown: Shown) -> str:
    """Return the JSON text that ``player/assets/inspect/inspect.js`` reads.

    Its token is that of the graph: with another one the whole picture comes into view.
    """
    model, picture, selection = shown.model, shown.picture, state.selection
    nodes = picture.nodes.tolist()
    values = picture.degrees / max(1, int(picture.degrees.max(initial=1)))
    low, high = "low degree", "high"
    if shown.before is not None and shown.after is not None:
        change = inspection.total_variations(shown.before.node, shown.after.node)
        others = np.delete(change, list(state.evidence))
        largest = max(float(others.max(initial=0.0)), 1e-12)
        values = np.clip(change[nodes] / largest, 0.0, 1.0)
        low, high = "unchanged by the evidence", f"changed most ({largest:.2f})"
    tips = [""] * len(nodes)
    if shown.latest is not None:
        best = _most_likely(model, shown.latest)
        tips = [f"{label} {p:.2f}" for label, p in (best[i] for i in nodes)]
    words = f"Graph of {shown.loaded.title}: {narrative.model_words(model)}."
    if state.evidence:
        words += f" Observed: {narrative.evidence_words(model, state.evidence)}."
    if shown.difference is not None:
        words += f" {narrative.difference_words(shown.difference)}"
    kind = ("", "node", "edge")[len(selection)]
    region = None if state.region is None else state.region.latest
    edges = zip(picture.edges.tolist(), picture.strengths.tolist(), picture.styles, strict=True)
    message = {
        "token": f"{shown.loaded.fingerprint}.{picture.centre}",
        "nodes": nodes,
        "names": [model.names[i] for i in nodes],
        "places": np.round(picture.places, 1).tolist(),
        "degrees": picture.degrees.tolist(),
        "values": np.round(values, 4).tolist(),
        "tips": tips,
        "edges": [[*ends, round(strength, 4), style] for ends, strength, style in edges],
        "observed": {str(i): model.labels[i][k] for i, k in state.evidence.items()},
        "region": [] if region is None else region.nodes.tolist(),
        "selected": {"kind": kind, **dict(zip("ij", selection, strict=False))} if kind else None,
        "legend": {
            "low": low,
            "high": high,
            "styles": () if shown.difference is None else tuple(_KINDS.items()),
        },
        "stretch": 1.0 if shown.loaded.keeps_shape else _SQUARE,
        "alt": words,
    }
    return to_json(message)


def _most_likely(model: PairwiseMRF, beliefs: Beliefs) -> list[tuple[str, float]]:
    """Return label and probability of the most likely state of each variable."""
    states = [int(np.argmax(marginal)) for marginal in beliefs.node]
    marginals = zip(model.labels, beliefs.node, states, strict=True)
    return [(short(labels[k]), float(marginal[k])) for labels, marginal, k in marginals]


# ------------------------------------------------------------------------------------ selection


def show_selection(state: InspectState, shown: Shown) -> None:
    """Show the selected node or edge, or an overview."""
    edge = state.edge_number(state.edge)
    if state.node is not None:
        _show_node(state, shown, state.node)
    elif edge is not None:
        _show_edge(state, shown, edge)
    else:
        _show_overview(state, shown.model)


def _show_overview(state: InspectState, model: PairwiseMRF) -> None:
    st.markdown("##### Degrees")
    if model.n_edges == 0:
        st.caption("This model has no edges: all its variables are independent.")
        return
    hubs = np.argsort(-model.degrees(), kind="stable")[:5].tolist()
    words = f"Degree distribution; {short(model.names[hubs[0]])} has the largest degree."
    show_figure(degree_figure(model), key="inspect_degrees", alt=words)
    st.caption("Click a node or an edge, or start with a hub:")
    _show_node_buttons(state, model, hubs, "inspect.busiest")


def _show_node(state: InspectState, shown: Shown, i: int) -> None:
    model = shown.model
    _show_heading(state, model.names[i])
    st.caption(plain(f"{narrative.node_words(model, i)}."))
    show_observation(state, model, i, "inspect.observe")
    marginals = [
        None if beliefs is None else beliefs.node[i] for beliefs in (shown.before, shown.after)
    ]
    words = "Weights of the node."
    if shown.latest is not None:
        words = f"{narrative.marginal_words(model, i, shown.latest.node[i])}."
    show_figure(node_figure(model, i, *marginals), key="inspect_node", alt=words)
    if i not in state.evidence:
        _show_region(state, model)
    _show_partners(state, shown, i)
    if model.degrees()[i]:
        with st.expander("Degree distribution"):
            figure = degree_figure(model, i)
            show_figure(figure, key="inspect_node_degree", alt=narrative.node_words(model, i))


def _show_region(state: InspectState, model: PairwiseMRF) -> None:
    """Show the certified marginal of the node from a local region, on request."""
    job = state.region
    if job is None:
        show_button(
            "Certify marginal (local region)",
            "inspect.certify",
            state.certify,
            help="Computes the marginal in a small region around the node, with a bound on the "
            "difference from the whole model (Dobrushin's comparison theorem).",
        )
    elif job.failure:
        st.caption(plain(job.failure))
    elif job.latest is None:
        show_until(lambda: job.ended, lambda: st.caption("Growing the region…"))
    else:
        st.caption(plain(narrative.region_words(model, job.latest)))


def show_observation(state: InspectState, model: PairwiseMRF, i: int, key: str) -> None:
    """Show the states of a variable; choosing one sets it as evidence."""
    names = state_names(model.labels[i])
    label, states, chosen = "Observe a state", range(len(names)), state.evidence.get(i)
    control = replaceable(f"{key}.{i}", chosen, partial(state.observe, i))
    if len(names) <= _MOST_PILLS:
        # Buttons read Markdown, lists do not.
        st.pills(label, states, default=chosen, format_func=lambda k: plain(names[k]), **control)
    else:
        st.selectbox(
            label,
            states,
            index=chosen,
            placeholder="not observed",
            format_func=names.__getitem__,
            **control,
        )


def _show_edge(state: InspectState, shown: Shown, e: int) -> None:
    model = shown.model
    ends = model.edges[e].tolist()
    _show_heading(state, pair(model.names, *ends))
    joint = None if shown.latest is None else shown.latest.edge[e]
    information = None if joint is None else float(mutual_informations([joint])[0])
    words = narrative.edge_words(model, e, information)
    st.caption(plain(f"{words}."))
    show_figure(edge_figure(model, e, joint), key="inspect_edge", alt=words)
    _show_node_buttons(state, model, ends, "inspect.end")


def _show_heading(state: InspectState, text: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"##### {plain(short(text))}", width="stretch")
        show_button("✕", "inspect.unselect", state.select, type="tertiary", help="Clear selection")


def _show_node_buttons(
    state: InspectState, model: PairwiseMRF, nodes: Sequence[int], key: str
) -> None:
    with st.container(horizontal=True, gap="small"):
        for i in nodes:
            show_button(plain(short(model.names[i])), f"{key}.{i}", state.select, i)


def state_names(labels: Sequence[str]) -> list[str]:
    """Return unique labels of the states for controls, which identify options by label."""
    most = _LONGEST_STATE
    cut = [label if len(label) <= most else f"{label[: most - 1]}…" for label in labels]
    names = [text.strip() or "(empty)" for text in cut]
    if len(set(names)) == len(names):
        return names
    return [f"{k}: {name}" for k, name in enumerate(names)]


# --------------------------------------------------------------------------------------- tables


def _number(title: str, digits: int = 0, help: str | None = None) -> Any:
    form = f"%.{digits}f" if digits else None
    return st.column_config.NumberColumn(title, format=form, help=help, width="small")


def _bars(title: str) -> Any:
    return st.column_config.BarChartColumn(title, y_min=0.0, y_max=1.0, width="small")


_text = st.column_config.TextColumn
_norm = partial(_number, digits=3, help=_NORM_HELP)
_COLUMNS = {
    "variable": _text("Variable", pinned=True),
    "states": _number("States"),
    "degree": _number("Degree"),
    "rank": _number("Rank", help="Rank by degree"),
    "strongest partner": _text("Strongest partner", help="By mutual information without evidence"),
    "partner weight": _norm("Partner ‖w‖"),
    "marginal": _bars("Marginal"),
    "marginal: most likely": _text("Most likely"),
    "posterior": _bars("Posterior"),
    "posterior: most likely": _text("Most likely (posterior)"),
    "entropy": _number("Entropy", 3, _GIVEN),
    "change": _number("Change", 3, "Total variation distance: half the sum of absolute changes"),
    "source": _text("Variable 1"),
    "target": _text("Variable 2"),
    "weight": _norm("‖w‖"),
    "mutual information": _number("Mutual information", 4, _GIVEN),
    "partner": _text("Strongest partners"),
    "information": _number(
        "MI (nats)", 4, "Mutual information of the two variables, without evidence"
    ),
    "where": _text("Edge", width="small"),
    "first": _norm("First ‖w‖"),
    "second": _norm("Second ‖w‖"),
}


def node_frame(
    model: PairwiseMRF, before: Beliefs | None = None, after: Beliefs | None = None
) -> pd.DataFrame:
    """Return the table of variables, in the order of the model."""
    information = None if before is None else mutual_informations(before.edge)
    best = inspection.strongest_partners(model, information).tolist()
    norms = _finite(model.edge_norms())
    columns: dict[str, Any] = {
        "variable": model.names,
        "degree": model.degrees(),
        "rank": inspection.degree_ranks(model),
    }
    for title, beliefs in (("marginal", before), ("posterior", after)):
        if beliefs is not None:
            likely = _most_likely(model, beliefs)
            columns[title] = [marginal.tolist() for marginal in beliefs.node]
            columns[f"{title}: most likely"] = [f"{label} ({p:.2f})" for label, p in likely]
    if before is not None and after is not None:
        columns["change"] = inspection.total_variations(before.node, after.node)
    latest = before if after is None else after
    if latest is not None:
        columns["entropy"] = inspection.entropies(latest.node)
    columns["strongest partner"] = [
        "" if e < 0 else model.names[int(model.edges[e].sum()) - i] for i, e in enumerate(best)
    ]
    columns["partner weight"] = [None if e < 0 else float(norms[e]) for e in best]
    columns["states"] = model.cardinalities
    return pd.DataFrame(columns)


def edge_frame(model: PairwiseMRF, beliefs: Beliefs | None = None) -> pd.DataFrame:
    """Return the table of edges, in the order of the model."""
    frame = _ends(model.edges, model.names)
    frame["weight"] = _finite(model.edge_norms())
    if beliefs is not None:
        frame["mutual information"] = mutual_informations(beliefs.edge)
    return frame


def difference_frame(difference: ModelDifference, names: Sequence[str]) -> pd.DataFrame:
    """Return a row per edge of either model."""
    frame = _ends(difference.edges, names)
    frame["where"] = [_KINDS[status] for status in difference.status]
    for title, numbers in zip(("first", "second"), difference.numbers.T, strict=True):
        norms = _finite(getattr(difference, title))
        frame[title] = np.where(numbers >= 0, norms, np.nan)
    return frame


def _ends(edges: np.ndarray, names: Sequence[str]) -> pd.DataFrame:
    pairs = [(names[i], names[j]) for i, j in edges.tolist()]
    return pd.DataFrame(pairs, columns=["source", "target"])


def _finite(norms: np.ndarray) -> np.ndarray:
    """Return norms, with NaN where a zero potential makes them infinite."""
    return np.where(np.isfinite(norms), norms, np.nan)


def matching(names: pd.DataFrame, pattern: str) -> np.ndarray:
    """Return the rows in which one of the names contains a text, ignoring case."""
    text = pattern.strip().casefold()
    found = [any(text in name.casefold() for name in row) for row in names.to_numpy()]
    return np.flatnonzero(found)


def show_nodes(state: InspectState, shown: Shown) -> None:
    """Show the table of variables; selecting a row selects its node."""
    frame = node_frame(shown.model, shown.before, shown.after)
    frame = _show_search(frame, ["variable"], "inspect.search.nodes", "Search variables")
    alt = "All variables of the model"
    _show_table(frame, "inspect.table.nodes", alt, state.node, state.select)


def show_edges(state: InspectState, shown: Shown) -> None:
    """Show the table of edges, strongest first; selecting a row selects its edge."""
    model = shown.model
    if model.n_edges == 0:
        st.caption("This model has no edges.")
        return
    frame = edge_frame(model, shown.latest)
    norms = model.edge_norms()
    strengths = norms if shown.latest is None else frame["mutual information"].to_numpy()
    frame = frame.iloc[np.argsort(-strengths, kind="stable")]
    frame = _show_search(frame, ["source", "target"], "inspect.search.edges", "Search edges")
    chosen, select = state.edge_number(state.edge), partial(_select_edge, state, model.edges)
    alt = "All edges of the model"
    _show_table(frame, "inspect.table.edges", alt, chosen, select)


def _show_partners(state: InspectState, shown: Shown, i: int) -> None:
    model = shown.model
    own = np.flatnonzero((model.edges == i).any(axis=1))
    if len(own) == 0:
        st.caption("No neighbours: evidence on other variables does not change this marginal.")
        return
    partners = model.edges[own].sum(axis=1) - i
    names = [model.names[j] for j in partners.tolist()]
    strengths = model.edge_norms()[own]
    frame = pd.DataFrame({"partner": names, "weight": _finite(strengths)}, index=own)
    if shown.before is not None:
        strengths = mutual_informations([shown.before.edge[e] for e in own.tolist()])
        frame["information"] = strengths
    frame = frame.iloc[np.lexsort((partners, -strengths))[:_PARTNERS]]
    alt = "Strongest partners of the node; select a row to show its edge"
    select = partial(_select_edge, state, model.edges)
    _show_table(frame, "inspect.partners", alt, None, select, height="content")
    if len(own) > _PARTNERS:
        st.caption(f"Strongest {_PARTNERS} of {len(own):,}; the table of edges lists all.")


def show_comparison(state: InspectState, shown: Shown) -> None:
    """Show how the second model differs from the first."""
    difference, second = shown.difference, state.second.loaded
    if shown.trouble:
        st.error(plain(shown.trouble))
        return
    if difference is None or second is None:
        st.caption("Choose the model to compare with in the side bar.")
        return
    words, names = narrative.difference_words(difference), shown.model.names
    st.markdown(plain(f"{words} {difference.note}".strip()))
    st.caption(plain(f"First: {shown.loaded.title}. Second: {second.title}."))
    listed, drawn = st.columns([6, 5], gap="medium")
    with listed:
        kinds = st.pills(
            "Show edges",
            tuple(_KINDS.values()),
            selection_mode="multi",
            default=tuple(_KINDS.values()),
            key="inspect.difference.kinds",
            label_visibility="collapsed",
        )
        frame = difference_frame(difference, names)
        frame = frame[frame["where"].isin(kinds)]
        rows = np.flatnonzero(difference.numbers[:, 0] == state.edge_number(state.edge))
        _show_table(
            frame,
            "inspect.table.difference",
            "Edges of both models",
            int(rows[0]) if len(rows) else None,
            partial(_select_edge, state, difference.edges),
            height=360,
        )
    with drawn:
        figure = norms_figure(difference, names, "the first", "the second")
        alt = f"Weight norms in both models, a point per edge. {words}"
        show_figure(figure, key="inspect_norms", alt=alt)


def show_changed(state: InspectState, shown: Shown) -> None:
    """Show the variables whose marginals the evidence changes most."""
    model, before, after = shown.model, shown.before, shown.after
    if before is None or after is None:
        return
    change = inspection.total_variations(before.node, after.node)
    order = [i for i in np.argsort(-change, kind="stable").tolist() if i not in state.evidence]
    moved = [i for i in order if change[i] > 1e-9]
    if not moved:
        st.caption("The evidence changes no other variable.")
        return
    nodes = moved[:_MOST_CHANGED]
    # The state whose probability changed most.
    states = [int(np.argmax(np.abs(after.node[i] - before.node[i]))) for i in nodes]
    starts, ends = (
        [float(beliefs.node[i][k]) for i, k in zip(nodes, states, strict=True)]
        for beliefs in (before, after)
    )
    i, k = nodes[0], states[0]
    words = (
        f"{plural(len(moved), 'variable')} changed. Largest change: {short(model.names[i])}, "
        f"p({short(model.labels[i][k])}) from {starts[0]:.2f} to {ends[0]:.2f}."
    )
    st.markdown(plain(words))
    show_figure(change_figure(model, nodes, starts, ends, states), key="inspect_changed", alt=words)


def _select_edge(state: InspectState, edges: np.ndarray, *rows: int) -> None:
    """Select the edge of a row; one end of an edge that the model lacks."""
    ends = edges[rows[0]].tolist() if rows else []
    state.select(*(ends if state.edge_number(tuple(ends)) is not None else ends[:1]))


def _show_search(
    frame: pd.DataFrame, columns: list[str], key: str, placeholder: str
) -> pd.DataFrame:
    """Show a search field, and return the rows that match."""
    text = st.text_input(
        placeholder, key=key, placeholder=placeholder, label_visibility="collapsed"
    )
    found = frame.iloc[matching(frame[columns], text)]
    if text:
        st.caption(f"{len(found):,} of {len(frame):,}")
    return found


def _show_table(
    frame: pd.DataFrame,
    key: str,
    alt: str,
    chosen: int | None,
    select: Callable[..., object],
    height: int | Literal["content"] | None = None,
) -> None:
    """Show a table of which one row can be selected.

    Parameters
    ----------
    frame : DataFrame
        Its index is the number of the node or edge in each row.
    key, alt : str
    chosen : int or None
        Number of the row that is selected.
    select : callable
        Called with the number of a selected row, or without arguments.
    height : int or "content", optional
        By default that of all rows, up to a maximum.
    """

    def changed() -> None:
        select(*frame.index[st.session_state[key]["selection"]["rows"]].tolist())

    rows = [] if chosen is None else np.flatnonzero(frame.index == chosen).tolist()
    selected: Any = {"selection": {"rows": rows, "columns": [], "cells": []}}
    if key in st.session_state and st.session_state[key]["selection"]["rows"] != rows:
        st.session_state[key] = selected
    st.dataframe(
        frame,
        key=key,
        hide_index=True,
        height=height or min(_HEIGHT, 40 + 35 * max(1, len(frame))),
        column_config=_COLUMNS,
        placeholder="–",
        on_select=guarded(changed),
        selection_mode="single-row",
        selection_default=selected,
        alt=alt,
    )


# ---------------------------------------------------------------------------------------- files


def model_files(shown: Shown) -> list[PageFile]:
    """Return the files of the shown model; without marginals, theirs are disabled."""
    model, steps, before = shown.model, shown.loaded.steps, shown.before
    picture, latest = shown.picture, shown.latest
    places = picture.places if len(picture.nodes) == model.n_variables else None
    files: dict[str, tuple[str, Callable[[], str | bytes]]] = {
        "model.uai": ("UAI", lambda: uai_text(model)),
        "model.names.json": ("Variable names (for UAI)", lambda: names_text(model)),
        "graph.graphml": ("GraphML", lambda: model_graphml(model, steps)),
        "graph.json": ("Node-link JSON", lambda: node_link_json(model, steps)),
        "graph.gexf": ("Graph for Gephi (GEXF)", lambda: model_gexf(model, places, steps)),
        "graph.svg": ("Graph (SVG)", lambda: graph_svg(picture, model.names, shown.loaded.title)),
        "edges.csv": ("Edges (CSV)", lambda: model_edges_csv(model, before)),
        "marginals.csv": (
            "Marginals (CSV)",
            lambda: marginals_csv(model, before, shown.after) if before else "",
        ),
        "marginals.MAR": ("Marginals (UAI's MAR)", lambda: mar_text(latest) if latest else ""),
    }

    def content(build: Callable[[], str | bytes]) -> bytes:
        text = build()
        return text if isinstance(text, bytes) else text.encode("utf-8", "replace")

    return [
        PageFile(
            name,
            label,
            _MIMES.get(name.rpartition(".")[2], "text/plain"),
            partial(content, build),
            disabled=name.startswith("marginals") and before is None,
        )
        for name, (label, build) in files.items()
    ]
