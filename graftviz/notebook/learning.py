"""Runs of a player, learned as far as it needs them, and its messages."""

from __future__ import annotations

import dataclasses
import gzip
import json
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.material import Material
from graftviz.notebook.run import NotebookRun
from graftviz.player.plain import json_object, share_of, whole_number
from graftviz.player.recorders import RunRecorder, compiled
from graftviz.runs import Branch, Result, Run
from graftviz.serving.jobs import EVERYTHING
from graftviz.serving.scheduler import Scheduler

# Steps that are sent before they are requested: a kernel whose cell runs may receive no requests.
AHEAD = 50
_OF_ANY_RUN = ("open", "alpha", "reset", "ghost")  # messages that the browser may send too late
_PATIENCE = 0.2  # seconds after which a wait can be interrupted, on systems where a lock cannot


@cache
def _scheduler() -> Scheduler:
    return Scheduler()


class Learning:
    """Shown run of a player, and those it was made from.

    Messages are those of docs/player.md. They are received and sent in any thread.

    Parameters
    ----------
    run : Run
        The first run, which has not begun.
    material : Material
        Its data.
    language : str
    send : callable
        Send a message, JSON compressed by gzip, to the browser.
    """

    def __init__(
        self, run: Run, material: Material, language: str, send: Callable[[bytes], object]
    ) -> None:
        self._material = material
        self._language = language
        self._send = send
        self._lock = threading.RLock()
        self._share = _scheduler().share()
        self._runs = 0
        self._first = self._shown = self._base = self._recorded(run)
        self._introduced = ""  # token of the run whose header was sent
        self._sent = self._wanted = 0  # last step that was sent, last one that may be
        self._has_ended = False  # whether the end was sent
        self._step: int | None = None
        self._status = ""  # sentence about the compiler, until the first step
        # No page waits for kernels of other parts to be compiled, so a query may do it.
        compiled.set()

    # --------------------------------------------------------------------------------- in Python

    @property
    def run(self) -> Run:
        """The shown run."""
        return self._shown.recorder.run

    @property
    def _alpha(self) -> float | None:
        """The chosen α: that of the branch, if there is one; None for a learner without α."""
        learner = self.run.learner if self.run.branch is None else self.run.branch.learner
        return getattr(learner, "alpha", None)

    def result(self) -> Result:
        """Return the result of the steps learned so far.

        Raises
        ------
        InputError
            Before the first step, and after an error.
        """
        if self._shown.failure:
            raise InputError(self._shown.failure)
        if not self.run.steps and self.run.outcome is None:
            raise InputError("No step has been learned yet: press play, or call finish().")
        return self._shown.result()

    def finish(self) -> Result:
        """Learn to the end and return the result; an interrupt pauses the run."""
        run = self._shown
        run.grant()
        try:
            while not run.wait_for_end(_PATIENCE):
                pass
        except KeyboardInterrupt:
            run.revoke()
            raise
        if run.error is not None:
            raise run.error
        return self.result()

    # -------------------------------------------------------------------------- to the browser

    def _new_run(self, learner: Learner, branch: Branch | None = None) -> Run:
        """Return a run on the data and with the seed of the first one."""
        run = self._first.recorder.run
        return Run(run.table, learner, seed=run.seed, test=run.test, truth=run.truth, branch=branch)

    def _recorded(self, run: Run, ghost: NotebookRun | None = None) -> NotebookRun:
        self._runs += 1
        token = f"run-{self._runs}"
        origin = None if ghost is None else ghost.recorder
        recorder = RunRecorder(run, self._material, token, origin, self._language)
        return NotebookRun(recorder, token, self._share, self._report, self._compiling)

    def _show(self, run: NotebookRun, base: NotebookRun | None = None) -> None:
        """Show a run, in reply to a message, and remember the one from which it branched off."""
        if run is not self._shown:
            self._shown.revoke()
        self._shown, self._base = run, base or run
        self._sent, self._has_ended = 0, False
        self._wanted = (self._step or 0) + AHEAD
        run.grant(self._wanted)
        self._report(run, replies=True)

    def _report(self, run: NotebookRun, *, replies: bool = False) -> None:
        """Send what is new of the shown run: header, requested steps, end, error.

        A reply is sent even if nothing is new, so that the browser knows of a kernel at work.
        """
        with self._lock:
            if run is not self._shown:
                return
            parts: dict[str, str | None] = {}
            if run.header_json is not None:
                if self._introduced != run.token:
                    self._introduced = run.token
                    parts |= {
                        "header": run.header_json,
                        "alpha": json.dumps(self._alpha),
                        "step": json.dumps(self._step or None),
                    }
                parts["feed"] = self._next_feed(run, replies=replies)
            elif replies:
                parts["status"] = json.dumps(self._status)
            if run.failure:
                parts["problem"] = json.dumps(run.failure)
            self._post(run, parts)

    def _next_feed(self, run: NotebookRun, *, replies: bool) -> str | None:
        """Return the requested steps that were not sent, and the end.

        If there is nothing, return None, or for a reply a feed without records.
        """
        count = max(min(run.computed, self._wanted) - self._sent, 0)
        is_end = run.finished and self._sent + count >= run.computed
        if count == 0 and (self._has_ended or not is_end) and not replies:
            return None
        feed = run.feed_json(self._sent + 1, count)
        # The browser requests again what the size limit of a message left out.
        self._sent, self._has_ended = self._sent + count, is_end
        return feed

    def _compiling(self, sentence: str) -> None:
        self._status = sentence
        self._post(self._shown, {"status": json.dumps(sentence)})

    def _post(self, run: NotebookRun, parts: Mapping[str, str | None]) -> None:
        if any(part is not None for part in parts.values()):
            text = json_object({"run": json.dumps(run.token), **parts})
            # Compressed, since servers of notebooks limit the bytes per second.
            self._send(gzip.compress(text.encode("utf-8", "replace"), 5))

    # -------------------------------------------------------------------------- from the browser

    def receive(self, message: Mapping[str, Any]) -> None:
        """Act on a message of the browser: ``{name, value}``, its value with the key `run`."""
        acts = {
            **{"open": self._open, "need": self._need, "ask": self._ask, "ghost": self._feed_ghost},
            **{"moved": self._move, "alpha": self._set_alpha, "reset": self._reset},
        }
        name, value = message.get("name"), message.get("value")
        if name not in acts or not isinstance(value, Mapping):
            return
        with self._lock:
            if name in _OF_ANY_RUN or value.get("run") == self._shown.token:
                acts[name](value)

    def _open(self, _value: Mapping[str, Any]) -> None:
        self._introduced = ""
        self._show(self._shown, self._base)

    def _need(self, value: Mapping[str, Any]) -> None:
        run = self._shown
        first, count = whole_number(value.get("from"), 1), whole_number(value.get("count"), 1)
        self._sent = min(max(first, 1) - 1, run.computed)
        self._wanted = first - 1 + count + AHEAD
        self._has_ended = False
        run.grant(self._wanted)
        self._report(run, replies=True)

    def _ask(self, question: Mapping[str, Any]) -> None:
        run = self._shown
        # A region may take seconds, in which other cells can run.
        threading.Thread(
            target=lambda: self._post(run, {"answer": run.answer_json(question)}), daemon=True
        ).start()

    def _feed_ghost(self, value: Mapping[str, Any]) -> None:
        base = self._base
        if value.get("run") == base.token:
            base.grant()
            feed = base.feed_json(whole_number(value.get("from"), 1), EVERYTHING)
            self._post(self._shown, {"ghost_feed": feed})

    def _move(self, value: Mapping[str, Any]) -> None:
        self._step = whole_number(value.get("t"), 0)

    def _set_alpha(self, value: Mapping[str, Any]) -> None:
        """Learn with another α: the whole run, or from a step on."""
        base, alpha, at = self._base, share_of(value.get("value")), value.get("at")
        learner: Any = base.recorder.run.learner
        if alpha is None or not hasattr(learner, "alpha"):
            return
        changed = dataclasses.replace(learner, alpha=alpha)
        if at is None:
            self._show(self._recorded(self._new_run(changed)))
        else:
            branch = Branch(whole_number(at, 0), changed)
            self._show(self._recorded(self._new_run(learner, branch), base), base)

    def _reset(self, _value: Mapping[str, Any]) -> None:
        self._step = None
        self._show(self._first)
