"""Pages that follow another page: its step and its selection, by a code in their link.

The page that leads writes its place with a key that only it has; pages that follow read it with
the code. Nothing else is shared. This module uses the ASGI protocol only, without Streamlit.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from graftviz.errors import InputError

MOST_FOLLOWERS = 30
MOST_LEADERS = 100
# Seconds without a request after which a page counts as closed. Browsers let a hidden page send one
# request a minute.
LEADER_SILENCE = 90.0
FOLLOWER_SILENCE = 90.0
MOST_BYTES = 400  # of a place
MOST_NUMBER = 10**9
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # without letters that look like digits
_PATH = re.compile(rf".*/_graftviz/follow/([{_ALPHABET}]{{8}})", re.ASCII)
_FOLLOWER = re.compile(r"[0-9a-f]{16}", re.ASCII)
_SETTINGS = re.compile(r"[0-9a-f]{1,16}", re.ASCII)
_SELECTIONS = {"node": ("i",), "pair": ("i", "j")}


class Code(NamedTuple):
    """Code of a page that leads, and the key with which it writes its place."""

    code: str
    key: str


class NotLeading(Exception):
    """No page leads with this code."""


class TooManyPages(Exception):
    """As many pages follow, or lead, as may."""


@dataclass(eq=False)
class _Leader:
    key: str
    latest: float  # time of its last request
    version: int = 0
    place: Mapping[str, Any] | None = None
    followers: dict[str, float] = field(default_factory=dict)  # time of the last request of each


class Leaders:
    """Places of the pages that lead.

    Parameters
    ----------
    clock : callable
        Return the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._leaders: dict[str, _Leader] = {}
        # Pages begin and end in threads of their own, and the event loop answers requests.
        self._lock = threading.Lock()

    def begin(self) -> Code:
        """Return a new code.

        Raises
        ------
        TooManyPages
            If `MOST_LEADERS` pages lead already.
        """
        with self._lock:
            self._forget()
            if len(self._leaders) >= MOST_LEADERS:
                raise TooManyPages
            code = "".join(secrets.choice(_ALPHABET) for _ in range(8))
            key = secrets.token_hex(16)
            self._leaders[code] = _Leader(key, self._clock())
            return Code(code, key)

    def end(self, code: str) -> None:
        """Stop leading with a code; pages that follow are free."""
        with self._lock:
            self._leaders.pop(code, None)

    def write(self, code: str, key: str, place: Any) -> int:
        """Set the place of a page that leads; return the number of pages that follow.

        Raises
        ------
        NotLeading
            If the code or the key is wrong, or the page has been silent for too long.
        InputError
            If the place has anything but settings, step and selection.
        """
        with self._lock:
            leader = self._leader(code)
            if not secrets.compare_digest(leader.key.encode(), key.encode()):
                raise NotLeading
            checked, leader.latest = checked_place(place), self._clock()
            if checked != leader.place:
                leader.place, leader.version = checked, leader.version + 1
            return len(leader.followers)

    def read(self, code: str, follower: str) -> tuple[int, Mapping[str, Any] | None]:
        """Return the version and the place of a page that leads; None before its first place.

        Raises
        ------
        NotLeading
            If no page leads with this code.
        TooManyPages
            If `MOST_FOLLOWERS` other pages follow it.
        """
        with self._lock:
            leader = self._leader(code)
            if follower not in leader.followers and len(leader.followers) >= MOST_FOLLOWERS:
                raise TooManyPages
            leader.followers[follower] = self._clock()
            return leader.version, leader.place

    def _leader(self, code: str) -> _Leader:
        self._forget()
        if code not in self._leaders:
            raise NotLeading
        return self._leaders[code]

    def _forget(self) -> None:
        """Forget the pages that have been silent for too long."""
        now = self._clock()
        for code, leader in list(self._leaders.items()):
            if now - leader.latest > LEADER_SILENCE:
                del self._leaders[code]
                continue
            times = leader.followers.items()
            leader.followers = {k: t for k, t in times if now - t <= FOLLOWER_SILENCE}


leaders = Leaders()  # of this server


def checked_place(place: Any) -> dict[str, Any]:
    """Return a place with valid entries only.

    Parameters
    ----------
    place : mapping
        Of `settings`, a checksum in hexadecimal digits, `step`, and `selection`: None, or a mapping
        of its `kind`, "node" or "pair", and the indices `i` and `j`.

    Raises
    ------
    InputError
        For anything else.
    """
    fault = InputError("A place has settings, a step and a selection; reload the page.")
    if not isinstance(place, dict) or set(place) != {"settings", "step", "selection"}:
        raise fault
    settings, step, selection = place["settings"], place["step"], place["selection"]
    if not isinstance(settings, str) or not _SETTINGS.fullmatch(settings) or not _is_index(step):
        raise fault
    if selection is not None:
        kind = selection.get("kind") if isinstance(selection, dict) else None
        names = _SELECTIONS.get(kind) if isinstance(kind, str) else None
        if names is None or set(selection) != {"kind", *names}:
            raise fault
        if not all(_is_index(selection[name]) for name in names):
            raise fault
    return {"settings": settings, "step": step, "selection": selection}


def _is_index(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST_NUMBER


class Following:
    """ASGI middleware that answers the requests of pages that lead or follow.

    ``PUT …/_graftviz/follow/CODE`` with the header ``X-Key`` writes a place and answers the number
    of followers; ``GET`` with the header ``X-Page`` answers its version and the place. Status 404:
    no page leads with this code, 429: too many pages follow it.
    """

    def __init__(self, app: ASGIApp, leaders: Leaders) -> None:
        self._app = app
        self._leaders = leaders

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        found = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        try:
            answer = await self._answer(Request(scope, receive), found[1])
        except NotLeading:
            answer = PlainTextResponse("No page leads with this code.\n", 404)
        except TooManyPages:
            sentence = f"{MOST_FOLLOWERS} pages follow this one already.\n"
            answer = PlainTextResponse(sentence, 429)
        except (InputError, ValueError, RecursionError):
            answer = PlainTextResponse("This is not a place of a page.\n", 400)
        answer.headers["cache-control"] = "no-store"
        await answer(scope, receive, send)

    async def _answer(self, request: Request, code: str) -> Response:
        if request.method == "GET":
            follower = request.headers.get("x-page", "")
            if not _FOLLOWER.fullmatch(follower):
                raise InputError("The header X-Page must have 16 hexadecimal digits.")
            version, place = self._leaders.read(code, follower)
            return JSONResponse({"version": version, "place": place})
        if request.method != "PUT":
            return PlainTextResponse("Only GET and PUT.\n", 405)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise InputError(f"A place has at most {MOST_BYTES} bytes.")
        key = request.headers.get("x-key", "")
        followers = self._leaders.write(code, key, json.loads(body))
        return JSONResponse({"followers": followers})
