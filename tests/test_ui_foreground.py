"""Running pages are counted by thread, without waiting ones, and however they end."""

from __future__ import annotations

import threading

import pytest

from graftviz.serving.scheduler import Foreground


def test_a_part_of_a_page_is_no_other_page() -> None:
    pages = Foreground()
    with pages.page():
        assert pages.at_work == 1
        with pages.page():
            assert pages.at_work == 1
        assert pages.at_work == 1
    assert pages.at_work == 0


def test_who_waits_is_not_at_work() -> None:
    pages = Foreground()
    with pages.waiting():
        assert pages.at_work == 0
    with pages.page(), pages.page():
        with pages.waiting():
            assert pages.at_work == 0
        assert pages.at_work == 1


@pytest.mark.parametrize("how", [ValueError, SystemExit])
def test_a_page_that_breaks_off_has_ended(how: type[BaseException]) -> None:
    pages = Foreground()
    with pytest.raises(how), pages.page(), pages.waiting():
        raise how
    assert pages.at_work == 0
    with pages.page():
        assert pages.at_work == 1


def test_threads_are_counted_each() -> None:
    pages = Foreground()
    inside, leave = threading.Barrier(5), threading.Event()

    def draw() -> None:
        with pages.page():
            inside.wait(60)
            leave.wait(60)

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    inside.wait(60)
    assert pages.at_work == 4
    leave.set()
    for thread in threads:
        thread.join(60)
    assert pages.at_work == 0
