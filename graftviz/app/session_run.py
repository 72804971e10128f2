"""Run of a session: a job that keeps the records of its steps."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from graftviz.app.executor import Queue
from graftviz.app.jobs import Job
from graftviz.app.player.models import Loaded, model_after, recorded_model
from graftviz.app.player.recorders import Recorder, to_json
from graftviz.app.references import log_exception
from graftviz.evaluation.selection.stability import EdgeStability
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.results import Result
from graftviz.utils.errors import InputError

# A message to the browser is well below the server's limit; the player requests the rest.
MAX_FEED_CHARACTERS = 4_000_000
FORGOTTEN = "This run was released while the page was idle; reload the page to restore it."
log = logging.getLogger(__name__)


class _Forgotten:
    """Placeholder of the recorder of a removed run; raises on access."""

    header_json = outcome_json = None

    def __getattr__(self, name: str) -> Any:
        raise InputError(FORGOTTEN)


class SessionRun(Job[bytes]):
    """Job that keeps all its values: records of the steps of a run.

    Engine threads write under the run's lock; readers of the records need no lock, because entries
    are only appended and never changed.

    Parameters
    ----------
    recorder : Recorder
    token : str
        Identifier of the run in header and feeds.
    queue : Queue

    Attributes
    ----------
    delivered : int
        The last step that any feed contained.
    stability : Job or None
        Frequencies of its edges in subsamples of the rows, once requested.
    """

    def __init__(self, recorder: Recorder, token: str, queue: Queue) -> None:
        super().__init__(recorder.records(), queue, token)
        self.recorder = recorder
        self.delivered = 0
        self.stability: Job[EdgeStability] | None = None
        self._records: list[bytes] = []  # UTF-8: one α would make text of twice the size

    @property
    def header_json(self) -> str | None:
        """Header in the format of the player; None before the first step."""
        return self.recorder.header_json

    @property
    def memory_bytes(self) -> int:
        """Size of the records."""
        return sum(map(len, self._records))

    def revoke(self) -> None:
        """Withdraw all credit; computed steps remain."""
        super().revoke()
        if self.stability is not None:
            self.stability.revoke()

    def forget(self) -> None:
        """Release all memory of the run; only its name remains.

        A running step is not waited for; it is dropped when it ends.
        """
        self.revoke()
        self.failure = FORGOTTEN
        self.recorder = _Forgotten()  # type: ignore[assignment]
        self.stability = self.latest = None
        # A reader may still use the old list: it is replaced, not cleared.
        self._values, self._records, self.computed = iter(()), [], 0
        self._notify()

    def feed_json(self, start: int, count: int, *, whole: bool = False) -> str:
        """Return the computed records of `start` … `start` + `count` − 1, and the outcome.

        The outcome is included if the last record is part of this feed or precedes it. A feed is
        cut to the size limit of a message unless `whole` is true.
        """
        first = max(1, start)
        chosen: list[bytes] = []
        size = 0
        for text in self._records[first - 1 : first - 1 + max(0, count)]:
            size += len(text)
            if chosen and size > MAX_FEED_CHARACTERS and not whole:
                break
            chosen.append(text)
        self.delivered = max(self.delivered, first - 1 + len(chosen))
        outcome = self.recorder.outcome_json
        is_last = outcome is not None and first - 1 + len(chosen) >= len(self._records)
        return (
            f'{{"run":{json.dumps(self.token)},"from":{first},'
            f'"records":[{b",".join(chosen).decode()}],"outcome":{outcome if is_last else "null"}}}'
        )

    def answer_json(self, question: Mapping[str, Any]) -> str:
        """Return the answer to a query of the player, or a sentence with the error."""
        try:
            with self._lock:
                answer = self.recorder.answer(question)
        except InputError as error:
            answer = {"error": str(error)}
        except Exception:  # noqa: BLE001 (logged with a reference)
            reference = log_exception(log, "A query ended with an unexpected error")
            answer = {
                "error": "This query failed; the server's log has the details under "
                f"reference {reference}."
            }
        return to_json({"question": dict(question), "answer": answer})

    def result(self) -> Result:
        """Return the result of the computed steps."""
        with self._lock:
            return self.recorder.result()

    def model_at(self, step: int) -> PairwiseModel:
        """Return the model after a step, as :func:`graftviz.app.player.models.model_after`."""
        with self._lock:
            return model_after(self.recorder.learned(), step)

    def loaded(self) -> Loaded:
        """Return the model after the computed steps, as :func:`recorded_model`."""
        with self._lock:
            return recorded_model(self.recorder, self.computed)

    def _keep(self, value: bytes) -> None:
        if not self.ended:  # else it was removed during the step
            self._records.append(value)
            super()._keep(value)
