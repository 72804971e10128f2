"""Fragment of the influence network: messages from and to the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from graftviz.dynamics import ScalableStructure
from graftviz.errors import InputError
from graftviz.player.dynamics_records import influence_graph, series_record
from graftviz.ui.background import Background, await_first
from graftviz.ui.boundary import bounded
from graftviz.ui.dynamics.jobs import RunProgress
from graftviz.ui.dynamics.material import DynamicsMaterial
from graftviz.ui.dynamics.state import DynamicsState, Shown
from graftviz.ui.frame.texts import plain
from graftviz.ui.frame.view import DYNAMICS, Mailbox
from graftviz.ui.session_run import to_json, whole_number


@st.fragment
@bounded
def live_dynamics(state: DynamicsState) -> None:
    """Show the run of `state`; its messages run this again, and nothing else of the page."""
    mail = DYNAMICS.mail
    work = state.run
    if work is None or state.shown is None:
        return
    await_first(work)
    if work.latest is None:
        if work.failure:
            st.warning(plain(work.failure))
            return
        st.info("Computing the first row…")
        st.rerun()  # and wait again; this stays on the screen until then
    DYNAMICS.show(
        dynamics_message(state, state.shown, work, work.latest, mail),
        {"moved": lambda place: _moved(state, mail, place)},
    )


def dynamics_message(
    state: DynamicsState,
    shown: Shown,
    work: Background[RunProgress],
    found: RunProgress,
    mail: Mailbox,
) -> str:
    """Return, as JSON, what the browser should know now; see docs/player.md."""
    material = shown.material
    picture = material.identity
    token = f"{picture}:{shown.plan!r}"
    since = whole_number(mail.need.get("from"), 0) if mail.need.get("token") == token else 0
    page = state.values
    message: dict[str, Any] = {
        "visit": state.visit,
        "graphId": picture,
        "run": {
            "token": token,
            "title": f"{material.title}: {shown.plan.learner.title.lower()}",
            "seeded": isinstance(shown.plan.learner, ScalableStructure),
            "code": [line._asdict() for line in shown.plan.learner.pseudocode],
            "opening": found.opening,
            "closing": work.failure or found.closing,
            "notes": list(found.notes),
            "from": since,
            "steps": found.steps[since:],
            "done": bool(found.closing) or bool(work.failure),
            "at": page["step"],
            "node": state.node,
        },
        "series": _series(state, material, found),
    }
    if mail.picture != picture or mail.need.get("graph"):
        message["graph"] = influence_graph(
            material.series.names,
            material.places,
            picture,
            has_natural_positions=material.given,
            sizes=material.train.values.std(axis=0),
            truth=material.truth,
        )
        mail.picture = picture
    return to_json(message)


def _series(
    state: DynamicsState, material: DynamicsMaterial, found: RunProgress
) -> dict[str, Any] | None:
    """Return the record of the predicted series; None until the system is learned."""
    if found.result is None:
        return None
    node = state.node
    if node is None:
        node = _busiest(material)
    try:
        return series_record(
            found.result.system, material.train, material.test, node, state.options.horizon
        )
    except InputError as error:
        return {"node": node, "problem": str(error)}


def _busiest(material: DynamicsMaterial) -> int:
    """Return the series with the largest variance, the default selection."""
    return int(material.train.values.std(axis=0).argmax())


def _moved(state: DynamicsState, mail: Mailbox, place: Mapping[str, Any]) -> None:
    """Note where the visitor is, and what of the run has arrived there."""
    mail.need = {"token": place.get("token"), "from": place.get("from")}
    for name in ("step", "node"):
        if name in place:
            value = place[name]
            state.values[name] = None if value is None else whole_number(value, 0)
