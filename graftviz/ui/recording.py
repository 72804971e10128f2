"""Records of a run for the player of the Grow page."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from graftviz.layout import GrowingLayout
from graftviz.learners.base import Learner
from graftviz.learners.settings import OBJECTIVE_NAMES
from graftviz.options import format_value, option_specs
from graftviz.player.records import answer, outcome_record, run_header, step_record
from graftviz.runs import Branch, Run
from graftviz.ui.material import Material, settings_of
from graftviz.ui.session_run import Recorder
from graftviz.ui.visits import SourceCache

KEPT = 256  # answers
COMPILING = "Compiling the engine for regions; try again in a minute."
# Set by the warm-up: earlier queries would make the page wait for the compiler.
compiled = threading.Event()


class RunRecorder(Recorder):
    """Recorder of a run for the player.

    Parameters
    ----------
    run : Run
    material : Material
    token : str
    beside : Recorder, optional
        Recorder of the run this one branched from, or is compared with.
    """

    def __init__(
        self, run: Run, material: Material, token: str, beside: Recorder | None = None
    ) -> None:
        super().__init__(run, material, token)
        # Not the recorder itself: its run may have to go before this one.
        self._beside = None if beside is None else (beside.token, beside.run.learner)
        self._lent = None if beside is None or run.branch is not None else beside.places
        has_positions = material.positions is not None or self._lent is not None
        self._layout = None if has_positions else GrowingLayout(run.table.n_variables)
        self._regions = SourceCache(KEPT)

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
        """Answer a question of the player; answers with a region are cached."""
        if "region" not in question:
            return answer(self.run, question)
        if not compiled.is_set():
            plain = {key: value for key, value in question.items() if key != "region"}
            return {**answer(self.run, plain), "region": {"error": COMPILING, "again": True}}
        # The last step is about the final fit once the run has ended.
        key = json.dumps([question, self.run.outcome is None], sort_keys=True)
        return self._regions.get(key, lambda: answer(self.run, question))


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
