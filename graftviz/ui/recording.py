"""From a plan to a run that a browser can watch."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftviz.layout import GrowingLayout
from graftviz.learners.base import Learner
from graftviz.options import format_value, option_specs
from graftviz.player.records import answer, outcome_record, run_header, step_record
from graftviz.runs import Branch, Result, Run
from graftviz.ui.material import Material
from graftviz.ui.scheduler import Scheduler
from graftviz.ui.session_run import SessionRun


@dataclass(frozen=True)
class Plan:
    """What decides a run; equal plans give equal runs."""

    material: str
    learner: Learner
    seed: int
    branch: Branch | None = None

    @property
    def base(self) -> Plan:
        """The plan without its branch."""
        return Plan(self.material, self.learner, self.seed)


class RunRecorder:
    """Tells a :class:`Run` as the records of docs/player.md.

    Parameters
    ----------
    run : Run
    material : Material
    token : str
    continues : str
        Token of the run this one branched from; empty if it did not.
    """

    def __init__(self, run: Run, material: Material, token: str, continues: str = "") -> None:
        self.run = run
        self.material = material
        self.token = token
        self._continues = continues
        known = material.positions is not None
        self._layout = None if known else GrowingLayout(run.table.n_variables)

    def advance(self) -> bool:
        """Compute one more step; False when the run has ended."""
        return self.run.advance()

    def header(self) -> Mapping[str, Any]:
        """Return the header."""
        branch = self.run.branch
        return run_header(
            self.run,
            token=self.token,
            title=self.material.title,
            positions=self.material.positions,
            branch=None
            if branch is None
            else {
                "t": branch.at,
                "run": self._continues,
                "text": f"from step {branch.at} on {change_in_words(self.run.learner, branch)}",
            },
            note=" ".join(self.material.warnings),
        )

    def record(self, t: int) -> Mapping[str, Any]:
        """Return the record of step `t`."""
        return step_record(self.run, t, self._layout)

    def outcome(self) -> Mapping[str, Any]:
        """Return how the run ended."""
        return outcome_record(self.run) or {}

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a question of the player."""
        return answer(self.run, question)

    def result(self) -> Result:
        """Return what has been learned so far."""
        return self.run.result()


def new_recorder(plan: Plan, material: Material, token: str, continues: str = "") -> RunRecorder:
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
    return RunRecorder(run, material, token, continues)


def start_run(
    plan: Plan, material: Material, scheduler: Scheduler, continues: str = ""
) -> SessionRun:
    """Return a run of `plan`, without credit; raises like :func:`new_recorder`."""
    token = secrets.token_hex(4)
    return SessionRun(new_recorder(plan, material, token, continues), token, scheduler)


def change_in_words(learner: Learner, branch: Branch) -> str:
    """Return what a branch changes, e.g. ``"α 0.2, λ 0.005"``."""
    changed = [
        f"{spec.label} {format_value(getattr(branch.learner, spec.name))}"
        for spec in option_specs(learner)
        if getattr(branch.learner, spec.name) != getattr(learner, spec.name)
    ]
    return ", ".join(changed) or "unchanged"
