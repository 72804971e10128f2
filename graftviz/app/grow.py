"""Grow page: the live player with its controls."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import streamlit as st

from graftviz.app.boundary import bounded, guarded
from graftviz.app.controls import (
    PRESET,
    control_words,
    follow_value,
    help_text,
    main_options_first,
    show_button,
    show_data,
    show_learner_options,
    show_learners,
    show_notices,
)
from graftviz.app.files import run_menu
from graftviz.app.frame import ModelMenu, take_tour
from graftviz.app.jobs import EVERYTHING, Queue
from graftviz.app.material import PAGE_PRESET, Material, fewer_edges, uploaded_table
from graftviz.app.recording import RecordedRun, recording
from graftviz.app.runs import PlayerRun, SessionRun, to_json
from graftviz.app.session import material, page_state, queue
from graftviz.app.state import Entry, LearningPage, Load, MakeRun, with_choice
from graftviz.app.url import (
    BEST,
    CLASS_DATA,
    MAX_STEP,
    DataOptions,
    LearnerChoice,
    LearnerOption,
    LinkReader,
    changes_text,
    class_data,
    default_values,
    part,
    texts,
)
from graftviz.app.view import PLAYER, Inbox
from graftviz.learning.registry import learner_class, learner_names
from graftviz.learning.run import Branch
from graftviz.reports.replay.plain import json_object, share_of, whole_number
from graftviz.reports.texts import catalogue
from graftviz.reports.words.code import learn_command
from graftviz.reports.words.phrases import plural
from graftviz.utils.options import option, option_of, option_specs, option_words
from graftviz.utils.wording import plain, quoted

FEWEST_ROWS = 50  # below, most pairs of states have no row


@dataclass(frozen=True)
class BranchPoint:
    """From step `at` on the run uses `options` instead of its own."""

    at: int
    options: Mapping[str, Any] = field(default_factory=dict)


def option_names(learner: str) -> set[str]:
    """Return the names of the options of a learner."""
    return {spec.name for spec in option_specs(learner_class(learner))}


def has_presets(learner: str) -> bool:
    """Return whether a learner can be run by the preset best."""
    specs = option_specs(learner_class(learner))
    return any(spec.name == "preset" and BEST in spec.choices for spec in specs)


def _read_options(link: LinkReader, values: Mapping[str, Any]) -> dict[str, Any]:
    options = link.take_options(learner_class(values["learner"]))
    others = set().union(*map(option_names, learner_names()))
    link.ignore(
        [name for name in link.left if name in others], f"does not apply to {values['learner']}"
    )
    return options


def _read_compare(link: LinkReader, values: Mapping[str, Any]) -> bool:
    text, why = link.left.pop("compare", "").strip(), ""
    if text and text != BEST:
        why = f"A run can be compared with {BEST}, not {quoted(text)}."
    elif text and "branch" in link.left:
        why = f"A branch cannot be compared with {BEST}; showing the branch."
    elif text and not has_presets(values["learner"]):
        why = f"This learner has no presets, so there is no {BEST} to compare with."
    link.complaints += [why] if why else []
    return bool(text) and not why


def _read_branch(link: LinkReader, values: Mapping[str, Any]) -> BranchPoint | None:
    def read(text: str) -> BranchPoint | None:
        at, _, changes = text.partition(":")
        if not re.fullmatch(r"\d{1,9}", at.strip(), re.ASCII):
            return None
        cls = learner_class(values["learner"])
        unknown = "A branch cannot change {}; ignored."
        return BranchPoint(int(at), link.take_changes(changes, cls, unknown))

    rule = "A branch is written as step:option=value, for example 7:alpha=0.2, not {}; ignored."
    return link.take("branch", None, read, rule)


@dataclass(frozen=True)
class GrowOptions(DataOptions):
    """Settings of the page.

    Attributes
    ----------
    rows : int or None
    held_out : float or None
        Arguments of :meth:`graftviz.app.material.Material.divided`.
    options : mapping
        Options of the learner that differ from their defaults.
    compare : bool
        Whether the run of the preset best on the same data is shown in front.
    branch : BranchPoint or None
    """

    rows: int | None = option(
        None,
        "training rows that the run learns from, drawn by the seed: fewer rows are a subset of "
        "more. The held-out rows stay the same",
        label="Rows used",
        minimum=FEWEST_ROWS,
        none_means="all training rows",
    )
    held_out: float | None = option(
        None,
        "share of the rows that are held out; the training rows are the others",
        label="Held-out share",
        minimum=0.0,
        maximum=0.5,
        none_means="the share of the data set",
        advanced=True,
    )
    learner: str = option_of(LearnerOption, "learner")
    options: Mapping[str, Any] = part({}, _read_options, texts)
    compare: bool = part(False, _read_compare, lambda _: {"compare": BEST})
    branch: BranchPoint | None = part(  # noqa: RUF009 (a field)
        None,
        _read_branch,
        lambda branch: {"branch": f"{branch.at}:{changes_text(branch.options)}"},
        {"branch": 600},
    )
    step: int = option(0, "Step that is shown", minimum=0, maximum=MAX_STEP)


# ---------------------------------------------------------------------------------------- the state


MOST_RUNS = 3  # that the page keeps for a session, the shown one included
COMPARED_OPTIONS = ("alpha", "reservoir", "max_edges")  # the rest is left to the preset
_LAYOUT_WAIT = 3.0  # seconds to wait for the layout of the run that another is compared with
_KEY = "grow"
FIRST_CREDIT = 400  # steps computed before the first request


class GrowState(LearningPage):
    """Settings and runs of the Grow page in one session.

    Parameters
    ----------
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    queue : Queue

    Attributes
    ----------
    run : SessionRun or None
    ghost : SessionRun or None
        The run drawn with it: the one from which `run` branched, or else the previous one, unless
        the two are on different tables of which one is uploaded.
    has_engine : bool
        Whether the engine is compiled. Until then only the recorded run can be shown.
    awaits_engine : bool
        Whether the settings describe another run, which waits for the engine.
    """

    resets: ClassVar = {
        "data": ("fingerprint", "reading", "rows", "held_out", "branch", "step"),
        "fingerprint": ("rows", "branch", "step"),
        "reading": ("branch",),
        "learner": ("branch",),
        "seed": ("branch",),
        "rows": ("branch",),
        "held_out": ("branch",),
    }

    def __init__(self, load: Load, queue: Queue) -> None:
        super().__init__(GrowOptions, load, queue, places=("step",))
        self.run: SessionRun | None = None
        self.ghost: SessionRun | None = None
        self.has_engine = True
        self.awaits_engine = False

    # --------------------------------------------------------------------------------- settings

    def choose(self, name: str, value: Any) -> None:
        """Set an option; another learner keeps the chosen options that it has."""
        if name == "learner":
            names, options = option_names(value), self.values["options"]
            self.values["options"] = {key: options[key] for key in options if key in names}
            self.values["compare"] = self.values["compare"] and has_presets(value)
        super().choose(name, value)

    def _choose_option(self, name: str, value: Any) -> None:
        """Set an option of the learner, or of the branch while there is one."""
        branch = self.values["branch"]
        if branch is None:
            super()._choose_option(name, value)
        else:
            run = self.learner_options(self.own)
            options = with_choice(branch.options, name, value, run)
            self.choose("branch", BranchPoint(branch.at, options))

    @property
    def own(self) -> LearnerChoice:
        """Learner and options of the run, without a branch."""
        return LearnerChoice(self.values["learner"], self.values["options"])

    @property
    def choice(self) -> LearnerChoice:
        """Learner and options that the controls show: those of the branch while there is one."""
        branch = self.values["branch"]
        changes = branch.options if branch else {}
        return LearnerChoice(self.own.learner, {**self.own.options, **changes})

    def begin_branch(self, at: int) -> None:
        """Let options apply from step `at` of the run in front on."""
        if self.values["compare"]:
            self.values.update(options=self._method(BEST), compare=False)
        self.choose("step", at)
        self.choose("branch", BranchPoint(at))

    @property
    def can_compare(self) -> bool:
        """Whether the learner has a preset best to compare with."""
        return self.values["branch"] is None and has_presets(self.values["learner"])

    # ------------------------------------------------------------------------------------- data

    def current_material(self) -> Material | None:
        """Return the data of the settings, with the chosen rows; None before an upload."""
        whole = super().current_material()
        return whole and whole.divided(self.values["rows"], self.values["held_out"])

    def all_training_rows(self) -> int:
        """Return the number of rows that are not held out; 0 before an upload."""
        whole = self.with_all_rows()
        return whole.train.n_rows if whole else 0

    def with_all_rows(self) -> Material | None:
        """Return the data of the settings, with all training rows; None before an upload."""
        whole = super().current_material()
        return whole and whole.divided(None, self.values["held_out"])

    # ----------------------------------------------------------------------------------- the run

    def check_step(self, last: int, what: str = "run") -> bool:
        """Replace a step of a link that does not exist; ignore a branch at such a step."""
        branch, changes = self.values["branch"], super().check_step(last, what)
        if self.is_from_link and branch is not None and branch.at > last:
            steps = plural(last, "step")
            self.ignore(
                "branch", f"No step {branch.at:,} to branch from: the run has {steps}; ignored."
            )
            return True
        return changes

    @property
    def is_recorded(self) -> bool:
        """Whether the settings are those of the recorded run."""
        return {**self.values, "step": 0} == default_values(GrowOptions)

    def _resolve(self) -> tuple[tuple[Entry, ...], Material] | None:
        self._check_rows()
        self.awaits_engine = not (self.has_engine or self.is_recorded)
        return None if self.awaits_engine else super()._resolve()

    def _check_rows(self) -> None:
        """Use all rows where the settings have more than there are."""
        rows, most = self.values["rows"], self.all_training_rows()
        if rows is not None and most and rows >= most:
            why = f"There are {most:,} training rows, not {rows:,}; all are used."
            self.values["rows"] = None
            self.complaints += (why,) if rows > most else ()

    def _planned_runs(self, material: Material) -> tuple[Entry, ...]:
        """Return the main run, and the one with which it is compared or from which it branched."""
        learner, branch = self.learner(self.own), self.values["branch"]
        if self.values["compare"]:
            if getattr(learner, "preset", None) == BEST:
                learner = self._by_preset(PAGE_PRESET)
            ghost = self._plan(learner, material)
            plan = self._plan(self._by_preset(BEST), material, ghost=ghost)
        elif branch is not None and branch.options:
            ghost = self._plan(learner, material)
            change = Branch(branch.at, self.learner(self.choice))
            plan = self._plan(learner, material, branch=change, ghost=ghost)
        else:
            return (Entry("", self._plan(learner, material)),)
        return Entry("", plan), Entry("ghost", ghost)

    def _by_preset(self, preset: str) -> Any:
        return self.learner(LearnerChoice(self.values["learner"], self._method(preset)))

    def _method(self, preset: str) -> Mapping[str, Any]:
        """Return the preset, and the chosen options that do not belong to a method."""
        chosen = self.values["options"]
        options = {name: chosen[name] for name in COMPARED_OPTIONS if name in chosen}
        return options if preset == PAGE_PRESET else {**options, "preset": preset}

    def _start_runs(self, planned: tuple[Entry, ...], material: Material) -> None:
        plan = planned[0].plan
        assert plan is not None
        is_compared = plan.ghost is not None and plan.branch is None
        is_first = self.run is None and not is_compared
        base = None if plan.ghost is None else self._run_of(plan.ghost, material, PlayerRun)
        if base is not None and is_compared and not _has_places(material):
            base.grant()
            base.wait_for_end(_LAYOUT_WAIT)
        make: MakeRun = partial(PlayerRun, ghost=base)
        if not self.has_engine and recording().material == plan.material:
            make = partial(RecordedRun, is_ready=lambda: self.has_engine)
        run = self._run_of(plan, material, make)
        if base is None and self.run is not None and self.run is not run:
            self.run.revoke()  # the ghost stays visible, and only hidden runs are paused below
        before = None if self.run is None else self.plan_of(self.run)
        tables = {uploaded_table(some.material) for some in (before, plan) if some}
        self.run, self.ghost = run, base or (self.run if len(tables) == 1 else None)
        self._keep_active((self.run, self.ghost), MOST_RUNS)
        # The first picture needs a few steps; a change of options is shown as a whole.
        run.grant(max(FIRST_CREDIT, self.values["step"]) if is_first else EVERYTHING)
        if base is not None:
            base.grant()

    def smaller(self) -> int | None:
        """Return an edge budget within the limits for the run that was not begun."""
        material = self.current_material()
        return None if material is None else fewer_edges(material.train, self.learner(self.own))

    def command(self) -> str:
        """Return the command that performs the run of the page."""
        options, material = self.options, self.current_material()
        share = material.test_fraction if material else 0.0
        return learn_command(
            options.data,
            self.learner(self.own),
            options.seed,
            options.reading,
            rows=options.rows,
            test_fraction=share,
        )

    def forget(self) -> None:
        """Release all runs; they are computed again when the page is opened."""
        super().forget()
        self.run = self.ghost = None


def _has_places(material: Material) -> bool:
    """Return whether every run on the data has the same layout from its first step on."""
    return material.positions is not None or (
        material.truth is not None and len(material.truth) > 0
    )


def grow_state() -> GrowState:
    """Return the state of the Grow page in this session."""
    return page_state(_KEY, lambda: GrowState(material, queue()))


def opened_grow_state() -> GrowState | None:
    """Return the state of the Grow page in this session; None if it has not been opened."""
    found: GrowState | None = st.session_state.get(_KEY)
    return found


def grow_texts(part: str) -> Mapping[str, Any]:
    """Return a part of the page's texts."""
    return catalogue("grow")[part]


