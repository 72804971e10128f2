"""Results of the Inspect page: drawing, selected node or edge, tables, and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from graftviz.app.boundary import guarded
from graftviz.app.controls import replaceable, show_button, show_until
from graftviz.app.files import show_figure
from graftviz.app.frame import PageFile
from graftviz.app.inspect import COMMUNITY, InspectedModel, InspectState
from graftviz.app.runs import Loaded, to_json
from graftviz.inference.beliefs import Beliefs
from graftviz.inference.inspection import (
    STATUS_WORDS,
    Communities,
    ModelDifference,
    changes_by_size,
    marginal_distances,
    mutual_informations,
    total_variations,
)
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.reading import MODEL_FORMATS
from graftviz.model.readwrite.uai import evidence_text, mar_text
from graftviz.reports.figures.model import (
    change_figure,
    degree_figure,
    edge_figure,
    matrix_figure,
    node_figure,
    norms_figure,
)
from graftviz.reports.files.table_csv import shown_cell
from graftviz.reports.files.tables import (
    difference_frame,
    edge_frame,
    marginals_csv,
    model_edges_csv,
    node_frame,
    partner_frame,
)
from graftviz.reports.picture import GraphPicture, graph_svg
from graftviz.reports.texts import catalogue
from graftviz.reports.words import inspection
from graftviz.reports.words.inspection import (
    difference_words,
    evidence_words,
    model_words,
    most_likely_states,
)
from graftviz.reports.words.phrases import pair, short
from graftviz.utils.files import csv_text
from graftviz.utils.wording import plain

_PARTNERS = 8
_MOST_CHANGED = 12
_MOST_PILLS = 10  # states that are offered as buttons; more in a list
_LONGEST_STATE = 18
_HEIGHT = 380
_NORM_HELP = (
    "Norm of the log potentials once rows and columns sum to zero; empty where a potential is zero"
)
_CONDITIONAL = "In nats; conditional on the evidence, if any"


def inspect_texts(part: str) -> Mapping[str, str]:
    """Return a part of the page's texts."""
    return catalogue("inspect")[part]


# --------------------------------------------------------------------------------------- matrix


def show_matrix(state: InspectState, shown: InspectedModel) -> None:
    """Show the adjacency matrix of the drawn edges, ordered by community."""
    communities, names = state.communities(), shown.model.names
    words = inspection.community_words(communities, len(shown.picture.edges))
    figure = matrix_figure(shown.picture, communities, names)
    show_figure(figure, key="inspect_matrix", alt=f"Adjacency matrix. {words}")
    st.caption(plain(words))


# ------------------------------------------------------------------------------------ selection


def show_selection(state: InspectState, shown: InspectedModel) -> None:
    """Show the selected node or edge, or an overview."""
    edge = state.edge_number(state.edge)
    if state.node is not None:
        _show_node(state, shown, state.node)
    elif edge is not None:
        _show_edge(state, shown, edge)
    else:
        _show_overview(state, shown.model)


def _show_overview(state: InspectState, model: PairwiseModel) -> None:
    st.markdown("##### Degrees")
    if model.n_edges == 0:
        st.caption("This model has no edges: all its variables are independent.")
        return
    hubs = np.argsort(-model.degrees(), kind="stable")[:5].tolist()
    words = f"Degree distribution; {short(model.names[hubs[0]])} has the largest degree."
    show_figure(degree_figure(model), key="inspect_degrees", alt=words)
    st.caption("Click a node or an edge, or start with a hub:")
    _show_node_buttons(state, model, hubs, "inspect.busiest")


def _show_node(state: InspectState, shown: InspectedModel, i: int) -> None:
    model = shown.model
    _show_heading(state, model.names[i])
    st.caption(plain(f"{inspection.node_words(model, i)}."))
    show_observation(state, model, i, "inspect.observe")
    marginals = [
        None if beliefs is None else beliefs.node[i] for beliefs in (shown.before, shown.after)
    ]
    words = "Weights of the node."
    if shown.latest is not None:
        words = f"{inspection.marginal_words(model, i, shown.latest.node[i])}."
    show_figure(node_figure(model, i, *marginals), key="inspect_node", alt=words)
    if i not in state.evidence:
        _show_region(state, model)
    _show_partners(state, shown, i)
    if model.degrees()[i]:
        with st.expander("Degree distribution"):
            figure = degree_figure(model, i)
            show_figure(figure, key="inspect_node_degree", alt=inspection.node_words(model, i))


