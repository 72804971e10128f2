"""Session state of the Race page: racers, their runs, and notices."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from graftviz.app.jobs import Queue
from graftviz.app.material import Material, automatic_values
from graftviz.app.player.race_records import race_header
from graftviz.app.race.options import END, LINE_UP, MOST_RACERS, RaceOptions
from graftviz.app.runs import RaceRecorder, SessionRun
from graftviz.app.session import material, page_state, queue
from graftviz.app.state import Entry, LearningPage, Load, SideBySidePage
from graftviz.app.url import LearnerChoice
from graftviz.evaluation.race import AXES, Race, distinct_names
from graftviz.learning.base import Learner
from graftviz.learning.registry import learner_class
from graftviz.utils.errors import InputError
from graftviz.utils.options import option_specs, option_words

# Few enough that it matters which edges a racer takes: with many more, all of them come to take
# whatever violates, and end with the same graph.
EDGES_A_VARIABLE = 3  # enough for most races to reach the optimum, where all paths meet
_ROUNDED = 1 + 1e-5  # positions in links have six digits


class RaceState(SideBySidePage[RaceOptions]):
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
    recorder = RaceRecorder
    first_credit = 600

    def __init__(self, load: Load, queue: Queue) -> None:
        super().__init__(RaceOptions, load, queue, places=("at", "axis"))
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
        self._runs.clear()
        self._planned = ()

    def race(self) -> Race | None:
        """Return the computed part of the race; None before the first step."""
        courses = [
            run.recorder.course(name)
            for name, run in self.runs.items()
            if run.header_json is not None and isinstance(run.recorder, RaceRecorder)
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


def race_state(beside: LearningPage[Any] | None) -> RaceState:
    """Return the state of the Race page in this session; a new one has the data of a page."""

    def make() -> RaceState:
        state = RaceState(material, queue())
        if beside is not None:
            state.take_data(beside)
        return state

    return page_state("race", make)
