"""Recording of the run with which the app opens, played until the engine is compiled.

``python -m graftviz.app.recording`` records the run again; a test compares it with the engine.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from graftviz.app import ASSETS
from graftviz.app.jobs import Executor, Queue
from graftviz.app.material import PAGE_DATA, Material, default_options, prepare
from graftviz.app.runs import PlayerRun, to_json
from graftviz.data.sets.registry import load_dataset
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.reports.results import Run
from graftviz.utils.errors import InputError

FILE = ASSETS / "recording.json.gz"
COMPILING = "The engine is being compiled; the answer follows when it is ready."


class Recording(NamedTuple):
    """Records of a run, as described in docs/player.md.

    Attributes
    ----------
    material : str
        Identity of the data.
    header : mapping
    records : list of mapping
    outcome : mapping
    """

    material: str
    header: Mapping[str, Any]
    records: list[dict[str, Any]]
    outcome: Mapping[str, Any]


def record_run() -> Recording:
    """Learn the run with which the app opens, and return its records."""
    material = prepare(load_dataset(PAGE_DATA), seed=0)
    learner = BestChoice(**default_options(BestChoice, material.suggested))
    run = PlayerRun(
        Run(material.train, learner, test=material.test, truth=material.truth),
        material,
        "",
        Executor().queue(),
    )
    records = [json.loads(record) for record in run.records()]
    header, outcome = (json.loads(text or "") for text in (run.header_json, run.outcome_json))
    return Recording(material.identity, header, records, outcome)


@cache
def recording() -> Recording:
    """Return the recorded run."""
    return Recording(**json.loads(gzip.decompress(FILE.read_bytes())))


class RecordedRun(PlayerRun):
    """Run whose records come from the recording.

    The run itself is learned when it is needed, which requires the engine.

    Parameters
    ----------
    run : Run
        The recorded run, which has not begun.
    material : Material
    token : str
    queue : Queue
    is_ready : callable
        Return whether the engine is compiled.
    """

    def __init__(
        self,
        run: Run,
        material: Material,
        token: str,
        queue: Queue,
        is_ready: Callable[[], bool],
    ) -> None:
        super().__init__(run, material, token, queue)
        self._is_ready = is_ready

    def records(self) -> Iterator[bytes]:
        """Yield each record as JSON in UTF-8."""
        recorded = recording()
        self.header_json = to_json({**recorded.header, "run": self.token})
        for record in recorded.records:
            self.places = record.get("layout", self.places)
            yield to_json(record).encode()
        self.outcome_json = to_json(recorded.outcome)

    def learned(self) -> Run:
        """Return the run at its end.

        Raises
        ------
        InputError
            When the engine is not compiled.
        """
        if not self._is_ready():
            raise InputError(COMPILING)
        while self.run.advance():
            pass
        return self.run

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a query of the player; before the engine is compiled, let it ask again."""
        if not self._is_ready():
            return {"error": COMPILING, "again": True}
        self.learned()
        return super().answer(question)


def main() -> None:
    """Record the run, and write the file."""
    FILE.write_bytes(gzip.compress(to_json(record_run()._asdict()).encode(), mtime=0))


if __name__ == "__main__":
    main()