def stability_json(run: SessionRun) -> str | None:
    """Return the argument of the player's `stabilise`; None before the first subsample."""
    found = run.stability.latest if run.stability is not None else None
    if found is None or not found.done:
        return None
    edges = np.column_stack([found.edges, found.counts]).tolist()
    message = {"run": run.token, "of": found.done, "rows": found.n_subsample_rows, "edges": edges}
    return to_json(message)


# ----------------------------------------------------------------------------- messages to the view


LEARN_AT_ONCE = 0.25  # seconds to wait for a complete changed run
LEARN_TO_THE_END = 0.6  # the same if the end is shown
FIRST_STEP = 1.0  # seconds to wait for the first step, and with it the header
MORE_STEPS = 0.1  # seconds to wait for requested steps that are not there yet
ENOUGH = 1 / 3  # share of the requested steps that is sent without waiting for the others
AHEAD = 2  # multiple of the request that is computed, so that the next one is answered at once


@st.fragment
@bounded
def live_player(state: GrowState) -> None:
    """Show the current run; messages of the player rerun only this fragment."""
    run = state.run
    if run is None:
        return
    inbox = PLAYER.inbox

    def branch(message: Mapping[str, Any]) -> bool:
        is_of_run = message.get("run") == run.token
        if is_of_run:
            state.begin_branch(whole_number(message.get("t"), 0))
        return is_of_run

    def best(message: Mapping[str, Any]) -> bool:
        may_compare = message.get("run") == run.token and state.can_compare
        if may_compare:
            state.choose("compare", True)
        return may_compare

    def alpha(message: Mapping[str, Any]) -> bool:
        value = share_of(message.get("value"))
        may_change = message.get("run") == run.token and "alpha" in option_names(
            state.choice.learner
        )
        if may_change and value is not None:
            state.choose("alpha", value)
        return may_change

    def moved(place: Mapping[str, Any]) -> None:
        if place.get("run") == run.token:
            state.values["step"] = whole_number(place.get("t"), 0)

    PLAYER.show(
        lambda: grow_message(state, run, inbox),
        {
            "ask": lambda question: setattr(inbox, "question", question),
            "ghost": lambda need: setattr(inbox, "ghost_need", need),
            "branch": branch,
            "best": best,
            "alpha": alpha,
            "moved": moved,
        },
        lambda: run.ended and state.check_step(run.computed),
    )
    if run.failure:
        st.error(plain(run.failure))


