"""Panels of the Inspect page: models, notices, evidence, method, and query."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from graftviz.app.boundary import bounded, guarded
from graftviz.app.controls import (
    follow_value,
    replaceable,
    show_awaiting_file,
    show_button,
    show_learners,
    show_option,
    show_problem,
    show_settings,
    show_until,
    show_warnings,
)
from graftviz.app.engine import warm_up
from graftviz.app.frame import Header, ModelMenu, PageFile, file_button, write_address
from graftviz.app.grow import GrowOptions
from graftviz.app.inspect import MATRIX, MOST_TARGETS, InspectedModel, InspectState
from graftviz.app.inspect_groups import show_groups
from graftviz.app.inspect_results import (
    comparison_files,
    evidence_files,
    frame_csv,
    inspect_message,
    inspect_texts,
    inspected_files,
    show_changed,
    show_comparison,
    show_edges,
    show_matrix,
    show_nodes,
    show_observation,
    show_selection,
)
from graftviz.app.jobs import Job
from graftviz.app.models import FILE, LEARNED, TRUE, ModelSource
from graftviz.app.runs import Loaded
from graftviz.app.upload import read_files, show_model_form
from graftviz.app.url import write_options_of
from graftviz.app.view import INSPECT
from graftviz.inference.queries import CHOICES, Answer, JointAnswer
from graftviz.learning.registry import learner_class
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.texts import catalogue
from graftviz.reports.words.code import MODEL_FILE, model_code, model_command
from graftviz.reports.words.inspection import METHOD_NAMES, answer_words, model_words
from graftviz.reports.words.phrases import short
from graftviz.utils.options import option_words
from graftviz.utils.wording import plain, reworded

_KINDS = {LEARNED: "Learned", TRUE: "Truth", FILE: "File"}


# ----------------------------------------------------------------------------------- the models


def show_sources(state: InspectState, *, has_uploader: bool = True) -> None:
    """Show the controls of the inspected model and of the comparison model.

    Without `has_uploader` the file of the first model is uploaded in another part of the page.
    """
    st.markdown("**Model**")
    if state.can_take_grow:
        label = "Use the current run of Grow"
        show_button(label, "inspect.take_grow", state.take_grow, width="stretch")
    _show_source(state.first, "inspect.first", has_uploader=has_uploader)
    if state.first.kind == LEARNED:
        learned = state.first.learned
        st.page_link(
            "pages/grow.py",
            label="Open in Grow",
            query_params=write_options_of(GrowOptions, learned.values),
        )
    st.toggle(
        "Compare with another model",
        key=follow_value("inspect.compares", state.compares),
        on_change=guarded(lambda: state.compare(st.session_state["inspect.compares"])),
    )
    if state.compares:
        _show_source(state.second, "inspect.second")


def show_drawing(state: InspectState) -> None:
    """Show the controls of the picture: kind, filter of edges, and neighbourhood."""
    if state.loaded is None:
        return

    def show(name: str, **how: Any) -> None:
        show_settings(state, "inspect.drawn", name, **how)

    st.markdown("**Picture**")
    show("picture", as_buttons=True)
    titles = inspect_texts("choices").__getitem__
    show("colour", title=titles)
    show("filter_by", as_buttons=True, title=titles)
    show("weight_from", drag=True)
    steps = state.loaded.steps
    last = max(steps, default=0) if steps else 0
    if last > 1:
        low, high = state.values["steps"] or (1, last)
        value = (min(low, last), min(high, last))
        key = follow_value(f"inspect.drawn.steps.{last}", value)

        def choose() -> None:
            ends = tuple(st.session_state[key])
            state.choose("steps", () if ends == (1, last) else ends)

        st.slider(
            "Edges activated in steps",
            1,
            last,
            key=key,
            on_change=guarded(choose),
            help="Draw the edges that were activated in these steps of the run.",
        )
    show("depth", drag=True)
    if state.values["depth"] and not state.selection:
        st.caption("Select a node to draw its neighbourhood.")


def _show_source(source: ModelSource, prefix: str, *, has_uploader: bool = True) -> None:
    """Show where a model comes from."""
    key = follow_value(f"{prefix}.kind", source.kind)
    st.segmented_control(
        "Where the model comes from",
        tuple(_KINDS),
        key=key,
        required=True,
        format_func=_KINDS.__getitem__,
        on_change=guarded(lambda: source.choose_kind(st.session_state[key])),
        label_visibility="collapsed",
        width="stretch",
    )
    if source.kind == FILE:
        if has_uploader:
            show_file(source, prefix)
        return
    if source.kind == TRUE:
        st.caption("The model from which the rows were sampled.")
    learned, keys = source.learned, source.data()
    spec = learned.specs["data"]
    spec = spec._replace(choices=keys, titles=tuple(map(spec.title_of, keys)))
    show_option(spec, learned.values["data"], learned.choose, prefix=prefix)
    if source.kind == TRUE:
        return
    show_learners(learned, prefix, "Learner")
    _show_step(source, prefix)
    settings = learned.options
    chosen = option_words(learner_class(settings.learner), settings.options)
    chosen += [f"seed {settings.seed}"] if settings.seed else []
    chosen += [] if settings.branch is None else [f"branch from step {settings.branch.at}"]
    chosen += ["preset best"] if settings.compare else []
    if chosen:
        st.caption(plain(f"With {', '.join(chosen)}."))


def _show_step(source: ModelSource, prefix: str) -> None:
    """Show the step of the run after which the model is taken."""
    run = source.run
    if run is None or run.computed < 2:
        return
    last = run.computed
    step = min(source.learned.values["step"] or last, last)

    def choose(_: str, chosen: int) -> None:
        source.learned.values["step"] = 0 if run.ended and chosen == last else chosen

    help = "model after this step; the last step is the end of the run"
    spec = source.learned.specs["step"]
    spec = spec._replace(label="Step of the run", help=help, minimum=1, maximum=last)
    # A slider of another range is another slider, or it would fall back to its first position.
    show_option(spec, step, choose, prefix=f"{prefix}.{last}", drag=True)


def show_file(source: ModelSource, prefix: str) -> None:
    """Show the model uploader and its errors."""
    show_model_form(
        prefix,
        "UAI (with .names.json), GraphML, node-link JSON, or all files of a result folder",
        lambda title, file: Loaded(file.model, title, file.notes, steps=file.steps),
        source.accept,
        help="Result folders are written by the command learn: upload all files together, or as "
        "one ZIP archive. A graph whose edges have a numeric attribute weight is read as an Ising "
        "model. Files stay on this server.",
        expected=source.expected,
        shown="model" if source.loaded is not None else "",
    )


def show_messages(state: InspectState) -> None:
    """Show warnings about ignored settings and errors of the model sources."""
    if state.loaded is None:
        show_warnings(state.complaints)
    for source in state.sources:
        prefix = "" if source is state.first else "Model to compare with: "
        if source.problem:
            note = " Still showing the previous model." if source.loaded is not None else ""
            show_problem(prefix + source.problem, note)
            if source.learned.question:
                show_button("Run anyway", f"inspect.anyway.{prefix}", source.learned.agree)
        if source.awaits_file and source.loaded is not None:
            what = "model to compare with" if prefix else "model"
            show_awaiting_file(what, place=INSPECT.key)
    if state.learning:
        show_until(lambda: not state.learning, partial(_show_learning, state))


def _show_learning(state: InspectState) -> None:
    state.refresh()
    if not state.learning:
        st.rerun()
    st.caption(state.learning)


# ----------------------------------------------------------------------------------- the results


@st.fragment
@bounded
def show_inspection(state: InspectState) -> None:
    """Show the model in a separate fragment, so that events rerun nothing else."""
    state.settle()
    is_answered = state.answer()
    shown = state.inspected()
    if shown is None:
        return
    header = Header("inspect")
    header.show_model(lambda: inspect_menu(state, shown))
    header.show_files(
        lambda: [
            *inspected_files(shown),
            *evidence_files(state),
            *comparison_files(state, shown),
        ]
    )
    of_file = any(source.kind == FILE for source in state.sources)
    note = "Opens this model with this selection and evidence."
    header.show_link(state.link, note, of_file=of_file)
    show_warnings(state.complaints)
    graph, panel = st.columns([2, 1], gap="small")
    with graph:
        if state.values["picture"] == MATRIX:
            show_matrix(state, shown)
        else:
            INSPECT.show(lambda: inspect_message(state, shown), {"picked": state.pick})
        if shown.picture.note:
            st.caption(plain(shown.picture.note))
    with panel, st.container(gap="small", key="inspect_panel"):
        with st.container(gap=None):
            st.markdown(f"**{plain(shown.loaded.title)}**")
            st.caption(plain(" ".join((f"{model_words(shown.model)}.", *shown.loaded.notes))))
        _show_evidence(state, shown)
        if is_answered:
            _show_method(state)
        else:
            show_until(partial(state.answer, 0.0), _show_waiting)
        show_selection(state, shown)
    _show_tabs(state, shown)
    write_address(state)


def inspect_menu(state: InspectState, shown: InspectedModel) -> ModelMenu:
    """Return the menu Model: code and command that compute the shown marginals."""
    method = "exact" if shown.latest is None else shown.latest.method
    names, labels = shown.model.names, shown.model.labels
    evidence = {names[i]: labels[i][k] for i, k in state.evidence.items()}
    condition = f", evidence={evidence!r}" if evidence else ""
    needed = [MODEL_FILE, *(["evidence.evid"] if evidence else [])]
    command = model_command(
        "infer",
        MODEL_FILE,
        out="results",
        method=method,
        evidence="evidence.evid" if evidence else None,
    )
    note = catalogue("labels")["header"]["needs"].format(file=", ".join(needed))
    code = [f"beliefs = gv.infer(model, {method!r}{condition})", "print(beliefs.log_partition)"]
    return ModelMenu(model_code(code), command, note=note)


def _show_waiting() -> None:
    is_compiling = not warm_up("inspect").finished.is_set()
    why = " Compiling the engine first (once per installation)." if is_compiling else ""
    st.caption(f"Computing marginals…{why}")


def _show_tabs(state: InspectState, shown: InspectedModel) -> None:
    tabs: dict[str, Callable[[InspectState, InspectedModel], None]] = {
        "Variables": show_nodes,
        "Edges": show_edges,
    }
    tabs[inspect_texts("query")["tab"]] = show_query
    tabs[inspect_texts("groups")["tab"]] = show_groups
    if shown.before is not None and shown.after is not None:
        tabs["Effect of the evidence"] = show_changed
    if state.compares:
        tabs["Comparison"] = show_comparison
    for tab, show in zip(st.tabs(list(tabs)), tabs.values(), strict=True):
        with tab:
            show(state, shown)


def _show_evidence(state: InspectState, shown: InspectedModel) -> None:
    """Show the evidence, with controls to add and remove observations."""
    model = shown.model
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="evidence"):
        st.markdown("**Evidence**", width="content")
        for i, k in state.evidence.items():
            label = f"{plain(short(model.names[i]))} = {plain(short(model.labels[i][k]))} ✕"
            about = "Remove this observation"
            show_button(label, f"inspect.forget.{i}", state.observe, i, None, help=about)
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
                show_observation(state, model, chosen, "inspect.observe.state")
            show_evidence_upload(state, model)
        if state.evidence:
            key = "inspect.forget_all"
            show_button("Clear evidence", key, state.choose, "evidence", {}, type="tertiary")


def _show_method(state: InspectState) -> None:
    """Show the inference method and its accuracy."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="inspect_method"
    ):
        if state.problem:
            show_problem(reworded(state.problem, _control))
        else:
            words = [answer_words(state.before, state.after)]
            words += partition_words(state.before, state.after)
            st.caption(plain(" ".join(words)), width="content")
        method = state.values["method"]
        with st.popover("Method", type="tertiary", key="inspect.method"):
            st.radio(
                "Marginals by",
                CHOICES,
                index=CHOICES.index(method),
                format_func=lambda name: METHOD_NAMES.get(name, name),
                captions=[
                    "Exact if fast, otherwise belief propagation.",
                    *[""] * (len(CHOICES) - 1),
                ],
                **replaceable(
                    "inspect.method.choice", method, lambda name: state.choose("method", name)
                ),
            )


