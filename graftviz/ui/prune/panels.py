"""Controls of the Prune page: data, options, messages."""

from __future__ import annotations

from graftviz.datasets import dataset_title
from graftviz.learners.forced_pruning import ForcedPruning
from graftviz.options import OptionSpec, option_specs
from graftviz.ui.controls import SEED, show_list, show_options
from graftviz.ui.frame.view import PRUNE
from graftviz.ui.messages import (
    show_awaiting_file,
    show_problem,
    show_question,
    show_warnings,
)
from graftviz.ui.prune.state import PruneState
from graftviz.ui.upload import show_upload
from graftviz.ui.url_state import UPLOAD

_FIRST = ("edges", "exchange", "heuristic", "clusters")
_THEN = ("beta", "exchanges")
_LEFT_OUT = ("max_edges",)  # the same as edges


def show_pruned_data(state: PruneState) -> None:
    """Show the upload, if uploaded data are chosen."""
    if state.settings.data == UPLOAD:
        show_upload(state)


def show_pruning_choices(state: PruneState, *, is_ready: bool) -> None:
    """Show data, the learner's options and the seed."""
    show_list(
        "Data",
        "prune.data",
        (*state.vocabulary.data, UPLOAD),
        state.settings.data,
        state.choose_data,
        title=lambda name: "Upload data…" if name == UPLOAD else dataset_title(name),
    )
    automatic = state.automatic() if is_ready else {}
    for group in _groups():
        show_options(
            group,
            {**state.options(), SEED.name: state.settings.seed},
            state.choose,
            prefix="prune.option",
            automatic=automatic,
        )


def _groups() -> tuple[list[OptionSpec], list[OptionSpec]]:
    """Return the options in the order of the page, the most important ones first."""
    specs = {spec.name: spec for spec in option_specs(ForcedPruning)}
    first = [specs[name] for name in _FIRST]
    then = [specs[name]._replace(advanced=False) for name in _THEN]
    rest = [
        spec._replace(advanced=True)
        for name, spec in specs.items()
        if name not in (*_FIRST, *_THEN, *_LEFT_OUT)
    ]
    return first, [*then, SEED, *rest]


def show_pruning_messages(state: PruneState) -> None:
    """Show ignored parameters, and why the view does not follow the choices."""
    show_warnings(state.complaints)
    if state.awaits_file and state.runs:
        show_awaiting_file("run", place=PRUNE.key)
    suffix = " Still showing the previous run." if state.runs else ""
    show_problem(state.problem, suffix)
    show_question(state.question, suffix, state.agree, "prune.")
