"""Steps and their history, and the clock of engine time."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from graftviz import PairwiseMRF
from graftviz.learning import learner_run as module
from graftviz.learning.history import Changes, History
from graftviz.learning.learner_run import Clock
from graftviz.utils.arrays import flat_positions


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.data())
def test_flat_positions_are_those_of_a_plain_concatenation(sizes, data):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    groups = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=8))
    wanted = [k for g in groups for k in range(offsets[g], offsets[g + 1])]
    assert flat_positions(offsets, np.array(groups, dtype=np.int64)).tolist() == wanted


def start_model(sizes) -> PairwiseMRF:
    rng = np.random.default_rng(0)
    return PairwiseMRF(
        sizes, np.zeros((0, 2)), rng.normal(size=sum(sizes)), tuple("abcde"[: len(sizes)])
    )


def random_history(seed: int):
    """Return a history of random changes and a plain record of the weights after each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=5)
    start = start_model(sizes)
    history = History(start, np.exp(start.weights))
    nodes = [start.node_weights(i).copy() for i in range(5)]
    beliefs = [np.exp(weights) for weights in nodes]
    edges: dict[tuple[int, int], np.ndarray] = {}
    ids: dict[tuple[int, int], int] = {}
    unused = [(i, j) for j in range(5) for i in range(j)]
    records = [([w.copy() for w in nodes], [b.copy() for b in beliefs], dict(edges))]
    for count in (2, 0, 1, 3, 0):
        removed_pairs = [pair for pair in list(edges) if rng.random() < 0.2]
        removed = [ids[pair] for pair in removed_pairs]
        for pair in removed_pairs:
            del edges[pair]
            unused.append(pair)
        new = [unused.pop(int(rng.integers(len(unused)))) for _ in range(count)]
        for i, j in new:
            ids[i, j] = len(history.activations) + new.index((i, j))
            edges[i, j] = np.zeros((sizes[i], sizes[j]))
        changed_nodes = np.flatnonzero(rng.random(5) < 0.5)
        changed_edges = np.flatnonzero(rng.random(len(edges)) < 0.7)
        for i in changed_nodes:
            nodes[i], beliefs[i] = rng.normal(size=sizes[i]), rng.random(sizes[i])
        for e in changed_edges:
            pair = list(edges)[e]
            edges[pair] = rng.normal(size=edges[pair].shape)
        history.append(
            new,
            Changes(
                changed_nodes,
                np.array([ids[list(edges)[e]] for e in changed_edges], dtype=np.int64),
                joined([nodes[i] for i in changed_nodes]),
                joined([beliefs[i] for i in changed_nodes]),
                joined([edges[list(edges)[e]] for e in changed_edges]),
            ),
            removed,
        )
        records.append(([w.copy() for w in nodes], [b.copy() for b in beliefs], dict(edges)))
    return history, records


def joined(arrays) -> np.ndarray:
    return np.concatenate([np.zeros(0), *(np.ravel(array) for array in arrays)])


@pytest.mark.parametrize("seed", range(10))
def test_history_returns_every_recorded_state(seed):
    history, records = random_history(seed)
    for step, (nodes, beliefs, edges) in enumerate(records):
        state = history.state_at(step)
        assert [tuple(edge) for edge in history.edges_at(step).tolist()] == list(edges)
        assert np.array_equal(state.model.edges.reshape(-1, 2), history.edges_at(step))
        assert np.array_equal(state.model.weights, joined([*nodes, *edges.values()]))
        assert np.array_equal(state.node_beliefs, joined(beliefs))
        assert not state.node_beliefs.flags.writeable
        assert state.model.names == history.start.names
        assert state.model.labels == history.start.labels


def test_edge_keeps_its_id_and_readded_edge_gets_new_id():
    history = History(start_model([2, 2, 2, 2, 2]), np.zeros(10))
    nothing = Changes(*(np.zeros(0, dtype=np.int64),) * 2, *(np.zeros(0),) * 3)
    history.append([(0, 1), (1, 2)], nothing)
    history.append([(2, 3)], nothing, removed=[0])
    history.append([(0, 1)], nothing, removed=[1])
    assert [history.ids_at(step).tolist() for step in range(4)] == [[], [0, 1], [1, 2], [2, 3]]
    assert history.edges_at(3).tolist() == [[2, 3], [0, 1]]
    assert [history.activated_in(edge) for edge in range(4)] == [1, 1, 2, 3]


# Clock of engine time: its sum is processor time, divided by kinds of work.


class Times:
    """Manual wall-clock and processor time; reads of the latter are counted."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0
        self.reads = 0

    def perf_counter(self) -> float:
        return self.wall

    def processor_time(self) -> float:
        self.reads += 1
        return self.processor

    def advance(self, wall: float, processor: float) -> None:
        self.wall += wall
        self.processor += processor


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    times = Times()
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=times.perf_counter))
    monkeypatch.setattr(module, "processor_time", times.processor_time)
    return times


def test_processor_time_is_divided_by_the_time_of_each_kind(times: Times) -> None:
    clock = Clock()
    times.advance(1.0, 0.5)
    with clock.work("scoring"):
        times.advance(2.0, 1.0)
        with clock.work("fitting"):
            times.advance(4.0, 2.0)
        times.advance(1.0, 0.5)
    seconds = clock.pause()
    assert seconds == (4.0, 0.0, 1.5, 2.0, 0.5)


def test_time_while_paused_does_not_count(times: Times) -> None:
    clock = Clock()
    times.advance(1.0, 1.0)
    assert clock.pause().total == 1.0
    times.advance(5.0, 3.0)
    clock.resume()
    times.advance(2.0, 1.0)
    assert clock.pause().total == 2.0
    times.advance(5.0, 3.0)
    with clock.work("fitting"):
        times.advance(1.0, 1.0)
    assert clock.pause() == (3.0, 0.0, 0.0, 1.0, 2.0)


def test_processor_time_is_read_twice_a_step(times: Times) -> None:
    clock = Clock()
    for _ in range(20):
        with clock.work("scoring"), clock.work("fitting"):
            times.advance(1.0, 1.0)
    clock.pause()
    assert times.reads == 2


def test_waiting_does_not_count() -> None:
    clock = Clock()
    with clock.work("scoring"):
        time.sleep(0.2)
    assert clock.pause().total < 0.1
