"""The standalone replay page: complete, self-contained, and safe with any text."""

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
from fakes import finished_run
from hypothesis import given, strategies as st
from sample_records import sample_run

import graftviz as gv
from graftviz.reports.files.run_folder import replay_page
from graftviz.reports.replay import bundle as assets
from graftviz.reports.replay.records import recorded_run

Output = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]
SCRIPT = re.compile(r'<script(?: type="([^"]*)" id="run")?>(.*?)</script>', re.DOTALL)
ASSETS = Path(assets.__file__).parent / "assets"
SCRIPTS = sorted(ASSETS.rglob("*.js"))
VIEWS = ("player", "race", "region", "prune", "budget", "dynamics", "inspect")
ENTRIES = ["shared/mount.js", *(f"{view}/{view}.js" for view in VIEWS)]
ENTRIES += ["player/replay.js"]


@pytest.fixture(scope="module")
def output() -> Output:
    return sample_run(12, max_steps=6)


def data_of(page: str) -> dict[str, Any]:
    """Return the run in a page, read as its script reads it."""
    kind, text = SCRIPT.findall(page)[0]
    if kind == "application/json":
        return json.loads(text)
    assert kind == "application/gzip"
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_page_contains_the_whole_run(output: Output) -> None:
    header, records, outcome = output
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
    run = finished_run(gv.DiscreteTable.from_codes(coin), gv.BestChoice(max_edges=3), seed=0)
    output = recorded_run(run, title="Coins")
    data = data_of(replay_page(*output))
    assert data["header"]["title"] == "Coins"
    assert len(data["records"]) == len(run.steps) == data["outcome"]["steps"] >= 1


def test_policy_allows_only_script_and_style_of_the_page(output: Output) -> None:
    page = replay_page(*output)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
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


def test_page_has_no_external_links(output: Output) -> None:
    page = replay_page(*output)
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
def test_text_of_data_is_escaped(output: Output, text: str) -> None:
    header, records, outcome = json.loads(json.dumps(output))
    header["title"] = text
    header["names"] = [f"{text}{i}" for i in range(12)]
    header["labels"][0][0] = text
    records[0]["words"] = text
    outcome["stop_reason"] = text
    page = replay_page(header, records, outcome)
    plain = replay_page(*output)
    for mark in ("<script", "</script", "<img", "<!--", "</title"):
        assert page.count(mark) == plain.count(mark)
    data = data_of(page)
    assert data["header"]["title"] == data["records"][0]["words"] == text
    assert data["header"]["names"] == header["names"]


@given(st.text())
def test_any_title_is_unchanged(title: str) -> None:
    header, records, outcome = sample_run(2)
    title = title.encode("utf-8", "replace").decode()
    assert data_of(replay_page({**header, "title": title}, records, outcome))["header"][
        "title"
    ] == title  # fmt: skip


def test_interrupted_run_has_an_outcome(output: Output) -> None:
    header, records, _ = output
    outcome = data_of(replay_page(header, records, None))["outcome"]
    assert outcome["steps"] == len(records)
    assert outcome["converged"] is False
    assert outcome["certificate"]["scored"] == 0
    assert data_of(replay_page(header, [], None))["outcome"]["steps"] == 0


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
    for path in SCRIPTS:
        assert not re.search(banned, path.read_text(encoding="utf-8")), path.name


def test_every_module_and_style_sheet_is_used() -> None:
    used = {path for entry in ENTRIES for path in assets.modules(entry)}
    assert used == set(SCRIPTS)
    styles = "".join([*map(assets.view_style, VIEWS), assets.replay_parts()[2]])
    for path in ASSETS.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        longest = max((part.strip() for part in re.split(r"[{};,\n]", text)), key=len)
        assert longest in styles, path.name


def top_level_names(text: str) -> set[str]:
    """Return the names that a module declares for itself and others."""
    found = re.findall(
        r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+|\[[^\]]*\]|\{[^}]*\})",
        text,
        re.M,
    )
    return {name for part in found for name in re.findall(r"\w+", part)}


@pytest.mark.parametrize("entry", ENTRIES)
def test_modules_of_a_bundle_import_what_others_export(entry: str) -> None:
    texts = assets.modules(entry)
    owners: dict[str, Path] = {}
    for path, text in texts.items():
        for name in top_level_names(text):
            assert name not in owners, f"{name} is declared by {path} and {owners[name]}"
            owners[name] = path
        body = assets.IMPORT.sub("", text)
        for names, source in assets.IMPORT.findall(text):
            other = texts[(path.parent / source).resolve()]
            for name in names.split(", "):
                assert re.search(rf"^export (?:class|const|function|let) {name}\b", other, re.M), (
                    name
                )
                assert re.search(rf"(?<!\w\.)\b{name}\b", body), f"{path.name} imports {name}"


def test_every_export_is_imported() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SCRIPTS]
    imported = {
        n for text in texts for names, _ in assets.IMPORT.findall(text) for n in names.split(", ")
    }
    for path, text in zip(SCRIPTS, texts, strict=True):
        exported = set(re.findall(r"^export (?:class|const|function|let) (\w+)", text, re.M))
        assert exported - {"mount", "host", "mountedBy"} <= imported, path.name


def test_no_class_declares_a_method_twice() -> None:
    for path in SCRIPTS:
        for body in re.findall(
            r"^(?:export )?class .*?^\}$", path.read_text(encoding="utf-8"), re.M | re.S
        ):
            names = re.findall(r"^  ((?:static |async )?(?:get |set )?\w+)\(.*\) \{$", body, re.M)
            assert len(names) == len(set(names)), (path.name, names)


def test_styles_apply_to_the_player_only() -> None:
    css = "".join(map(assets.view_style, VIEWS))
    css = re.sub(r"@(?:container|media)[^{]*\{", "", css)
    for selectors in re.findall(r"([^{}]+)\{", css):
        for selector in re.split(r",(?![^(]*\))", selectors):
            assert ".gv-" in selector or selector.strip().startswith("[data-charts"), selector


def test_infinite_and_nan_become_null(output: Output) -> None:
    header, records, outcome = output
    odd = {**outcome, "kkt": math.nan, "bp_restart_gap": math.inf, "objective": -0.123456789}
    data = data_of(replay_page(header, records, odd))
    assert data["outcome"]["kkt"] is None
    assert data["outcome"]["bp_restart_gap"] is None
    assert data["outcome"]["objective"] == pytest.approx(-0.123457)
