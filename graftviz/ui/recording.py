"""From a plan to a run that a browser can watch."""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftviz.layout import GrowingLayout
from graftviz.learners.base import Learner
from graftviz.learners.settings import OBJECTIVE_NAMES
from graftviz.options import format_value, option_specs
from graftviz.player.records import answer, outcome_record, run_header, step_record
from graftviz.runs import Branch, Result, Run
from graftviz.ui.automatic import settings_of
from graftviz.ui.material import Material
from graftviz.ui.scheduler import Turns
from graftviz.ui.session_run import SessionRun

KEPT = 256  # answers
COMPILING = "Compiling the engine for regions; try again in a minute."
# Set by the warm-up: earlier queries would make the page wait for the compiler.
compiled = threading.Event()


@dataclass(frozen=True)
class Plan:
    """Data, learner and seed of a run; equal plans give equal runs.

    `beside` is the run it is compared with: it lends its places, so that both have one layout.
    """

    material: str
    learner: Learner
    seed: int
    branch: Branch | None = None
    beside: Plan | None = None

    @property
    def base(self) -> Plan | None:
        """Plan to show beside this one: the one it branched from, or that it is compared with."""
        if self.branch is not None:
            return Plan(self.material, self.learner, self.seed)
        return self.beside


class RunRecorder:
    """Recorder of a :class:`Run`: the JSON records of docs/player.md.

    Parameters
    ----------
    run : Run
    material : Material
    token : str
    beside : RunRecorder, optional
        Of the run this one branched from, or is compared with.
    """

    def __init__(
        self, run: Run, material: Material, token: str, beside: RunRecorder | None = None
    ) -> None:
        self.run = run
        self.material = material
        self.token = token
        # Not the recorder itself: its run may have to go before this one.
        self._beside = None if beside is None else (beside.token, beside.run.learner)
        self._lent = None if beside is None or run.branch is not None else beside.places
        has_positions = material.positions is not None or self._lent is not None
        self._layout = None if has_positions else GrowingLayout(run.table.n_variables)
        self.places: list[int] | None = None  # of the latest key frame
        self._regions = RegionAnswers(run)

    def advance(self) -> bool:
        """Compute one more step; False when the run has ended."""
        return self.run.advance()

    def header(self) -> Mapping[str, Any]:
        """Return the header."""
        branch = self.run.branch
        beside = self._beside
        settings = settings_of(self.run.learner, self.material)
        at_end = settings_of(branch.learner, self.material) if branch is not None else settings
        header = run_header(
            self.run,
            token=self.token,
            title=self.material.title,
            positions=self.material.positions,
            branch=None
            if branch is None
            else {
                "t": branch.at,
                "run": "" if beside is None else beside[0],
                "text": f"from step {branch.at} on {change_in_words(self.run.learner, branch)}",
            },
            note=" ".join(self.material.warnings),
        )
        if self._lent is not None and header["positions"] is None:
            header["layout"] = self._lent
        if settings is not None:
            header["objective"] = OBJECTIVE_NAMES[settings.objective]
        if at_end is not None:
            header["penalty"] = list(at_end.penalty)
        if beside is not None and branch is None:
            header["beside"] = preset_title(beside[1])
        return header

    def record(self, t: int) -> Mapping[str, Any]:
        """Return the record of step `t`."""
        record = step_record(self.run, t, self._layout)
        self.places = record.get("layout", self.places)
        return record

    def outcome(self) -> Mapping[str, Any]:
        """Return how the run ended."""
        return outcome_record(self.run) or {}

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a question of the player."""
        if "region" in question:
            return self._regions.answer(question)
        return answer(self.run, question)

    def result(self) -> Result:
        """Return what has been learned so far."""
        return self.run.result()


def new_recorder(
    plan: Plan, material: Material, token: str, beside: RunRecorder | None = None
) -> RunRecorder:
    """Return a recorder of a run that has not begun.

    Raises
    ------
    InputError
        When plan and material do not fit together.
    """
    run = Run(
        material.train,
        plan.learner,
        seed=plan.seed,
        test=material.test,
        truth=material.truth,
        branch=plan.branch,
    )
    return RunRecorder(run, material, token, beside)


def start_run(
    plan: Plan, material: Material, scheduler: Turns, beside: SessionRun | None = None
) -> SessionRun:
    """Return a run of `plan`, without credit; raises like :func:`new_recorder`."""
    token = secrets.token_hex(4)
    previous = beside.recorder if beside is not None else None
    recorder = new_recorder(
        plan, material, token, previous if isinstance(previous, RunRecorder) else None
    )
    return SessionRun(recorder, token, scheduler)


def preset_title(learner: Learner) -> str:
    """Return what people call a learner by its preset: "the paper's method"."""
    titles = {
        "paper": "the paper's method",
        "thesis": "the thesis' method",
        "authors": "the authors' code",
        "best": "best",
    }
    return titles.get(getattr(learner, "preset", ""), learner.title)


def change_in_words(learner: Learner, branch: Branch) -> str:
    """Return what a branch changes, e.g. ``"α 0.2, λ 0.005"``."""
    changed = [
        f"{spec.label} {format_value(getattr(branch.learner, spec.name))}"
        for spec in option_specs(learner)
        if getattr(branch.learner, spec.name) != getattr(learner, spec.name)
    ]
    return ", ".join(changed) or "unchanged"


class RegionAnswers:
    """Answers of one run to questions that ask for a region; what was grown is kept.

    Parameters
    ----------
    run : Run
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept: OrderedDict[str, Mapping[str, Any]] = OrderedDict()

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a question about a node and its region; raises like :func:`records.answer`."""
        if not compiled.is_set():
            plain = {key: value for key, value in question.items() if key != "region"}
            return {**answer(self._run, plain), "region": {"error": COMPILING, "again": True}}
        # The last step speaks of the final fit, once that has been made.
        key = json.dumps([question, self._run.outcome is None], sort_keys=True)
        if key not in self._kept:
            self._kept[key] = answer(self._run, question)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
