"""Compiling the engine before anybody waits for it: once per installation, in the background."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from numba.core.dispatcher import Dispatcher

from graftviz.datasets import DataSet
from graftviz.learners.base import Learner
from graftviz.learners.registry import learner_class, learner_names
from graftviz.options import option_specs
from graftviz.table import DiscreteTable
from graftviz.ui.material import prepare
from graftviz.ui.recording import Plan, new_recorder

COMPILE_SECONDS = 60  # measured on two cores: 42 to 83
log = logging.getLogger(__name__)
_NOT_ON_THE_PAGE = ("graftviz.sampling", "graftviz.inference.exact")
Job = Callable[[], None]


class WarmUp:
    """Jobs done one after the other on a thread of their own.

    Parameters
    ----------
    jobs : iterable of callable

    Attributes
    ----------
    ready : threading.Event
        Set when all jobs are done, or one has failed: the page opens in either case.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = tuple(jobs)
        self._began = time.monotonic()
        self.ready = threading.Event()
        threading.Thread(target=self._do_all, name="graftviz-warm-up", daemon=True).start()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self._began

    def _do_all(self) -> None:
        try:
            for job in self._jobs:
                job()
        except Exception:
            # Compiling ahead is a courtesy; if it fails, the first run meets the error and says so.
            log.exception("Compiling ahead failed.")
        finally:
            # What was loaded until here stays for good; looking through it again would cost
            # every later collection a tenth of a second.
            gc.collect()
            gc.freeze()
            self.ready.set()


def engine_jobs() -> list[Job]:
    """Return the jobs that compile everything a run on the page may use."""
    classes = [learner_class(name) for name in learner_names()]
    plain = [cls() for cls in classes]
    return [
        *(partial(_rehearse, learner, knows_truth=True) for learner in plain),
        *(partial(_rehearse, learner) for cls in classes for learner in _variants(cls)),
    ]


def engine_kernels() -> list[Dispatcher]:
    """Return the kernels of all loaded modules that the page has a use for."""
    found = {
        id(value): value
        for name, module in sorted(sys.modules.items())
        if name.startswith("graftviz.") and not name.startswith(_NOT_ON_THE_PAGE)
        for value in list(vars(module).values())
        if isinstance(value, Dispatcher)
    }
    return list(found.values())


def compiled_share() -> float:
    """Return the part of the kernels that is compiled, 0 … 1; what is inlined may never count."""
    kernels = engine_kernels()
    return sum(bool(kernel.signatures) for kernel in kernels) / max(1, len(kernels))


def _variants(cls: type[Learner]) -> Iterator[Learner]:
    """Yield the learner with each of its switches and choices in turn set otherwise."""
    for spec in option_specs(cls):
        others = spec.choices if spec.kind == "choice" else (True, False)
        if spec.kind in ("choice", "bool"):
            yield from (cls(**{spec.name: value}) for value in others if value != spec.default)


def _rehearse(learner: Learner, *, knows_truth: bool = False) -> None:
    """Do once, on a few rows, whatever the page does with a run."""
    material = prepare(_small_data(knows_truth), seed=0)
    recorder = new_recorder(Plan(material.identity, learner, 0), material, "warm-up")
    steps = 0
    while recorder.advance():
        steps += 1
        recorder.record(steps)
    recorder.header()
    recorder.outcome()
    recorder.answer({"kind": "node", "i": 0, "t": steps})
    recorder.answer({"kind": "pair", "i": 0, "j": 1, "t": 0})
    recorder.result()


def _small_data(knows_truth: bool) -> DataSet:
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
        truth=np.array([(i, i + 1) for i in range(7)]) if knows_truth else None,
        positions=None,
        description="",
        test_fraction=0.2,
    )