def _control(name: str, value: str) -> str:
    """Return the control that sets an argument of `infer`."""
    if name == "method":
        return f"{METHOD_NAMES.get(value, value)} under “Method”"
    return "the memory of this server"


# ------------------------------------------------------------------------------------------ queries


_FILES = "inspect.evidence.file"
_WAIT = 0.4  # seconds to wait for a query before the page shows a notice
_HEIGHT = 380
_MOST_NAMED = 5  # names of variables beyond are left out of the formula


def partition_words(before: Answer | None, after: Answer | None) -> list[str]:
    """Return the sentences about log Z, without and with the evidence."""
    texts, methods = inspect_texts("log_z"), inspect_texts("methods")
    found = []
    for answer in (before, after):
        if answer is not None and answer.beliefs is not None:
            beliefs = answer.beliefs
            words = texts[beliefs.log_partition_is].format(
                value=f"{beliefs.log_partition:.6g}", method=methods[beliefs.method]
            )
            found.append(words if answer is before else f"{texts['given']} {words}")
    return found


def show_evidence_upload(state: InspectState, model: PairwiseModel) -> None:
    """Show the uploader of an evidence file, whose content replaces the evidence."""
    texts = inspect_texts("evidence")

    def take() -> None:
        file = st.session_state[_FILES]
        if file is not None:
            options = {"cardinalities": model.cardinalities.tolist()}
            state.choose("evidence", read_files("evidence", [("evidence", file)], options))

    st.file_uploader(
        texts["label"],
        ["evid", "txt"],
        key=_FILES,
        help=texts["help"],
        on_change=guarded(take),
    )


