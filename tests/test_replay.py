"""The standalone replay page: complete, self-contained, and deaf to whatever the data say."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_records import sample_run

import graftviz as gv
from graftviz.formats.replay import replay_page
from graftviz.player import assets
from graftviz.player.records import recorded_run
from graftviz.runs import Run

Told = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]
SCRIPT = re.compile(r'<script(?: type="([^"]*)" id="run")?>(.*?)</script>', re.DOTALL)
ASSETS = Path(assets.__file__).parent / "assets"


@pytest.fixture(scope="module")
def told() -> Told:
    return sample_run(12, max_steps=6)


def data_of(page: str) -> dict[str, Any]:
    """Return the run that stands in a page, read the way its script reads it."""
    kind, text = SCRIPT.findall(page)[0]
    if kind == "application/json":
        return json.loads(text)
    assert kind == "application/gzip"
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_the_whole_run_stands_in_the_page(told: Told) -> None:
    header, records, outcome = told
    data = data_of(replay_page(header, records, outcome))
    start = {name: pytest.approx(value, rel=1e-5) for name, value in header["start"].items()}
    assert data["header"] == {**header, "start": start}
    assert data["outcome"]["stop_reason"] == outcome["stop_reason"]
    assert [r["activated"] for r in data["records"]] == [
        [[i, j, pytest.approx(s, rel=1e-5)] for i, j, s in r["activated"]] for r in records
    ]
    assert [r["words"] for r in data["records"]] == [r["words"] for r in records]


def test_a_real_run_becomes_a_page() -> None:
    coin = [[i & 1, (i >> 1) & 1, (i & 1) ^ (i % 7 == 0)] for i in range(200)]
    run = Run(gv.DiscreteTable.from_codes(coin), gv.BestChoice(max_edges=3), seed=0)
    while run.advance():
        pass
    told = recorded_run(run, title="Coins")
    data = data_of(replay_page(*told))
    assert data["header"]["title"] == "Coins"
    assert len(data["records"]) == len(run.steps) == data["outcome"]["steps"] >= 1


def test_only_the_pages_own_script_and_style_may_run(told: Told) -> None:
    page = replay_page(*told)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy[1]
    assert "connect-src" not in rules
    scripts = [text for kind, text in SCRIPT.findall(page) if not kind]
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert len(scripts) == len(styles) == 1
    for name, text in (("script-src", scripts[0]), ("style-src", styles[0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"


def test_nothing_points_out_of_the_page(told: Told) -> None:
    page = replay_page(*told)
    links = re.findall(r"""(?:src|href|action)\s*=\s*["']([^"']*)""", page)
    assert all(link.startswith("data:") for link in links)
    assert set(re.findall(r"https?://[^\"'\s]*", page)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in page
    assert "@import" not in page


HOSTILE = [
    "</script><script>alert(1)</script>",
    "</title><img src=x onerror=alert(2)>",
    "<!--<script>",
    "]]>&lt;&amp;",
    "a\u2028b\u2029c",
    "{script}{data}{title}",
    "\\u003c/script\\u003e",
    "\x00\x07 שלום \U0001f989 " + "long " * 100,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_the_data_stays_text(told: Told, text: str) -> None:
    header, records, outcome = json.loads(json.dumps(told))
    header["title"] = text
    header["names"] = [f"{text}{i}" for i in range(12)]
    header["labels"][0][0] = text
    records[0]["words"] = text
    outcome["stop_reason"] = text
    page = replay_page(header, records, outcome)
    plain = replay_page(*told)
    for mark in ("<script", "</script", "<img", "<!--", "</title"):
        assert page.count(mark) == plain.count(mark)
    data = data_of(page)
    assert data["header"]["title"] == data["records"][0]["words"] == text
    assert data["header"]["names"] == header["names"]


@given(st.text())
def test_any_title_survives(title: str) -> None:
    header, records, outcome = sample_run(2)
    title = title.encode("utf-8", "replace").decode()
    assert data_of(replay_page({**header, "title": title}, records, outcome))["header"][
        "title"
    ] == title  # fmt: skip


def test_numbers_json_does_not_know_become_null(told: Told) -> None:
    header, records, outcome = told
    odd = {**outcome, "kkt": math.nan, "bp_restart_gap": math.inf, "objective": -0.123456789}
    data = data_of(replay_page(header, records, odd))
    assert data["outcome"]["kkt"] is None
    assert data["outcome"]["bp_restart_gap"] is None
    assert data["outcome"]["objective"] == pytest.approx(-0.123457)


def test_an_interrupted_run_has_an_end(told: Told) -> None:
    header, records, _ = told
    outcome = data_of(replay_page(header, records, None))["outcome"]
    assert outcome["steps"] == len(records)
    assert outcome["converged"] is False
    assert outcome["certificate"]["scored"] == 0
    assert data_of(replay_page(header, [], None))["outcome"]["steps"] == 0


def test_the_same_run_gives_the_same_page(told: Told) -> None:
    assert replay_page(*told) == replay_page(*told)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "steps", "edges"), [(1.0, 300, 300), (0.5, 150, 600)])
def test_a_long_run_fits_into_three_megabytes(alpha: float, steps: int, edges: int) -> None:
    header, records, outcome = sample_run(200, alpha=alpha)
    assert len(records) > steps
    assert outcome["edges"] >= edges
    page = replay_page(header, records, outcome)
    assert len(page.encode()) < 3_000_000
    assert len(data_of(page)["records"]) == len(records)


# ------------------------------------------------------------------------------------ the assets


def test_scripts_insert_data_only_as_text_and_open_no_connection() -> None:
    banned = r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|fetch\(|"
    banned += r"XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|\bimport\("
    for path in sorted(ASSETS.glob("*.js")):
        assert not re.search(banned, path.read_text(encoding="utf-8")), path.name


def test_no_template_spans_lines_because_lines_are_trimmed() -> None:
    for path in sorted(ASSETS.glob("*.js")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert line.count("`") % 2 == 0, f"{path.name}:{number}"


def test_every_asset_is_used() -> None:
    race = [assets.race_javascript(), assets.race_css()]
    player = [assets.player_javascript(), assets.player_css(), *assets.replay_parts()]
    region = [assets.region_javascript(), assets.region_css()]
    prune = [assets.prune_javascript(), assets.prune_css()]
    budget = [assets.budget_javascript(), assets.budget_css()]
    dynamics = [assets.dynamics_javascript(), assets.dynamics_css()]
    everything = "".join([*player, *race, *region, *prune, *budget, *dynamics])
    for path in ASSETS.iterdir():
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        code = [line for line in lines if not line.startswith(("//", "/*", "*"))]
        longest = max(code, key=len)
        if path.suffix == ".css":  # whose spaces around marks are left out
            longest = max(re.split(r" ?[{};,] ?", longest), key=len)
        assert longest in everything, path.name


def test_the_player_stays_small_enough_to_travel() -> None:
    assert len(assets.player_javascript().encode()) + len(assets.player_css().encode()) < 175_000


def test_styles_do_not_leak_out_of_the_player() -> None:
    css = (
        assets.race_css() + assets.region_css() + assets.budget_css() + assets.dynamics_css()
    )  # the player's and more
    css = re.sub(r"@(?:container|media)[^{]*\{", "", css)
    for selectors in re.findall(r"([^{}]+)\{", css):
        for selector in re.split(r",(?![^(]*\))", selectors):
            assert ".gv-" in selector or selector.strip().startswith("[data-charts"), selector
