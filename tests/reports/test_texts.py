"""Texts of the catalogues, and their use in the scripts of the views."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graftviz.reports.replay import bundle as assets
from graftviz.reports.texts import catalogue, page_text

ASSETS = Path(assets.__file__).parent / "assets"


@pytest.mark.parametrize("view", [path.name for path in ASSETS.iterdir()])
def test_texts_used_by_scripts_are_in_catalogues(view: str) -> None:
    names = ("views", "player") if view == "player" else ("views",)
    known = {key: entry for name in names for key, entry in catalogue(name).items()}
    assert len(known) == sum(len(catalogue(name)) for name in names)
    for path in (ASSETS / view).glob("*.js"):
        for section, key in re.findall(r"\bTEXT\.(\w+)(?:\.(\w+))?", path.read_text("utf-8")):
            assert key in known[section] or not key, (path.name, section, key)


def test_keys_replace_their_placeholder_in_the_explanation() -> None:
    explanation = page_text("grow").explanation
    assert "{keys}" not in explanation
    assert "lists all keys of this page" in explanation
