"""Race page: learners run on the same data and are compared at equal cost.

``?data=karate&seed=3&edges=80&r1=best-choice:alpha=0.5&r2=first-hit&axis=tests&at=4000``: one
parameter per racer, so that a link runs the same race again.
"""

from __future__ import annotations

import dataclasses
import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import streamlit as st

from graftviz.app.boundary import guarded
from graftviz.app.controls import (
    main_options_first,
    show_button,
    show_data,
    show_learner_options,
    show_learners,
    show_notices,
    show_option,
    show_warnings,
)
from graftviz.app.files import run_files
from graftviz.app.frame import PageFile
from graftviz.app.jobs import DOWNLOAD_WAIT, Queue
from graftviz.app.material import (
    Material,
    automatic_values,
)
from graftviz.app.runs import SessionRun
from graftviz.app.session import material, page_state, queue
from graftviz.app.state import Entry, LearningPage, Load, SideBySidePage
from graftviz.app.url import DataOptions, LearnerChoice, LinkReader, changes_text, part
from graftviz.app.view import RACE
from graftviz.evaluation.race import (
    AXES,
    Course,
    Moment,
    Race,
    course_of,
    distinct_names,
    step_moment,
    warm_up,
)
from graftviz.learning.base import Learner
from graftviz.learning.features.run import FeatureOptions
from graftviz.learning.grafting.grafting_options import settings_of
from graftviz.learning.registry import learner_class, learner_names
from graftviz.learning.settings import OBJECTIVE_NAMES
from graftviz.reports.figures.race import race_figure
from graftviz.reports.figures.style import figure_html
from graftviz.reports.files.tables import race_csv
from graftviz.reports.replay.plain import number, rounded
from graftviz.reports.words.outcomes import remark_words
from graftviz.utils.errors import InputError
from graftviz.utils.options import option, option_specs, option_words
from graftviz.utils.wording import plain, quoted

MOST_RACERS = 6
MOST_EDGES = 10**9
END = "end"  # a position: where all racers have arrived
_LONG_POSITION = 1e11  # from here on written with an exponent
_LARGEST_POSITION = 1e90
_NUMBER = re.compile(r"\d{1,12}(\.\d{0,12})?(e-?\d{1,2})?", re.ASCII)
LINE_UP = (
    *(LearnerChoice("best-choice", {"alpha": alpha}) for alpha in (0.25, 0.5, 1.0)),
    LearnerChoice("edge-grafting"),
    LearnerChoice("edge-grafting", {"rescoring": "all"}),
    LearnerChoice("first-hit"),
)


def _read_racers(link: LinkReader, _: object) -> tuple[LearnerChoice, ...]:
    names = [name for name in link.left if re.fullmatch(r"r[1-9]\d?", name)]
    names.sort(key=lambda name: int(name[1:]))
    texts = [(name, link.left.pop(name).strip()) for name in names]
    if rest := ", ".join(names[MOST_RACERS:]):
        link.complaints.append(f"At most {MOST_RACERS} racers are possible; ignored {rest}.")
    racers = [_racer(name, text, link) for name, text in texts[:MOST_RACERS]]
    return tuple(racer for racer in racers if racer is not None) or LINE_UP


def _racer(name: str, text: str, link: LinkReader) -> LearnerChoice | None:
    learner, _, changes = text.partition(":")
    learner = learner.strip()
    if learner not in learner_names():
        link.complaints.append(
            f"{name}: a racer is written as learner:option=value, for example "
            f"best-choice:alpha=0.5, where the learner is one of {', '.join(learner_names())}, not "
            f"{quoted(text)}; ignored."
        )
        return None
    own = LinkReader({})
    unknown = f"{learner} has no option {{}}; ignored."
    options = own.take_changes(changes, learner_class(learner), unknown)
    link.complaints += [f"{name}: {sentence}" for sentence in own.complaints]
    return LearnerChoice(learner, options)


def _racer_texts(racers: tuple[LearnerChoice, ...]) -> dict[str, str]:
    return {
        f"r{k}": ":".join(filter(None, [racer.learner, changes_text(racer.options)]))
        for k, racer in enumerate(racers, start=1)
    }