def grow_message(state: GrowState, run: SessionRun, inbox: Inbox) -> str:
    """Return, as JSON, the next message to the player; its parts are in docs/player.md."""
    need = inbox.need if inbox.need.get("run") == run.token else None
    answer = run.answer_json(inbox.question) if inbox.question.get("run") == run.token else None
    # Of two messages in a row a browser may show the last one only: an answer goes out with both.
    answer, inbox.answer = answer or inbox.answer, answer
    message: dict[str, str | None] = {"run": json.dumps(run.token), "answer": answer}
    is_new = inbox.sent != run.token
    if is_new or (need is not None and need.get("header")):
        until = time.monotonic() + (_patience(state) if is_new else 0.0)
        run.grant(1)  # a connection that broke may have stopped it before its first step
        run.wait_until(until)
        message |= _introduction(state, run, inbox.sent if is_new else "", until)
        if message["header"] is None:
            # Streamlit does not deliver a message that equals the previous one; the view requests
            # the header again with each that it receives.
            inbox.repeats += 1
            message["repeat"] = str(inbox.repeats)
    elif need is None:
        message |= {
            "stability": _new_stability(run, inbox),
            "ghost_feed": _ghost_feed(state, inbox),
        }
    else:
        first, count = whole_number(need.get("from"), 1), whole_number(need.get("count"), 1)
        run.grant(first - 1 + AHEAD * count)
        run.wait(first - 1 + math.ceil(ENOUGH * count), MORE_STEPS)
        message |= {"feed": run.feed_json(first, count), "ghost_feed": _ghost_feed(state, inbox)}
    inbox.sent = run.token
    return json_object(message)


