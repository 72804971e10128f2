"""Sessions: all that a page computes ends with its session, and can be computed again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from app_pages import open_page, sentences
from streamlit.runtime.caching import clear_session_resource_cache

from graftviz.app.jobs import Executor, Job
from graftviz.app.session import Session

APP_TEST_SESSION = "test session id"  # all pages of these tests are one session


class Work:
    is_forgotten = False

    def forget(self) -> None:
        self.is_forgotten = True


@pytest.fixture
def newcomer() -> Iterator[None]:
    clear_session_resource_cache(APP_TEST_SESSION)
    yield
    clear_session_resource_cache(APP_TEST_SESSION)


def test_end_of_session_drops_its_work_and_starts_none() -> None:
    pool = Executor(threads=1)
    one, other = Session(pool.queue()), Session(pool.queue())
    one.works["grow"], other.works["grow"] = Work(), Work()
    one.end()
    assert one.works["grow"].is_forgotten
    assert not other.works["grow"].is_forgotten
    late, theirs = Job(iter([1]), one.queue), Job(iter([1]), other.queue)
    late.grant()
    theirs.grant()
    assert theirs.wait_for_end(60)
    assert not late.wait_for_end(0.1)
    one.queue.closed = False
    late.grant()
    assert late.wait_for_end(60)
    pool.close()


@pytest.mark.usefixtures("newcomer")
def test_disconnected_page_drops_its_runs_and_computes_them_again() -> None:
    app = open_page("grow", data="karate", seed="3")
    before = app.session_state["grow"].run
    assert before.wait(1, 60)
    clear_session_resource_cache(APP_TEST_SESSION)  # as Streamlit does when a page disconnects
    assert before.memory_bytes == 0
    assert not before.has_credit
    app.run()
    assert sentences(app) == ""
    run = app.session_state["grow"].run
    assert run is not before
    assert run.wait_for_end(60)
    assert run.outcome_json is not None
