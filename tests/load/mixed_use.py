"""Phase of mixed use: clients on all nine pages for a long time, with the server's memory."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from streamlit import config

from graftviz.serving.limits import limits
from graftviz.ui.streamlit_runtime import LOOK_SECONDS
from tests.load.clients import gathered
from tests.load.server import memory_bytes
from tests.load.tables import (
    graphml_model,
    grid_model,
    parquet_table,
    series_table,
    table_of_size,
    zipped_model,
)
from tests.load.wire import Wire

PAGES = (
    "",
    "race",
    "reservoir",
    "regions",
    "prune",
    "budget",
    "dynamics",
    "inspect",
    "lessons",
)
PAUSE_SECONDS = (0.5, 2.5)  # between two actions of a client
VISIT_PAGES = 12  # before a client leaves, and returns as a new session
PATIENCE = 240.0  # seconds for one run of a page, large uploads included
SAMPLE_SECONDS = 30.0
SETTLE_SECONDS = 20.0
_MB = 1_000_000
_DATA = ("scale-free-60", "scale-free-200", "survey", "grid-8x8", "karate", "digits-2", "digits-4")
_LEARNERS = (
    "best-choice",
    "bounded-inference",
    "chow-liu",
    "edge-grafting",
    "feature-grafting",
    "first-hit",
    "forced-pruning",
    "grafting-light",
    "nodewise-l1",
)
_STEPS_REQUESTED = 36
_ANY_FILE = "inspect.first.any_file"  # accepts another model than that of the link

File = tuple[str, bytes]
Query = Mapping[str, str]


@dataclass
class Usage:
    """Counts of the actions of one client.

    Attributes
    ----------
    pages, changes, messages, uploads, sessions : int
        Pages opened, controls changed, events of views sent, files uploaded, sessions begun.
    trouble : list of str
        One sentence per failure: a page that took too long, or a lost connection.
    """

    pages: int = 0
    changes: int = 0
    messages: int = 0
    uploads: int = 0
    sessions: int = 0
    trouble: list[str] = field(default_factory=list)


@lru_cache(maxsize=1)
def tables() -> tuple[File, ...]:
    """Return tables of 1 to 20 MB, as CSV and parquet; generated once for all clients."""
    csv = [(f"{mb}.csv", table_of_size(mb * _MB)) for mb in (1, 5, 20)]
    return (*csv, *((f"{mb}.parquet", parquet_table(mb * _MB, mb)) for mb in (1, 4)))


@lru_cache(maxsize=1)
def series() -> tuple[File, ...]:
    """Return series of 1 to 8 MB as CSV."""
    return tuple((f"series{mb}.csv", series_table(mb * _MB, mb)) for mb in (1, 3, 8))


@lru_cache(maxsize=1)
def models() -> tuple[File, ...]:
    """Return models as UAI, GraphML and ZIP."""
    return (
        ("grid12.uai", grid_model(12)),
        ("grid25.uai", grid_model(25, 1)),
        ("graph.graphml", graphml_model(150)),
        ("large.graphml", graphml_model(900, 1)),
        ("folder.zip", zipped_model(18, 2)),
    )


def links(chance: random.Random) -> Mapping[str, Query]:
    """Return an address for each page, with settings drawn at random."""
    seed = {"seed": str(chance.randrange(50))}
    alpha = {"alpha": f"{chance.choice((0.25, 0.5, 0.6, 0.9, 1.0)):g}"}
    learner = chance.choice(_LEARNERS)
    grow = {"data": chance.choice(_DATA), "learner": learner, **seed}
    return {
        "": {**grow, **alpha} if learner == "best-choice" else grow,
        "race": {"data": chance.choice(_DATA), **seed},
        "reservoir": {
            **alpha,
            "reservoir": str(chance.choice((5, 10, 20, 40))),
            "n": str(chance.choice((200, 400, 800))),
        },
        "regions": {
            **({"data": "grid", "side": str(chance.randrange(8, 30))}),
            "t2": f"{chance.choice((0.1, 0.2, 0.5)):g}",
            **seed,
        },
        "prune": {"data": chance.choice(("survey", "karate", "scale-free-60")), **seed},
        "budget": {
            "data": chance.choice(("dense-16", "survey", "random-30", "karate")),
            "bound": str(chance.randrange(1, 7)),
        },
        "dynamics": {
            "data": chance.choice(("random", "city")),
            "learner": chance.choice(("scalable", "inducing", "enforcing", "dense")),
            "parents": str(chance.randrange(2, 8)),
            **seed,
        },
        "inspect": {"data": chance.choice(_DATA[:5]), "node": str(chance.randrange(20)), **seed},
        "lessons": {},
    }


_UPLOADERS: Mapping[str, tuple[str, Query, Callable[[], tuple[File, ...]]]] = {
    "": ("upload.table", {"data": "upload"}, tables),
    "race": ("upload.table", {"data": "upload"}, tables),
    "prune": ("upload.table", {"data": "upload"}, tables),
    "regions": ("region.files", {"data": "upload"}, models),
    "dynamics": ("dynamics.series", {"data": "upload"}, series),
    "inspect": ("inspect.first.files", {"model": "0123456789abcdef"}, models),
}
# Sliders that clients move: page → key and positions.
_SLIDERS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "": ("option.alpha", (0.3, 0.5, 0.8, 1.0)),
    "reservoir": ("reservoir.reservoir", (5, 12, 25, 60)),
    "regions": ("region.t2", (0.1, 0.3, 0.6)),
    "budget": ("budget.treewidth.bound", (1, 2, 4, 5)),
}


class PageClient:
    """Client that goes from page to page, changes controls, plays and uploads.

    Parameters
    ----------
    address : str
    seed : int
        Seed of all random decisions.
    """

    def __init__(self, address: str, seed: int) -> None:
        self.usage = Usage()
        self._address = address
        self._chance = random.Random(seed)
        self._wire = Wire(address, {}, "")
        self._ready: dict[str, int] = {}  # run → records received
        self._about: dict[str, Any] = {}  # the latest message of the view, without its records

    async def use_pages(self, until: float) -> None:
        """Use random pages in session after session until a time of ``time.monotonic``."""
        while time.monotonic() < until:
            await self._in_a_session(self._random_steps(until))

    async def see_every_page(self, *, uploads: bool = True) -> None:
        """Open each page once in one session, then upload files on each page with an uploader."""
        steps = [(page, False) for page in PAGES]
        steps += [(page, True) for page in _UPLOADERS if uploads]
        await self._in_a_session(iter(steps))

    def _random_steps(self, until: float) -> Iterator[tuple[str, bool]]:
        for _ in range(self._chance.randrange(VISIT_PAGES // 2, VISIT_PAGES + 1)):
            if time.monotonic() >= until:
                return
            yield self._chance.choice(PAGES), self._chance.random() < 0.4

    async def _in_a_session(self, steps: Iterator[tuple[str, bool]]) -> None:
        """Open a session, perform the steps (page, uploads a file), and close it."""
        first = self._chance.choice(PAGES)
        self._wire = Wire(self._address, links(self._chance)[first], first)
        self.usage.sessions += 1
        try:
            await self._wire.open()
            await self._wire.finished(PATIENCE)
            for page, uploads in steps:
                await self._use(page, uploads=uploads)
        except (TimeoutError, OSError) as error:
            self.usage.trouble.append(f"{self._wire.page or 'grow'}: {error}")
        finally:
            await self._wire.close()

    async def _use(self, page: str, *, uploads: bool) -> None:
        self.usage.pages += 1
        self._ready.clear()
        self._about.clear()
        if uploads and page in _UPLOADERS:
            await self._upload(page)
        else:
            await self._wire.go(page, links(self._chance)[page])
            await self._watch(4)
            await self._change(page)
        await self._watch(4)

    async def _change(self, page: str) -> None:
        """Follow a link of the same page, or move a slider."""
        # The view may not be on the page again, as when the new run is refused.
        self._about = {}
        self._ready.clear()
        while not self._wire.messages.empty():
            self._wire.messages.get_nowait()
        key, positions = _SLIDERS.get(page, ("", ()))
        if key in self._wire.widgets:
            await self._wire.slide(key, self._chance.choice(positions))
        else:
            self._wire.query = "&".join(
                f"{name}={text}" for name, text in links(self._chance)[page].items()
            )
            await self._wire.rerun()
        await self._wire.finished(PATIENCE)
        self.usage.changes += 1

    async def _upload(self, page: str) -> None:
        """Upload a file, wait, replace it, and remove it."""
        key, query, files = _UPLOADERS[page]
        await self._wire.go(page, query)
        for _ in range(20):  # a page has no uploader while its engine is compiled
            if key in self._wire.widgets:
                break
            await self._pause()
            await self._wire.rerun()
            await self._wire.finished(PATIENCE)
        else:
            self.usage.trouble.append(f"{page}: no uploader, the page says {self._wire.texts}")
            return
        for name, data in self._chance.sample(files(), 2):
            await self._wire.upload(key, name, data)
            await self._wire.finished(PATIENCE)
            self.usage.uploads += 1
            if _ANY_FILE in self._wire.widgets:
                await self._wire.set(_ANY_FILE, bool_value=True)
                await self._wire.finished(PATIENCE)
            if "run_anyway" in self._wire.widgets and self._chance.random() < 0.3:
                await self._wire.press("run_anyway")
                await self._wire.finished(PATIENCE)
            await self._watch(3)
        if self._chance.random() < 0.5:
            await self._wire.remove_upload(key)
            await self._wire.finished(PATIENCE)

    async def _watch(self, times: int) -> None:
        """Request missing data of the view, several times with pauses."""
        for _ in range(times):
            await self._pause()
            while not self._wire.messages.empty():
                self._take(self._wire.messages.get_nowait())
            for name, value in self._events():
                await self._wire.trigger(name, value)
                await self._wire.finished(PATIENCE)
                self.usage.messages += 1

    async def _pause(self) -> None:
        await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS))

    def _take(self, message: dict[str, Any]) -> None:
        feeds = [message.get("feed"), *(one.get("feed") for one in message.get("feeds") or [])]
        for feed in filter(None, feeds):
            ready = feed["from"] - 1 + len(feed["records"])
            self._ready[feed["run"]] = max(ready, self._ready.get(feed["run"], 0))
        self._about = {
            name: message[name] for name in ("race", "token", "run", "pending") if name in message
        }

    def _events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the events that the view of the current page would send: name and value."""
        about, page = self._about, self._wire.page
        wants = [[run, ready + 1, _STEPS_REQUESTED] for run, ready in self._ready.items()]
        if page == "" and isinstance(about.get("run"), str):
            run = about["run"]
            yield (
                "need",
                {"run": run, "from": self._ready.get(run, 0) + 1, "count": _STEPS_REQUESTED},
            )
            if self._ready.get(run, 0) > 0:
                question = {"kind": "node", "i": 0, "t": 1, "run": run}
                yield "ask", question
        elif page == "race" and "race" in about:
            yield "need", {"race": about["race"], "wants": wants}
        elif page == "prune" and "token" in about:
            yield "need", {"token": about["token"], "wants": wants}
        elif page == "regions" and "token" in about:
            yield "need", {"token": about["token"], "parts": about.get("pending", [])}
            yield "ask", {"query": self._chance.randrange(60)}
        elif page in ("budget", "dynamics") and isinstance(about.get("run"), dict):
            name = "need" if page == "budget" else "moved"
            yield name, {"token": about["run"]["token"], "from": 0, "node": 1}
        elif page == "inspect" and "token" in about:
            yield "picked", {"token": about["token"], "node": self._chance.randrange(20)}


