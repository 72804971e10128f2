"""What a visitor brought is prepared once, stays with the visitor, and goes with the visitor."""

from __future__ import annotations

import gc
import io
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from graftviz.learners.registry import learner_class, learner_names
from graftviz.ui import upload
from graftviz.ui.kept import Kept
from graftviz.ui.material import Material, default_options
from graftviz.ui.prune.state import PruneState
from graftviz.ui.race.state import RaceState
from graftviz.ui.scheduler import Scheduler
from graftviz.ui.url_state import UPLOAD, UploadOptions, Vocabulary

LEARNERS = {name: learner_class(name) for name in learner_names()}


@pytest.fixture
def pool() -> Iterator[Scheduler]:
    pool = Scheduler(threads=1)
    yield pool
    pool.close()


def brought() -> upload.Upload:
    rng = np.random.default_rng(1)
    lines = ["a,b,c,d,e", *(",".join(map(str, row)) for row in rng.integers(0, 2, size=(80, 5)))]
    file = io.BytesIO("\n".join(lines).encode())
    return upload.read_upload(file, None, None, default_options(UploadOptions, {}))


def nothing_built_in(key: str, seed: int) -> Material:
    raise AssertionError(f"{key} was not asked for")


def race(pool: Scheduler) -> RaceState:
    vocabulary = Vocabulary(("first",), LEARNERS, "first", "best-choice")
    return RaceState(vocabulary, nothing_built_in, pool, lambda _: None)


def prune(pool: Scheduler) -> PruneState:
    return PruneState(("first",), nothing_built_in, pool)


def another_race(state: RaceState) -> None:
    state.choose_edges(3)


def other_runs(state: PruneState) -> None:
    state.choose("exchanges", 3)


@pytest.mark.parametrize(("page", "change"), [(race, another_race), (prune, other_runs)])
def test_a_table_is_prepared_once_and_nothing_holds_it_afterwards(
    page: Callable[[Scheduler], RaceState | PruneState],
    change: Callable[[RaceState | PruneState], None],
    pool: Scheduler,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[weakref.ref[Material]] = []

    def preparing(*given: object) -> Material:
        material = prepare(*given)
        made.append(weakref.ref(material))
        return material

    prepare = upload.prepare
    monkeypatch.setattr(upload, "prepare", preparing)
    state = page(pool)
    state.choose_data(UPLOAD)
    state.accept(brought(), "")
    assert state.refresh(), state.problem
    change(state)
    assert state.refresh(), "these are other runs"
    assert len(made) == 1, "on the same rows"
    state.choose_seed(1) if isinstance(state, RaceState) else state.choose("seed", 1)
    assert state.refresh()
    assert len(made) == 2, "another seed holds out other rows"
    assert state.material is made[1]()
    state.revoke()
    pool.close()
    del state
    gc.collect()
    assert [material() for material in made] == [None, None]


def test_the_latest_are_kept_and_the_one_asked_for_longest_ago_goes() -> None:
    kept, made = Kept(2), []

    def get(key: str) -> str:
        return kept.get(key, lambda: made.append(key) or key)  # type: ignore[func-returns-value]

    for key in "abacbc":
        assert get(key) == key
    assert made == ["a", "b", "c", "b"]
    kept.clear()
    get("c")
    assert made[-1] == "c"