def _ghost_feed(state: GrowState, inbox: Inbox) -> str | None:
    """Return the requested records of the ghost."""
    ghost, need = state.ghost, inbox.ghost_need
    if ghost is None or need.get("run") != ghost.token:
        return None
    return ghost.feed_json(whole_number(need.get("from"), 1), EVERYTHING)


def _new_stability(run: SessionRun, inbox: Inbox) -> str | None:
    """Return the stability, unless the last two messages contained the same.

    Of two messages in a row a browser may show the last one only.
    """
    found = stability_json(run)
    before, inbox.stability = inbox.stability, (inbox.stability[1], found)
    return None if before == (found, found) else found


def _introduction(
    state: GrowState, run: SessionRun, sent: str, until: float
) -> dict[str, str | None]:
    """Return header and all records so far of a run, and of its ghost.

    Parameters
    ----------
    state : GrowState
    run : SessionRun
    sent : str
        Token of the run that the browser has; of this one only new records are sent.
    until : float
        Time (of ``time.monotonic``) until which the end of the ghost is awaited.
    """
    run.wait(1, FIRST_STEP)
    return {
        "header": run.header_json,
        "step": json.dumps(state.values["step"]),
        "feed": run.feed_json(1, EVERYTHING),
        "ghost": _introduced_ghost(state.ghost, sent, until),
        "stability": stability_json(run),
    }