def show_query(state: InspectState, shown: InspectedModel) -> None:
    """Show the choice of the variables of a query, and their joint distribution."""
    texts, model, targets = inspect_texts("query"), shown.model, state.values["targets"]
    st.caption(texts["lead"].format(most=MOST_TARGETS))
    key = follow_value("inspect.query", list(targets))
    st.multiselect(
        texts["variables"],
        range(model.n_variables),
        key=key,
        format_func=model.names.__getitem__,
        max_selections=MOST_TARGETS,
        placeholder=texts["placeholder"],
        on_change=guarded(lambda: state.choose("targets", tuple(st.session_state[key]))),
    )
    job = state.joint
    if job is not None:
        job.wait_for_end(_WAIT)
        show_until(lambda: job.ended, lambda: _show_joint(state, model, job))


def _show_joint(state: InspectState, model: PairwiseModel, job: Job[JointAnswer | None]) -> None:
    texts, found, targets = inspect_texts("query"), job.latest, state.values["targets"]
    show_problem(job.failure)
    if job.failure:
        return
    if found is None or not job.ended:
        st.caption(texts["computing"])
        return
    by = "by" if found.converged else "not_converged"
    words = texts[by].format(method=inspect_texts("methods")[found.method])
    st.markdown(plain(f"{query_formula(model, targets, state.evidence)}. {words}"))
    frame = joint_frame(model, targets, found.table, texts["probability"])
    st.dataframe(
        frame,
        key="inspect.joint",
        hide_index=True,
        height=min(_HEIGHT, 40 + 35 * len(frame)),
        column_config={
            texts["probability"]: st.column_config.ProgressColumn(
                format="%.4f", min_value=0.0, max_value=1.0
            )
        },
        alt=texts["lead"].format(most=MOST_TARGETS),
    )
    file = PageFile("query.csv", texts["file"], lambda: frame_csv(frame))
    file_button(file, "inspect.query.file", is_quiet=True, is_stretched=False)


