"""The kernel's side of the player in notebooks: messages and records."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from waiting import wait_until

import graftviz as gv
from graftviz.errors import InputError
from graftviz.learners.chow_liu import ChowLiu
from graftviz.notebook import Player
from graftviz.notebook.run import NotebookRun

AHEAD = 50  # steps that are sent before they are requested
LEARNER = gv.BestChoice(preset="paper", alpha=0.75, lam=0.001, max_edges=45)


class Browser:
    """Player that stores the messages that a browser would receive."""

    def __init__(self, table: Any = "scale-free-40", learner: Any = LEARNER, **options: Any):
        data = gv.load_dataset(table) if isinstance(table, str) else table
        self.messages: list[dict[str, Any]] = []
        self.player = Player(data, learner, **options)
        self.player.send = self._receive  # type: ignore[method-assign]

    def _receive(self, _content: object, buffers: list[bytes]) -> None:
        self.messages.append(json.loads(gzip.decompress(buffers[0])))

    def send(self, name: str, **value: Any) -> None:
        self.player._handle_custom_msg({"name": name, "value": value}, [])

    def of(self, part: str, run: str | None = None) -> list[Any]:
        return [m[part] for m in self.messages if part in m and run in (None, m["run"])]

    def steps(self, run: str) -> list[int]:
        return sorted({r["t"] for feed in self.of("feed", run) for r in feed["records"]})

    def outcome(self, run: str) -> Any:
        return next((feed["outcome"] for feed in self.of("feed", run) if feed["outcome"]), None)

    def play_to_the_end(self, run: str) -> None:
        self.send("need", run=run, **{"from": 1}, count=400)
        wait_until(lambda: self.outcome(run))


@pytest.fixture
def browser() -> Iterator[Callable[..., Browser]]:
    opened: list[Browser] = []

    def open_it(*arguments: Any, **options: Any) -> Browser:
        opened.append(Browser(*arguments, **options))
        return opened[-1]

    yield open_it
    for opened_browser in opened:
        opened_browser.player.close()


def edges_of(result: gv.Result) -> list[list[list[int]]]:
    return [[[e.source, e.target] for e in step.activated] for step in result.trace]


def test_steps_are_learned_on_request(browser):
    client = browser(learner=gv.BestChoice(preset="paper", alpha=1.0, lam=0.001))
    client.send("open")
    wait_until(lambda: len(client.steps("run-1")) >= AHEAD)
    (header,) = client.of("header")
    assert header["names"][:2] == ["x0", "x1"]
    assert header["title"].startswith("Two hubs")
    assert len(header["truth"]) == 45
    assert client.of("alpha") == [1.0]
    assert client.of("step") == [None], "the player started by itself"
    assert client.steps("run-1") == list(range(1, AHEAD + 1))
    assert len(client.player.run.steps) == AHEAD, "more steps were learned than requested"
    client.send("need", run="run-1", **{"from": AHEAD + 1}, count=400)
    wait_until(lambda: client.outcome("run-1"))
    assert client.steps("run-1") == list(range(1, len(client.player.run.steps) + 1))
    client.messages.clear()
    client.send("need", run="run-1", **{"from": 3}, count=2)
    (feed,) = client.of("feed")
    steps = [record["t"] for record in feed["records"]]
    assert steps == list(range(3, 5 + AHEAD)), "lost records were not sent again"


def test_request_without_new_records_has_a_reply(browser, monkeypatch):
    client = browser()
    monkeypatch.setattr(NotebookRun, "grant", lambda self, target=0: None)
    client.send("open")
    assert client.messages == [{"run": "run-1", "status": ""}]
    monkeypatch.undo()
    client.send("open")
    wait_until(lambda: client.outcome("run-1"))
    client.messages.clear()
    client.send("need", run="run-1", **{"from": 1000}, count=24)
    assert client.messages[-1]["feed"]["records"] == []


def test_the_result_is_that_of_learn_with_the_same_seed(browser):
    client = browser(seed=3)
    client.send("open")
    client.play_to_the_end("run-1")
    data = gv.load_dataset("scale-free-40")
    expected = gv.learn(data, LEARNER, seed=3, truth=data.truth)
    result = client.player.result
    assert edges_of(result) == edges_of(expected)
    np.testing.assert_array_equal(result.model.weights, expected.model.weights)
    assert (result.stop_reason, result.recall) == (expected.stop_reason, expected.recall)


def test_alpha_is_changed_for_whole_run_or_from_a_step(browser):
    client = browser()
    client.send("open")
    wait_until(lambda: client.of("header"))
    client.send("moved", run="run-1", t=5)
    client.send("alpha", run="run-1", value=0.0, at=None)
    wait_until(lambda: client.of("header", "run-2"))
    assert client.of("step", "run-2") == [5]
    client.play_to_the_end("run-2")
    assert client.player.learner.alpha == 0.0
    whole = gv.learn(gv.load_dataset("scale-free-40"), client.player.learner)
    assert edges_of(client.player.result) == edges_of(whole)

    client.send("alpha", run="run-2", value=1.0, at=5)
    client.play_to_the_end("run-3")
    (header,) = client.of("header", "run-3")
    assert header["branch"] == {"t": 5, "run": "run-2", "text": "from step 5 on α 1"}
    assert client.of("alpha", "run-3") == [1.0]
    branched = edges_of(client.player.result)
    assert branched[:5] == edges_of(whole)[:5]
    assert all(len(edges) == 1 for edges in branched[5:])
    client.send("ghost", run="run-2", **{"from": 2})
    assert client.of("ghost_feed")[-1]["records"][0]["t"] == 2

    client.send("reset", run="run-3")
    assert client.messages[-1]["header"]["run"] == "run-1"
    assert client.player.learner == LEARNER


def test_reloaded_page_receives_run_at_its_step(browser):
    client = browser()
    client.send("open")
    wait_until(lambda: client.outcome("run-1"))
    client.send("moved", run="run-1", t=7)
    sent = client.of("feed")
    client.messages.clear()
    client.send("open")
    assert client.of("step") == [7]
    assert [r for feed in client.of("feed") for r in feed["records"]] == [
        r for feed in sent for r in feed["records"]
    ]
    assert client.outcome("run-1") == sent[-1]["outcome"]


def test_questions_are_answered_during_the_run(browser):
    client = browser()
    client.send("open")
    wait_until(lambda: len(client.steps("run-1")) >= 12)
    client.send("ask", run="run-1", kind="node", i=1, t=12)
    (answer,) = wait_until(lambda: client.of("answer"))
    assert answer["answer"]["degree"] > 0
    client.send("ask", run="run-1", kind="node", i=99, t=12)
    wait_until(lambda: len(client.of("answer")) == 2)
    assert "99" in client.of("answer")[1]["answer"]["error"]


@pytest.mark.parametrize(
    "message",
    [
        {"name": "unknown", "value": {"run": "run-1"}},
        {"name": "need", "value": {"run": "another", "from": 1, "count": 400}},
        {"name": "need", "value": None},
        {"name": "alpha", "value": {"run": "run-1", "value": "high"}},
        {"name": "alpha", "value": {"run": "run-1", "value": 7}},
        {"name": "ghost", "value": {"run": "another", "from": 1}},
        {},
    ],
    ids=str,
)
def test_unknown_messages_are_ignored(browser, message):
    client = browser()
    client.player._handle_custom_msg(message, [])
    assert client.messages == []
    assert client.player.run.steps == []


def test_learner_without_alpha_is_played(browser):
    client = browser("survey", "chow-liu")
    client.send("open")
    client.play_to_the_end("run-1")
    assert client.of("alpha") == [None]
    client.send("alpha", run="run-1", value=0.5)
    assert client.player.learner == ChowLiu()


def test_finish_learns_without_a_browser_and_an_interrupt_pauses(browser, monkeypatch):
    client = browser(
        pd.DataFrame({"a": [0, 1] * 30, "b": [0, 1] * 30, "c": [0, 0, 1] * 20}), "best-choice"
    )
    player = client.player
    with pytest.raises(InputError, match="No step has been learned yet"):
        _ = player.result
    with monkeypatch.context() as patch:
        patch.setattr(NotebookRun, "wait_for_end", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            player.finish()
    assert not player._learning._shown.has_credit
    result = player.finish()
    assert result.model.edges.tolist() == [[0, 1]]
    assert repr(player) == "<Player of <Run of best-choice on 3 variables: 1 steps, ended>>"
    assert client.player._repr_mimebundle_()[0]["text/plain"] == repr(player)


def _interrupt(self: NotebookRun, timeout: float) -> bool:
    raise KeyboardInterrupt


def test_an_error_is_one_sentence_and_finish_raises_it(browser, monkeypatch):
    client = browser()

    def broken(self: object) -> bool:
        raise ZeroDivisionError("in the middle")

    monkeypatch.setattr(gv.Run, "advance", broken)
    client.send("open")
    (problem,) = wait_until(lambda: client.of("problem"))
    assert problem.startswith("The run stopped with an unexpected error (ZeroDivisionError)")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        _ = client.player.result
    with pytest.raises(ZeroDivisionError, match="in the middle"):
        client.player.finish()


def test_refused_data_show_one_sentence(browser):
    client = browser(learner=gv.BestChoice(max_edges=45))
    sentence = "There is no such column."
    client.player.run._generator = _refusing(sentence)
    client.send("open")
    assert wait_until(lambda: client.of("problem")) == [sentence]
    with pytest.raises(InputError, match=sentence):
        client.player.finish()
    with pytest.raises(InputError, match="language must be one of en"):
        Player(gv.load_dataset("survey"), language="fr")
    with pytest.raises(InputError, match="no learner 'unknown'"):
        Player(gv.load_dataset("survey"), "unknown")


def _refusing(sentence: str) -> Iterator[Any]:
    raise InputError(sentence)
    yield


def test_the_language_is_that_of_texts_and_sentences(browser):
    client = browser("survey", gv.BestChoice(max_edges=3), language="de", title="Umfrage")
    assert "Zurücksetzen" in client.player._esm
    client.send("open")
    client.play_to_the_end("run-1")
    (header,) = client.of("header")
    assert (header["title"], header["language"]) == ("Umfrage", "de")
    assert " getestet" in client.of("feed")[0]["records"][0]["words"]


def test_without_anywidget_a_sentence_names_the_extra():
    script = (
        "import sys; sys.modules['anywidget'] = None\n"
        "try:\n    import graftviz.notebook\n"
        "except ImportError as error:\n    print(error)"
    )
    found = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert found.startswith("The player in notebooks needs anywidget: install it with pip install")
    assert found.endswith('"graftviz[notebook]".\n')