def _introduced_ghost(ghost: SessionRun | None, sent: str, until: float) -> str | None:
    """Return header and feed of the run to compare with."""
    if ghost is None:
        return None
    if ghost.has_credit:
        ghost.wait_until(until)
    if ghost.header_json is None:
        return None
    first = ghost.delivered + 1 if ghost.token == sent else 1
    return json_object({"header": ghost.header_json, "feed": ghost.feed_json(first, EVERYTHING)})


def _patience(state: GrowState) -> float:
    """Return how long a changed run is awaited: longer if the end of the previous was shown."""
    before = state.ghost
    if before is not None and before.ended and 0 < before.computed <= state.values["step"]:
        return LEARN_TO_THE_END
    return LEARN_AT_ONCE


# --------------------------------------------------------------------------------------- the panels


def show_choices(state: GrowState, *, is_ready: bool) -> None:
    """Show data set, learner, its options and the seed."""
    is_branch = state.values["branch"] is not None
    show_data(state, "choose", disabled=is_branch)
    _show_rows(state, disabled=is_branch)
    show_learners(state, "choose", "Learner", disabled=is_branch)
    if state.values["compare"]:
        st.caption(_compared_options(state))
    specs, cls = state.specs, learner_class(state.choice.learner)
    preset, others = main_options_first(cls, specs["seed"], "max_edges")
    show_learner_options(
        state,
        (preset, [*others, specs["held_out"]]),
        "option",
        is_ready=is_ready,
        disabled=("seed", "held_out", PRESET) if is_branch else (),
    )


