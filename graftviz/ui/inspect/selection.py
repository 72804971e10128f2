"""Panel beside the graph: the selected node or edge, or an overview of the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from graftviz.figures import degree_figure, edge_figure, node_figure
from graftviz.inference import Beliefs
from graftviz.inspection import mutual_informations
from graftviz.model import PairwiseMRF
from graftviz.narrative.inspection import edge_words, marginal_words, node_words, region_words
from graftviz.narrative.phrases import pair, short
from graftviz.ui.boundary import bounded, guarded
from graftviz.ui.chart import show_figure
from graftviz.ui.controls import is_current, key_that_shows
from graftviz.ui.frame.texts import plain
from graftviz.ui.inspect.state import InspectState
from graftviz.ui.inspect.tables import NORM_HELP, finite_norms

_PARTNERS = 8
_MOST_PILLS = 10  # states that are offered as buttons; more in a list
_LONGEST_STATE = 18
_LOOK_AGAIN = 0.5  # seconds
_NOT_OBSERVED = "not observed"


def show_selection(state: InspectState, before: Beliefs | None, after: Beliefs | None) -> None:
    """Show the selected node or edge, or an overview."""
    assert state.loaded is not None
    model = state.loaded.model
    number = None if state.edge is None else state.edge_number(state.edge)
    if state.node is not None:
        _show_node(state, model, state.node, before, after)
    elif number is not None:
        _show_edge(state, model, number, after if after is not None else before)
    else:
        _show_overview(state, model)


def _show_overview(state: InspectState, model: PairwiseMRF) -> None:
    st.markdown("##### Degrees")
    if model.n_edges == 0:
        st.caption("This model has no edges: all its variables are independent.")
        return
    hubs = np.argsort(-model.degrees(), kind="stable")[:5].tolist()
    words = f"Degree distribution; {short(model.names[hubs[0]])} has the largest degree."
    show_figure(degree_figure(model), key="inspect_degrees", alt=words)
    st.caption("Click a node or an edge, or start with a hub:")
    with st.container(horizontal=True, gap="small"):
        for i in hubs:
            _node_button(state, model, i, "inspect.busiest")


def _show_node(
    state: InspectState, model: PairwiseMRF, i: int, before: Beliefs | None, after: Beliefs | None
) -> None:
    _heading(state, model.names[i])
    st.caption(plain(f"{node_words(model, i)}."))
    show_observation(state, i, "inspect.observe")
    marginals = [None if beliefs is None else beliefs.node[i] for beliefs in (before, after)]
    shown = marginals[1] if marginals[1] is not None else marginals[0]
    words = "Weights of the node." if shown is None else f"{marginal_words(model, i, shown)}."
    show_figure(node_figure(model, i, *marginals), key="inspect_node", alt=words)
    if i not in state.evidence:
        _show_region(state)
    _show_partners(state, model, i, before)
    if model.degrees()[i]:
        with st.expander("Degree distribution"):
            show_figure(
                degree_figure(model, i), key="inspect_node_degree", alt=node_words(model, i)
            )


def _show_region(state: InspectState) -> None:
    """Show the certified marginal of the node from a local region, on request."""
    work = state.region
    if work is None:
        st.button(
            "Certify marginal (local region)",
            key="inspect.certify",
            help="Computes the marginal in a small region around the node, with a bound on the "
            "difference from the whole model (Dobrushin's comparison theorem).",
            on_click=guarded(state.certify),
        )
    elif work.failure:
        st.caption(plain(work.failure))
    elif work.latest is None:
        _wait_for_region(state)
    else:
        assert state.loaded is not None
        st.caption(plain(region_words(state.loaded.model, work.latest)))


@st.fragment(run_every=_LOOK_AGAIN)
@bounded
def _wait_for_region(state: InspectState) -> None:
    work = state.region
    if work is None or work.ended:
        st.rerun()
    st.caption("Growing the region…")


def show_observation(state: InspectState, i: int, key: str) -> None:
    """Show the states of a variable; choosing one sets it as evidence."""
    assert state.loaded is not None
    labels = state.loaded.model.labels[i]
    names = state_names(labels)
    is_short = len(labels) <= _MOST_PILLS
    chosen = state.evidence.get(i, None if is_short else -1)
    name = f"{key}.{i}"
    key = key_that_shows(name, chosen)

    def changed() -> None:
        if is_current(name, key):
            k = st.session_state[key]
            state.observe(i, None if k is None or k < 0 else k)

    if is_short:
        st.pills(
            "Observe a state",
            range(len(labels)),
            key=key,
            default=chosen,
            format_func=lambda k: plain(names[k]),  # buttons read Markdown, lists do not
            on_change=guarded(changed),
        )
        return
    assert chosen is not None
    st.selectbox(
        "Observe a state",
        range(-1, len(labels)),
        index=chosen + 1,
        key=key,
        format_func=lambda k: _NOT_OBSERVED if k < 0 else names[k],
        on_change=guarded(changed),
    )


def _show_partners(
    state: InspectState, model: PairwiseMRF, i: int, beliefs: Beliefs | None
) -> None:
    starts, neighbours, edges = model.incidence
    begin, end = int(starts[i]), int(starts[i + 1])
    if begin == end:
        st.caption("No neighbours: evidence on other variables does not change this marginal.")
        return
    own = edges[begin:end]
    information = (
        None if beliefs is None else mutual_informations([beliefs.edge[e] for e in own.tolist()])
    )
    strengths = model.edge_norms()[own] if information is None else information
    order = np.argsort(-strengths, kind="stable")[:_PARTNERS]
    partners = neighbours[begin:end][order].tolist()
    frame = pd.DataFrame(
        {
            "partner": [model.names[j] for j in partners],
            "weight": finite_norms(model)[own][order],
        }
    )
    if information is not None:
        frame["information"] = information[order]
    key = "inspect.partners"

    def select() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        if rows:
            state.select_edge(i, partners[rows[0]])

    st.dataframe(
        frame,
        key=key,
        hide_index=True,
        column_config={
            "partner": st.column_config.TextColumn("Strongest partners"),
            "weight": st.column_config.NumberColumn(
                "‖w‖", help=NORM_HELP, format="%.3f", width="small"
            ),
            "information": st.column_config.NumberColumn(
                "MI (nats)",
                help="Mutual information of the two variables, without evidence",
                format="%.4f",
                width="small",
            ),
        },
        height="content",
        on_select=guarded(select),
        selection_mode="single-row",
        alt="Strongest partners of the node; select a row to show its edge",
    )
    if end - begin > _PARTNERS:
        st.caption(f"Strongest {_PARTNERS} of {end - begin:,}; the table of edges lists all.")


def _show_edge(state: InspectState, model: PairwiseMRF, e: int, beliefs: Beliefs | None) -> None:
    i, j = model.edges[e].tolist()
    _heading(state, pair(model.names, i, j))
    joint = None if beliefs is None else beliefs.edge[e]
    information = None if joint is None else float(mutual_informations([joint])[0])
    words = edge_words(model, e, information)
    st.caption(plain(f"{words}."))
    show_figure(edge_figure(model, e, joint), key="inspect_edge", alt=words)
    with st.container(horizontal=True, gap="small"):
        for end in (i, j):
            _node_button(state, model, end, "inspect.end")


def _heading(state: InspectState, text: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"##### {plain(short(text))}", width="stretch")
        st.button(
            "✕",
            key="inspect.unselect",
            type="tertiary",
            help="Clear selection",
            on_click=guarded(state.select_node),
            args=(None,),
        )


def _node_button(state: InspectState, model: PairwiseMRF, i: int, key: str) -> None:
    st.button(
        plain(short(model.names[i])),
        key=f"{key}.{i}",
        on_click=guarded(state.select_node),
        args=(i,),
    )


def state_names(labels: tuple[str, ...]) -> list[str]:
    """Return unique labels of the states for controls, which identify options by label."""
    cut = [
        label if len(label) <= _LONGEST_STATE else label[: _LONGEST_STATE - 1] + "…"
        for label in labels
    ]
    names = [text.strip() or "(empty)" for text in cut]
    if len(set(names)) == len(names):
        return names
    return [f"{k}: {name}" for k, name in enumerate(names)]
