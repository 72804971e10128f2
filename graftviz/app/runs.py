"""Runs of a session: their records for the player, their jobs, and the runs that are kept."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graftviz.app.jobs import EVERYTHING, Job, Queue, log_exception
from graftviz.app.material import FINGERPRINT_DIGITS, Material, SourceCache
from graftviz.evaluation.selection.stability import EdgeStability
from graftviz.learning.base import Learner
from graftviz.learning.grafting.grafting_options import settings_of
from graftviz.learning.run import Branch
from graftviz.learning.settings import OBJECTIVE_NAMES
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.layout import GrowingLayout
from graftviz.reports.replay.plain import whole_number
from graftviz.reports.replay.records import answer, outcome_record, run_header, step_record
from graftviz.reports.results import Result, Run
from graftviz.reports.texts import catalogue
from graftviz.reports.words.outcomes import quality_words
from graftviz.utils.errors import InputError
from graftviz.utils.options import option_words

MOST_ANSWERS = 256  # answers that need inference
COMPILING = "Compiling the engine for regions; try again in a minute."
_INFERRED = ("region", "effect")  # parts of answers that need inference
# Set by the warm-up of the app: earlier queries would make the page wait for the compiler.
compiled = threading.Event()
_AT_ONCE = 0.5  # seconds to wait for a complete new run
_MORE_STEPS = 0.25  # seconds to wait for requested steps
# A message to the browser is well below the server's limit; the player requests the rest.
MAX_FEED_CHARACTERS = 4_000_000
FORGOTTEN = "This run was released while the page was idle; reload the page to restore it."
log = logging.getLogger(__name__)


class _Forgotten:
    """Placeholder of the run and the data of a removed run; raises on access."""

    def __getattr__(self, name: str) -> Any:
        raise InputError(FORGOTTEN)


class SessionRun(Job[bytes]):
    """Job that advances a run, and keeps the records of its steps as JSON.

    Engine threads write under the run's lock; readers of the records need no lock, because entries
    are only appended and never changed.

    Parameters
    ----------
    run : Run
    material : Material
    token : str
        Identifier of the run in header and feeds.
    queue : Queue

    Attributes
    ----------
    run : Run
        Without steps while a recording is shown; see :meth:`learned`.
    header_json, outcome_json : str or None
        Header, from the first step on, and outcome, once the run has ended.
    places : list of int or None
        Positions of the nodes in the latest record with a layout.
    delivered : int
        The last step that any feed contained.
    stability : Job or None
        Frequencies of its edges in subsamples of the rows, once requested.
    """

    def __init__(self, run: Run, material: Material, token: str, queue: Queue) -> None:
        super().__init__(self.records(), queue, token)
        self.run = run
        self.material = material
        self.header_json: str | None = None
        self.outcome_json: str | None = None
        self.places: list[int] | None = None
        self.delivered = 0
        self.stability: Job[EdgeStability] | None = None
        self._records: list[bytes] = []  # UTF-8: one α would make text of twice the size

    # ------------------------------------------------------------------------------ the records

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

    # --------------------------------------------------------------------------------- the job

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
        self.run = self.material = _Forgotten()  # type: ignore[assignment]
        self.header_json = self.outcome_json = self.places = None
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
        outcome = self.outcome_json
        is_last = outcome is not None and first - 1 + len(chosen) >= len(self._records)
        return (
            f'{{"run":{json.dumps(self.token)},"from":{first},'
            f'"records":[{b",".join(chosen).decode()}],"outcome":{outcome if is_last else "null"}}}'
        )

    def answer_json(self, question: Mapping[str, Any]) -> str:
        """Return the answer to a query of the player, or a sentence with the error."""
        try:
            with self._lock:
                if self.failure == FORGOTTEN:
                    raise InputError(FORGOTTEN)
                answer = self.answer(question)
        except InputError as error:
            answer = {"error": str(error)}
        except Exception:  # noqa: BLE001 (logged with a reference)
            reference = log_exception(log, "A query ended with an unexpected error")
            answer = {
                "error": "This query failed; the server's log has the details under "
                f"reference {reference}."
            }
        return to_json({"question": dict(question), "answer": answer})

    def learned(self) -> Run:
        """Return the run with the steps of all records so far."""
        return self.run

    def result(self) -> Result:
        """Return the result of the computed steps."""
        with self._lock:
            return self.learned().result()

    def model_at(self, step: int) -> PairwiseModel:
        """Return the model after a step, as :func:`graftviz.app.runs.model_after`."""
        with self._lock:
            return model_after(self.learned(), step)

    def loaded(self) -> Loaded:
        """Return the model after the computed steps, as :func:`recorded_model`."""
        with self._lock:
            return recorded_model(self, self.computed)

    def _keep(self, value: bytes) -> None:
        if not self.ended:  # else it was removed during the step
            self._records.append(value)
            super()._keep(value)


class PlayerRun(SessionRun):
    """Run whose records are those of the player.

    Parameters
    ----------
    run : Run
    material : Material
    token : str
    queue : Queue
    ghost : SessionRun, optional
        The run that this one branched from, or is compared with.
    """

    def __init__(
        self,
        run: Run,
        material: Material,
        token: str,
        queue: Queue,
        ghost: SessionRun | None = None,
    ) -> None:
        super().__init__(run, material, token, queue)
        # Not the other run itself, which may have to go before this one.
        self._ghost = None if ghost is None else (ghost.token, ghost.run.learner)
        self._borrowed = None if ghost is None or run.branch is not None else ghost.places
        has_positions = material.positions is not None or self._borrowed is not None
        self._layout = None if has_positions else GrowingLayout(run.table.n_variables)
        self._answers = SourceCache(MOST_ANSWERS)

    def forget(self) -> None:
        """Release all memory of the run; only its name remains."""
        super().forget()
        self._answers.clear()
        self._layout = None

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
        if self._borrowed is not None and header["positions"] is None:
            header["layout"] = self._borrowed
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
        key = json.dumps(question, sort_keys=True), self.run.outcome is not None
        return self._answers.get(key, lambda: answer(self.run, question))


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


@dataclass(frozen=True, eq=False)
class Loaded:
    """Model together with its title and positions.

    Attributes
    ----------
    model : PairwiseMRF
    title : str
    notes : tuple of str
        How its file was understood, or warnings about its data.
    places : array, shape (n, 2), or None
        Positions of the variables, 0 … 10000.
    has_natural_positions : bool
        Whether these are positions as on a map.
    steps : sequence of int or None
        The step that activated each edge.
    own : SourceCache
        Cache of the results for the model.
    """

    model: PairwiseModel
    title: str
    notes: tuple[str, ...] = ()
    places: np.ndarray | None = None
    has_natural_positions: bool = False
    steps: tuple[int, ...] | None = None
    own: SourceCache = field(default_factory=SourceCache, init=False, repr=False)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of everything about the model."""
        return fingerprint_of(self.model)

    @property
    def identity(self) -> str:
        """Equal for equal models."""
        return self.fingerprint