def _show_region(state: InspectState, model: PairwiseModel) -> None:
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
        st.caption(plain(inspection.region_words(model, job.latest)))


def show_observation(state: InspectState, model: PairwiseModel, i: int, key: str) -> None:
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


def _show_edge(state: InspectState, shown: InspectedModel, e: int) -> None:
    model = shown.model
    ends = model.edges[e].tolist()
    _show_heading(state, pair(model.names, *ends))
    joint = None if shown.latest is None else shown.latest.edge[e]
    information = None if joint is None else float(mutual_informations([joint])[0])
    words = inspection.edge_words(model, e, information)
    st.caption(plain(f"{words}."))
    show_figure(edge_figure(model, e, joint), key="inspect_edge", alt=words)
    _show_node_buttons(state, model, ends, "inspect.end")


def _show_heading(state: InspectState, text: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"##### {plain(short(text))}", width="stretch")
        show_button("✕", "inspect.unselect", state.select, type="tertiary", help="Clear selection")


def _show_node_buttons(
    state: InspectState, model: PairwiseModel, nodes: Sequence[int], key: str
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
    "entropy": _number("Entropy", 3, _CONDITIONAL),
    "change": _number("Change", 3, "Total variation distance: half the sum of absolute changes"),
    "source": _text("Variable 1"),
    "target": _text("Variable 2"),
    "weight": _norm("‖w‖"),
    "mutual information": _number("Mutual information", 4, _CONDITIONAL),
    "partner": _text("Strongest partners"),
    "information": _number(
        "MI (nats)", 4, "Mutual information of the two variables, without evidence"
    ),
    "where": _text("Edge", width="small"),
    "first": _norm("First ‖w‖"),
    "second": _norm("Second ‖w‖"),
}


def show_nodes(state: InspectState, shown: InspectedModel) -> None:
    """Show the table of variables; selecting a row selects its node."""
    frame = node_frame(shown.model, shown.before, shown.after)
    frame = _show_search(frame, ["variable"], "inspect.search.nodes", "Search variables")
    alt = "All variables of the model"
    _show_table(frame, "inspect.table.nodes", alt, state.node, state.select)


def show_edges(state: InspectState, shown: InspectedModel) -> None:
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


def _show_partners(state: InspectState, shown: InspectedModel, i: int) -> None:
    model = shown.model
    frame = partner_frame(model, i, shown.before)
    if frame.empty:
        st.caption("No neighbours: evidence on other variables does not change this marginal.")
        return
    alt = "Strongest partners of the node; select a row to show its edge"
    select = partial(_select_edge, state, model.edges)
    strongest = frame.head(_PARTNERS)
    _show_table(strongest, "inspect.partners", alt, None, select, height="content")
    if len(frame) > _PARTNERS:
        st.caption(f"Strongest {_PARTNERS} of {len(frame):,}; the table of edges lists all.")