async def sessions_expired() -> None:
    """Wait until the server has ended the sessions of pages that are closed."""
    retention = max(config.get_option("server.disconnectedSessionTTL"), limits().gone_seconds)
    await asyncio.sleep(retention + 2 * LOOK_SECONDS + SETTLE_SECONDS)


async def warmed_up(address: str) -> None:
    """Use each page and each uploader once, and wait until that session has expired."""
    client = PageClient(address, 1_000)
    await client.see_every_page()
    if client.usage.trouble:
        raise TimeoutError(f"The pages did not open: {client.usage.trouble}")
    await sessions_expired()


async def mixed_use(
    address: str,
    process: int,
    clients: int,
    seconds: float,
    note: Callable[[float, int], None],
) -> list[Usage]:
    """Use all pages for some time, then wait until the sessions have expired.

    Parameters
    ----------
    address : str
    process : int
        Process id of the server.
    clients : int
        Number of concurrent clients.
    seconds : float
    note : callable
        Called with seconds and bytes about every half minute, and once at the end.
    """
    began = time.monotonic()
    users = [PageClient(address, seed) for seed in range(clients)]

    async def sample() -> None:
        while True:
            note(time.monotonic() - began, memory_bytes(process))
            await asyncio.sleep(min(SAMPLE_SECONDS, max(1.0, seconds / 10)))

    sampling = asyncio.create_task(sample())
    troubles = await gathered([partial(one.use_pages, began + seconds) for one in users])
    if not troubles:
        await sessions_expired()
    sampling.cancel()
    for trouble in troubles:
        raise trouble
    note(time.monotonic() - began, memory_bytes(process))
    return [one.usage for one in users]
