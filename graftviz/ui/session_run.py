"""One run as a browser sees it: records that only ever grow, computed while credit lasts."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.runs import Branch, Result, Run
from graftviz.selection import EdgeStability
from graftviz.ui.background import EVERYTHING, Background, Job
from graftviz.ui.logs import log_exception
from graftviz.ui.material import Material
from graftviz.ui.scheduler import Turns

_AT_ONCE = 0.5  # seconds that new runs may take to arrive in one piece
_MORE_STEPS = 0.25  # seconds to wait for steps that were asked for and are not there yet
_MAX_COUNT = 100_000

# A message to the browser stays well under the server's limit; the player asks for the rest.
MAX_FEED_CHARACTERS = 4_000_000
log = logging.getLogger(__name__)
FORGOTTEN = "This run was released while the page was idle; reload the page to restore it."


@dataclass(frozen=True)
class Plan:
    """Data, learner and seed of a run; equal plans give equal runs.

    `beside` is the run that it is shown with: the one it branched from, or is compared with.
    """

    material: str
    learner: Learner
    seed: int
    branch: Branch | None = None
    beside: Plan | None = None


class Recorder:
    """Recorder of a :class:`Run`: its records as the JSON of docs/player.md.

    Parameters
    ----------
    run : Run
    material : Material
    token : str

    Attributes
    ----------
    places : list of int or None
        Positions of the nodes in the latest record with a layout.
    """

    places: list[int] | None = None

    def __init__(self, run: Run, material: Material, token: str) -> None:
        self.run = run
        self.material = material
        self.token = token

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
        """Answer a question about a node, an edge or a pair at a computed step."""
        raise InputError(f"This page has no queries of kind {question.get('kind')!r}.")

    def result(self) -> Result:
        """Return what has been learned so far."""
        return self.run.result()


def new_run(plan: Plan, material: Material) -> Run:
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

    def __getattr__(self, name: str) -> Any:
        raise InputError(FORGOTTEN)


class SessionRun(Job):
    """Job that keeps all its values: records of the steps of a run.

    Engine threads write under the run's lock; readers of the log need no lock, because entries are
    only appended and never changed. The memory of a removed run is released by the thread that
    holds the lock, so that a page which removes a run does not wait for a long step.

    Parameters
    ----------
    recorder : Recorder
    token : str
        Identifier of the run in header and feeds.
    scheduler : Turns

    Attributes
    ----------
    header_json : str or None
        None before the first step.
    delivered : int
        The last step that any feed contained.
    stability : Background or None
        Frequencies of its edges in subsamples of the rows, once requested.
    """

    def __init__(self, recorder: Recorder, token: str, scheduler: Turns) -> None:
        super().__init__(scheduler)
        self.recorder = recorder
        self.token = token
        self.header_json: str | None = None
        self.delivered = 0
        self.stability: Background[EdgeStability] | None = None
        self._is_forgotten = False
        self._records: list[bytes] = []  # UTF-8: one α would make text of twice the size
        self._outcome: str | None = None
        self._awaited = 1  # the first step includes the header

    @property
    def computed(self) -> int:
        """Number of steps computed so far."""
        return len(self._records)

    @property
    def memory_bytes(self) -> int:
        """Size of the records."""
        return sum(map(len, self._records))

    @property
    def ended(self) -> bool:
        """Whether no step will follow: the run has its outcome, or it failed."""
        return self._outcome is not None or bool(self.failure)

    @property
    def outcome(self) -> Mapping[str, Any] | None:
        """Outcome of the run in the format of the player; None before its end."""
        return None if self._outcome is None else json.loads(self._outcome)

    def ration(self, ahead: int) -> None:
        """Allow the run to compute up to `ahead` steps beyond the last requested one."""
        self._target = min(self._target, self.computed + ahead)

    def revoke(self) -> None:
        """Withdraw all credit; computed steps remain."""
        super().revoke()
        if self.stability is not None:
            self.stability.revoke()

    def forget(self) -> None:
        """Release all memory of the run; only its name remains.

        A running step is finished first, and its memory is released when it ends.
        """
        self.revoke()
        self._is_forgotten, self.failure = True, FORGOTTEN
        self._release()
        self._notify()

    def _release(self) -> None:
        """Release all memory, unless another thread holds the run and will do so."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            self.recorder = _Forgotten()  # type: ignore[assignment]
            self.stability = None
            # A reader may still use the old list: it is replaced, not cleared.
            self._records, self._outcome, self.header_json = [], None, None
        finally:
            self._lock.release()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Lock the recorder; release the memory afterwards if the run was removed meanwhile."""
        try:
            with self._lock:
                yield
        finally:
            if self._is_forgotten:
                self._release()

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
        outcome = self._outcome
        is_last = outcome is not None and first - 1 + len(chosen) >= len(self._records)
        return (
            f'{{"run":{json.dumps(self.token)},"from":{first},'
            f'"records":[{b",".join(chosen).decode()}],"outcome":{outcome if is_last else "null"}}}'
        )

    def answer_json(self, question: Mapping[str, Any]) -> str:
        """Return the answer to a question of the player, or a sentence with the error."""
        try:
            with self._at_work():
                answer = self.recorder.answer(question)
        except InputError as error:
            answer = {"error": str(error)}
        except Exception:  # noqa: BLE001 (logged with a reference)
            reference = log_exception(log, "A question ended with an unexpected error")
            answer = {
                "error": "This question cannot be answered; the server's log has the details under "
                f"reference {reference}."
            }
        return to_json({"question": dict(question), "answer": answer})

    def result(self) -> Result:
        """Return the result of the computed steps."""
        with self._at_work():
            return self.recorder.result()

    def _advance(self) -> None:
        goes_on = self.recorder.advance()
        if self.header_json is None:
            self.header_json = to_json(self.recorder.header())
        if goes_on:
            record = to_json(self.recorder.record(self.computed + 1))
            self._records.append(record.encode("utf-8", "replace"))
        else:
            self._outcome = to_json(self.recorder.outcome())


def to_json(value: object) -> str:
    """Return compact, strictly valid JSON; NaN and infinity raise ValueError."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


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


def whole_number(value: object, default: int) -> int:
    """Return a number the browser sent as a whole one, kept within reason."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return default
    return int(max(0, min(_MAX_COUNT, value)))


def _json(requests: Iterable[tuple[SessionRun, int, int]]) -> str:
    parts = [
        f'{{"head":{run.header_json or "null"},"feed":{run.feed_json(first, count)}}}'
        for run, first, count in requests
    ]
    return f"[{','.join(parts)}]"


def _wait(targets: list[tuple[SessionRun, int]], seconds: float) -> None:
    """Wait for the steps that are wanted, but not longer than `seconds` for all of them."""
    until = time.monotonic() + seconds
    for run, steps in targets:
        run.wait(steps, max(0.0, until - time.monotonic()))
