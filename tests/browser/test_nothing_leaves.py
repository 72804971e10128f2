"""Network targets of browser and server on all pages: only this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from open_pages import Pages
from waiting import eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COMPILING = 400_000  # ms of the first start, which compiles the engine
VIEWS = {
    "race?data=karate": ".gv-race-body:not([hidden])",
    "reservoir?data=karate": ".js-plotly-plot",
    "regions?side=8": ".gv-region-body:not([hidden])",
    "prune?exchanges=4&exchange=2": ".gv-prune-body:not([hidden])",
    "budget?data=survey&bound=1": ".gv-budget-body:not([hidden])",
    "dynamics?size=12&rows=150&parents=3&seeds=4": ".gv-dynamics-body:not([hidden])",
    "?data=karate&learner=chow-liu": ".gv-player .gv-body:not([hidden])",
}
NOWHERE = "~notfound"  # address to which every other host name resolves
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    f"--host-resolver-rules=MAP * {NOWHERE}, EXCLUDE 127.0.0.1",
)
# Address of the socket with which Chromium probes IPv6; nothing is sent.
NOTHING_SENT = "2001:4860:4860::8888"
ADDRESSES = ("address", "address_list", "host", "remote_address", "url")
NO_PAGE = "not an origin"  # initiator of requests of the browser itself, such as updates


def targets_of(log: dict[str, Any]) -> set[tuple[str, str]]:
    """Return kind and target of all events with a target in Chromium's network log.

    Hosts of requests that no page started are left out.
    """
    names = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    found, own = set(), {"", NOWHERE, NOTHING_SENT}
    for event in log["events"]:
        if names[event["type"]].endswith("LOCAL_ADDRESS"):
            continue  # address of origin
        params = event.get("params", {})
        if params.get("initiator") == NO_PAGE and not is_this_machine(params["url"]):
            own.add(host_of(params["url"]))
        for key in ADDRESSES:
            value = params.get(key, [])
            for target in value if isinstance(value, list) else [value]:
                found.add((names[event["type"]], str(target)))
    is_local = {target: is_this_machine(target) for _, target in found}
    return {pair for pair in found if is_local[pair[1]] or host_of(pair[1]) not in own}


def host_of(target: str) -> str:
    """Return the host of a URL, or of an address with or without a port."""
    parts = urlsplit(target if "://" in target else f"//{target}")
    return parts.hostname or ""


def is_this_machine(target: str) -> bool:
    """Return whether a host, an address or a URL is of this machine or of no network."""
    if target.startswith(("data:", "blob:", "file:", "about:", "chrome:", "chrome-")):
        return True
    return host_of(target) == "127.0.0.1"


@pytest.fixture(scope="module")
def network_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Path of Chromium's network log, which is checked after the browser is closed."""
    path = tmp_path_factory.mktemp("network") / "log.json"
    yield path
    targets = targets_of(json.loads(path.read_text(encoding="utf-8")))
    kinds = {kind for kind, _ in targets}
    assert {"URL_REQUEST_START_JOB", "TCP_CONNECT_ATTEMPT"} <= kinds
    assert {target for target in targets if not is_this_machine(target[1])} == set()


@pytest.fixture(scope="module")
def pages(driver: Any, network_log: Path) -> Iterator[Pages]:
    pages = Pages(driver, [*QUIET, f"--log-net-log={network_log}"])
    yield pages
    pages.browser.close()


def test_all_pages_connect_to_this_machine_only(
    open_page: Any, address: str, tmp_path: Path
) -> None:
    page = open_page()
    table = tmp_path / "table.csv"
    table.write_text("a,b,c\n" + "0,0,1\n1,1,0\n0,0,0\n1,1,1\n" * 30)
    page.goto(f"{address}?data=karate")
    page.locator(VIEWS["?data=karate&learner=chow-liu"]).wait_for(timeout=COMPILING)
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_role("button", name="Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role(
            "button", name="Web page of this run (needs no server)", exact=True
        ).click()
    download.value.save_as(tmp_path / "replay.html")
    page.keyboard.press("Escape")
    page.get_by_role("combobox").first.click()
    page.get_by_text("Your own data…").click()
    page.locator("input[type=file]").first.set_input_files(table)
    eventually(page, lambda: "table.csv" in page.locator(".gv-head").inner_text())
    for query, view in VIEWS.items():
        page.goto(address + query)
        page.locator(view).first.wait_for(timeout=COMPILING)
        for button in page.get_by_role("button", name="Play", exact=True).all()[:1]:
            button.click()
    page.get_by_role("button", name="Analyse").click()
    page.get_by_text("Inspect this model").click()
    page.get_by_text(re.compile("^Marginals: ")).wait_for(timeout=COMPILING)
    page.goto((tmp_path / "replay.html").as_uri())
    page.locator(".gv-player .gv-body:not([hidden])").wait_for()
    page.get_by_role("button", name="Play", exact=True).click()
    requests = " ".join(open_page.requests)
    for part in ("ws://127.0.0.1", "_stcore/upload_file", "blob:", "/media/", "replay.html"):
        assert part in requests


def test_foreign_hosts_in_network_log_are_detected() -> None:
    types = {"TCP_CONNECT_ATTEMPT": 7, "HOST_RESOLVER_MANAGER_REQUEST": 8}
    types["URL_REQUEST_START_JOB"] = 9
    events = [
        {"type": 7, "params": {"address": "192.0.2.1:443"}},
        {"type": 7, "params": {"address": "127.0.0.1:8501"}},
        {"type": 8, "params": {"host": "https://fonts.example.org"}},
        {"type": 8},
        {"type": 9, "params": {"url": "https://updates.example.org/x", "initiator": NO_PAGE}},
        {"type": 8, "params": {"host": "updates.example.org"}},
        {"type": 9, "params": {"url": "https://b.example.org/x", "initiator": "http://127.0.0.1"}},
    ]
    found = targets_of({"constants": {"logEventTypes": types}, "events": events})
    assert len(found) == 4
    assert {target for _, target in found if not is_this_machine(target)} == {
        *("192.0.2.1:443", "https://fonts.example.org", "https://b.example.org/x")
    }
    for target in ("http://127.0.0.1.example.org/", "127.0.0.10", "http://127.0.0.1@x.example/"):
        assert not is_this_machine(target)