def show_comparison(state: InspectState, shown: InspectedModel) -> None:
    """Show how the second model differs from the first."""
    difference, second = shown.difference, state.second.loaded
    if shown.trouble:
        st.error(plain(shown.trouble))
        return
    if difference is None or second is None:
        st.caption("Choose the model to compare with in the side bar.")
        return
    words, names = inspection.difference_words(difference), shown.model.names
    st.markdown(plain(f"{words} {difference.note}".strip()))
    st.caption(plain(f"First: {shown.loaded.title}. Second: {second.title}."))
    _show_scores(difference)
    listed, drawn = st.columns([6, 5], gap="medium")
    with listed:
        kinds = st.pills(
            "Show edges",
            tuple(STATUS_WORDS.values()),
            selection_mode="multi",
            default=tuple(STATUS_WORDS.values()),
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
    _show_distances(state, shown)


def _show_scores(difference: ModelDifference) -> None:
    """Show how well the edges of the first model agree with those of the second."""
    texts = inspect_texts("score")
    scores = ("recall", "precision", "f1")
    with st.container(horizontal=True, gap="large", key="inspect_scores"):
        for name in scores:
            value = getattr(difference, name)
            st.metric(texts[name], "–" if np.isnan(value) else f"{value:.3f}", width="content")
    st.caption(texts["reference"])


def _show_distances(state: InspectState, shown: InspectedModel) -> None:
    """Show the variables by the distance between their marginals in both models."""
    texts = inspect_texts("score")
    st.markdown(f"##### {texts['marginals']}")
    frame = distance_frame(state, shown)
    if frame is None:
        show_until(lambda: state.other is not None or bool(state.problem), _show_waiting)
        return
    if frame.empty:
        st.caption(texts["unmatched"])
        return
    values = frame["distance"].to_numpy()
    largest, mean, count = f"{values[0]:.3f}", f"{values.mean():.3f}", f"{len(values):,}"
    name = short(frame["variable"].iloc[0])
    st.caption(plain(texts["largest"].format(name=name, largest=largest, mean=mean, count=count)))
    _show_table(
        frame,
        "inspect.table.distances",
        texts["marginals"],
        state.node,
        state.select,
        columns={
            "variable": _text(texts["variable"], pinned=True),
            "distance": _number(texts["distance"], 3),
            "first": _text(texts["first"]),
            "second": _text(texts["second"]),
        },
    )


def _show_waiting() -> None:
    st.caption(inspect_texts("score")["waiting"])


def distance_frame(state: InspectState, shown: InspectedModel) -> pd.DataFrame | None:
    """Return a row per variable that both models have, the most different marginals first.

    None while the marginals of a model are missing, and without a second model.
    """
    difference, second = shown.difference, state.second.loaded
    if difference is None or second is None or shown.before is None or shown.other is None:
        return None
    models = shown.model, second.model
    marginals = shown.before.node, shown.other.node
    distances = marginal_distances(difference, models, marginals)
    index = np.flatnonzero(~np.isnan(distances))
    index = index[np.argsort(-distances[index], kind="stable")]
    number = {i: j for j, i in enumerate(difference.places.tolist())}
    first, other = (
        [f"{label} ({p:.2f})" for label, p in inspection.most_likely_states(*pair)]
        for pair in zip(models, (shown.before, shown.other), strict=True)
    )
    rows = index.tolist()
    return pd.DataFrame(
        {
            "variable": [shown.model.names[i] for i in rows],
            "distance": distances[index],
            "first": [first[i] for i in rows],
            "second": [other[number[i]] for i in rows],
        },
        index=index,
    )


def show_changed(state: InspectState, shown: InspectedModel) -> None:
    """Show the variables whose marginals the evidence changes most."""
    model, before, after = shown.model, shown.before, shown.after
    if before is None or after is None:
        return
    changes = changes_by_size(before.node, after.node, state.evidence)
    if not changes:
        st.caption("The evidence changes no other variable.")
        return
    words = inspection.change_words(model, changes)
    st.markdown(plain(words))
    figure = change_figure(model, changes[:_MOST_CHANGED])
    show_figure(figure, key="inspect_changed", alt=words)


def _select_edge(state: InspectState, edges: np.ndarray, *rows: int) -> None:
    """Select the edge of a row; one end of an edge that the model lacks."""
    ends = edges[rows[0]].tolist() if rows else []
    state.select(*(ends if state.edge_number(tuple(ends)) is not None else ends[:1]))


def _show_search(frame: pd.DataFrame, columns: list[str], key: str, label: str) -> pd.DataFrame:
    """Show a search field, and return the rows that match."""
    text = st.text_input(label, key=key, placeholder=label, label_visibility="collapsed")
    found = matching_rows(frame, columns, text)
    if text:
        st.caption(f"{len(found):,} of {len(frame):,}")
    return found


def matching_rows(frame: pd.DataFrame, columns: list[str], text: str) -> pd.DataFrame:
    """Return the rows in which one of the columns contains a text, ignoring case."""
    names = frame[columns].astype(str)
    contains = names.apply(lambda column: column.str.contains(text.strip(), False, regex=False))
    return frame[contains.any(axis=1)]


def _show_table(
    frame: pd.DataFrame,
    key: str,
    alt: str,
    chosen: int | None,
    select: Callable[..., object],
    height: int | Literal["content"] | None = None,
    columns: Mapping[str, Any] = _COLUMNS,
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
    columns : mapping
        Title and format of each column.
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
        column_config=dict(columns),
        placeholder="–",
        on_select=guarded(changed),
        selection_mode="single-row",
        selection_default=selected,
        alt=alt,
    )


# ---------------------------------------------------------------------------------------- files


def evidence_files(state: InspectState) -> list[PageFile]:
    """Return the file of the evidence; none without evidence."""
    evidence = dict(state.evidence)
    label = inspect_texts("evidence")["file"]
    build = partial(evidence_text, evidence)
    return [PageFile("evidence.evid", label, build)] if evidence else []


def comparison_files(state: InspectState, shown: InspectedModel) -> list[PageFile]:
    """Return the files of the comparison with the second model; none without one."""
    difference = shown.difference
    if difference is None:
        return []
    texts, distances = inspect_texts("score"), distance_frame(state, shown)
    edges = difference_frame(difference, shown.model.names)
    return [
        PageFile("comparison.csv", texts["edges_file"], partial(frame_csv, edges)),
        PageFile(
            "marginal_differences.csv",
            texts["marginals_file"],
            lambda: "" if distances is None else frame_csv(distances),
            disabled=distances is None,
        ),
    ]


def frame_csv(frame: pd.DataFrame) -> str:
    """Return a data frame as CSV for spreadsheets."""
    rows = frame.astype(object).where(frame.notna(), "").to_numpy().tolist()
    cells = [[shown_cell(x) if isinstance(x, str) else x for x in row] for row in rows]
    return csv_text([list(frame.columns), *cells])


def inspected_files(shown: InspectedModel) -> list[PageFile]:
    """Return the files of the shown model; without marginals, theirs are disabled."""
    model, steps, title = shown.model, shown.loaded.steps, shown.loaded.title
    picture, before, latest = shown.picture, shown.before, shown.latest
    return [
        *(
            PageFile(each.file, each.title, partial(each.write, model, steps))
            for each in MODEL_FORMATS
        ),
        PageFile("graph.svg", "Graph (SVG)", lambda: graph_svg(picture, model.names, title)),
        PageFile("edges.csv", "Edges (CSV)", lambda: model_edges_csv(model, before)),
        PageFile(
            "marginals.csv",
            "Marginals (CSV)",
            lambda: marginals_csv(model, before, shown.after) if before else "",
            disabled=before is None,
        ),
        PageFile(
            "marginals.MAR",
            "Marginals (UAI's MAR)",
            lambda: mar_text(latest.node) if latest else "",
            disabled=before is None,
        ),
    ]


MOST_GROUPS = 6  # colours of groups of nodes
_SQUARE = 1.5  # a computed layout may be stretched this far to fill its place; a map is not


# -------------------------------------------------------------------------------------- the drawing


def inspect_message(state: InspectState, shown: InspectedModel) -> str:
    """Return the JSON text that ``reports/replay/assets/inspect/inspect.js`` reads."""
    region, colour = state.region, state.values["colour"]
    record = model_graph(
        shown.loaded,
        shown.picture,
        before=shown.before,
        after=shown.after,
        evidence=state.evidence,
        selection=state.selection,
        region=region.latest.nodes if region and region.latest else None,
        difference=shown.difference,
        colour=colour,
        communities=state.communities() if colour == COMMUNITY else None,
    )
    return to_json(record)


def model_graph(
    loaded: Loaded,
    picture: GraphPicture,
    *,
    before: Beliefs | None = None,
    after: Beliefs | None = None,
    evidence: Mapping[int, int],
    selection: tuple[int, ...] = (),
    region: np.ndarray | None = None,
    difference: ModelDifference | None = None,
    colour: str = "degree",
    communities: Communities | None = None,
) -> dict[str, Any]:
    """Return the drawing of a model's graph with its colours, selection and legend.

    Parameters
    ----------
    loaded : Loaded
    picture : GraphPicture
    before, after : Beliefs, optional
        Marginals without and with the evidence; with both, nodes are coloured by their change.
    evidence : mapping
        State by variable.
    selection : tuple of int
        Empty, a node, or both ends of an edge.
    region : int array, optional
        Nodes of a highlighted region.
    difference : ModelDifference, optional
        Difference from a second model, if `picture` shows it.
    colour : {"degree", "community", "state"}
        What nodes are coloured by; "degree": with evidence, by the change.
    communities : Communities, optional
        Of the graph, for "community".
    """
    model, nodes = loaded.model, picture.nodes.tolist()
    values = picture.degrees / max(1, int(picture.degrees.max(initial=1)))
    low, high = "low degree", "high"
    if before is not None and after is not None:
        change = total_variations(before.node, after.node)
        others = np.delete(change, list(evidence))
        largest = max(float(others.max(initial=0.0)), 1e-12)
        values = np.clip(change[nodes] / largest, 0.0, 1.0)
        low, high = "unchanged by the evidence", f"changed most ({largest:.2f})"
    latest = before if after is None else after
    tips = [""] * len(nodes)
    if latest is not None:
        best = most_likely_states(model, latest)
        tips = [f"{label} {p:.2f}" for label, p in (best[i] for i in nodes)]
    groups: list[int] = []
    group_words: list[tuple[int, str]] = []
    if colour == "community" and communities is not None:
        groups, group_words = _community_groups(communities, nodes)
    elif colour == "state" and latest is not None:
        groups, group_words = _state_groups(model, latest, nodes)
    words = f"Graph of {loaded.title}: {model_words(model)}."
    if evidence:
        words += f" Observed: {evidence_words(model, evidence)}."
    if difference is not None:
        words += f" {difference_words(difference)}"
    kind = ("", "node", "edge")[len(selection)]
    edges = zip(picture.edges.tolist(), picture.strengths.tolist(), picture.styles, strict=True)
    return {
        # With another token, the whole picture comes into view.
        "token": f"{loaded.fingerprint}.{picture.centre}.{len(picture.nodes)}",
        "nodes": nodes,
        "names": [model.names[i] for i in nodes],
        "places": np.round(picture.places, 1).tolist(),
        "degrees": picture.degrees.tolist(),
        "values": np.round(values, 4).tolist(),
        "groups": groups,
        "tips": tips,
        "edges": [[*ends, round(strength, 4), style] for ends, strength, style in edges],
        "observed": {str(i): model.labels[i][k] for i, k in evidence.items()},
        "region": [] if region is None else region.tolist(),
        "selected": {"kind": kind, **dict(zip("ij", selection, strict=False))} if kind else None,
        "legend": {
            "low": low,
            "high": high,
            "groups": group_words,
            "styles": () if difference is None else tuple(STATUS_WORDS.items()),
        },
        "stretch": 1.0 if loaded.has_natural_positions else _SQUARE,
        "alt": words,
    }


def _community_groups(
    communities: Communities, nodes: Sequence[int]
) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the community of every drawn node, -1 beyond the largest, and the legend."""
    words, sizes = catalogue("inspect")["legend"], np.diff(communities.starts)
    group = np.empty(len(communities.order), dtype=np.int64)
    group[communities.order] = np.repeat(np.arange(len(sizes)), sizes)
    several = min(MOST_GROUPS, int((sizes > 1).sum()))
    names = [
        words["community"].format(number=c + 1, size=f"{int(sizes[c]):,}") for c in range(several)
    ]
    return _limited(group[nodes], names, len(sizes) > several, words["others"])


def _state_groups(
    model: PairwiseModel, beliefs: Beliefs, nodes: Sequence[int]
) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the most likely state of every drawn node, -1 beyond the first, and the legend."""
    words = catalogue("inspect")["legend"]
    states = np.array([int(np.argmax(beliefs.node[i])) for i in nodes], dtype=np.int64)
    longest = max((model.labels[i] for i in nodes), key=len)
    count = min(MOST_GROUPS, len(longest))
    # A label names the state of all variables only if they share their labels.
    is_shared = all(model.labels[i] == longest[: len(model.labels[i])] for i in nodes)
    names = [
        short(longest[k]) if is_shared else words["state"].format(number=k + 1)
        for k in range(count)
    ]
    return _limited(states, names, len(longest) > count, words["others"])


def _limited(
    groups: np.ndarray, names: list[str], has_others: bool, others: str
) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the number of every node's colour, and the words for each colour; -1 is grey."""
    chosen = np.where(groups < len(names), groups, -1).tolist()
    return chosen, [*enumerate(names), *([(-1, others)] if has_others else [])]
