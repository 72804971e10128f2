"""From a racer's plan to a run that a race can be fed with."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.learners.feature_options import FeatureOptions
from graftviz.learners.settings import OBJECTIVE_NAMES
from graftviz.player.race_records import racer_header, racer_outcome, racer_record
from graftviz.racing import Course, course_of
from graftviz.runs import Result, Run
from graftviz.ui.automatic import settings_of
from graftviz.ui.material import Material
from graftviz.ui.recording import Plan
from graftviz.ui.scheduler import Turns
from graftviz.ui.session_run import SessionRun


class RaceRecorder:
    """Recorder of a :class:`Run` in the format of races; see docs/player.md.

    Parameters
    ----------
    run : Run
    material : Material
    token : str
    warm : callable
        ``warm(learner)`` compiles the kernels of the run. It is called before the clock of the
        run starts; otherwise the first racer would be charged for the compilation.
    """

    def __init__(
        self, run: Run, material: Material, token: str, warm: Callable[[Learner], None]
    ) -> None:
        self.run = run
        self.material = material
        self.token = token
        self._warm = warm
        self._is_warm = False

    def course(self, name: str = "") -> Course:
        """Return the course so far; raises ValueError before the first step."""
        return course_of(self.run, name, self._yardstick()[1])

    def advance(self) -> bool:
        """Compute one more step; False when the run has ended."""
        if not self._is_warm:
            self._warm(self.run.learner)
            self._is_warm = True
        return self.run.advance()

    def header(self) -> Mapping[str, Any]:
        """Return what is known after the first step."""
        return racer_header(
            self.course(),
            run=self.token,
            objective=self._yardstick()[0],
            has_test=self.run.test is not None,
        )

    def record(self, t: int) -> Mapping[str, Any]:
        """Return the record of step `t`."""
        return racer_record(self.run, t)

    def outcome(self) -> Mapping[str, Any]:
        """Return how the run ended."""
        return racer_outcome(self.run, self.course())

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse all queries."""
        raise InputError(f"The Race page has no queries of kind {question.get('kind')!r}.")

    def result(self) -> Result:
        """Return what has been learned so far."""
        return self.run.result()

    def _yardstick(self) -> tuple[str, str]:
        """Return the objective's name, and what decides whether two of them can be compared."""
        learner = self.run.learner
        if isinstance(learner, FeatureOptions):
            penalty = learner.settings(self.material.counts).penalty
            return "Bethe likelihood with a penalty of single features", str(tuple(penalty))
        settings = settings_of(learner, self.material)
        if settings is None:
            return "one of its own", repr(self.run.learner)
        penalty, name = settings.penalty, OBJECTIVE_NAMES[settings.objective]
        text = f"{name} with λ = {penalty.lam:g}, λ₂ = {penalty.lam2:g}"
        return text, str(tuple(penalty))


def start_racer(
    plan: Plan, material: Material, turns: Turns, warm: Callable[[Learner], None]
) -> SessionRun:
    """Return a run of `plan`, without credit.

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
    )
    token = secrets.token_hex(4)
    return SessionRun(RaceRecorder(run, material, token, warm), token, turns)