def fingerprint_of(model: PairwiseModel) -> str:
    """Return a fingerprint of everything about a model."""
    digest = hashlib.sha256()
    for array in (model.cardinalities, model.edges, model.weights):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps([model.names, model.labels]).encode())
    return digest.hexdigest()[:FINGERPRINT_DIGITS]


def model_after(run: Run, step: int) -> PairwiseModel:
    """Return the model after a step of a run, or before the first; the last one is that of its end.

    Raises
    ------
    InputError
        When the run has no step.
    """
    if step == len(run.steps) and run.outcome is not None:
        return run.outcome.model()
    if not run.steps:
        raise InputError("This run has no steps yet.")
    return run.steps[-1].history.state_at(step).model


def recorded_model(found: SessionRun, step: int) -> Loaded:
    """Return the model after a step of a run; that of the last step is the model of its end.

    Raises
    ------
    InputError
        When the run has no such step.
    """
    run, material = found.learned(), found.material
    if step == len(run.steps) and run.outcome is not None:
        history = run.outcome.history
        count, where = len(history.counts), f"end of the run, step {step}"
    elif step < 1:
        raise InputError("This run has no steps yet.")
    else:
        history, count, where = run.steps[step - 1].history, step, f"step {step}"
    notes = material.warnings
    if run.outcome is not None and step == len(run.steps):
        quality = run.result().quality
        notes = (*notes, quality_words(quality)) if quality else notes
    places: np.ndarray | list[int] | None = material.positions
    if places is None and found.header_json:
        places = json.loads(found.header_json).get("positions")
    if places is None:
        places = found.places
    preset = getattr(run.learner, "preset", None)
    learner = run.learner.title if preset is None else f"{run.learner.title} ({preset})"
    return Loaded(
        model=model_after(run, step),
        title=" · ".join((material.name, learner, where)),
        notes=notes,
        places=None if places is None else np.reshape(places, (-1, 2)),
        has_natural_positions=material.positions is not None,
        steps=tuple(history.activated_in(e) for e in history.ids_at(count).tolist()),
    )


@dataclass(frozen=True)
class RunPlan:
    """Data, learner and seed of a run; equal plans give equal runs.

    `ghost` is the run that it is shown with: the one it branched from, or is compared with.
    """

    material: str
    learner: Learner
    seed: int
    branch: Branch | None = None
    ghost: RunPlan | None = None


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