def query_formula(model: PairwiseModel, targets: tuple[int, ...], evidence: dict[int, int]) -> str:
    """Return "P(a, b | c = yes)"."""
    observed = [
        f"{short(model.names[i])} = {short(model.labels[i][k])}" for i, k in evidence.items()
    ]
    if len(observed) > _MOST_NAMED:
        observed = [*observed[:_MOST_NAMED], "…"]
    condition = f" | {', '.join(observed)}" if observed else ""
    return f"P({', '.join(short(model.names[i]) for i in targets)}{condition})"


def joint_frame(
    model: PairwiseModel, targets: tuple[int, ...], table: np.ndarray, title: str
) -> pd.DataFrame:
    """Return a row per joint state of the variables, the most probable first.

    Parameters
    ----------
    model : PairwiseMRF
    targets : tuple of int
    table : float64 array
        One axis per variable.
    title : str
        Of the column of probabilities.
    """
    states = np.indices(table.shape).reshape(len(targets), -1)
    order = np.argsort(-table, axis=None, kind="stable")
    columns: dict[str, list[object]] = {
        model.names[i]: [model.labels[i][k] for k in states[axis, order].tolist()]
        for axis, i in enumerate(targets)
    }
    while title in columns:
        title += " "
    columns[title] = table.reshape(-1)[order].tolist()
    return pd.DataFrame(columns)
