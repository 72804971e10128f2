"""Pages that follow another page: shared state, limits and end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from starlette.responses import PlainTextResponse

from graftviz.errors import InputError
from graftviz.serving.following import (
    FOLLOWER_SILENCE,
    LEADER_SILENCE,
    MOST_BYTES,
    MOST_FOLLOWERS,
    MOST_LEADERS,
    Following,
    Leaders,
    NotLeading,
    TooManyPages,
    checked_place,
)

PLACE = {"settings": "1f", "step": 3, "selection": {"kind": "pair", "i": 1, "j": 4}}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_followers_read_place_of_leader() -> None:
    leaders = Leaders()
    code, key = leaders.begin()
    assert leaders.read(code, "a") == (0, None)
    assert leaders.write(code, key, PLACE) == 1
    assert leaders.read(code, "b") == (1, PLACE)
    assert leaders.write(code, key, PLACE) == 2
    assert leaders.read(code, "b") == (1, PLACE), "an unchanged place has no new version"
    leaders.write(code, key, {**PLACE, "step": 4})
    assert leaders.read(code, "a") == (2, {**PLACE, "step": 4})


def test_only_the_leader_writes() -> None:
    leaders = Leaders()
    code, _ = leaders.begin()
    with pytest.raises(NotLeading):
        leaders.write(code, "f" * 32, PLACE)
    assert leaders.read(code, "a") == (0, None)


def test_codes_are_unique_and_limited() -> None:
    leaders = Leaders()
    codes = {leaders.begin().code for _ in range(MOST_LEADERS)}
    assert len(codes) == MOST_LEADERS
    with pytest.raises(TooManyPages):
        leaders.begin()
    leaders.end(codes.pop())
    leaders.begin()


def test_number_of_followers_is_limited_until_one_is_silent() -> None:
    clock = Clock()
    leaders = Leaders(clock)
    code, key = leaders.begin()
    for number in range(MOST_FOLLOWERS):
        leaders.read(code, str(number))
    with pytest.raises(TooManyPages):
        leaders.read(code, "late")
    leaders.read(code, "0")
    clock.now = FOLLOWER_SILENCE / 2
    leaders.write(code, key, PLACE)
    leaders.read(code, "0")
    clock.now = FOLLOWER_SILENCE + 1
    assert leaders.read(code, "late") == (1, PLACE)
    assert leaders.write(code, key, PLACE) == 2


def test_following_ends_with_leader() -> None:
    clock = Clock()
    leaders = Leaders(clock)
    silent, ended = leaders.begin(), leaders.begin()
    leaders.end(ended.code)
    assert leaders.read(silent.code, "a") == (0, None)
    clock.now = LEADER_SILENCE + 1
    for code, key in (silent, ended):
        with pytest.raises(NotLeading):
            leaders.read(code, "a")
        with pytest.raises(NotLeading):
            leaders.write(code, key, PLACE)


@pytest.mark.parametrize(
    "change",
    [
        {"settings": "<b>"},
        {"settings": 3},
        {"step": -1},
        {"step": 1.5},
        {"step": True},
        {"step": 10**12},
        {"selection": {"kind": "node"}},
        {"selection": {"kind": "pair", "i": 1, "j": "2"}},
        {"selection": {"kind": "node", "i": 1, "name": "Ann"}},
        {"selection": {"kind": []}},
        {"selection": "pair"},
        {"name": "Ann"},
    ],
)
def test_invalid_place_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        checked_place({**PLACE, **change})


class Answer(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    text: str


class Client:
    """Client of the middleware in front of an app that answers every request."""

    def __init__(self, leaders: Leaders) -> None:
        self.app = Following(PlainTextResponse("the app"), leaders)

    def send(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: Any = None
    ) -> Answer:
        """Return the answer to a request; a `body` that is not bytes is sent as JSON."""
        given = [(name.encode(), text.encode()) for name, text in (headers or {}).items()]
        scope = {"type": "http", "method": method, "path": path, "headers": given}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        asyncio.run(self.app(scope, receive, send))
        text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
        return Answer(sent[0]["status"], dict(sent[0]["headers"]), text)


def test_requests_have_json_answers_or_one_sentence() -> None:
    leaders = Leaders()
    send = Client(leaders).send
    code, key = leaders.begin()
    path, page, own = f"/base/_graftviz/follow/{code}", "0123456789abcdef", {"x-key": key}
    assert json.loads(send("PUT", path, own, PLACE).text) == {"followers": 0}
    answer = send("GET", path, {"x-page": page})
    assert json.loads(answer.text) == {"version": 1, "place": PLACE}
    assert answer.headers[b"cache-control"] == b"no-store"
    assert json.loads(send("PUT", path, own, PLACE).text) == {"followers": 1}
    assert send("GET", "/").text == "the app"
    refused = {
        400: (
            send("GET", path),
            send("PUT", path, own, b"{"),
            send("PUT", path, own, b"[" * MOST_BYTES),
            send("PUT", path, own, b" " * (MOST_BYTES + 1)),
            send("PUT", path, own, {**PLACE, "selection": {"kind": []}}),
        ),
        404: (
            send("PUT", path, {"x-key": "é"}, PLACE),
            send("PUT", path, {}, PLACE),
            send("GET", path[:-8] + "22222222", {"x-page": page}),
        ),
        405: (send("DELETE", path),),
    }
    for number in range(MOST_FOLLOWERS - 1):
        send("GET", path, {"x-page": f"{number:016x}"})
    refused[429] = (send("GET", path, {"x-page": "f" * 16}),)
    for status, answers in refused.items():
        for answer in answers:
            assert answer.status == status
            assert answer.text.endswith(".\n")
