"""Records that each page sends to its view in the browser, and the addresses that it writes.

The pages run under Streamlit's AppTest. This module alone knows the messages between a page and
its view (docs/player.md): where they change and the records do not, only the functions
``_grow`` … ``_inspect`` follow.
"""

from __future__ import annotations

import base64
import functools
import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
from streamlit.components.v2.bidi_component.main import _make_trigger_id

from tests.app_pages import is_compiling, page_at, query_of, run_while

# Whose keys are the query strings to follow: small data, short runs, and a few that are unusable.
_LINKS = Path(__file__).parent / "recorded" / "links"
_EVERYTHING = 100_000  # records
_PATIENCE = 120.0  # seconds until a page must have sent all
_PAUSE = 0.1  # seconds before the first question; each of the next takes half as long again
_SHORTER = {"prune": "exchanges=5"}  # links in place of the page's own defaults
_CHART_FIELDS = ("type", "x", "y", "z")


def recordings() -> dict[str, Callable[[], Any]]:
    """Return the functions that compute records and addresses of pages, by name."""
    found: dict[str, Callable[[], Any]] = {
        f"pages/{name}": functools.partial(records, OpenPage(name, _SHORTER.get(name, "")))
        for name, records in _RECORDS.items()
    }
    for path in sorted(_LINKS.glob("*.json")):
        name = path.stem
        found[f"links/{name}"] = functools.partial(_addresses, name)
    return found


