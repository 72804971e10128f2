"""Compiling ahead covers what the page does later, and never blocks the page."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from graftviz.datasets import DataSet
from graftviz.learners.registry import learner_class, learner_names
from graftviz.table import DiscreteTable
from graftviz.ui.material import prepare
from graftviz.ui.recording import Plan, new_recorder
from graftviz.ui.warm_up import WarmUp, compiled_share, engine_jobs, engine_kernels


def other_data(*, known: bool) -> DataSet:
    """Return variables of different sizes, some of them constant, without held-out rows."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 5, size=12)
    codes = np.stack([rng.integers(0, size, size=300) for size in sizes], axis=1)
    return DataSet(
        key="other",
        title="",
        table=DiscreteTable.from_codes(codes, cardinalities=sizes),
        truth=np.array([(0, 1), (2, 3)]) if known else None,
        positions=None,
        description="",
    )


def signatures() -> dict[int, int]:
    return {id(kernel): len(kernel.signatures) for kernel in engine_kernels()}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", learner_names())
def test_after_the_warm_up_nothing_is_left_to_compile(name: str, known: bool) -> None:
    for job in engine_jobs():
        job()
    before = signatures()
    assert 0.0 < compiled_share() <= 1.0
    material = prepare(other_data(known=known), seed=1)
    recorder = new_recorder(Plan("other", learner_class(name)(), 1), material, "t")
    steps = 0
    while recorder.advance():
        steps += 1
        recorder.record(steps)
    recorder.header()
    recorder.outcome()
    recorder.result()
    recorder.answer({"kind": "pair", "i": 2, "j": 4, "t": 0})
    assert signatures() == before


def test_the_page_opens_when_all_jobs_are_done() -> None:
    gate = threading.Event()
    done: list[int] = []
    engine = WarmUp([lambda: done.append(1), gate.wait, lambda: done.append(2)])
    assert not engine.ready.wait(0.05)
    gate.set()
    assert engine.ready.wait(5)
    assert done == [1, 2]
    assert engine.seconds > 0


def test_a_failing_job_is_logged_and_does_not_lock_the_page(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> None:
        raise ArithmeticError("a bug")

    engine = WarmUp([broken])
    assert engine.ready.wait(5)
    assert "ArithmeticError" in caplog.text
