"""Controls and messages of the pages that learn from a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from graftviz.learners.registry import learner_class
from graftviz.options import OptionSpec, option_specs
from graftviz.player.recorders import to_json
from graftviz.ui.boundary import bounded
from graftviz.ui.controls import PRESET, show_option, show_options
from graftviz.ui.frame.learning import LearningPage, SideBySidePage
from graftviz.ui.frame.runs import everything_so_far, requested_feeds
from graftviz.ui.frame.view import Mailbox, MountedView, Trigger, json_object
from graftviz.ui.url_state import LearnerOption


def show_data(state: LearningPage[Any], prefix: str, *, disabled: bool = False) -> None:
    """Show the list of data sets."""
    material = state.current_material()
    spec = state.specs["data"]
    if material is not None and material.description:
        spec = spec._replace(help=material.description)
    show_option(spec, state.values["data"], state.choose, prefix=prefix, disabled=disabled)


def show_learners(
    state: LearningPage[Any], prefix: str, label: str, *, disabled: bool = False
) -> None:
    """Show the list of learners."""
    learner = state.choice.learner
    cls = learner_class(learner)
    (spec,) = option_specs(LearnerOption)
    spec = spec._replace(label=label, help=f"{cls.idea} ({cls.source})")
    show_option(spec, learner, state.choose, prefix=prefix, disabled=disabled)


def show_learner_options(
    state: LearningPage[Any],
    groups: Iterable[Sequence[OptionSpec]],
    prefix: str,
    *,
    is_ready: bool,
    **more: Any,
) -> None:
    """Show options of the learner, and the seed, in groups.

    Automatic values are computed once the engine is ready; earlier they would wait for it. `more`
    are arguments of :func:`show_options`.
    """
    values = {**state.learner_options(state.choice), "seed": state.values["seed"]}
    automatic = state.automatic(state.choice) if is_ready else {}
    for group in groups:
        show_options(group, values, state.choose, prefix=prefix, automatic=automatic, **more)


def preset_first(specs: Sequence[OptionSpec]) -> tuple[list[OptionSpec], list[OptionSpec]]:
    """Return the preset, which decides about many other options, and the others."""
    return [s for s in specs if s.name == PRESET], [s for s in specs if s.name != PRESET]


# --------------------------------------------------------------------------- runs side by side


@st.fragment
@bounded
def show_runs(
    state: SideBySidePage[Any],
    view: MountedView,
    name: str,
    chosen: Mapping[str, Trigger],
) -> None:
    """Show the runs of `state`; messages run this again, and nothing else of the page.

    Parameters
    ----------
    state : SideBySidePage
    view : MountedView
    name : str
        Name of the token in messages.
    chosen : mapping
        Name of another message from the view → function called with it.
    """
    if not state.entries:
        return

    def moved(message: Mapping[str, Any]) -> None:
        if message.get(name) == state.token:
            state.move(message)

    view.show(lambda: runs_message(state, view.mail, name), {"moved": moved, **chosen})


def runs_message(state: SideBySidePage[Any], mail: Mailbox, name: str) -> str:
    """Return, as JSON, the next message to the view; see docs/player.md.

    It has the header and all records for new runs, and otherwise the records that the view has
    requested.
    """
    need = mail.need if mail.need.get(name) == state.token else None
    runs = list(state.runs.values())
    failures = {run.token: run.failure for run in runs if run.failure}
    message: dict[str, str | None] = {
        name: json.dumps(state.token),
        "failures": to_json(failures),
        "replies": json.dumps(need is not None),
        **{key: to_json(value) for key, value in state.place().items()},
    }
    if mail.sent != state.token or (need is not None and need.get("header")):
        message |= {"header": state.header_json, "feeds": everything_so_far(runs)}
    else:
        wants = None if need is None else need.get("wants")
        message["feeds"] = requested_feeds(runs, wants)
    mail.sent = state.token
    return json_object(message)
