"""Fragment of the growing region: messages from and to the browser."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from graftviz.errors import InputError
from graftviz.narrative.regions import coefficient_words, stop_words
from graftviz.player.region_records import curve_record, graph_record, step_records
from graftviz.regions import minimal_radius
from graftviz.ui.background import Background
from graftviz.ui.boundary import bounded
from graftviz.ui.frame.texts import plain
from graftviz.ui.frame.view import REGION, Mailbox
from graftviz.ui.regions import jobs
from graftviz.ui.regions.jobs import BUSY, COUPLINGS, FIELDS, LONGEST_WAIT, Whole, halo, question_of
from graftviz.ui.regions.models import ShownModel
from graftviz.ui.regions.options import (
    GRID,
    LARGEST_COUPLING,
    LARGEST_FIELD,
    RegionOptions,
    named_rules,
    rule_choices,
)
from graftviz.ui.regions.state import RegionState
from graftviz.ui.session_run import to_json

AT_ONCE = 1.0  # seconds a region may take to arrive in one piece
MORE = 0.15  # seconds to wait for what was asked for and is not there yet
_MAX_STEP = 1_000


@st.fragment
@bounded
def live_region(state: RegionState) -> None:
    """Show the region of `state`; its messages run this again, and nothing else of the page."""
    mail = REGION.mail
    if mail.wants_page:
        # The controls around have to follow what was chosen in the picture.
        mail.wants_page = False
        st.rerun()
    shown = state.refresh()
    if shown is None:
        return
    try:
        message = region_message(state, shown, mail)
    except InputError as error:
        st.error(plain(str(error)))
        return
    REGION.show(
        message,
        {
            "ask": lambda request: _ask(state, mail, request),
            "rule": lambda rule: _choose_rule(state, mail, rule),
            "strengths": lambda point: _drag(state, mail, point),
            "moved": lambda place: _moved(state, place),
        },
    )


def region_message(state: RegionState, shown: ShownModel, mail: Mailbox) -> str:
    """Return, as JSON, what the browser should know now; see the Regions page in docs/player.md.

    ``graph`` is only sent when it is another one than last time or asked for, ``map`` likewise;
    ``pending`` names the parts that are still worked out and have to be asked for again.
    """
    options, query = state.options, state.query
    need = mail.need
    until = time.monotonic() + (MORE if need.get("parts") else AT_ONCE)
    token = f"{shown.identity}:{question_of(options, query)}"
    pending: list[str] = []
    region = _region_part(options, shown, query, pending, until)
    message: dict[str, Any] = {
        "token": token,
        "visit": state.visit,
        "page": state.page_runs,
        "graphId": shown.picture,
        "region": region,
        "pending": pending,
        **_map_part(options, shown, mail, need, pending),
    }
    if mail.picture != shown.picture or need.get("graph"):
        message["graph"] = graph_record(
            shown.model, shown.positions, shown.picture, has_natural_positions=shown.given
        )
        mail.picture = shown.picture
    if need.get("parts"):
        work = jobs.whole(shown)
        state.begin_whole(work)
        work.wait_for_end(max(0.0, until - time.monotonic()))
        if work.latest is not None:
            message["whole"] = _whole_record(work, query)
        if not work.ended:
            pending.append("whole")
        message["rules"] = _curves(options, shown, query, work, until)
        if message["rules"] is None:
            pending.append("rules")
    else:
        # While a hand drags the strengths, only the region itself follows it.
        pending += ["whole", "rules"]
    return to_json(message)


def _region_part(
    options: RegionOptions, shown: ShownModel, query: int, pending: list[str], until: float
) -> dict[str, Any]:
    model = shown.model
    work = jobs.region(shown, question_of(options, query))
    work.wait_for_end(max(0.0, until - time.monotonic()))
    work.wait(1, LONGEST_WAIT)  # without its first step there is nothing to show
    grown = work.latest
    if grown is None:
        raise InputError(work.failure or BUSY)
    if not work.ended:
        pending.append("region")
    states = int(model.cardinalities[query])
    usual = states - 1
    return {
        "query": query,
        "labels": list(model.labels[query]),
        "state": usual if options.state is None else options.state,
        "chosen": options.state,
        "usual": usual,
        "tolerance": options.tolerance,
        "size": options.size,
        "rule": named_rules(options)[options.expansion, options.cut],
        "steps": step_records(model, grown.steps, expansion=options.expansion),
        "done": work.ended,
        "stop": work.failure or stop_words(grown.stop_reason, [step.bound for step in grown.steps]),
        "seconds": round(grown.seconds, 6),
        "asksAll": options.expansion == "greedy",  # whether every neighbour's bound is known
        "note": shown.note,
        "at": options.step,
        "influence": halo(shown, query),
    }


def _whole_record(work: Background[Whole], query: int) -> dict[str, Any]:
    def plain(marginal: np.ndarray) -> list[float]:
        return [float(f"{p:.10g}") for p in marginal.tolist()]

    found = work.latest
    assert found is not None
    return {
        "exact": None if found.exact is None else plain(found.exact[query]),
        "exactSeconds": round(found.exact_seconds, 6),
        "exactNote": work.failure or found.why,
        "bp": plain(found.bp[query]),
        "bpSeconds": round(found.bp_seconds, 6),
        "bpNote": found.bp_note,
        "done": work.ended,
    }


def _curves(
    options: RegionOptions, shown: ShownModel, query: int, work: Background[Whole], until: float
) -> list[dict[str, Any]] | None:
    """Return the curves of all rules; None until they are known, and the truth with them."""
    found = work.latest
    truth = None if found is None or found.exact is None else found.exact[query]
    curves = []
    grown = []
    for expansion, cut in rule_choices(options):
        question = question_of(options, query)._replace(expansion=expansion, cut=cut, tolerance=0.0)
        grown.append(jobs.region(shown, question))
    for growth, (choice, rule) in zip(grown, named_rules(options).items(), strict=True):
        if not growth.wait_for_end(max(0.0, until - time.monotonic())) or growth.latest is None:
            return None
        chosen = choice == (options.expansion, options.cut)
        curves.append(curve_record(**rule, steps=growth.latest.steps, truth=truth, chosen=chosen))
    return curves


def _map_part(
    options: RegionOptions,
    shown: ShownModel,
    mail: Mailbox,
    need: Mapping[str, Any],
    pending: list[str],
) -> dict[str, Any]:
    """Return the point on show, c there, and the map around it if the browser lacks it."""
    work = jobs.influence(shown)
    work.wait_for_end(AT_ONCE)
    c = work.latest.coefficient if work.latest else None
    radius = None if c is None else minimal_radius(c, options.tolerance).tail
    part: dict[str, Any] = {
        "mapId": None,
        "point": None,
        "coefficient": {
            "c": None if c is None else round(c, 4),
            "words": "" if c is None else coefficient_words(c, radius, options.tolerance),
        },
    }
    if options.data != GRID or not shown.identity.startswith("grid:"):
        return part
    part["mapId"] = f"{options.side}:{options.seed}"
    part["point"] = {
        "t1": options.t1,
        "t2": options.t2,
        "most": [LARGEST_FIELD, LARGEST_COUPLING],
    }
    has_map = mail.map == part["mapId"] and not need.get("graph")
    drawing = jobs.heat_map(options.side, options.seed)
    if not has_map and drawing.finished:
        part["map"] = {"t1": FIELDS.tolist(), "t2": COUPLINGS.tolist(), "c": drawing.latest}
        mail.map = part["mapId"]
    elif not has_map:
        pending.append("map")
    return part


# --------------------------------------------------------------------- what was done in the picture


def _ask(state: RegionState, mail: Mailbox, request: Mapping[str, Any]) -> None:
    query = _whole_number(request.get("query"))
    if query is not None and state.shown and query < state.shown.model.n_variables:
        state.choose("query", query)
        mail.wants_page = True


def _choose_rule(state: RegionState, mail: Mailbox, rule: Mapping[str, Any]) -> None:
    for expansion, cut in rule_choices(state.options):
        if f"{expansion}:{cut}" == rule.get("key"):
            state.choose("expansion", expansion)
            state.choose("cut", cut)
            mail.wants_page = True
            return


def _drag(state: RegionState, mail: Mailbox, point: Mapping[str, Any]) -> None:
    for name, largest in (("t1", LARGEST_FIELD), ("t2", LARGEST_COUPLING)):
        value = point.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            state.choose(name, round(min(max(float(value), 0.0), largest), 3))
    mail.wants_page = bool(point.get("done"))


def _moved(state: RegionState, place: Mapping[str, Any]) -> None:
    """Note where the visitor is; nothing on the page has to follow."""
    for name in ("step", "state"):
        state.values[name] = _whole_number(place.get(name))


def _whole_number(value: object) -> int | None:
    """Return a number the browser sent, kept within reason; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(max(0, min(_MAX_STEP * 1000, value)))
