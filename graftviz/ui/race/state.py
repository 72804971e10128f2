"""Session state of the Race page: racers, their runs, and notices.

Controls change the settings; :meth:`RaceState.refresh` makes the race follow. What cannot be used
becomes a sentence, and the race on show stays as it is. Nothing here knows Streamlit.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.options import format_value, option_specs
from graftviz.player.race_records import race_header
from graftviz.racing import Course, Race, distinct_names
from graftviz.ui.automatic import automatic_values
from graftviz.ui.frame.learning import LearningPage
from graftviz.ui.limits import limits
from graftviz.ui.material import Material, default_options
from graftviz.ui.race.recording import RaceRecorder, start_racer
from graftviz.ui.race.url import (
    LINE_UP,
    MOST_RACERS,
    ParsedRace,
    Racer,
    RaceSettings,
    parse_race,
    write_race,
)
from graftviz.ui.recording import Plan
from graftviz.ui.run_limits import judge_all
from graftviz.ui.scheduler import OneAtATime, Turns
from graftviz.ui.services import material, page_state, share, vocabulary
from graftviz.ui.session_run import SessionRun
from graftviz.ui.url_state import Vocabulary
from graftviz.ui.warm_up import rehearse_learner

# Few enough that it matters which edges a racer takes: with many more, all of them come to take
# whatever violates, and end with the same graph.
EDGES_A_VARIABLE = 2
FIRST_CREDIT = 600  # steps of each racer computed before anybody presses play
_BY_THE_BROWSER = ("at", "axis")  # said by the page in the browser; its address may be older


class Entry(NamedTuple):
    """One racer of the race on show.

    Attributes
    ----------
    name : str
    run : SessionRun or None
    problem : str
        Why it could not start; empty if it did.
    """

    name: str
    run: SessionRun | None
    problem: str

    @property
    def trouble(self) -> str:
        """Why it did not start, or why it stopped before its end; empty if neither."""
        return self.problem or (self.run.failure if self.run is not None else "")


class RaceState(LearningPage[RaceSettings]):
    """Settings and runs of the Race page in one session.

    Parameters
    ----------
    vocabulary : Vocabulary
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    scheduler : Turns
    warm : callable
        ``warm(learner)`` compiles what a racer needs, before its clock starts.

    Attributes
    ----------
    entries : tuple of Entry
        The race on show.
    token, header_json : str
        Its identifier, and the header sent to the browser.
    chosen : int
        The racer whose options the controls show.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        load: Callable[[str, int], Material],
        scheduler: Turns,
        warm: Callable[[Learner], None],
    ) -> None:
        super().__init__(RaceSettings(vocabulary.default_data), load, _BY_THE_BROWSER)
        self.vocabulary = vocabulary
        self.entries: tuple[Entry, ...] = ()
        self.token = ""
        self.header_json = ""
        self.chosen = 0
        self._warm = warm
        self._turns = OneAtATime(scheduler)
        self._plans: tuple[Plan | str, ...] = ()
        self._names: tuple[str, ...] = ()

    # ---------------------------------------------------------------------------------- address

    def _parse(self, query: Mapping[str, str]) -> ParsedRace:
        self.chosen = 0
        return parse_race(query, self.vocabulary)

    def _write(self) -> dict[str, str]:
        settings = self.settings
        shown = dataclasses.replace(self.shown or settings, axis=settings.axis, at=settings.at)
        return write_race(shown, self.vocabulary)

    def look_at(self, axis: str, at: float) -> None:
        """Record the axis and the position that the browser shows."""
        self.settings = self._with(axis=axis, at=at)

    # --------------------------------------------------------------------------------- controls

    def choose_data(self, key: str) -> None:
        """Race on another data set."""
        self._set(data=key, at=0.0, fingerprint="", reading={})

    def choose_seed(self, seed: int | None) -> None:
        """Race with another seed."""
        self._set(seed=seed or 0)

    def choose_edges(self, edges: int | None) -> None:
        """Change how many edges each racer may take."""
        self._set(edges=edges)

    def edit(self, racer: int) -> None:
        """Let the controls show another racer."""
        self.chosen = max(0, min(racer, len(self.settings.racers) - 1))

    def add(self) -> None:
        """Add a racer: a copy of the selected one, to be changed."""
        racers = self.settings.racers
        if len(racers) < MOST_RACERS:
            self._set(racers=(*racers, racers[self.chosen]))
            self.chosen = len(racers)

    def remove(self) -> None:
        """Take the racer in hand out, unless it is the last."""
        racers = self.settings.racers
        if len(racers) > 1:
            self._set(racers=(*racers[: self.chosen], *racers[self.chosen + 1 :]))
            self.edit(self.chosen)

    def line_up(self) -> None:
        """Return to the line-up the page opens with."""
        self._set(racers=LINE_UP)
        self.chosen = 0

    def choose_learner(self, name: str) -> None:
        """Let the racer in hand be another learner; it keeps the chosen options it knows."""
        defaults = default_options(self.vocabulary.learners[name], {})
        options = {
            key: v for key, v in self.racer.options.items() if key in defaults and key != "alpha"
        }
        self._change(Racer(name, options))

    def choose_option(self, name: str, value: Any) -> None:
        """Change an option of the racer in hand."""
        self._change(Racer(self.racer.learner, {**self.racer.options, name: value}))

    def _change(self, racer: Racer) -> None:
        racers = list(self.settings.racers)
        racers[self.chosen] = racer
        self._set(racers=tuple(racers))

    @property
    def racer(self) -> Racer:
        """The racer in hand."""
        return self.settings.racers[self.chosen]

    def learner_class(self, racer: Racer) -> type[Learner]:
        """Return the learner of a racer."""
        cls: type[Learner] = self.vocabulary.learners[racer.learner]
        return cls

    def options(self, racer: Racer) -> dict[str, Any]:
        """Return every option's value: what was chosen, or else what suits the data."""
        material = self.current_material()
        defaults = default_options(
            self.learner_class(racer),
            material.suggested if material else {},
            racer.options.get("preset"),
        )
        return {**defaults, **racer.options}

    def automatic(self, racer: Racer) -> dict[str, Any]:
        """Return the values of automatic options; empty while they are not known."""
        try:
            material = self.current_material()
            if material is None:
                return {}
            values = automatic_values(self._learner(racer, material), material)
        except InputError:
            return {}  # what does not go together is said where the racer should be
        return {**values, "max_edges": _edge_budget(self.settings.edges, material)}

    def names(self) -> list[str]:
        """Return what people call the racers of the controls, each name once."""
        return distinct_names([self._name(racer) for racer in self.settings.racers])

    def budget(self) -> int | None:
        """Return how many edges each racer may take; None while there are no data."""
        material = self.current_material()
        return None if material is None else _edge_budget(self.settings.edges, material)

    # ---------------------------------------------------------------------------------- the race

    def refresh(self) -> bool:
        """Update the race to the settings; return True if another race is displayed.

        If no racer can run, the displayed race remains and :attr:`problem` gives the reason; if a
        single racer is refused, its entry holds the sentence and the others run.
        """
        self.problem = self.question = ""
        material = self.current_material()
        if material is None:
            return False
        plans = tuple(self._plan_for(racer, material) for racer in self.settings.racers)
        names = tuple(self.names())
        if (plans, names) == (self._plans, self._names):
            self.shown = self.settings
            return False
        started = [plan for plan in plans if isinstance(plan, Plan)]
        if not started:
            self.problem = " ".join(dict.fromkeys(str(plan) for plan in plans))
            return False
        new = [plan.learner for plan in dict.fromkeys(started) if plan not in self._runs]
        if new and not self._may_begin(plans, judge_all(material.train, new)):
            return False
        self._show(plans, names, material)
        return True

    def race_again(self) -> None:
        """Run all racers again: the same edges, with newly measured engine seconds."""
        self._runs.clear()
        self._plans = ()

    def forget(self) -> None:
        """Release all runs; they are computed again when the page is opened."""
        super().forget()
        self.entries, self._plans = (), ()

    def race(self) -> Race | None:
        """Return the computed part of the race; None before the first step."""
        courses = [course for entry in self.entries if (course := _course(entry)) is not None]
        return Race(tuple(courses)) if courses else None

    def _learner(self, racer: Racer, material: Material) -> Learner:
        cls, options = self.learner_class(racer), self.options(racer)
        if "max_edges" in options and options["max_edges"] is None:
            options["max_edges"] = _edge_budget(self.settings.edges, material)
        return cls(**options)

    def _plan_for(self, racer: Racer, material: Material) -> Plan | str:
        """Return the plan of a racer, or the sentence that says why there is none."""
        try:
            learner = self._learner(racer, material)
            learner.check(material.train)
            automatic_values(learner, material)  # refuses what does not go together
        except InputError as error:
            return str(error)
        return Plan(material.identity, learner, self.settings.seed)

    def _name(self, racer: Racer) -> str:
        cls = self.learner_class(racer)
        chosen = [
            f"{spec.label} {format_value(racer.options[spec.name])}"
            for spec in option_specs(cls)
            if racer.options.get(spec.name) is not None
        ]
        return " · ".join([cls.title, *chosen])

    def _show(
        self, plans: tuple[Plan | str, ...], names: tuple[str, ...], material: Material
    ) -> None:
        entries = [
            self._entry(plan, name, material) for plan, name in zip(plans, names, strict=True)
        ]
        self.entries = tuple(entries)
        self._plans, self._names = plans, names
        self.shown, self.material = self.settings, material
        self.token = secrets.token_hex(4)
        self.header_json = json.dumps(self._header(material), ensure_ascii=False, allow_nan=False)
        self._runs.show([entry.run for entry in entries], limits().kept_racers)
        for entry in entries:
            if entry.run is not None:
                entry.run.grant(FIRST_CREDIT)

    def _entry(self, plan: Plan | str, name: str, material: Material) -> Entry:
        if isinstance(plan, str):
            return Entry(name, None, plan)
        try:
            run = self._runs.get(plan, lambda: start_racer(plan, material, self._turns, self._warm))
        except InputError as error:
            return Entry(name, None, str(error))
        return Entry(name, run, "")

    def _header(self, material: Material) -> dict[str, Any]:
        budget = _edge_budget(self.settings.edges, material)
        return race_header(
            race=self.token,
            title=material.title,
            names=material.train.names,
            places=material.places,
            has_natural_positions=material.positions is not None,
            truth=material.truth,
            racers=[
                {
                    "run": None if entry.run is None else entry.run.token,
                    "name": entry.name,
                    "problem": entry.problem,
                }
                for entry in self.entries
            ],
            facts=[
                f"{material.train.n_rows:,} rows to learn from",
                *([f"{material.test.n_rows:,} held out"] if material.test is not None else []),
                f"at most {budget:,} edges each",
                f"seed {self.settings.seed}",
            ],
            note=" ".join(material.warnings),
        )


def _course(entry: Entry) -> Course | None:
    run = entry.run
    if run is None or run.header_json is None or not isinstance(run.recorder, RaceRecorder):
        return None
    return run.recorder.course(entry.name)


def _edge_budget(edges: int | None, material: Material) -> int:
    n = material.train.n_variables
    return max(1, min(edges or EDGES_A_VARIABLE * n, n * (n - 1) // 2))


def race_state(beside: LearningPage[Any] | None) -> RaceState:
    """Return the state of the Race page in this session; a new one has the data of a page."""

    def make() -> RaceState:
        state = RaceState(vocabulary(), material, share(), rehearse_learner)
        if beside is not None:
            state.take_data(beside)
        return state

    return page_state("race", make)
