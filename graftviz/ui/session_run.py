"""One run as a browser sees it: records that only ever grow, computed while credit lasts."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from graftviz.errors import InputError
from graftviz.runs import Result
from graftviz.selection import EdgeStability
from graftviz.ui.background import Background
from graftviz.ui.foreground import foreground
from graftviz.ui.references import log_exception
from graftviz.ui.scheduler import Turns

EVERYTHING = 1 << 60
# A message to the browser stays well under the server's limit; the player asks for the rest.
MAX_FEED_CHARACTERS = 4_000_000
log = logging.getLogger(__name__)
FORGOTTEN = "This run was put away while nobody was here; load the page again to have it back."


class Recorder(Protocol):
    """A run told in JSON: what `docs/player.md` calls header, records, outcome and answers."""

    def header(self) -> Mapping[str, Any]:
        """Return the header; asked once, after the first step (or the end of a run without)."""

    def advance(self) -> bool:
        """Compute one more step; False when the run has ended."""

    def record(self, t: int) -> Mapping[str, Any]:
        """Return the record of step `t`; asked once for each t = 1, 2, … in order."""

    def outcome(self) -> Mapping[str, Any]:
        """Return how the run ended; asked once, after the last record."""

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a question about a node, an edge or a pair at a computed step."""

    def result(self) -> Result:
        """Return what has been learned so far."""


class _Forgotten:
    """What remains of the recorder of a run that was forgotten: a sentence."""

    def __getattr__(self, name: str) -> Any:
        raise InputError(FORGOTTEN)


class SessionRun:
    """A run with an append-only log of records, advanced by the scheduler while it has credit.

    Engine threads write under the run's lock; readers of the log need no lock, because entries are
    only appended and never changed. A run is forgotten by who holds the lock: a page that puts one
    away does not wait for a step that takes long.

    Parameters
    ----------
    recorder : Recorder
    token : str
        What header and feeds call this run.
    scheduler : Turns

    Attributes
    ----------
    header_json : str or None
        None before the first step.
    failure : str
        Why the run stopped before its end; empty if it did not.
    delivered : int
        The last step that any feed contained.
    stability : Background or None
        How often its edges are found in parts of the rows, once somebody has asked.
    """

    def __init__(self, recorder: Recorder, token: str, scheduler: Turns) -> None:
        self.recorder = recorder
        self.token = token
        self.header_json: str | None = None
        self.failure = ""
        self.delivered = 0
        self.stability: Background[EdgeStability] | None = None
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._is_forgotten = False
        self._news = threading.Condition()
        self._records: list[bytes] = []  # UTF-8: one α would make text of twice the size
        self._outcome: str | None = None
        self._target = 0
        self._awaited = 1  # the first step brings the header

    @property
    def computed(self) -> int:
        """Number of steps computed so far."""
        return len(self._records)

    @property
    def kept_bytes(self) -> int:
        """Size of the records."""
        return sum(map(len, self._records))

    @property
    def ended(self) -> bool:
        """Whether no step will follow: the run has its outcome, or it failed."""
        return self._outcome is not None or bool(self.failure)

    @property
    def outcome(self) -> Mapping[str, Any] | None:
        """How the run ended, as the player is told; None while it has not."""
        return None if self._outcome is None else json.loads(self._outcome)

    @property
    def urgent(self) -> bool:
        """Whether somebody waits for the next step; a run goes on ahead of who watches it."""
        return self.computed < self._awaited and not self.ended

    @property
    def has_credit(self) -> bool:
        """Whether more steps are on their way."""
        return self._has_work()

    def grant(self, target: int = EVERYTHING) -> None:
        """Allow the run to compute its steps up to `target`, if it may not anyway."""
        self._target = max(self._target, target)
        if self._has_work():
            self._scheduler.submit(self)

    def ration(self, ahead: int) -> None:
        """Let the run go on for `ahead` steps at most, unless somebody asks for more."""
        self._target = min(self._target, self.computed + ahead)

    def revoke(self) -> None:
        """Take all credit back; what has been computed stays."""
        self._target = 0
        self._scheduler.withdraw(self)
        if self.stability is not None:
            self.stability.revoke()

    def forget(self) -> None:
        """Let go of everything: whoever still holds this run holds nothing but its name.

        A step that has begun goes on, and what it needs is let go when it ends.
        """
        self.revoke()
        self._is_forgotten, self.failure = True, FORGOTTEN
        self._let_go()
        self._tell()

    def _let_go(self) -> None:
        """Let go of everything, unless somebody is at it who will do so afterwards."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            self.recorder = _Forgotten()
            self.stability = None
            # Readers may be at the list they have; they keep it until they are done.
            self._records, self._outcome, self.header_json = [], None, None
        finally:
            self._lock.release()

    @contextmanager
    def _at_recorder(self) -> Iterator[None]:
        """Hold the recorder; of a run that was forgotten meanwhile, let go afterwards."""
        try:
            with self._lock:
                yield
        finally:
            if self._is_forgotten:
                self._let_go()

    def wait(self, steps: int, timeout: float) -> bool:
        """Wait until `steps` steps are computed or the run has ended; False after `timeout` s.

        Who waits for all there is, a moment, is nobody to hurry for.
        """
        if steps < EVERYTHING:
            self._awaited = max(self._awaited, steps)
        with foreground.waiting(), self._news:
            return self._news.wait_for(lambda: self.ended or self.computed >= steps, timeout)

    def feed_json(self, start: int, count: int, *, whole: bool = False) -> str:
        """Return what is ready of the records `start` … `start` + `count` − 1, and the outcome.

        The outcome comes once the last record is part of this feed, or lies before it. A feed is
        cut to a size that suits a message, unless it is wanted `whole`.
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
        """Return the answer to a player's question, or a sentence why there is none."""
        try:
            with self._at_recorder():
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
        """Return what has been learned so far."""
        with self._at_recorder():
            return self.recorder.result()

    def work(self, until: float) -> bool:
        """Compute steps until about `until`; True while there is credit for more."""
        try:
            with self._at_recorder():
                was_urgent = self.urgent
                while self._has_work():
                    self._advance_once()
                    if time.perf_counter() >= until or was_urgent > self.urgent:
                        break  # others may wait for theirs
        except InputError as error:
            self.failure = self.failure or str(error)
        self._tell()
        return self._has_work()

    def fail(self, reference: str) -> None:
        """End the run after an unexpected error; what was computed stays."""
        self.failure = self.failure or (
            "This run stopped with an unexpected error; the steps so far are kept. "
            f"The server's log has the details under reference {reference}."
        )
        self._tell()

    def _advance_once(self) -> None:
        goes_on = self.recorder.advance()
        if self.header_json is None:
            self.header_json = to_json(self.recorder.header())
        if goes_on:
            record = to_json(self.recorder.record(self.computed + 1))
            self._records.append(record.encode("utf-8", "replace"))
        else:
            self._outcome = to_json(self.recorder.outcome())

    def _has_work(self) -> bool:
        return not self.ended and self.computed < self._target

    def _tell(self) -> None:
        with self._news:
            self._news.notify_all()


def to_json(value: object) -> str:
    """Write compact JSON that any browser reads: NaN and infinity are refused, not written."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