def _read_position(link: LinkReader, _: object) -> float:
    def read(text: str) -> float | None:
        if text == END:
            return math.inf
        is_position = _NUMBER.fullmatch(text) and float(text) <= _LARGEST_POSITION
        return float(text) if is_position else None

    rule = (
        f"The position must be a number of at least 0, or {END}, not {{}}; showing the start of "
        "the race."
    )
    return link.take("at", 0.0, read, rule)


def _position_text(at: float) -> str:
    """Return a position in six digits without a plus sign, which addresses read as a space."""
    if math.isinf(at):
        return END
    text = f"{at:.6g}"
    if "e+" not in text:
        return text
    return f"{float(text):.0f}" if at < _LONG_POSITION else text.replace("e+", "e")


@dataclass(frozen=True)
class RaceOptions(DataOptions):
    """Settings of the page.

    Attributes
    ----------
    racers : tuple of LearnerChoice
    at : float
        Position on the axis; infinity is the end, which depends on the machine.
    """

    edges: int | None = option(
        None,
        "Edge budget of each racer that does not set its own",
        label="Edges each",
        minimum=1,
        maximum=MOST_EDGES,
        none_means="3n, three per variable",
    )
    racers: tuple[LearnerChoice, ...] = part(
        LINE_UP, _read_racers, _racer_texts, {f"r{k}": 600 for k in range(1, MOST_RACERS + 1)}
    )
    # By default tests: these are the same on every machine, unlike seconds.
    axis: str = option("tests", "Cost at which racers are compared", choices=tuple(AXES))
    at: float = part(0.0, _read_position, lambda at: {"at": _position_text(at)})


# ---------------------------------------------------------------------------------------- the state


# Few enough that it matters which edges a racer takes: with many more, all of them come to take
# whatever violates, and end with the same graph.
EDGES_A_VARIABLE = 3  # enough for most races to reach the optimum, where all paths meet
_ROUNDED = 1 + 1e-5  # positions in links have six digits


