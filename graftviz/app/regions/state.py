"""Jobs and session state of the Regions page, and messages of its view."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graftviz.app.material import UPLOAD
from graftviz.app.models import ShownModel, grid_model
from graftviz.app.player.region_records import (
    Grown,
    RegionQuery,
    Rule,
    Whole,
    answering,
    coefficient_record,
    curve_record,
    graph_record,
    growing,
    named_rules,
    region_record,
    rule_choices,
)
from graftviz.app.regions.models import learned, link_of_grow_page, model_of_run
from graftviz.app.regions.options import (
    GRID,
    LARGEST_COUPLING,
    LARGEST_FIELD,
    PLACES,
    RESETS,
    RUN,
    RegionOptions,
    question_of,
)
from graftviz.app.runs import to_json
from graftviz.app.session import BUSY, LONGEST_WAIT, shared_job
from graftviz.app.state import OptionsPage
from graftviz.app.view import Mailbox
from graftviz.inference.local.influence import Influence, coefficient_map, influence_of
from graftviz.reports.replay.plain import whole_number
from graftviz.reports.words.phrases import short
from graftviz.utils.errors import InputError

AT_ONCE = 1.0  # seconds to wait for a complete region
MORE = 0.15  # seconds to wait for parts that were requested and are not there yet
FIELDS = np.linspace(0.0, LARGEST_FIELD, 25).tolist()
COUPLINGS = np.linspace(0.0, LARGEST_COUPLING, 21).tolist()


# ---------------------------------------------------------------------------------------- the jobs


def _growing(shown: ShownModel, question: RegionQuery) -> Iterator[Grown]:
    return growing(shown.model, question)


def _influencing(shown: ShownModel) -> Iterator[Influence]:
    yield influence_of(shown.model)


def _answering(shown: ShownModel) -> Iterator[Whole]:
    return answering(shown.model)


def _mapping(shown: ShownModel) -> Iterator[list[list[float]]]:
    """Compute c of a grid, both of whose strengths are 1, for all other strengths."""
    return coefficient_map(shown.model, FIELDS, COUPLINGS)


region = shared_job(_growing, 400, begins=True)
influence = shared_job(_influencing, 200, begins=True)
# One exact answer at a time, so that a thread stays free.
whole = shared_job(_answering, 100, in_turn=True)
heat_map = shared_job(_mapping, 32, begins=True)


# --------------------------------------------------------------------------------------- the state


class RegionState(OptionsPage[RegionOptions]):
    """Settings of a session, and the shown model.

    Attributes
    ----------
    page_runs : int
        Number of runs of the whole page: then its controls show what was chosen.
    """

    resets = RESETS

    def __init__(self) -> None:
        super().__init__(RegionOptions, PLACES)
        self.page_runs = 0
        self._of_run: tuple[str, ShownModel] | None = None

    def choose(self, name: str, value: Any) -> None:
        """Set one option; the model of a run is that of the current run on the Grow page."""
        super().choose(name, value)
        if name == "data" and value == RUN:
            self.values["run"] = link_of_grow_page()

    # -------------------------------------------------------------------------------- the model

    def _resolve(self) -> ShownModel | None:
        options = self.options
        if options.data == GRID:
            return grid_model(options.side, options.t1, options.t2, options.seed)
        if options.data == UPLOAD:
            model: ShownModel | None = self.uploaded
            return model
        if options.data != RUN:
            return learned(options.data)
        if self._of_run is None or self._of_run[0] != options.run:
            self._of_run = options.run, model_of_run(options.run)
        return self._of_run[1]

    def _adopt(self, found: ShownModel) -> None:
        """Show a model; ignore a query or state that does not exist, with a sentence."""
        super()._adopt(found)
        options, model = self.options, found.model
        n = model.n_variables
        if options.query is not None and options.query >= n:
            self.ignore(
                "query",
                f"No variable {options.query}: this model has the variables 0 … {n - 1}. Using the "
                "default query.",
            )
        states = int(model.cardinalities[self.query])
        if options.state is not None and options.state >= states:
            self.values["state"] = None
            # The browser may report a state of the variable before.
            if self.is_from_link:
                self.ignore(
                    "state",
                    f"No state {options.state}: {short(model.names[self.query])} has the "
                    f"states 0 … {states - 1}; ignored.",
                )

    # -------------------------------------------------------------------------------- the query

    @property
    def query(self) -> int:
        """The query in the shown model."""
        chosen = self.values["query"]
        assert self.shown is not None
        n = self.shown.model.n_variables
        return self.shown.usual_query if chosen is None or chosen >= n else int(chosen)

    def check_place(self) -> bool:
        """Replace a step of a link that the finished region does not have."""
        assert self.shown is not None
        growth = region(self.shown, question_of(self.options, self.query))
        if not growth.ended or growth.latest is None:
            return False
        return self.check_step(len(growth.latest.steps) - 1, "region")

    def set_query(self, text: str) -> None:
        """Set the query from a number or a name; report an unknown one."""
        if self.shown is None:
            return
        model, plain = self.shown.model, text.strip()
        is_number = plain.isdecimal() and plain not in model.names
        try:
            query = model.index_of(int(plain[:9]) if is_number else plain)
        except InputError as error:
            self.complaints = (str(error),)
        else:
            self.choose("query", query)

    # ----------------------------------------------- choices in the view; they return whether the
    # ----------------------------------------------- controls of the page must follow

    def ask(self, request: Mapping[str, Any]) -> bool:
        """Choose the node that was clicked as the query."""
        query = whole_number(request.get("query"), -1)
        is_node = self.shown is not None and 0 <= query < self.shown.model.n_variables
        if is_node:
            self.choose("query", query)
        return is_node

    def choose_rule(self, rule: Mapping[str, Any]) -> bool:
        """Choose the rule of a curve."""
        expansion, _, cut = str(rule.get("key")).partition(":")
        is_rule = (expansion, cut) in rule_choices(self.options.expansion, self.options.cut)
        if is_rule:
            self.choose("expansion", expansion)
            self.choose("cut", cut)
        return is_rule

    def drag(self, point: Mapping[str, Any]) -> bool:
        """Choose the strengths of a point of the map."""
        for name, largest in (("t1", LARGEST_FIELD), ("t2", LARGEST_COUPLING)):
            value = point.get(name)
            if isinstance(value, int | float) and math.isfinite(value):
                self.choose(name, round(min(max(float(value), 0.0), largest), 3))
        return bool(point.get("done"))


# ------------------------------------------------------------------------- the message to the view


def region_message(state: RegionState, shown: ShownModel, mail: Mailbox) -> str:
    """Return the message for the browser as JSON; see the Regions page in docs/player.md.

    ``graph`` is only sent when it is another one than last time or asked for, ``map`` likewise;
    ``pending`` names the parts that are still computed and have to be requested again.
    """
    need, question = mail.need, question_of(state.options, state.query)
    until = time.monotonic() + (MORE if need.get("parts") else AT_ONCE)
    growth = region(shown, question)
    growth.wait_until(until)
    growth.wait(1, LONGEST_WAIT)  # without its first step there is nothing to show
    if growth.latest is None:
        raise InputError(growth.failure or BUSY)
    pending = [] if growth.ended else ["region"]
    rules = named_rules(question.expansion, question.cut)
    message: dict[str, Any] = {
        "token": f"{shown.identity}:{question}",
        "visit": state.visit,
        "page": state.page_runs,
        "graphId": shown.picture,
        "region": {
            **region_record(
                shown.model,
                question,
                growth.latest,
                state=state.options.state,
                influence=influence(shown).latest,
                failure=growth.failure,
            ),
            "rule": rules[question.expansion, question.cut],
            "done": growth.ended,
            "note": shown.note,
            "at": state.options.step,
        },
        "pending": pending,
        **_map_part(state.options, shown, mail, pending),
    }
    if mail.picture != shown.picture or need.get("graph"):
        message["graph"] = graph_record(
            shown.model,
            shown.positions,
            shown.picture,
            has_natural_positions=shown.has_natural_positions,
        )
        mail.picture = shown.picture
    if not need.get("parts"):
        # While the strengths are dragged, only the region is updated.
        pending += ["whole", "rules"]
        return to_json(message)
    answers = whole(shown)
    state.jobs.turn_to(answers)
    answers.wait_until(until)
    truth = None
    if (found := answers.latest) is not None:
        message["whole"] = {**found.record(state.query), "done": answers.ended}
        message["whole"]["exactNote"] = answers.failure or found.why
        truth = None if found.exact is None else found.exact[state.query]
    if not answers.ended:
        pending.append("whole")
    message["rules"] = _curves(shown, question, rules, truth, until)
    if message["rules"] is None:
        pending.append("rules")
    return to_json(message)


def _curves(
    shown: ShownModel,
    question: RegionQuery,
    rules: Mapping[Rule, Mapping[str, Any]],
    truth: np.ndarray | None,
    until: float,
) -> list[dict[str, Any]] | None:
    """Return the curves of all rules; None until they are known."""
    settings = question._replace(tolerance=0.0)
    # All jobs begin before the first is awaited.
    jobs = [region(shown, settings._replace(expansion=e, cut=c)) for e, c in rules]
    curves = []
    for job, (choice, rule) in zip(jobs, rules.items(), strict=True):
        if not job.wait_until(until) or job.latest is None:
            return None
        chosen = choice == (question.expansion, question.cut)
        curves.append(curve_record(**rule, steps=job.latest.steps, truth=truth, chosen=chosen))
    return curves


def _map_part(
    options: RegionOptions, shown: ShownModel, mail: Mailbox, pending: list[str]
) -> dict[str, Any]:
    """Return the shown point with its c, and the map around it if the browser lacks it."""
    job = influence(shown)
    job.wait_for_end(AT_ONCE)
    coefficient = coefficient_record(job.latest, options.tolerance)
    part: dict[str, Any] = {"mapId": None, "point": None, "coefficient": coefficient}
    if options.data != GRID or not shown.identity.startswith("grid:"):
        return part
    part["mapId"] = f"{options.side}:{options.seed}"
    most = [LARGEST_FIELD, LARGEST_COUPLING]
    part["point"] = {"t1": options.t1, "t2": options.t2, "most": most}
    drawing = heat_map(grid_model(options.side, 1.0, 1.0, options.seed))
    if mail.map != part["mapId"] or mail.need.get("graph"):
        if drawing.final is not None:
            part["map"] = {"t1": FIELDS, "t2": COUPLINGS, "c": drawing.final}
            mail.map = part["mapId"]
        else:
            pending.append("map")
    return part
