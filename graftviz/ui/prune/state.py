"""Session state of the Prune page: options, the three current runs, complaints.

The three runs differ in how edges are chosen to leave, and in nothing else; one of them is in the
picture. What cannot be used becomes a sentence, and the runs on show stay. Nothing here knows
Streamlit.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from graftviz.datasets import dataset_keys
from graftviz.errors import InputError
from graftviz.layout import ring_layout
from graftviz.learners.forced_pruning import HEURISTICS, ForcedPruning
from graftviz.narrative.phrases import plural
from graftviz.options import option_specs
from graftviz.player.prune_records import prune_header
from graftviz.ui.automatic import automatic_values
from graftviz.ui.frame.learning import LearningPage
from graftviz.ui.limits import limits
from graftviz.ui.material import Material, with_choice
from graftviz.ui.prune.recording import start_pruning
from graftviz.ui.recording import Plan
from graftviz.ui.run_limits import judge_all
from graftviz.ui.scheduler import OneAtATime, Turns
from graftviz.ui.services import material, page_state, share
from graftviz.ui.session_run import SessionRun
from graftviz.ui.url_state import Settings, Vocabulary, parse, write

# Some exchanges, of a few edges each, make three runs that can be watched and compared in class.
PAGE_DEFAULTS = MappingProxyType({"exchanges": 20})
MOST_ON_A_RING = 40  # variables; their names find room there, and no edge runs through a node
FIRST_CREDIT = 200  # steps of every run computed before anybody presses play
_FIRST_DATA = "survey"
_OF_OTHER_PAGES = ("learner", "branch", "compare")


class PruneState(LearningPage[Settings]):
    """Settings and runs of the Prune page in one session.

    Parameters
    ----------
    data : sequence of str
        Keys of the data sets the page offers, the usual one first.
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    scheduler : Turns

    Attributes
    ----------
    runs : mapping
        Heuristic → the run on show.
    token, header_json : str
        Identifier of these runs, and the header sent to the browser.
    """

    def __init__(
        self, data: tuple[str, ...], load: Callable[[str, int], Material], scheduler: Turns
    ) -> None:
        self.vocabulary = Vocabulary(
            data, {ForcedPruning.name: ForcedPruning}, data[0], ForcedPruning.name
        )
        super().__init__(Settings(data[0], ForcedPruning.name), load, places=("step",))
        self.runs: Mapping[str, SessionRun] = {}
        self.token = ""
        self.header_json = ""
        self._turns = OneAtATime(scheduler)
        self._plans: dict[str, Plan] = {}

    # ---------------------------------------------------------------------------------- address

    def _parse(self, query: Mapping[str, str]) -> tuple[Settings, list[str]]:
        own = {name: text for name, text in query.items() if name not in _OF_OTHER_PAGES}
        parsed = parse(own, self.vocabulary)
        others = [name for name in _OF_OTHER_PAGES if name in query]
        ignored = [f"Unknown setting {name!r}; ignored." for name in others]
        return parsed.settings, [*parsed.complaints, *ignored]

    def _write(self) -> dict[str, str]:
        shown = dataclasses.replace(self.shown or self.settings, step=self.settings.step)
        return write(shown, self.vocabulary)

    def look_at(self, step: int) -> None:
        """Record the step that the browser shows."""
        self.settings = self._with(step=step)

    # --------------------------------------------------------------------------------- controls

    def choose_data(self, key: str) -> None:
        """Prune on another data set: what was asked of the last one does not apply."""
        options = {k: v for k, v in self.settings.options.items() if k not in ("edges", "clusters")}
        self._set(data=key, step=0, fingerprint="", reading={}, options=options)

    def choose(self, name: str, value: Any) -> None:
        """Change the seed or an option."""
        if name == "seed":
            self._set(seed=value or 0)
            return
        self._set(options=with_choice(self.settings.options, name, value, self._defaults()))

    @staticmethod
    def _defaults() -> dict[str, Any]:
        return {spec.name: spec.default for spec in option_specs(ForcedPruning)} | PAGE_DEFAULTS

    @property
    def heuristic(self) -> str:
        """The rule of the run in the picture."""
        return str(self.options()["heuristic"])

    def options(self) -> dict[str, Any]:
        """Return every option's value: what was chosen, or else the page's default."""
        return {**self._defaults(), **self.settings.options}

    def automatic(self) -> dict[str, Any]:
        """Return the values of automatic options; empty while they are not known."""
        material = self.current_material()
        if material is None:
            return {}
        try:
            return automatic_values(self._learner(), material)
        except InputError:
            return {}  # what does not go together is said above the runs

    def _learner(self, heuristic: str | None = None) -> ForcedPruning:
        options = self.options()
        options["heuristic"] = heuristic or options["heuristic"]
        return ForcedPruning(**options)

    # ---------------------------------------------------------------------------------- the runs

    def refresh(self) -> bool:
        """Make the runs follow the settings; True if others are on show now."""
        self.problem = self.question = ""
        try:
            material = self.current_material()
            if material is None:
                return False
            plans = self._plans_for(material)
            if plans == self._plans:
                self.shown = self.settings
                return False
            new = [plan.learner for plan in plans.values() if plan not in self._runs]
            key = tuple(plans.values())
            if new and not self._may_begin(key, judge_all(material.train, new)):
                return False
            self._show(plans, material)
        except InputError as error:
            self.problem = str(error)
            return False
        return True

    def forget(self) -> None:
        """Release all runs; they are computed again when the page is opened."""
        super().forget()
        self.runs, self._plans = {}, {}

    def _plans_for(self, material: Material) -> dict[str, Plan]:
        plans = {}
        for heuristic in HEURISTICS:
            learner = self._learner(heuristic)
            learner.check(material.train)
            plans[heuristic] = Plan(material.identity, learner, self.settings.seed)
        return plans

    def _show(self, plans: dict[str, Plan], material: Material) -> None:
        tree, places = material.tree, _places(material)  # first: what is refused changes nothing
        runs = {
            heuristic: self._runs.get(plan, partial(start_pruning, plan, material, self._turns))
            for heuristic, plan in plans.items()
        }
        self._runs.show(tuple(runs.values()), limits().kept_racers)
        self.runs, self._plans = runs, plans
        self.shown, self.material = self.settings, material
        self.token = secrets.token_hex(4)
        self.header_json = json.dumps(
            self._header(material, tree, places), ensure_ascii=False, allow_nan=False
        )
        # The one in the picture is asked first, so that it has the first turn.
        for heuristic in sorted(runs, key=lambda name: name != self.heuristic):
            runs[heuristic].grant(FIRST_CREDIT)

    def _header(self, material: Material, tree: np.ndarray, places: np.ndarray) -> dict[str, Any]:
        learner = self._learner()
        edges = learner.edge_budget(material.train.n_variables)
        return prune_header(
            token=self.token,
            title=material.title,
            names=material.train.names,
            places=places,
            tree=tree,
            runs=[
                {"run": run.token, "heuristic": heuristic, "name": HEURISTICS[heuristic]}
                for heuristic, run in self.runs.items()
            ],
            facts=[
                f"{material.train.n_rows:,} training rows",
                f"M = {edges:,} edges",
                f"k = {learner.exchange_size(edges):,} per exchange",
                f"at most {plural(learner.exchanges, 'exchange')}",
                f"seed {self.settings.seed}",
            ],
            has_natural_positions=material.positions is not None,
            note=" ".join(material.warnings),
        )


def _places(material: Material) -> np.ndarray:
    """Return the places of the variables; they do not depend on options."""
    if material.positions is None and 0 < material.train.n_variables <= MOST_ON_A_RING:
        return ring_layout(material.train.n_variables, material.tree)
    return material.places


def prune_state() -> PruneState:
    """Return the state of the Prune page in this session."""
    keys = (_FIRST_DATA, *(key for key in dataset_keys() if key != _FIRST_DATA))
    return page_state("prune", lambda: PruneState(keys, material, share()))
