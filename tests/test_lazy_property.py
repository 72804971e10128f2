"""A lazy property is computed once, and instances do not wait for each other."""

from __future__ import annotations

import threading

from graftviz.inference.exact.lazy_property import lazy_property


class Tree:
    """Class that counts the computations of its value, which may wait for an event."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.gate = gate
        self.began = threading.Event()
        self.times = 0
        self._lock = threading.RLock()

    @lazy_property
    def value(self) -> int:
        """Return the answer."""
        self.times += 1
        self.began.set()
        if self.gate is not None:
            assert self.gate.wait(60)
        return 42


def test_it_is_computed_once_and_can_be_forgotten() -> None:
    tree = Tree()
    assert (tree.value, tree.value, tree.times) == (42, 42, 1)
    del tree.__dict__["value"]
    assert (tree.value, tree.times) == (42, 2)
    assert Tree.value.__doc__ == "Return the answer."


def test_a_small_tree_does_not_wait_for_a_large_one() -> None:
    gate = threading.Event()
    large = Tree(gate)
    thread = threading.Thread(target=lambda: large.value)
    thread.start()
    assert large.began.wait(60)
    small: list[int] = []
    other = threading.Thread(target=lambda: small.append(Tree().value))
    other.start()
    other.join(60)
    assert small == [42]
    assert thread.is_alive()
    gate.set()
    thread.join(60)


def test_of_two_threads_that_ask_one_instance_one_waits() -> None:
    gate = threading.Event()
    tree = Tree(gate)
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(tree.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert tree.began.wait(60)
    gate.set()
    for thread in threads:
        thread.join(60)
    assert (seen, tree.times) == ([42, 42], 1)