class RaceState(SideBySidePage):
    """Settings and runs of the Race page in one session.

    Parameters
    ----------
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    queue : Queue

    Attributes
    ----------
    chosen : int
        The racer whose options the controls show.
    """

    resets: ClassVar = {"data": ("fingerprint", "reading", "at"), "fingerprint": ("at",)}
    first_credit = 600

    def __init__(self, load: Load, queue: Queue) -> None:
        super().__init__(RaceOptions, RaceRun, load, queue, places=("at", "axis"))
        self.chosen = 0

    def _apply(self, query: dict[str, str]) -> Iterable[str]:
        self.chosen = 0
        return super()._apply(query)

    def place(self) -> Mapping[str, Any]:
        """Return axis and position, with which the view opens."""
        at = self.values["at"]
        return {"place": {"axis": self.values["axis"], "at": END if math.isinf(at) else at}}

    def check_place(self) -> bool:
        """Replace a position of a link behind the end; seconds differ between machines."""
        at, axis = self.values["at"], self.values["axis"]
        if not self.is_from_link or axis == "seconds" or not 0 < at < math.inf:
            return False
        have_ended = all(run.ended for run in self.runs.values())
        race = self.race() if have_ended else None
        end = math.inf if race is None else race.finish(axis)
        if at <= end * _ROUNDED:
            return False
        self.ignore(
            "at", f"No position {at:,.6g}: the race has {end:,.0f} {AXES[axis]}. Showing its end."
        )
        self.values["at"] = math.inf
        return True

    def move(self, place: Mapping[str, Any]) -> None:
        """Record the axis and the position that the browser shows."""
        axis, at = place.get("axis"), place.get("at")
        if axis not in AXES:
            return
        if at == END:
            self.values.update(axis=axis, at=math.inf)
        elif isinstance(at, int | float) and not isinstance(at, bool) and math.isfinite(at):
            self.values.update(axis=axis, at=max(0.0, float(at)))

    # ---------------------------------------------------------------------------------- racers

    @property
    def racers(self) -> tuple[LearnerChoice, ...]:
        """The racers of the controls."""
        racers: tuple[LearnerChoice, ...] = self.values["racers"]
        return racers

    @property
    def choice(self) -> LearnerChoice:
        """The selected racer."""
        return self.racers[self.chosen]

    @property
    def chosen_run(self) -> SessionRun | None:
        """Run of the selected racer; None if there is none."""
        return self.entries[self.chosen].run if self.chosen < len(self.entries) else None

    def edit(self, racer: int) -> None:
        """Select a racer."""
        self.chosen = max(0, min(racer, len(self.racers) - 1))

    def add(self) -> None:
        """Add a copy of the selected racer and select it."""
        if len(self.racers) < MOST_RACERS:
            self.choose("racers", (*self.racers, self.choice))
            self.chosen = len(self.racers) - 1

    def remove(self) -> None:
        """Remove the selected racer, unless it is the last."""
        if len(self.racers) > 1:
            self.choose("racers", (*self.racers[: self.chosen], *self.racers[self.chosen + 1 :]))
            self.edit(self.chosen)

    def line_up(self) -> None:
        """Return to the default racers."""
        self.choose("racers", LINE_UP)
        self.chosen = 0

    def _choose_option(self, name: str, value: Any) -> None:
        """Set an option of the selected racer, or its learner, which keeps the options it has."""
        learner, options = self.choice
        if name == "learner":
            names = {spec.name for spec in option_specs(learner_class(value))} - {"alpha"}
            racer = LearnerChoice(value, {key: options[key] for key in options if key in names})
        else:
            racer = LearnerChoice(learner, {**options, name: value})
        before, after = self.racers[: self.chosen], self.racers[self.chosen + 1 :]
        self.choose("racers", (*before, racer, *after))

    def defaults(self, choice: LearnerChoice) -> dict[str, Any]:
        """Return the default value of every option; the edge budget is that of the race."""
        values = super().defaults(choice)
        return {**values, "max_edges": None} if "max_edges" in values else values

    def learner(self, choice: LearnerChoice) -> Learner:
        """Return the learner of a racer, with the edge budget of the race if it has none."""
        learner = super().learner(choice)
        if getattr(learner, "max_edges", 0) is None:
            learner = dataclasses.replace(learner, max_edges=self.budget())  # type: ignore[call-arg]
        return learner

    def automatic(self, choice: LearnerChoice) -> dict[str, Any]:
        """Return the values of automatic options; empty while they cannot be computed."""
        return {**super().automatic(choice), "max_edges": self.budget()}

    def names(self) -> list[str]:
        """Return the names of the racers, each once."""
        return distinct_names([_name(racer) for racer in self.racers])

    def budget(self) -> int | None:
        """Return the edge budget of each racer; None while there are no data."""
        material = self.current_material()
        if material is None:
            return None
        n = material.train.n_variables
        return max(1, min(self.values["edges"] or EDGES_A_VARIABLE * n, n * (n - 1) // 2))

    # ---------------------------------------------------------------------------------- the race

    def _planned_runs(self, material: Material) -> tuple[Entry, ...]:
        """Return the runs of the racers; a racer that is refused has a sentence instead."""
        pairs = zip(self.racers, self.names(), strict=True)
        entries = tuple(self._entry(racer, name, material) for racer, name in pairs)
        if not any(entry.plan for entry in entries):
            raise InputError(" ".join(dict.fromkeys(entry.problem for entry in entries)))
        return entries

    def _entry(self, racer: LearnerChoice, name: str, material: Material) -> Entry:
        try:
            learner = self.learner(racer)
            automatic_values(learner, material)  # raises if options do not go together
            return Entry(name, self._plan(learner, material))
        except InputError as error:
            return Entry(name, None, str(error))

    def race_again(self) -> None:
        """Run all racers again: the same edges, with newly measured engine seconds."""
        for run in self._runs.values():
            run.revoke()
        self._runs.clear()
        self._planned = ()

    def race(self) -> Race | None:
        """Return the computed part of the race; None before the first step."""
        courses = [
            run.course(name)
            for name, run in self.runs.items()
            if run.header_json is not None and isinstance(run, RaceRun)
        ]
        return Race(tuple(courses)) if courses else None

    def _header(
        self, entries: tuple[Entry, ...], token: str, material: Material
    ) -> Mapping[str, Any]:
        racers = [
            {"run": run and run.token, "name": name, "problem": problem}
            for name, _, problem, run in entries
        ]
        budget = self.budget()
        assert budget is not None  # there are data
        return race_header(material, self.values["seed"], budget, token, racers)


def _name(racer: LearnerChoice) -> str:
    cls = learner_class(racer.learner)
    chosen = {name: value for name, value in racer.options.items() if value is not None}
    return " · ".join([cls.title, *option_words(cls, chosen)])


def race_state(beside: LearningPage | None) -> RaceState:
    """Return the state of the Race page in this session; a new one has the data of a page."""

    def make() -> RaceState:
        state = RaceState(material, queue())
        if beside is not None:
            state.take_data(beside)
        return state

    return page_state("race", make)


# -------------------------------------------------------------------------------------- the records


def race_header(
    material: Material, seed: int, budget: int, race: str, racers: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the header of a race: data common to all graphs, and the racers.

    Parameters
    ----------
    material : Material
    seed : int
    budget : int
        Largest number of edges of each racer.
    race : str
        Token of the race; records belong to runs, which several races may share.
    racers : sequence of mapping
        ``{run, name, problem}``: a racer that could not start has a sentence and no run.
    """
    test = material.test
    return {
        "race": race,
        "title": material.title,
        "names": list(material.train.names),
        "positions": rounded(np.asarray(material.places, dtype=float).tolist()),
        "given": material.positions is not None,
        "truth": None if material.truth is None else material.truth.tolist(),
        "racers": [dict(racer) for racer in racers],
        "facts": [
            f"{material.train.n_rows:,} rows to learn from",
            *([f"{test.n_rows:,} held out"] if test is not None else []),
            f"at most {budget:,} edges each",
            f"seed {seed}",
        ],
        "note": " ".join(material.warnings),
    }


def _moment(moment: Moment) -> dict[str, Any]:
    values = moment._asdict()
    del values["step"]
    found: dict[str, Any] = rounded(values)
    return found


class RaceRun(SessionRun):
    """Run whose records are those of races."""

    _is_warm = False

    def course(self, name: str = "") -> Course:
        """Return the course so far; raises ValueError before the first step."""
        return course_of(self.run, name, self._yardstick()[1])

    def advance(self) -> bool:
        """Compute one more step; False when the run has ended.

        Kernels are compiled before the clock of the run starts; otherwise the first racer would be
        charged for the compilation.
        """
        if not self._is_warm:
            warm_up(self.run.learner)
            self._is_warm = True
        return super().advance()

    def header(self) -> Mapping[str, Any]:
        """Return the header of the run; call it after the first step.

        Objectives can be compared only if the yardsticks of the racers are equal.
        """
        course = self.course()
        return {
            "run": self.token,
            "objective": self._yardstick()[0],
            "yardstick": course.yardstick,
            "tested": self.run.test is not None,
            "start": _moment(course.moments[0]),
        }

    def record(self, t: int) -> Mapping[str, Any]:
        """Return the record of step `t`: changed edges, and the measures after the step."""
        step = self.run.steps[t - 1]
        return {
            "t": t,
            "activated": [
                [edge.source, edge.target, number(edge.score)] for edge in step.activated
            ],
            "removed": step.removed.tolist(),
            **_moment(step_moment(step, self.run.metrics[t - 1])),
        }

    def outcome(self) -> Mapping[str, Any]:
        """Return how the run ended."""
        outcome, course = self.run.outcome, self.course()
        assert outcome is not None  # called only after the end of the run
        return {
            "steps": len(self.run.steps),
            "stop_reason": remark_words(outcome.stop_reason),
            "objective_name": outcome.objective_name,
            "yardstick": course.yardstick,
            "dropped": outcome.dropped_at_the_end.tolist(),
            **_moment(course.moments[-1]),
        }

    def _yardstick(self) -> tuple[str, str]:
        """Return the objective's name, and what decides whether two of them can be compared."""
        learner = self.run.learner
        if isinstance(learner, FeatureOptions):
            penalty = learner.settings(self.material.counts).penalty
            return "Bethe likelihood with a penalty of single features", str(tuple(penalty))
        settings = settings_of(learner, self.material.counts)
        if settings is None:
            return "one of its own", repr(learner)
        penalty, name = settings.penalty, OBJECTIVE_NAMES[settings.objective]
        text = f"{name} with λ = {penalty.lam:g}, λ₂ = {penalty.lam2:g}"
        return text, str(tuple(penalty))


# --------------------------------------------------------------------------------------- the panels


COMPILING = (
    "The engine is still being compiled, so engine seconds are too long. Press **Race again** when "
    "this note has disappeared."
)


def show_race_choices(state: RaceState, *, is_ready: bool) -> None:
    """Show data, edge budget, and the racers, one of them with its options; and the seed."""
    show_data(state, "race")
    show_option(
        state.specs["edges"],
        state.values["edges"],
        state.choose,
        prefix="race",
        automatic=state.budget() if is_ready else None,
    )
    _show_racers(state)
    show_learners(state, "race", f"Learner of racer {state.chosen + 1}")
    learner = state.choice.learner
    groups = main_options_first(learner_class(learner), state.specs["seed"])
    show_learner_options(state, groups, f"race.option.{learner}", is_ready=is_ready)


def _show_racers(state: RaceState) -> None:
    """Show the racers; one is selected for editing."""
    names = state.names()
    numbered = [f"{k}. {name}" for k, name in enumerate(names, start=1)]
    key = "race.chosen"
    # The browser identifies a choice by its text, and a racer's text changes with its options.
    st.session_state[key] = state.chosen
    st.radio(
        "Racers",
        range(len(names)),
        key=key,
        format_func=lambda k: plain(numbered[k]),
        on_change=guarded(lambda: state.edit(st.session_state[key])),
        help="The options of the selected racer are shown below.",
    )
    with st.container(horizontal=True, gap="small"):
        about = f"Adds a copy of the selected racer. At most {MOST_RACERS} racers."
        is_full = len(names) >= MOST_RACERS
        show_button("Add", "race.add", state.add, disabled=is_full, help=about)
        show_button("Remove", "race.remove", state.remove, disabled=len(names) == 1)
        about = "Runs all racers again and measures their times again."
        show_button("Race again", "race.again", state.race_again, help=about)
        if state.racers != LINE_UP:
            show_button("Default line-up", "race.line_up", state.line_up)


def show_race_messages(state: RaceState) -> None:
    """Show the notices of the page, and the racers that cannot run."""
    show_notices(state, RACE, "race")
    show_warnings(
        [f"{entry.name} cannot run: {entry.trouble}" for entry in state.entries if entry.trouble]
    )


def race_files(state: RaceState) -> list[PageFile]:
    """Return the files of the shown race, if any."""
    if not state.entries:
        return []
    html, csv = partial(build_race_html, state), partial(build_race_csv, state)
    return [
        PageFile("race.html", "Curves and winners (HTML, opens offline)", html),
        PageFile("race.csv", "Data, one row per step (CSV)", csv),
        *(run_files(run, with_replay=False) if (run := state.chosen_run) else []),
    ]


def build_race_csv(state: RaceState) -> str:
    """Wait for the end of the race, up to a limit, and return its data."""
    race = _finished(state)
    return "" if race is None else race_csv(race, state.values["axis"])


def build_race_html(state: RaceState) -> str:
    """Wait for the end of the race, up to a limit, and return curves and winners as a page."""
    race, title = _finished(state), state.material.title if state.material is not None else ""
    return "" if race is None else figure_html(race_figure(race, title, state.values["axis"]))


def _finished(state: RaceState) -> Race | None:
    until = time.monotonic() + DOWNLOAD_WAIT
    for run in state.runs.values():
        run.grant()
    for run in state.runs.values():
        run.wait_until(until)
    return state.race()
