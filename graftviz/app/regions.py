"""Regions page: marginals from a small region, with a proven error bound."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import streamlit as st

from graftviz.app.boundary import bounded, guarded
from graftviz.app.controls import help_text, show_button, show_options, show_settings
from graftviz.app.files import model_files
from graftviz.app.frame import ModelMenu, PageFile
from graftviz.app.material import UPLOAD
from graftviz.app.models import (
    ShownModel,
    grid_model,
    learned,
    link_of_grow_page,
    model_of_run,
    uploaded_model,
)
from graftviz.app.regions_records import (
    RULES,
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
from graftviz.app.runs import Loaded, to_json
from graftviz.app.session import BUSY, LONGEST_WAIT, shared_job
from graftviz.app.state import PageState
from graftviz.app.upload import show_model_form
from graftviz.app.url import LinkReader, fingerprint_part, part, seed_option, step_option
from graftviz.app.view import REGION, Inbox
from graftviz.data.sets.registry import dataset_title
from graftviz.inference.local.influence import Influence, coefficient_map, influence_of
from graftviz.inference.local.local_model import Cut
from graftviz.inference.local.marginal import Bound, Expansion, ExpansionOptions, Growth
from graftviz.reports.files.tables import region_csv
from graftviz.reports.replay.plain import whole_number
from graftviz.reports.texts import catalogue
from graftviz.reports.words.code import MODEL_FILE, model_code, model_command
from graftviz.reports.words.phrases import short
from graftviz.utils.errors import InputError
from graftviz.utils.options import check_options, option, option_of, option_specs

GRID = "ising-grid"
RUN = "run"  # the model of a run on the Grow page
# Small enough to learn while the page waits.
LEARNED = ("grid-8x8", "scale-free-40", "karate", "les-miserables", "survey", "digits-2")
_DATA = {
    GRID: "Ising grid",
    **{key: f"Learned: {dataset_title(key)}" for key in LEARNED},
    RUN: "Run of the Grow page",
    UPLOAD: "Upload a model…",
}
LARGEST_FIELD, LARGEST_COUPLING = 3.0, 1.0
_LONGEST_RUN = 600  # characters of an address on the Grow page


def _read_run(link: LinkReader, values: Mapping[str, Any]) -> str:
    if values["data"] != RUN:
        link.ignore([RUN], "applies to runs of the Grow page only")
    return link.left.pop(RUN, "")


@dataclass(frozen=True)
class RegionOptions:
    """Settings of the page; all of them are part of its URL.

    Attributes
    ----------
    fingerprint : str
        Fingerprint of the uploaded model; empty otherwise.
    run : str
        URL of a run on the Grow page, if its model is shown.
    """

    data: str = option(
        GRID,
        "the model that is queried",
        label="Model",
        choices=tuple(_DATA),
        titles=tuple(_DATA.values()),
    )
    fingerprint: str = fingerprint_part()
    run: str = part("", _read_run, lambda text: {RUN: text}, {RUN: _LONGEST_RUN})
    side: int = option(
        20, "numbers of rows and columns of the grid", label="Grid size", minimum=2, maximum=30
    )
    t2: float = option(
        0.2,
        "T₂: the coupling of every edge is drawn from −T₂ … T₂. Stronger couplings carry "
        "influence further",
        label="Couplings T₂",
        minimum=0.0,
        maximum=LARGEST_COUPLING,
    )
    t1: float = option(
        1.0,
        "T₁: the field of every node is drawn from −T₁ … T₁. Strong fields reduce the influence "
        "of the neighbours",
        label="Fields T₁",
        minimum=0.0,
        maximum=LARGEST_FIELD,
    )
    query: int | None = option(
        None,
        "the variable whose marginal is computed",
        label="Query",
        minimum=0,
        none_means="the middle of a grid, otherwise a variable with a small bound",
    )
    tolerance: float = option(
        0.01,
        "the region grows until the error bound is at most this",
        label="Tolerance",
        minimum=1e-6,
        maximum=0.5,
        scale="log",
    )
    size: int = option(
        16,
        "the region stops growing at this many nodes",
        label="Maximum region size",
        minimum=1,
        maximum=40,
    )
    expansion: Expansion = option(
        "greedy",
        "the neighbour that is added next: the one that gives the smallest bound, a random one, or "
        "the one with the strongest edge into the region",
        label="Expansion rule",
        choices=tuple(RULES),
        titles=("greedy: smallest bound", "random", "strongest edge"),
    )
    cut: Cut = option(
        "drop",
        "edges that leave the region are dropped, or replaced by the mean field of the neighbour "
        "outside",
        label="Treatment of cut edges",
        choices=("drop", "mean-field"),
        titles=("dropped", "mean field"),
    )
    growth: Growth = option_of(ExpansionOptions, "growth")
    bound: Bound = option_of(ExpansionOptions, "bound")
    seed: int = seed_option("random seed of the grid's weights and of the random rule")
    state: int | None = option(
        None,
        "the state whose probability is shown; the bound holds for every state",
        label="State",
        minimum=0,
        none_means="the last state",
    )
    step: int | None = step_option()

    def __post_init__(self) -> None:
        check_options(self)


def question_of(options: RegionOptions, query: int) -> RegionQuery:
    """Return the settings that the options of the page give for a query."""
    return RegionQuery(
        query,
        options.expansion,
        options.cut,
        options.tolerance,
        options.size,
        options.seed,
        options.growth,
        options.bound,
    )


AT_ONCE = 1.0  # seconds to wait for a complete region
MORE = 0.15  # seconds to wait for parts that were requested and are not there yet
FIELDS = np.linspace(0.0, LARGEST_FIELD, 25).tolist()
COUPLINGS = np.linspace(0.0, LARGEST_COUPLING, 21).tolist()


# ---------------------------------------------------------------------------------------- the jobs


@shared_job(400, begins=True)
def region(shown: ShownModel, question: RegionQuery) -> Iterator[Grown]:
    """Grow a region of the shown model."""
    return growing(shown.model, question)


@shared_job(200, begins=True)
def influence(shown: ShownModel) -> Iterator[Influence]:
    """Compute the influence between the variables of the shown model."""
    yield influence_of(shown.model)


# One exact answer at a time, so that a thread stays free.
@shared_job(100, in_turn=True)
def whole(shown: ShownModel) -> Iterator[Whole]:
    """Compute marginals on the whole graph."""
    return answering(shown.model)


@shared_job(32, begins=True)
def heat_map(shown: ShownModel) -> Iterator[list[list[float]]]:
    """Compute c of a grid, both of whose strengths are 1, for all other strengths."""
    return coefficient_map(shown.model, FIELDS, COUPLINGS)


# --------------------------------------------------------------------------------------- the state


class RegionState(PageState):
    """Settings of a session, and the shown model.

    Attributes
    ----------
    page_runs : int
        Number of runs of the whole page: then its controls show what was chosen.
    """

    resets: ClassVar = {
        "data": ("query", "step", "state", "fingerprint", "run"),
        "fingerprint": ("query", "step", "state"),
        **dict.fromkeys(("side", "query"), ("step", "state")),
    }

    def __init__(self) -> None:
        super().__init__(RegionOptions, places=("step", "state"))
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


def region_message(state: RegionState, shown: ShownModel, inbox: Inbox) -> str:
    """Return the message for the browser as JSON; see the Regions page in docs/player.md.

    ``graph`` is only sent when it is another one than last time or asked for, ``map`` likewise;
    ``pending`` names the parts that are still computed and have to be requested again.
    """
    need, question = inbox.need, question_of(state.options, state.query)
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
        **_map_part(state.options, shown, inbox, pending),
    }
    if inbox.picture != shown.picture or need.get("graph"):
        message["graph"] = graph_record(
            shown.model,
            shown.positions,
            shown.picture,
            has_natural_positions=shown.has_natural_positions,
        )
        inbox.picture = shown.picture
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
    options: RegionOptions, shown: ShownModel, inbox: Inbox, pending: list[str]
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
    if inbox.map != part["mapId"] or inbox.need.get("graph"):
        if drawing.final is not None:
            part["map"] = {"t1": FIELDS, "t2": COUPLINGS, "c": drawing.final}
            inbox.map = part["mapId"]
        else:
            pending.append("map")
    return part


# --------------------------------------------------------------------------------------- the panels


_PREFIX = "region"


@st.fragment
@bounded
def live_region(state: RegionState) -> None:
    """Show the region of `state`; its messages run this again, and nothing else of the page."""
    state.refresh()
    shown = state.shown
    if shown is None:
        return
    REGION.show(
        lambda: region_message(state, shown, REGION.inbox),
        {"ask": state.ask, "rule": state.choose_rule, "strengths": state.drag, "moved": state.move},
        state.check_place,
    )


def show_model_choice(state: RegionState) -> None:
    """Show the choice of the model and the options of the grid."""
    options = state.options
    show_settings(state, _PREFIX, "data")
    if options.data == RUN and link_of_grow_page() not in ("", options.run):
        show_button("Use the current run", "newest", state.choose, "data", RUN)
    if options.data == GRID:
        show_settings(state, _PREFIX, "t2", "t1", drag=True)


def show_growth_choices(state: RegionState) -> None:
    """Show the query and the options of growth; the model has been loaded."""
    if state.shown is None:
        return
    _show_query(state, state.shown)
    show_settings(state, _PREFIX, "tolerance", "size")
    names = ["expansion", "cut", "growth", "bound"]
    if state.options.data == GRID:
        names += ["side", "seed"]
    elif state.options.expansion == "random":
        names += ["seed"]
    advanced = [state.specs[name]._replace(advanced=True) for name in names]
    show_options(advanced, state.values, state.choose, prefix=_PREFIX)


def _show_query(state: RegionState, shown: ShownModel) -> None:
    spec, key = state.specs["query"], f"{_PREFIX}.query"
    current = (shown.identity, state.query)
    if st.session_state.get("region.requested") != current:
        # The field follows a click in the graph; an invalid entry stays, to be corrected.
        st.session_state["region.requested"] = current
        st.session_state[key] = shown.model.names[state.query]
    st.text_input(
        "Query: name or number",
        key=key,
        help=f"{help_text(spec)}\n\nOr click a node in the graph.",
        on_change=guarded(lambda: state.set_query(st.session_state[key])),
    )


def show_upload(state: RegionState) -> None:
    """Show the upload and its errors; the current model stays until another is accepted."""
    if state.options.data != UPLOAD:
        return
    show_model_form(
        _PREFIX,
        "Model: .uai (optionally with .names.json), .graphml, node-link .json, or a zipped result "
        "folder",
        lambda _, found: uploaded_model(found.model, found.notes),
        state.accept,
        expected=state.expected,
        shown="model" if state.shown is not None else "",
        title="Upload a model",
        caption="Files stay on this server. Larger models: `python -m graftviz local MODEL --query "
        "NAME`.",
        is_open=state.uploaded is None,
    )


def region_files(state: RegionState) -> list[PageFile]:
    """Return the files of the shown region; none before there is one."""
    if state.shown is None:
        return []
    shown, question = state.shown, question_of(state.options, state.query)
    labels = shown.model.labels[question.query]

    def build() -> str:
        steps = region(shown, question).value().steps
        return region_csv(shown.model.names, labels, ((one.step, one.marginal) for one in steps))

    return [
        PageFile("region.csv", "Region, one row per variable (CSV)", build),
        *model_files(lambda: shown.model),
    ]


def region_menu(state: RegionState) -> ModelMenu | None:
    """Return the menu Model of the shown model; None before there is one."""
    shown = state.shown
    if shown is None:
        return None
    question = question_of(state.options, state.query)
    name = shown.model.names[question.query]
    usual = {spec.name: spec.default for spec in option_specs(ExpansionOptions)}
    chosen = {key: value for key, value in question._asdict().items() if key != "query"}
    values = {key: value for key, value in chosen.items() if value != usual[key]}
    arguments = "".join(f", {option}={value!r}" for option, value in values.items())
    note = catalogue("labels")["header"]["needs"].format(file=MODEL_FILE)
    return ModelMenu(
        model_code([f"print(gv.local_marginal(model, {name!r}{arguments}))"]),
        model_command("local", MODEL_FILE, query=name, **values),
        lambda: Loaded(
            shown.model,
            state.specs["data"].title_of(state.options.data),
            places=shown.positions,
            has_natural_positions=shown.has_natural_positions,
        ),
        note,
    )
