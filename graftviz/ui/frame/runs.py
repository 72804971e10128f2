"""Runs of the pages that learn from a table: records as a browser sees them, and their store."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.material import Material, uploaded_table
from graftviz.model import PairwiseMRF
from graftviz.player.models import Loaded, model_after, recorded_model
from graftviz.player.recorders import Recorder, to_json
from graftviz.runs import Branch, Result, Run
from graftviz.selection import EdgeStability
from graftviz.serving.limits import limits
from graftviz.serving.logs import log_exception
from graftviz.serving.scheduler import Share
from graftviz.texts import LANGUAGE
from graftviz.ui.frame.jobs import EVERYTHING, Job
from graftviz.ui.frame.view import whole_number

_AT_ONCE = 0.5  # seconds to wait for a complete new run
_MORE_STEPS = 0.25  # seconds to wait for requested steps

# A message to the browser is well below the server's limit; the player requests the rest.
MAX_FEED_CHARACTERS = 4_000_000
log = logging.getLogger(__name__)
FORGOTTEN = "This run was released while the page was idle; reload the page to restore it."


@dataclass(frozen=True)
class RunPlan:
    """Data, learner and seed of a run; equal plans give equal runs.

    `ghost` is the run that it is shown with: the one it branched from, or is compared with;
    `language` is that of the sentences in its records.
    """

    material: str
    learner: Learner
    seed: int
    branch: Branch | None = None
    ghost: RunPlan | None = None
    language: str = LANGUAGE


def new_run(plan: RunPlan, material: Material) -> Run:
    """Return a run that has not begun.

    Raises
    ------
    InputError
        When plan and material do not fit together.
    """
    return Run(
        material.train,
        plan.learner,
        seed=plan.seed,
        test=material.test,
        truth=material.truth,
        branch=plan.branch,
    )


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
    share : Share
    lane : Hashable, optional

    Attributes
    ----------
    delivered : int
        The last step that any feed contained.
    stability : Job or None
        Frequencies of its edges in subsamples of the rows, once requested.
    """

    def __init__(self, recorder: Recorder, token: str, share: Share, lane: Hashable = None) -> None:
        super().__init__(recorder.records(), share, token, lane)
        self.recorder = recorder
        self.delivered = 0
        self.stability: Job[EdgeStability] | None = None
        self._records: list[bytes] = []  # UTF-8: one α would make text of twice the size
        self._awaited = 1  # the first step includes the header

    @property
    def header_json(self) -> str | None:
        """Header in the format of the player; None before the first step."""
        return self.recorder.header_json

    @property
    def memory_bytes(self) -> int:
        """Size of the records."""
        return sum(map(len, self._records))

    def ration(self, ahead: int) -> None:
        """Limit the credit, until the next `grant`, to `ahead` steps after the computed ones."""
        self._target = min(self._target, self.computed + ahead)

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

    def model_at(self, step: int) -> PairwiseMRF:
        """Return the model after a step, as :func:`graftviz.player.models.model_after`."""
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


def everything_so_far(runs: Iterable[SessionRun]) -> str:
    """Return, as JSON, headers and feeds of all computed steps, after a short wait."""
    chosen = list(runs)
    _wait([(run, EVERYTHING) for run in chosen if run.has_credit], _AT_ONCE)
    return _json([(run, 1, EVERYTHING) for run in chosen])


def requested_feeds(runs: Iterable[SessionRun], wants: object) -> str:
    """Request the steps ``[[run, from, count], …]`` of a browser; return those that are ready."""
    by_token = {run.token: run for run in runs}
    requests = [
        (by_token[want[0]], whole_number(want[1], 1), whole_number(want[2], 1))
        for want in (wants if isinstance(wants, list) else [])
        if isinstance(want, list) and len(want) == 3 and want[0] in by_token
    ]
    for run, first, count in requests:
        run.grant(first - 1 + count)
    _wait([(run, first - 1 + count) for run, first, count in requests], _MORE_STEPS)
    return _json(requests)


def _json(requests: Iterable[tuple[SessionRun, int, int]]) -> str:
    parts = [
        f'{{"head":{run.header_json or "null"},"feed":{run.feed_json(first, count)}}}'
        for run, first, count in requests
    ]
    return f"[{','.join(parts)}]"


def _wait(targets: list[tuple[SessionRun, int]], seconds: float) -> None:
    """Wait for the requested steps, but not longer than `seconds` for all of them."""
    until = time.monotonic() + seconds
    for run, steps in targets:
        run.wait(steps, max(0.0, until - time.monotonic()))


class RunStore:
    """Runs of one session, by plan, the latest last."""

    def __init__(self) -> None:
        self._runs: dict[RunPlan, SessionRun] = {}

    def __contains__(self, plan: object) -> bool:
        return plan in self._runs

    def __iter__(self) -> Iterator[SessionRun]:
        return iter(list(self._runs.values()))

    def get(self, plan: RunPlan, start: Callable[[], SessionRun]) -> SessionRun:
        """Return the run of a plan, started if there is none or if it has failed."""
        run = self._runs.pop(plan, None)
        if run is None or run.failure:
            run = start()
        self._runs[plan] = run
        return run

    def plan_of(self, run: SessionRun) -> RunPlan | None:
        """Return the plan of a run; None if the run was removed."""
        return next((plan for plan, other in self._runs.items() if other is run), None)

    def keep_active(self, shown: Collection[SessionRun | None], most: int) -> None:
        """Pause all runs that are not shown, and evict those beyond the limits.

        Also evicted are runs of uploaded tables that were replaced by another.

        Parameters
        ----------
        shown : collection of SessionRun or None
        most : int
            Maximum number of runs; fewer if their records exceed ``kept_memory`` together.
        """
        on_show = {uploaded_table(p.material) for p, run in self._runs.items() if run in shown}
        tables = on_show - {""}
        count, size = 0, 0.0
        for plan, run in list(self._runs.items())[::-1]:
            count, size = count + 1, size + run.memory_bytes / 1e6
            if run in shown:
                continue
            run.revoke()
            is_replaced = bool(tables) and uploaded_table(plan.material) not in tables | {""}
            if is_replaced or count > most or size > limits().kept_memory:
                del self._runs[plan]
                run.forget()

    def revoke(self) -> None:
        """Pause all runs."""
        for run in self:
            run.revoke()

    def clear(self) -> None:
        """Pause and remove all runs; their records remain valid."""
        self.revoke()
        self._runs.clear()

    def forget(self) -> None:
        """Release the memory of all runs."""
        for run in self:
            run.forget()
        self._runs.clear()
