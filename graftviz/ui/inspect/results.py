"""Results of the Inspect page: graph, selected node or edge, tables, and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from graftviz.figures import change_figure, degree_figure, edge_figure, node_figure, norms_figure
from graftviz.formats.gexf import model_gexf
from graftviz.formats.graphml import model_graphml
from graftviz.formats.model_tables import marginals_csv, model_edges_csv
from graftviz.formats.node_link import node_link_json
from graftviz.formats.svg import graph_svg
from graftviz.formats.uai import names_text, uai_text
from graftviz.formats.uai_results import mar_text
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
from graftviz.narrative.inspection import (
    difference_words,
    edge_words,
    evidence_words,
    marginal_words,
    model_words,
    node_words,
    region_words,
)
from graftviz.narrative.phrases import pair, plural, short
from graftviz.ui.boundary import bounded, guarded
from graftviz.ui.chart import show_figure
from graftviz.ui.controls import is_current, key_that_shows
from graftviz.ui.frame.header import PageFile
from graftviz.ui.frame.texts import plain
from graftviz.ui.frame.view import INSPECT
from graftviz.ui.inspect.state import InspectState, Shown
from graftviz.ui.session_run import to_json

_SQUARE = 1.5  # a layout may be stretched this far to fill its place; known places keep their shape
_KINDS = {COMMON: "in both", LOST: "only in the first", GAINED: "only in the second"}
_PARTNERS = 8
_MOST_CHANGED = 12
_MOST_PILLS = 10  # states that are offered as buttons; more in a list
_LONGEST_STATE = 18
_HEIGHT = 380
_LOOK_AGAIN = 0.5  # seconds
_NORM_HELP = (
    "Norm of the log potentials once rows and columns sum to zero; empty where a potential is zero"
)
_GIVEN = "In nats; conditional on the evidence, if any"


@st.fragment(run_every=_LOOK_AGAIN)
@bounded
def show_until_done(notice: Callable[[], str]) -> None:
    """Show a notice until it is empty; then the page runs again."""
    text = notice()
    if not text:
        st.rerun()
    st.caption(text)


def replaceable(name: str, value: Any, choose: Callable[[Any], object]) -> dict[str, Any]:
    """Return key and callback of a control that may be folded away; see `key_that_shows`."""
    key = key_that_shows(name, value)

    def changed() -> None:
        if is_current(name, key):
            choose(st.session_state[key])

    return {"key": key, "on_change": guarded(changed)}


# ---------------------------------------------------------------------------------------- graph


def show_graph(state: InspectState, shown: Shown) -> None:
    """Show the graph; a click selects a node or an edge."""
    INSPECT.load()
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
    """Return the JSON text that ``player/assets/inspect/graph.js`` reads.

    Its token is that of the graph: with another one the whole picture comes into view.
    """
    model, picture, selection = shown.model, shown.picture, state.selection
    nodes = picture.nodes.tolist()
    values = picture.degrees / max(1, int(picture.degrees.max(initial=1)))
    low, high = "low degree", "high"
    if shown.before is not None and shown.after is not None:
        change = total_variations(shown.before.node, shown.after.node)
        others = np.delete(change, list(state.evidence))
        largest = max(float(others.max(initial=0.0)), 1e-12)
        values = np.clip(change[nodes] / largest, 0.0, 1.0)
        low, high = "unchanged by the evidence", f"changed most ({largest:.2f})"
    tips = [""] * len(nodes)
    if shown.latest is not None:
        best = _most_likely(model, shown.latest)
        tips = [f"{label} {p:.2f}" for label, p in (best[i] for i in nodes)]
    words = f"Graph of {shown.loaded.title}: {model_words(model)}."
    if state.evidence:
        words += f" Observed: {evidence_words(model, state.evidence)}."
    if shown.difference is not None:
        words += f" {difference_words(shown.difference)}"
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
    st.caption(plain(f"{node_words(model, i)}."))
    show_observation(state, model, i, "inspect.observe")
    marginals = [None if known is None else known.node[i] for known in (shown.before, shown.after)]
    words = "Weights of the node."
    if shown.latest is not None:
        words = f"{marginal_words(model, i, shown.latest.node[i])}."
    show_figure(node_figure(model, i, *marginals), key="inspect_node", alt=words)
    if i not in state.evidence:
        _show_region(state, model)
    _show_partners(state, shown, i)
    if model.degrees()[i]:
        with st.expander("Degree distribution"):
            figure = degree_figure(model, i)
            show_figure(figure, key="inspect_node_degree", alt=node_words(model, i))


def _show_region(state: InspectState, model: PairwiseMRF) -> None:
    """Show the certified marginal of the node from a local region, on request."""
    job = state.region
    if job is None:
        st.button(
            "Certify marginal (local region)",
            key="inspect.certify",
            help="Computes the marginal in a small region around the node, with a bound on the "
            "difference from the whole model (Dobrushin's comparison theorem).",
            on_click=guarded(state.certify),
        )
    elif job.failure:
        st.caption(plain(job.failure))
    elif job.latest is None:
        show_until_done(lambda: "" if job.ended else "Growing the region…")
    else:
        st.caption(plain(region_words(model, job.latest)))


def show_observation(state: InspectState, model: PairwiseMRF, i: int, key: str) -> None:
    """Show the states of a variable; choosing one sets it as evidence."""
    names = state_names(model.labels[i])
    is_short = len(names) <= _MOST_PILLS
    chosen = state.evidence.get(i, None if is_short else -1)
    control = replaceable(
        f"{key}.{i}",
        chosen,
        lambda k: state.observe(i, None if k is None or k < 0 else k),
    )
    label = "Observe a state"
    if is_short:
        st.pills(
            label,
            range(len(names)),
            default=chosen,
            format_func=lambda k: plain(names[k]),  # buttons read Markdown, lists do not
            **control,
        )
    else:
        st.selectbox(
            label,
            range(-1, len(names)),
            index=(-1 if chosen is None else chosen) + 1,
            format_func=lambda k: "not observed" if k < 0 else names[k],
            **control,
        )


def _show_edge(state: InspectState, shown: Shown, e: int) -> None:
    model = shown.model
    ends = model.edges[e].tolist()
    _show_heading(state, pair(model.names, *ends))
    joint = None if shown.latest is None else shown.latest.edge[e]
    information = None if joint is None else float(mutual_informations([joint])[0])
    words = edge_words(model, e, information)
    st.caption(plain(f"{words}."))
    show_figure(edge_figure(model, e, joint), key="inspect_edge", alt=words)
    _show_node_buttons(state, model, ends, "inspect.end")


def _show_heading(state: InspectState, text: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"##### {plain(short(text))}", width="stretch")
        st.button(
            "✕",
            key="inspect.unselect",
            type="tertiary",
            help="Clear selection",
            on_click=guarded(state.select),
        )


def _show_node_buttons(
    state: InspectState, model: PairwiseMRF, nodes: Sequence[int], key: str
) -> None:
    with st.container(horizontal=True, gap="small"):
        for i in nodes:
            name = plain(short(model.names[i]))
            st.button(name, key=f"{key}.{i}", on_click=guarded(state.select), args=(i,))


def state_names(labels: Sequence[str]) -> list[str]:
    """Return unique labels of the states for controls, which identify options by label."""
    most = _LONGEST_STATE
    cut = [label if len(label) <= most else f"{label[: most - 1]}…" for label in labels]
    names = [text.strip() or "(empty)" for text in cut]
    if len(set(names)) == len(names):
        return names
    return [f"{k}: {name}" for k, name in enumerate(names)]


# --------------------------------------------------------------------------------------- tables


def _text(title: str, **more: Any) -> Any:
    return st.column_config.TextColumn(title, **more)


def _number(title: str, digits: int = 0, **more: Any) -> Any:
    return st.column_config.NumberColumn(
        title, format=f"%.{digits}f" if digits else None, width="small", **more
    )


def _norm(title: str) -> Any:
    return _number(title, 3, help=_NORM_HELP)


def _bars(title: str) -> Any:
    return st.column_config.BarChartColumn(title, y_min=0.0, y_max=1.0, width="small")


_NODE_COLUMNS = {
    "variable": _text("Variable", pinned=True),
    "states": _number("States"),
    "degree": _number("Degree"),
    "rank": _number("Rank", help="Rank by degree"),
    "strongest partner": _text("Strongest partner", help="By mutual information without evidence"),
    "weight": _norm("Partner ‖w‖"),
    "marginal": _bars("Marginal"),
    "marginal: most likely": _text("Most likely"),
    "posterior": _bars("Posterior"),
    "posterior: most likely": _text("Most likely (posterior)"),
    "entropy": _number("Entropy", 3, help=_GIVEN),
    "change": _number(
        "Change", 3, help="Total variation distance: half the sum of absolute changes"
    ),
}
_EDGE_COLUMNS = {
    "source": _text("Variable 1"),
    "target": _text("Variable 2"),
    "weight": _norm("‖w‖"),
    "mutual information": _number("Mutual information", 4, help=_GIVEN),
}
_PARTNER_COLUMNS = {
    "partner": _text("Strongest partners"),
    "weight": _norm("‖w‖"),
    "information": _number(
        "MI (nats)", 4, help="Mutual information of the two variables, without evidence"
    ),
}
_DIFFERENCE_COLUMNS = {
    "source": _text("Variable 1"),
    "target": _text("Variable 2"),
    "where": _text("Edge", width="small"),
    "first": _norm("First ‖w‖"),
    "second": _norm("Second ‖w‖"),
}


def node_frame(
    model: PairwiseMRF, before: Beliefs | None = None, after: Beliefs | None = None
) -> pd.DataFrame:
    """Return the table of variables, in the order of the model."""
    information = None if before is None else mutual_informations(before.edge)
    best = strongest_partners(model, information).tolist()
    norms = _finite(model.edge_norms())
    columns: dict[str, Any] = {
        "variable": model.names,
        "degree": model.degrees(),
        "rank": degree_ranks(model),
    }
    for title, beliefs in (("marginal", before), ("posterior", after)):
        if beliefs is not None:
            likely = _most_likely(model, beliefs)
            columns[title] = [marginal.tolist() for marginal in beliefs.node]
            columns[f"{title}: most likely"] = [f"{label} ({p:.2f})" for label, p in likely]
    if before is not None and after is not None:
        columns["change"] = total_variations(before.node, after.node)
    latest = before if after is None else after
    if latest is not None:
        columns["entropy"] = entropies(latest.node)
    columns["strongest partner"] = [
        "" if e < 0 else model.names[int(model.edges[e].sum()) - i] for i, e in enumerate(best)
    ]
    columns["weight"] = [None if e < 0 else float(norms[e]) for e in best]
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
    _show_table(frame, _NODE_COLUMNS, "inspect.table.nodes", alt, state.node, state.select)


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
    _show_table(frame, _EDGE_COLUMNS, "inspect.table.edges", alt, chosen, select)


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
    _show_table(frame, _PARTNER_COLUMNS, "inspect.partners", alt, None, select, height="content")
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
    words, names = difference_words(difference), shown.model.names
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
            _DIFFERENCE_COLUMNS,
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
    change = total_variations(before.node, after.node)
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
    columns: Mapping[str, Any],
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
    columns : mapping
        Configuration of each column.
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
        column_config=columns,
        placeholder="–",
        on_select=guarded(changed),
        selection_mode="single-row",
        selection_default=selected,
        alt=alt,
    )


# ---------------------------------------------------------------------------------------- files


def model_files(shown: Shown) -> list[PageFile]:
    """Return the files of the shown model; without marginals, theirs are disabled."""
    loaded, model, before, latest = shown.loaded, shown.model, shown.before, shown.latest
    is_whole = len(shown.picture.nodes) == model.n_variables
    places = shown.picture.places if is_whole else None
    xml, csv = "application/xml", "text/csv"

    def file(name: str, label: str, mime: str, build: Callable[[], str | bytes]) -> PageFile:
        def content() -> bytes:
            text = build()
            return text if isinstance(text, bytes) else text.encode("utf-8", "replace")

        needs_marginals = name.startswith("marginals")
        return PageFile(name, label, mime, content, disabled=needs_marginals and before is None)

    return [
        file("model.uai", "UAI", "text/plain", lambda: uai_text(model)),
        file(
            "model.names.json",
            "Variable names (for UAI)",
            "application/json",
            lambda: names_text(model),
        ),
        file("graph.graphml", "GraphML", xml, lambda: model_graphml(model, loaded.steps)),
        file(
            "graph.json",
            "Node-link JSON",
            "application/json",
            lambda: node_link_json(model, loaded.steps),
        ),
        file(
            "graph.gexf",
            "Graph for Gephi (GEXF)",
            xml,
            lambda: model_gexf(model, places, loaded.steps),
        ),
        file(
            "graph.svg",
            "Graph (SVG)",
            "image/svg+xml",
            lambda: graph_svg(shown.picture, model.names, loaded.title),
        ),
        file("edges.csv", "Edges (CSV)", csv, lambda: model_edges_csv(model, before)),
        file(
            "marginals.csv",
            "Marginals (CSV)",
            csv,
            lambda: marginals_csv(model, before, shown.after) if before else "",
        ),
        file(
            "marginals.MAR",
            "Marginals (UAI's MAR)",
            "text/plain",
            lambda: mar_text(latest) if latest else "",
        ),
    ]