class OpenPage:
    """A page in a new session, opened when it is first looked at, and the messages of its view.

    Parameters
    ----------
    name : str
    link : str
        Query string of its address.
    """

    def __init__(self, name: str, link: str = "") -> None:
        self._name = name
        self._link = link
        self._pause = _PAUSE

    @functools.cached_property
    def app(self) -> Any:
        """The page, as AppTest shows it."""
        app = page_at(
            "" if self._name == "grow" else self._name,
            **dict(parse_qsl(self._link, keep_blank_values=True)),
        )
        return run_while(app, lambda: is_compiling(app))

    def message(self) -> dict[str, Any]:
        """Return the message to the view; empty while there is none."""
        for part in self.app.get("bidi_component"):
            if part.proto.WhichOneof("data") == "bytes":
                return dict(json.loads(part.proto.bytes))
        return {}

    def ask(self, event: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Send an event of the view to the page, and return the next message."""
        time.sleep(self._pause)
        self._pause *= 1.5
        for part in self.app.get("bidi_component"):
            if part.proto.WhichOneof("data") == "bytes":
                states = self.app._tree.get_widget_states()
                payload = json.dumps([{"event": event, "value": value}])
                trigger = _make_trigger_id(part.proto.id, "events")
                states.widgets.add(id=trigger, json_trigger_value=payload)
                self.app._run(states)
                return self.message()
        self.app.run()
        return self.message()

    def ask_until(
        self, question: Callable[[dict[str, Any]], Any], is_complete: Callable[[Any], bool]
    ) -> dict[str, Any]:
        """Ask until everything has come, and return all parts of the messages, the latest each.

        Parameters
        ----------
        question : callable
            Returns what to ask for with the event ``need``, given what has come so far.
        is_complete : callable
            Whether what has come is all there is.
        """
        found = self.message()
        give_up = time.monotonic() + _PATIENCE
        while not is_complete(found):
            assert time.monotonic() < give_up, f"the page {self._name} sends no end: {list(found)}"
            found |= self.ask("need", question(found))
        return found


def _grow(page: OpenPage) -> dict[str, Any]:
    """Return the run of the Grow page."""
    found = page.ask_until(
        lambda known: {
            **{"run": known.get("run"), "from": 1, "count": _EVERYTHING},
            "header": "header" not in known,  # it was in an earlier message of a recorded run
        },
        lambda known: "header" in known and known["feed"]["outcome"] and known["feed"]["from"] == 1,
    )
    return {"header": found["header"], **_feed_record(found["feed"])}


def _runs(token: str, page: OpenPage) -> dict[str, Any]:
    """Return the runs of the Race or of the Prune page, whose messages name a `token`."""
    found = page.ask_until(
        lambda known: {
            token: known.get(token),
            "wants": [[part["feed"]["run"], 1, _EVERYTHING] for part in known.get("feeds", ())],
        },
        lambda known: "header" in known and all(part["feed"]["outcome"] for part in known["feeds"]),
    )
    runs = [{"head": part["head"], **_feed_record(part["feed"])} for part in found["feeds"]]
    return {"header": found["header"], "runs": runs}


def _region(page: OpenPage) -> dict[str, Any]:
    """Return the region of the Regions page, and what it is compared with."""
    found = page.ask_until(
        lambda known: {"parts": known.get("pending", []), "graph": "graph" not in known},
        lambda known: "whole" in known and not known["pending"],
    )
    parts = ("graph", "region", "whole", "rules", "map", "point", "coefficient")
    return {name: found.get(name) for name in parts}


def _steps(page: OpenPage) -> dict[str, Any]:
    """Return the steps of the Budget or of the Dynamics page."""
    found = page.ask_until(
        lambda known: {"token": known.get("run", {}).get("token"), "graph": True, "from": 0},
        lambda known: "graph" in known and known["run"]["done"] and known["run"]["from"] == 0,
    )
    return {"graph": found["graph"], "course": found["run"], "series": found.get("series")}


def _inspect(page: OpenPage) -> dict[str, Any]:
    """Return graph, charts and numbers of the tables of the Inspect page once they stay."""
    before: Any = None
    give_up = time.monotonic() + _PATIENCE
    while before is None or before != page.message() or len(page.app.dataframe) < 2:
        assert time.monotonic() < give_up
        before = page.message() or None
        time.sleep(1.0)
        page.app.run()
    return {"graph": page.message(), "charts": _charts(page), "tables": _tables(page)}


def _charts(page: OpenPage) -> list[Any]:
    """Return the numbers of a page's Plotly charts."""
    figures = [json.loads(chart.proto.spec)["data"] for chart in page.app.get("plotly_chart")]
    return [
        [{name: _array(trace[name]) for name in _CHART_FIELDS if name in trace} for trace in figure]
        for figure in figures
    ]


def _tables(page: OpenPage) -> list[Any]:
    """Return the columns of numbers of a page's tables."""
    return [
        [
            [None if np.isnan(number) else number for number in column.tolist()]
            for _, column in frame.value.select_dtypes("number").items()
        ]
        for frame in page.app.dataframe
    ]


def _array(value: Any) -> Any:
    """Return an array of a chart as a list; Plotly may have packed it."""
    if not isinstance(value, dict) or "bdata" not in value:
        return value
    flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
    shape = tuple(map(int, str(value.get("shape", flat.size)).split(",")))
    return flat.reshape(shape).tolist()


def _lesson_links(page: OpenPage) -> list[str]:
    """Return the addresses that the Lessons page leads to, in order."""
    urls = [urlsplit(part.proto.url) for part in page.app.get("link_button")]
    return [f"{url.path}?{_query_text(parse_qsl(url.query))}" for url in urls]


def _query_text(pairs: Iterable[tuple[str, str]]) -> str:
    """Return parameters in the order of the alphabet."""
    return urlencode(sorted(pairs), safe=":,;=")


def _feed_record(feed: Mapping[str, Any]) -> dict[str, Any]:
    return {"records": feed["records"], "outcome": feed["outcome"]}


_RECORDS: dict[str, Callable[[OpenPage], Any]] = {
    "grow": _grow,
    "race": functools.partial(_runs, "race"),
    "reservoir": _charts,
    "regions": _region,
    "prune": functools.partial(_runs, "token"),
    "budget": _steps,
    "dynamics": _steps,
    "inspect": _inspect,
    "lessons": _lesson_links,
}


def _addresses(name: str) -> dict[str, Any]:
    """Return the address that a page writes for each link, and whether it complains about it."""
    found = {}
    for link in json.loads((_LINKS / f"{name}.json").read_text(encoding="utf-8")):
        app = OpenPage(name, link).app
        address = _query_text(query_of(app).items())
        found[link] = {"address": address, "complains": bool(app.warning or app.error)}
    return found
