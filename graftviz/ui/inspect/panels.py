"""Inspect page: evidence, method, graph, selection and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from graftviz.formats.gexf import model_gexf
from graftviz.formats.graphml import model_graphml
from graftviz.formats.model_tables import marginals_csv, model_edges_csv
from graftviz.formats.node_link import node_link_json
from graftviz.formats.svg import graph_svg
from graftviz.formats.uai import names_text, uai_text
from graftviz.formats.uai_results import mar_text
from graftviz.inference import Beliefs
from graftviz.inspection import GraphPicture, ModelDifference, total_variations
from graftviz.inspection.difference import COMMON, GAINED, LOST
from graftviz.narrative.inspection import (
    METHOD_NAMES,
    difference_words,
    evidence_words,
    method_words,
    model_words,
)
from graftviz.narrative.phrases import short
from graftviz.ui.boundary import bounded, guarded
from graftviz.ui.controls import is_current, key_that_shows
from graftviz.ui.frame.address import write_address
from graftviz.ui.frame.header import Header, PageFile
from graftviz.ui.frame.texts import plain
from graftviz.ui.inspect.component import GRAPH_KEY, GraphLook, graph_message, show_graph
from graftviz.ui.inspect.selection import show_observation, show_selection
from graftviz.ui.inspect.source import Loaded
from graftviz.ui.inspect.state import InspectState
from graftviz.ui.inspect.tables import show_changed, show_comparison, show_edges, show_nodes
from graftviz.ui.inspect.work import AUTOMATIC, METHODS, inspect_jobs
from graftviz.ui.messages import show_awaiting_file, show_warnings
from graftviz.ui.warm_up import WarmUp
from graftviz.wording import reworded

_LOOK_AGAIN = 0.5  # seconds
_STYLES = {COMMON: "in both", LOST: "only in the first", GAINED: "only in the second"}


def show_messages(state: InspectState) -> None:
    """Show warnings about ignored settings and errors of the model sources."""
    if state.complaints and state.loaded is None:
        show_warnings(state.complaints)
    sources = [("", state.first)]
    if state.compares:
        sources.append(("Model to compare with: ", state.second))
    for prefix, source in sources:
        if source.problem:
            note = " Still showing the previous model." if source.loaded else ""
            st.error(plain(prefix + source.problem + note))
            if source.learned.question:
                key = f"inspect.anyway.{prefix}"
                st.button("Run anyway", key=key, on_click=guarded(source.learned.agree))
        if source.awaits_file and source.loaded is not None:
            what = "model to compare with" if prefix else "model"
            show_awaiting_file(what, place=GRAPH_KEY)
        if source.learning:
            _wait_for_run(state)


@st.fragment(run_every=_LOOK_AGAIN)
@bounded
def _wait_for_run(state: InspectState) -> None:
    sources = [state.first, *([state.second] if state.compares else [])]
    state.refresh()
    sentences = [source.learning for source in sources if source.learning]
    if not sentences:
        st.rerun()
    st.caption(" ".join(sentences))


@st.fragment
@bounded
def show_inspection(state: InspectState) -> None:
    """Show the model in a fragment of its own, so that events rerun nothing else."""
    state.settle()
    loaded = state.loaded
    if loaded is None:
        return
    is_answered = state.answer()
    difference, trouble = state.difference()
    before = None if state.before is None else state.before.beliefs
    after = None if state.after is None else state.after.beliefs
    picture = state.picture(difference)
    header = Header("inspect")
    header.show_files(lambda: model_files(Shown(loaded, picture, before, after)))
    header.show_link(state.link, "Opens this model with this selection and evidence.")
    show_warnings(state.complaints)
    graph, panel = st.columns([2, 1], gap="small")
    with graph:
        _show_graph(state, picture, difference, before, after)
    with panel:
        _show_head(loaded)
        _show_evidence(state)
        _show_method(state, is_answered=is_answered)
        show_selection(state, before, after)
    _show_tabs(state, difference, trouble, before, after)
    write_address(state)


def _show_head(loaded: Loaded) -> None:
    words = " ".join((f"{model_words(loaded.model)}.", *loaded.notes))
    with st.container(gap=None):
        st.markdown(f"**{plain(loaded.title)}**")
        st.caption(plain(words))


# ------------------------------------------------------------------------------------- evidence


def _show_evidence(state: InspectState) -> None:
    """Show the evidence, with controls to add and remove observations."""
    assert state.loaded is not None
    model = state.loaded.model
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="evidence"):
        st.markdown("**Evidence**", width="content")
        for i, k in state.evidence.items():
            st.button(
                f"{plain(short(model.names[i]))} = {plain(short(model.labels[i][k]))} ✕",
                key=f"inspect.forget.{i}",
                help="Remove this observation",
                on_click=guarded(state.observe),
                args=(i, None),
            )
        if not state.evidence:
            st.markdown(":gray[none]", width="content")
        with st.popover("Observe…", type="tertiary", key="inspect.observe"):
            chosen = st.selectbox(
                "Variable",
                range(model.n_variables),
                index=state.node,
                key="inspect.observe.variable",
                format_func=lambda i: model.names[i],
                placeholder="Type to search",
            )
            if chosen is not None:
                show_observation(state, chosen, "inspect.observe.state")
        if state.evidence:
            st.button(
                "Clear evidence",
                key="inspect.forget_all",
                type="tertiary",
                on_click=guarded(state.forget_evidence),
            )


def _show_method(state: InspectState, *, is_answered: bool) -> None:
    """Show the inference method and its accuracy."""
    if not is_answered:
        _wait_for_answer(state)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if state.problem:
            st.error(plain(reworded(state.problem, _control)))
        else:
            st.caption(plain(_method_sentence(state)), width="content")
        with st.popover("Method", type="tertiary", key="inspect.method"):
            key = key_that_shows("inspect.method.choice", state.method)

            def changed() -> None:
                if is_current("inspect.method.choice", key):
                    state.choose_method(st.session_state[key])

            st.radio(
                "Marginals by",
                METHODS,
                index=METHODS.index(state.method),
                key=key,
                format_func=lambda name: METHOD_NAMES.get(name, name),
                captions=[
                    "Exact if fast, otherwise belief propagation.",
                    *([""] * (len(METHODS) - 1)),
                ],
                on_change=guarded(changed),
            )


def _control(name: str, value: str) -> str:
    """Return the control that sets an argument of `infer`."""
    if name == "method":
        return f"{METHOD_NAMES.get(value, value)} under “Method”"
    return "the memory of this server"


def _method_sentence(state: InspectState) -> str:
    answer = state.after if state.after is not None else state.before
    if answer is None or answer.beliefs is None:
        return ""
    parts = [method_words(answer.beliefs, answer.width)]
    if answer.reason and state.method == AUTOMATIC:
        parts.append(answer.reason)
    sentences = [f"Marginals: {'; '.join(parts)}."]
    if state.evidence and state.before is not None and state.before.beliefs is not None:
        chance = answer.beliefs.log_partition - state.before.beliefs.log_partition
        share = np.exp(min(0.0, chance))
        about = "" if answer.beliefs.method == "exact" else "about "
        sentences.append(f"The evidence has probability {about}{share:.3g}.")
    return " ".join((*sentences, *answer.beliefs.notes))


@st.cache_resource(show_spinner=False)
def inspect_warm_up() -> WarmUp:
    """Return the compilation of the kernels of the page; it begins with the first call."""
    return WarmUp(inspect_jobs())


@st.fragment(run_every=_LOOK_AGAIN)
@bounded
def _wait_for_answer(state: InspectState) -> None:
    if state.answer(patience=0.0):
        st.rerun()
    is_compiling = not inspect_warm_up().finished.is_set()
    why = " Compiling the engine first (once per installation)." if is_compiling else ""
    st.caption(f"Computing marginals…{why}")


# ---------------------------------------------------------------------------------------- graph


def _show_graph(
    state: InspectState,
    picture: GraphPicture,
    difference: ModelDifference | None,
    before: Beliefs | None,
    after: Beliefs | None,
) -> None:
    assert state.loaded is not None
    model = state.loaded.model
    selected = () if state.node is None and state.edge is None else state.edge or (state.node or 0,)
    look = _look(state, picture, difference, before, after)
    message = graph_message(
        f"{state.loaded.fingerprint}.{picture.centre}",
        picture,
        model.names,
        look,
        selected=selected,
        keeps_shape=state.loaded.keeps_shape,
    )
    show_graph(message, lambda picked: _picked(state, picked))
    if picture.note:
        st.caption(plain(picture.note))


def _look(
    state: InspectState,
    picture: GraphPicture,
    difference: ModelDifference | None,
    before: Beliefs | None,
    after: Beliefs | None,
) -> GraphLook:
    assert state.loaded is not None
    model = state.loaded.model
    drawn = picture.nodes
    values = picture.degrees / max(1, int(picture.degrees.max(initial=1)))
    low, high = "low degree", "high"
    tips = [""] * len(drawn)
    shown = after if after is not None else before
    if shown is not None:
        best = [(i, int(np.argmax(shown.node[i]))) for i in drawn.tolist()]
        tips = [f"{short(model.labels[i][k])} {shown.node[i][k]:.2f}" for i, k in best]
    if before is not None and after is not None:
        change = total_variations(before.node, after.node)
        others = np.ones(model.n_variables, dtype=bool)
        others[list(state.evidence)] = False
        largest = max(float(change[others].max(initial=0.0)), 1e-12)
        values = np.clip(change[drawn] / largest, 0.0, 1.0)
        low, high = "unchanged by the evidence", f"changed most ({largest:.2f})"
    words = f"Graph of {state.loaded.title}: {model_words(model)}."
    if state.evidence:
        words += f" Observed: {evidence_words(model, state.evidence)}."
    if difference is not None:
        words += f" {difference_words(difference)}"
    styles = tuple(_STYLES.items()) if difference is not None else ()
    observed = {i: model.labels[i][k] for i, k in state.evidence.items()}
    work = state.region
    region = () if work is None or work.latest is None else work.latest.nodes.tolist()
    return GraphLook(values, low, high, styles, tips, observed, region, words)


def _picked(state: InspectState, picked: Mapping[str, Any]) -> None:
    """Select the clicked node or edge; clicks on a graph no longer shown are ignored."""
    if state.loaded is None or not str(picked.get("token", "")).startswith(
        state.loaded.fingerprint
    ):
        return
    n = state.loaded.model.n_variables
    node, edge = picked.get("node"), picked.get("edge")
    if isinstance(node, int | float) and 0 <= node < n:
        state.select_node(int(node))
    elif (
        isinstance(edge, list)
        and len(edge) == 2
        and all(isinstance(end, int | float) and 0 <= end < n for end in edge)
    ):
        state.select_edge(int(edge[0]), int(edge[1]))
    else:
        state.select_node(None)


# --------------------------------------------------------------------------------------- tables


def _show_tabs(
    state: InspectState,
    difference: ModelDifference | None,
    trouble: str,
    before: Beliefs | None,
    after: Beliefs | None,
) -> None:
    has_changed = before is not None and after is not None
    titles = [
        "Variables",
        "Edges",
        *(["Effect of the evidence"] if has_changed else []),
        *(["Comparison"] if state.compares else []),
    ]
    tabs = dict(zip(titles, st.tabs(titles), strict=True))
    with tabs["Variables"]:
        show_nodes(state, before, after)
    with tabs["Edges"]:
        show_edges(state, after if after is not None else before)
    if before is not None and after is not None:
        with tabs["Effect of the evidence"]:
            show_changed(state, before, after)
    if state.compares:
        with tabs["Comparison"]:
            show_comparison(state, difference, trouble)


class Shown(NamedTuple):
    """Model, picture and beliefs that can be saved.

    Attributes
    ----------
    loaded : Loaded
    picture : GraphPicture
    before, after : Beliefs or None
        Without and with evidence.
    """

    loaded: Loaded
    picture: GraphPicture
    before: Beliefs | None
    after: Beliefs | None


class FileKind(NamedTuple):
    """One kind of file; `build` returns None where there is nothing to save."""

    name: str
    label: str
    mime: str
    build: Callable[[Shown], str | bytes | None]


def _marginals(shown: Shown) -> str | None:
    if shown.before is None:
        return None
    return marginals_csv(shown.loaded.model, shown.before, shown.after)


def _mar(shown: Shown) -> str | None:
    """Return the marginals in UAI format, conditional on the evidence if there is any."""
    beliefs = shown.after if shown.after is not None else shown.before
    return None if beliefs is None else mar_text(beliefs)


def _gexf(shown: Shown) -> bytes:
    is_whole = len(shown.picture.nodes) == shown.loaded.model.n_variables
    places = shown.picture.places if is_whole else None
    return model_gexf(shown.loaded.model, places, shown.loaded.steps)


MODEL_FILES = (
    FileKind("model.uai", "UAI", "text/plain", lambda s: uai_text(s.loaded.model)),
    FileKind(
        "model.names.json",
        "Variable names (for UAI)",
        "application/json",
        lambda s: names_text(s.loaded.model),
    ),
    FileKind(
        "graph.graphml",
        "GraphML",
        "application/xml",
        lambda s: model_graphml(s.loaded.model, s.loaded.steps),
    ),
    FileKind(
        "graph.json",
        "Node-link JSON",
        "application/json",
        lambda s: node_link_json(s.loaded.model, s.loaded.steps),
    ),
)
OTHER_FILES = (
    FileKind("graph.gexf", "Graph for Gephi (GEXF)", "application/xml", _gexf),
    FileKind(
        "graph.svg",
        "Graph (SVG)",
        "image/svg+xml",
        lambda s: graph_svg(s.picture, s.loaded.model.names, s.loaded.title),
    ),
    FileKind(
        "edges.csv",
        "Edges (CSV)",
        "text/csv",
        lambda s: model_edges_csv(s.loaded.model, s.before),
    ),
    FileKind("marginals.csv", "Marginals (CSV)", "text/csv", _marginals),
    FileKind("marginals.MAR", "Marginals (UAI's MAR)", "text/plain", _mar),
)
FILES = MODEL_FILES + OTHER_FILES


def build_file(shown: Shown, kind: FileKind) -> bytes:
    """Return the content of a file, empty if there is nothing to save."""
    content = kind.build(shown) or b""
    return content if isinstance(content, bytes) else content.encode("utf-8", "replace")


def model_files(shown: Shown) -> list[PageFile]:
    """Return the files of the shown model; without marginals, theirs are disabled."""
    return [
        PageFile(
            kind.name,
            kind.label,
            kind.mime,
            partial(build_file, shown, kind),
            disabled=kind.name.startswith("marginals") and shown.before is None,
        )
        for kind in FILES
    ]
