"""Compiling the engine before anybody waits for it: once per installation, in the background."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterable

import numpy as np

from graftviz.datasets import DataSet
from graftviz.learners.registry import learner_class, learner_names
from graftviz.table import DiscreteTable
from graftviz.ui.material import prepare
from graftviz.ui.recording import Plan, RunRecorder, start_run
from graftviz.ui.scheduler import Scheduler
from graftviz.ui.session_run import EVERYTHING

COMPILE_SECONDS = 60  # measured on two cores
log = logging.getLogger(__name__)
Job = tuple[str, Callable[[], None]]


class WarmUp:
    """Jobs done one after the other on a thread of their own.

    Parameters
    ----------
    jobs : iterable of (str, callable)

    Attributes
    ----------
    ready : threading.Event
        Set when all jobs are done, or one has failed: the page opens in either case.
    share : float
        Part of the jobs that is done, 0 … 1.
    doing : str
        What is being done now.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = tuple(jobs)
        self._began = time.monotonic()
        self.ready = threading.Event()
        self.share = 0.0
        self.doing = ""
        threading.Thread(target=self._do_all, name="graftviz-warm-up", daemon=True).start()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self._began

    def _do_all(self) -> None:
        try:
            for k, (name, job) in enumerate(self._jobs):
                self.doing = name
                job()
                self.share = (k + 1) / len(self._jobs)
        except Exception:
            # Compiling ahead is a courtesy; if it fails, the first run meets the error and says so.
            log.exception("Compiling ahead failed while %s.", self.doing)
        finally:
            # What was loaded until here stays for good; looking through it again would cost
            # every later collection a tenth of a second.
            gc.collect()
            gc.freeze()
            self.ready.set()


def engine_jobs() -> list[Job]:
    """Return the jobs that compile everything a run on the page may use."""
    return [(f"compiling {learner_class(name).title}", _run_of(name)) for name in learner_names()]


def _run_of(name: str) -> Callable[[], None]:
    def run_once() -> None:
        material = prepare(_small_data(), seed=0)
        scheduler = Scheduler(threads=1)
        learner = learner_class(name)()
        run = start_run(Plan(material.identity, learner, 0), material, scheduler)
        run.grant()
        run.wait(EVERYTHING, 600.0)
        scheduler.close()
        run.result()
        assert isinstance(run.recorder, RunRecorder)
        steps = run.recorder.run.steps
        for question in (
            {"kind": "node", "i": 0, "t": len(steps)},
            {"kind": "pair", "i": 0, "j": 1, "t": 0},
        ):
            run.answer_json(question)

    return run_once


def _small_data() -> DataSet:
    """Return a chain of a few variables that copy their predecessor most of the time."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(200, 8))
    for i in range(1, codes.shape[1]):
        copied = rng.random(len(codes)) < 0.7
        codes[copied, i] = codes[copied, i - 1]
    return DataSet(
        key="warm-up",
        title="",
        table=DiscreteTable.from_codes(codes),
        truth=np.array([(i, i + 1) for i in range(7)]),
        positions=None,
        description="",
        test_fraction=0.2,
    )
