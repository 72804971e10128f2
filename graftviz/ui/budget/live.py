"""Fragment of the model under a bound: messages from and to the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.learners.bounded_inference import MEASURES
from graftviz.narrative.budget import amount
from graftviz.narrative.phrases import plural
from graftviz.player.budget_records import budget_graph
from graftviz.ui.background import Background, await_first
from graftviz.ui.boundary import bounded
from graftviz.ui.budget.jobs import BudgetMaterial, RunProgress, run_key, source
from graftviz.ui.budget.options import BOUNDS, BudgetOptions
from graftviz.ui.budget.state import BudgetState
from graftviz.ui.frame.view import BUDGET, Mailbox
from graftviz.ui.session_run import to_json, whole_number


@st.fragment
@bounded
def live_budget(state: BudgetState) -> None:
    """Show the run of `state`; its messages run this again, and nothing else of the page."""
    mail = BUDGET.mail
    work = state.run
    if work is None or state.shown is None:
        return
    await_first(work)
    found = work.latest
    if found is None:
        if work.failure:
            st.rerun()  # the page says why, and what was shown before comes back
        st.info("Computing the first edge…")
        st.rerun()  # and wait again; this stays on the screen until then
    message = budget_message(state, state.shown, work, found, mail)
    BUDGET.show(
        message,
        {"moved": lambda place: _moved(state, place)},
    )


def budget_message(
    state: BudgetState,
    shown: BudgetOptions,
    work: Background[RunProgress],
    found: RunProgress,
    mail: Mailbox,
) -> str:
    """Return, as JSON, what the browser should know now; see the Budget page in docs/player.md."""
    data = source(shown.data, shown.seed)
    picture = data.material.identity
    token = ":".join(map(str, run_key(shown)))
    is_requested = mail.need.get("token") == token
    since = whole_number(mail.need.get("from"), 0) if is_requested else 0
    message: dict[str, Any] = {
        "visit": state.visit,
        "graphId": picture,
        "run": {
            "token": token,
            "tau": shown.tau,
            "tauText": amount(shown.tau, shown.complexity),
            "measure": MEASURES[shown.complexity],
            "whole": BOUNDS[shown.complexity].whole,
            "title": _headline(shown, data),
            "from": since,
            "steps": found.steps[since:],
            "done": bool(found.stop) or bool(work.failure),
            "stop": work.failure or found.stop,
            "infeasible": found.infeasible,
            "at": state.values["step"],
            "ghost": _ghost_record(state),
        },
    }
    if mail.picture != picture or mail.need.get("graph"):
        message["graph"] = budget_graph(
            data.material.train.names, data.places, picture, has_natural_positions=data.given
        )
        mail.picture = picture
    return to_json(message)


def _headline(shown: BudgetOptions, data: BudgetMaterial) -> str:
    measure, bound = MEASURES[shown.complexity], amount(shown.tau, shown.complexity)
    return f"{data.material.title}: {measure} ≤ {bound}"


def _ghost_record(state: BudgetState) -> dict[str, Any] | None:
    """Return the previous run: edges, values of R if the measure is the same, and a sentence."""
    found, before, shown = state.ghost, state.before, state.shown
    if found is None or before is None or shown is None:
        return None
    last = found.steps[-1]
    quality = "" if last["nll"] is None else f", held-out NLL {last['nll']:.3f}"
    is_alike = before.complexity == shown.complexity
    return {
        "edges": [step["edge"] for step in found.steps[1:]],
        "course": [step["value"] for step in found.steps] if is_alike else [0.0],
        "words": (
            f"Previous run, τ = {amount(before.tau, before.complexity)} "
            f"({MEASURES[before.complexity]}): {plural(len(found.steps) - 1, 'edge')}{quality}."
        ),
    }


def _moved(state: BudgetState, place: Mapping[str, Any]) -> None:
    """Note where the visitor is; nothing on the page has to follow."""
    step = place.get("step")
    state.values["step"] = None if step is None else whole_number(step, 0)