def show_class_questions(state: GrowState) -> None:
    """Show the questions that this page answers about uploaded data for classes."""
    data = state.values["data"]
    if data in CLASS_DATA and state.uploaded is not None:
        about = class_data(data)
        with st.expander(grow_texts("questions")["title"], expanded=True):
            st.markdown("\n".join(f"1. {question}" for question in about.questions))


def _show_rows(state: GrowState, *, disabled: bool) -> None:
    """Show the slider of the training rows that the run learns from."""
    spec, most = state.specs["rows"], state.all_training_rows()
    shown = min(state.values["rows"] or most, most)
    stops = row_stops(most, shown)
    if len(stops) < 2:
        return
    key, every = follow_value(f"choose.{spec.name}", shown), control_words()["all"]

    def change() -> None:
        chosen = st.session_state[key]
        if chosen != shown:
            state.choose(spec.name, None if chosen >= most else chosen)

    st.select_slider(
        spec.label,
        stops,
        format_func=lambda rows: f"{every} {rows:,}" if rows == most else f"{rows:,}",
        key=key,
        help=help_text(spec),
        disabled=disabled,
        on_change=guarded(change),
    )


def row_stops(most: int, shown: int) -> list[int]:
    """Return the positions of the slider: 50, 100, 200, 500, …, `most`, and `shown`."""
    decades = range(1, len(str(most)) + 1)
    stops = {digit * 10**power for power in decades for digit in (1, 2, 5)}
    return sorted({stop for stop in stops if FEWEST_ROWS <= stop < most} | {most, shown})


def _compared_options(state: GrowState) -> str:
    """Return which of the compared runs the controls describe."""
    texts, preset = grow_texts("comparison"), state.learner_options(state.choice)[PRESET]
    return str(texts["shared"] if preset == BEST else texts["own"].format(preset=preset))


def show_grow_notices(state: GrowState) -> None:
    """Show the notices of the page, and a smaller run or the command line for one beyond limits."""
    if state.awaits_engine:
        st.info(grow_texts("engine")["awaiting"])
    show_notices(state, PLAYER, "run")
    if not state.is_beyond:
        return
    budget, texts = state.smaller(), grow_texts("limits")
    if budget is not None:
        label = texts["fewer"].format(budget=f"{budget:,}")
        show_button(label, "fewer_edges", state.choose, "max_edges", budget, help=texts["fits"])
    st.caption(texts["elsewhere"])
    st.code(state.command(), language=None, wrap_lines=True)


def show_branch_bar(state: GrowState) -> None:
    """Show the branch and the button that ends it."""
    branch = state.values["branch"]
    if branch is None:
        return
    changes = ", ".join(option_words(learner_class(state.choice.learner), branch.options))
    texts = grow_texts("branch")
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        text = texts["changed" if changes else "open"]
        st.markdown(text.format(changes=changes, step=branch.at))
        show_button(texts["end"], "end_branch", state.choose, "branch", None)


def grow_menu(state: GrowState, run: SessionRun | None) -> ModelMenu | None:
    """Return the menu Model; the page Inspect shows the run at the step that this page shows."""
    menu = run_menu(state, run)
    return None if menu is None else menu._replace(loaded=lambda: None)


def show_tour() -> None:
    """Show the button of the tour."""
    label = catalogue("labels")["header"]["tour"]
    show_button(label, "tour", take_tour, type="tertiary")
