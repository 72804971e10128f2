"""Compilation of the kernels in the background, once per installation."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from itertools import product
from typing import Any

from graftviz.datasets import load_dataset
from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.learners.best_choice import BestChoice
from graftviz.learners.registry import learner_class, learner_names
from graftviz.material import PAGE_PRESET, automatic_values, prepare
from graftviz.narrative.region import SMALLEST_TOLERANCE
from graftviz.options import option_specs
from graftviz.player.recorders import RunRecorder, compiled
from graftviz.player.records import answer
from graftviz.racing import small_data
from graftviz.regions import CUTS
from graftviz.runs import Run
from graftviz.ui.frame.runs import Plan, new_run
from graftviz.ui.logs import log_exception

COMPILE_SECONDS = 110  # until the page opens, measured on two busy cores
log = logging.getLogger(__name__)
SAMPLED_DATA = "karate"  # its rows are drawn when it is loaded
Job = Callable[[], Any]


class WarmUp:
    """Jobs done one after the other on a thread of their own.

    Parameters
    ----------
    first : iterable of callable
        What the page cannot open without.
    later : iterable of callable
        What is done behind the open page.

    Attributes
    ----------
    ready : threading.Event
        Set when the first jobs are done, or one has failed: the page opens in either case.
    finished : threading.Event
        Set when all jobs are done; one that fails does not keep the others from being done.
    failure : str
        What a page says when a job failed; empty if none has.
    """

    def __init__(self, first: Iterable[Job], later: Iterable[Job] = ()) -> None:
        self._first, self._later = tuple(first), tuple(later)
        self._began = time.monotonic()
        self.failure = ""
        self.ready = threading.Event()
        self.finished = threading.Event()
        threading.Thread(target=self._do_all, name="graftviz-warm-up", daemon=True).start()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self._began

    def _do_all(self) -> None:
        for jobs, done in ((self._first, self.ready), (self._later, self.finished)):
            for job in jobs:
                self._do(job)
            _freeze()
            done.set()

    def _do(self, job: Job) -> None:
        try:
            job()
        except InputError:
            pass  # options that do not go together: nothing to compile
        except Exception:  # noqa: BLE001 (logged with a reference)
            # The first run that needs the kernel meets the error as well and says so.
            reference = log_exception(log, "Compiling ahead failed")
            self.failure = self.failure or (
                "A part of the engine could not be compiled ahead. What needs it will be compiled "
                "when it is used, or say why not; the server's log has the details under "
                f"reference {reference}."
            )


@lru_cache(maxsize=1)
def _freeze() -> None:
    """Leave what was loaded until here out of later collections: it stays for good.

    They would be a tenth of a second longer. Only once: later there are runs of visitors as well,
    and what is frozen with them is never freed.
    """
    gc.collect()
    gc.freeze()


def first_jobs() -> list[Job]:
    """Return the jobs that compile what the page shows first: the paper's best-choice run.

    A link may open it on any data, so what draws rows comes first.
    """
    learner = BestChoice(preset=PAGE_PRESET)
    return [
        partial(load_dataset, SAMPLED_DATA),
        partial(_rehearse, learner, knows_truth=True),
        partial(_rehearse, learner),
    ]


def later_jobs() -> list[Job]:
    """Return the jobs that compile the rest of what the page may use, what is likeliest first."""
    best, others = BestChoice(preset="best"), list(_others())
    learners = [best, *others]
    return [
        partial(_rehearse, best, knows_truth=True),
        rehearse_regions,
        *(partial(_rehearse, learner, knows_truth=True) for learner in others),
        *(partial(_rehearse, learner) for learner in learners),
    ]


def _others() -> Iterator[Learner]:
    """Yield every learner, by each preset, and with each of its switches and choices otherwise."""
    for cls in map(learner_class, learner_names()):
        choices = {
            spec.name: spec.choices or (True, False)
            for spec in option_specs(cls)
            if spec.kind in ("choice", "bool")
        }
        presets = choices.pop("preset", ())
        for start in [{"preset": preset} for preset in presets] or [{}]:
            plain = cls(**start)
            yield plain
            for name, values in choices.items():
                for value in values:
                    # Options that do not go together leave nothing to compile.
                    with suppress(InputError):
                        if value != getattr(plain, name):
                            yield cls(**start, **{name: value})


def _rehearse(learner: Learner, *, knows_truth: bool = False) -> None:
    """Do once, on a few rows, whatever the page does with a run."""
    material = prepare(small_data(knows_truth=knows_truth), seed=0)
    run = new_run(Plan(material.identity, learner, 0), material)
    recorder = RunRecorder(run, material, "warm-up")
    automatic_values(learner, material)
    steps = len(list(recorder.texts()))
    recorder.answer({"kind": "node", "i": 0, "t": steps})
    recorder.answer({"kind": "pair", "i": 0, "j": 1, "t": 0})
    recorder.result()


def rehearse_regions() -> None:
    """Grow a few certified regions; until this is done, the player waits for them."""
    learner = BestChoice(preset=PAGE_PRESET, lam=1e-6, lam2=0.01)  # that leaves no pair out
    run = Run(small_data().table, learner)
    try:
        while run.advance():
            pass
        for t, cut in product((1, len(run.steps)), CUTS):
            for i in range(run.table.n_variables):
                wish = {"cut": cut, "tolerance": SMALLEST_TOLERANCE}
                answer(run, {"kind": "node", "i": i, "t": t, "region": wish})
    finally:
        compiled.set()
