"""Session state of the Prune page: options, the three current runs, and notices.

The three runs differ in the rule of deletion only; the graph shows one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from graftviz.app.jobs import Queue
from graftviz.app.material import Material
from graftviz.app.player.prune_records import prune_header
from graftviz.app.prune.options import PruneOptions
from graftviz.app.runs import PruneRecorder
from graftviz.app.session import material, page_state, queue
from graftviz.app.state import Entry, Load, SideBySidePage
from graftviz.app.url import LearnerChoice
from graftviz.learning.pruning.forced_pruning import HEURISTICS, ForcedPruning

# Some exchanges, of a few edges each, make three runs that can be watched and compared in class.
PAGE_DEFAULTS = MappingProxyType({"exchanges": 20})


class PruneState(SideBySidePage[PruneOptions]):
    """Settings and runs of the Prune page in one session.

    Parameters
    ----------
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    queue : Queue
    """

    resets: ClassVar = {"data": ("fingerprint", "reading", "step"), "fingerprint": ("step",)}
    recorder = PruneRecorder
    first_credit = 200

    def __init__(self, load: Load, queue: Queue) -> None:
        super().__init__(PruneOptions, load, queue, places=("step",))

    def place(self) -> Mapping[str, Any]:
        """Return rule and step, and the number of the link that set them."""
        return {"heuristic": self.heuristic, "visit": self.visit, "step": self.values["step"]}

    def check_place(self) -> bool:
        """Replace a step of a link that the shown run does not have."""
        run = self.runs.get(self.heuristic)
        return run is not None and run.ended and self.check_step(run.computed)

    # --------------------------------------------------------------------------------- settings

    def choose(self, name: str, value: Any) -> None:
        """Set an option; numbers of edges and clusters do not apply to other data."""
        if name == "data":
            options = self.values["options"].items()
            others = {key: old for key, old in options if key not in ("max_edges", "clusters")}
            self.values["options"] = others
        super().choose(name, value)

    def choose_heuristic(self, choice: Mapping[str, Any]) -> bool:
        """Show the run of another rule; return whether it is another one."""
        is_other = choice.get("key") in HEURISTICS and choice["key"] != self.heuristic
        if is_other:
            self.choose("heuristic", choice["key"])
        return is_other

    @property
    def choice(self) -> LearnerChoice:
        """Forced pruning and its chosen options."""
        return LearnerChoice(ForcedPruning.name, self.values["options"])

    def defaults(self, choice: LearnerChoice) -> dict[str, Any]:
        """Return the default value of every option."""
        return {**super().defaults(choice), **PAGE_DEFAULTS}

    @property
    def heuristic(self) -> str:
        """Rule of the run in the graph."""
        return str(self.learner_options(self.choice)["heuristic"])

    front = heuristic

    # --------------------------------------------------------------------------------- the runs

    def _planned_runs(self, material: Material) -> tuple[Entry, ...]:
        return tuple(Entry(rule, self._plan(self._learner(rule), material)) for rule in HEURISTICS)

    def _learner(self, heuristic: str) -> ForcedPruning:
        return ForcedPruning(**{**self.learner_options(self.choice), "heuristic": heuristic})

    def _header(
        self, entries: tuple[Entry, ...], token: str, material: Material
    ) -> Mapping[str, Any]:
        learner, seed = self._learner(self.heuristic), self.values["seed"]
        runs = {entry.name: entry.run.token for entry in entries if entry.run is not None}
        return prune_header(material, learner, seed, token, runs)


def prune_state() -> PruneState:
    """Return the state of the Prune page in this session."""
    return page_state("prune", lambda: PruneState(material, queue()))
