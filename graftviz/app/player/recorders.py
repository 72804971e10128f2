"""Recorders of runs: the records of docs/player.md, written while a run is computed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

from graftviz.app.material import Material
from graftviz.app.player.prune_records import prune_head, prune_outcome, prune_record
from graftviz.app.player.race_records import racer_header, racer_outcome, racer_record
from graftviz.evaluation.race import Course, course_of, warm_up
from graftviz.learning.base import Learner
from graftviz.learning.features.run import FeatureOptions
from graftviz.learning.grafting.grafting_options import settings_of
from graftviz.learning.pruning.structure_fit import Rows, rows_of
from graftviz.learning.run import Branch
from graftviz.learning.settings import OBJECTIVE_NAMES
from graftviz.reports.layout import GrowingLayout
from graftviz.reports.replay.records import answer, outcome_record, run_header, step_record
from graftviz.reports.results import Result, Run
from graftviz.reports.texts import catalogue
from graftviz.utils.errors import InputError
from graftviz.utils.options import option_words

MOST_ANSWERS = 256  # answers that need inference
COMPILING = "Compiling the engine for regions; try again in a minute."
_INFERRED = ("region", "effect")  # parts of answers that need inference
# Set by the warm-up of the app: earlier queries would make the page wait for the compiler.
compiled = threading.Event()


class Recorder:
    """Records of a run as JSON.

    Parameters
    ----------
    run : Run
    material : Material
    token : str
        Identifier of the run.

    Attributes
    ----------
    header_json, outcome_json : str or None
        Header, from the first step on, and outcome, once the run has ended.
    places : list of int or None
        Positions of the nodes in the latest record with a layout.
    """

    header_json: str | None = None
    outcome_json: str | None = None
    places: list[int] | None = None

    def __init__(self, run: Run, material: Material, token: str) -> None:
        self.run = run
        self.material = material
        self.token = token

    def records(self) -> Iterator[bytes]:
        """Advance the run step by step, and yield each record as JSON in UTF-8."""
        goes_on, t = self.advance(), 0
        self.header_json = to_json(self.header())
        while goes_on:
            t += 1
            yield to_json(self.record(t)).encode("utf-8", "replace")
            goes_on = self.advance()
        self.outcome_json = to_json(self.outcome())

    def advance(self) -> bool:
        """Compute one more step; False when the run has ended."""
        return self.run.advance()

    def header(self) -> Mapping[str, Any]:
        """Return the header; called once, after the first step (or the end of a run without)."""
        raise NotImplementedError

    def record(self, t: int) -> Mapping[str, Any]:
        """Return the record of step `t`; called once for each t = 1, 2, … in order."""
        raise NotImplementedError

    def outcome(self) -> Mapping[str, Any]:
        """Return how the run ended; called once, after the last record."""
        raise NotImplementedError

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a query of a node, an edge or a pair at a computed step."""
        raise InputError(f"This page has no queries of kind {question.get('kind')!r}.")

    def learned(self) -> Run:
        """Return the run with the steps of all records so far."""
        return self.run

    def result(self) -> Result:
        """Return the result of the steps so far."""
        return self.learned().result()


class RunRecorder(Recorder):
    """Recorder of a run for the player.

    Parameters
    ----------
    run : Run
    material : Material
    token : str
    ghost : Recorder, optional
        Recorder of the run this one branched from, or is compared with.
    """

    def __init__(
        self,
        run: Run,
        material: Material,
        token: str,
        ghost: Recorder | None = None,
    ) -> None:
        super().__init__(run, material, token)
        # Not the recorder itself: its run may have to go before this one.
        self._ghost = None if ghost is None else (ghost.token, ghost.run.learner)
        self._lent = None if ghost is None or run.branch is not None else ghost.places
        has_positions = material.positions is not None or self._lent is not None
        self._layout = None if has_positions else GrowingLayout(run.table.n_variables)
        self._answer = lru_cache(MOST_ANSWERS)(
            lambda text, _has_ended: answer(run, json.loads(text))
        )

    def header(self) -> Mapping[str, Any]:
        """Return the header."""
        run, ghost = self.run, self._ghost
        last = run.learner if run.branch is None else run.branch.learner
        settings, at_end = (settings_of(one, self.material.counts) for one in (run.learner, last))
        branch: dict[str, Any] | None = None
        if run.branch is not None:
            change = change_in_words(run.learner, run.branch)
            branch = {
                "t": run.branch.at,
                "run": "" if ghost is None else ghost[0],
                "text": f"from step {run.branch.at} on {change}",
            }
        header: dict[str, Any] = run_header(
            run,
            token=self.token,
            title=self.material.title,
            positions=self.material.positions,
            branch=branch,
            note=" ".join(self.material.warnings),
        )
        if self._lent is not None and header["positions"] is None:
            header["layout"] = self._lent
        if settings is not None:
            header["objective"] = OBJECTIVE_NAMES[settings.objective]
        if at_end is not None:
            header["penalty"] = list(at_end.penalty)
        if ghost is not None and branch is None:
            header["ghost"] = preset_title(ghost[1])
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
        """Answer a query of the player; answers that need inference are cached."""
        if not any(part in question for part in _INFERRED):
            return answer(self.run, question)
        if not compiled.is_set():
            plain = {key: value for key, value in question.items() if key not in _INFERRED}
            late = {
                part: {"error": COMPILING, "again": True} for part in _INFERRED if part in question
            }
            return {**answer(self.run, plain), **late}
        # The last step is about the final fit once the run has ended.
        return self._answer(json.dumps(question, sort_keys=True), self.run.outcome is not None)


class RaceRecorder(Recorder):
    """Recorder of a run in the format of races."""

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
        """Return the header of the run; call it after the first step."""
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


class PruneRecorder(Recorder):
    """Recorder of a run of forced pruning."""

    @cached_property
    def _rows(self) -> Rows:
        return rows_of(self.run.table)

    def header(self) -> Mapping[str, Any]:
        """Return the header; called after the first step."""
        return prune_head(self.run, self.token)

    def record(self, t: int) -> Mapping[str, Any]:
        """Return the record of step `t`."""
        return prune_record(self.run, t, self._rows)

    def outcome(self) -> Mapping[str, Any]:
        """Return how the run ended."""
        return prune_outcome(self.run)


def to_json(value: object) -> str:
    """Return compact, strictly valid JSON; NaN and infinity raise ValueError."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def preset_title(learner: Learner) -> str:
    """Return the name of a learner with its preset, such as "the paper's method"."""
    titles = catalogue("grow")["methods"]
    return str(titles.get(getattr(learner, "preset", ""), learner.title))


def change_in_words(learner: Learner, branch: Branch) -> str:
    """Return the options changed by a branch as text, e.g. ``"α 0.2, λ 0.005"``."""
    before, after = (vars(one) for one in (learner, branch.learner))
    changed = {name: value for name, value in after.items() if value != before.get(name)}
    return ", ".join(option_words(learner, changed)) or "unchanged"
