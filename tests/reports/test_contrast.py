"""Colours: text and marks stand out from the paper, and kinds of marks from each other.

Contrast is WCAG 2.2's ratio of relative luminances (4.5 for text, 3 for marks); kinds of colour
vision are simulated with the matrices of Machado, Oliveira and Fernandes (2009) at full severity.
"""

from __future__ import annotations

import json
import re
import tomllib
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import graftviz.reports.figures.style as figure_style
import graftviz.reports.replay.bundle as assets_module
from graftviz.reports.figures.model import _SIGNED

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(assets_module.__file__).parent / "assets"
CORE = (ASSETS / "shared/core.js").read_text(encoding="utf-8")
RACERS = (ASSETS / "shared/marks.js").read_text(encoding="utf-8")
PRUNE = (ASSETS / "prune/graph.js").read_text(encoding="utf-8")
EDGES = (ASSETS / "player/edges.js").read_text(encoding="utf-8")
STYLES = "".join(
    (ASSETS / name).read_text(encoding="utf-8") for name in ("player/player.css", "race/race.css")
)
REPLAY = (ASSETS / "player/replay.css").read_text(encoding="utf-8")
CONFIG = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))["theme"]
THEMES = ("light", "dark")
TEXT, MARK = 4.5, 3.0
MUTED, FAINT, OUTLINE = 0.7, 0.5, 0.62  # shares of the text's colour in core.js
CAPTION = 0.6  # the share of the text's colour in Streamlit's captions
TINT = 0.13  # share of the primary colour behind a chosen option
LEAST_DISTANCE = 0.08  # least distance in OKLab of colours that differ in nothing else
RGB = np.ndarray

VISION = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def rgb(text: str) -> RGB:
    digits = text.lstrip("#")
    return np.array([int(digits[k : k + 2], 16) for k in (0, 2, 4)], dtype=float)


def linear(colour: RGB) -> RGB:
    share = colour / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(first: RGB, second: RGB) -> float:
    light = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(c))) for c in (first, second))
    return (light[1] + 0.05) / (light[0] + 0.05)


def over(paper: RGB, ink: RGB, share: float) -> RGB:
    return paper + (ink - paper) * share


def distance(first: RGB, second: RGB, vision: str) -> float:
    """Return the distance of two colours in OKLab for a kind of colour vision."""
    places = []
    for colour in (first, second):
        seen = np.clip(VISION[vision] @ linear(colour), 0, 1)
        places.append(_TO_LAB @ np.cbrt(_TO_LMS @ seen))
    return float(np.linalg.norm(places[0] - places[1]))


def marks(theme: str) -> dict[str, RGB]:
    """Return the colours of marks from the player's script."""
    block = re.search(rf"const ON_{theme.upper()} = {{(.*?)}};", CORE, re.DOTALL)
    assert block
    found = re.findall(r"(\w+): \[(\d+), (\d+), (\d+)\]", block[1])
    return {name: np.array([float(v) for v in values]) for name, *values in found}


def racers(theme: str) -> list[RGB]:
    found = re.search(rf"const RACERS_ON_{theme.upper()} = (\[\[.*?\]\]);", CORE)
    assert found
    return [np.array(colour, dtype=float) for colour in json.loads(found[1])]


def replay_theme(theme: str) -> dict[str, RGB]:
    light, dark = REPLAY.split(':root[data-theme="dark"]')
    found = re.findall(r"--st-([a-z-]+)-color: (#\w{6})", dark if theme == "dark" else light)
    return {name: rgb(colour) for name, colour in found}


def app_theme(theme: str) -> dict[str, RGB]:
    return {
        "text": rgb(CONFIG[theme]["textColor"]),
        "background": rgb(CONFIG[theme]["backgroundColor"]),
        "secondary-background": rgb(CONFIG[theme]["secondaryBackgroundColor"]),
        "primary": rgb(CONFIG[theme]["primaryColor"]),
    }


PAPERS = [
    (app_theme, "light"),
    (app_theme, "dark"),
    (replay_theme, "light"),
    (replay_theme, "dark"),
]


@pytest.mark.parametrize(("tokens", "theme"), PAPERS)
def test_text_has_sufficient_contrast(tokens: object, theme: str) -> None:
    colours = tokens(theme)
    for ground in ("background", "secondary-background"):
        paper = colours[ground]
        assert contrast(colours["text"], paper) >= TEXT
        assert contrast(over(paper, colours["text"], MUTED), paper) >= TEXT
    assert contrast(colours["primary"], colours["background"]) >= TEXT


@pytest.mark.parametrize("theme", THEMES)
def test_captions_and_chosen_options_have_sufficient_contrast(theme: str) -> None:
    section = CONFIG[theme]
    text, primary = rgb(section["textColor"]), rgb(section["primaryColor"])
    for paper in (section["backgroundColor"], section["sidebar"]["backgroundColor"]):
        ground = rgb(paper)
        assert contrast(over(ground, text, CAPTION), ground) >= TEXT
        assert contrast(primary, over(ground, primary, TINT)) >= TEXT
        assert contrast(rgb(section["linkColor"]), ground) >= TEXT


@pytest.mark.parametrize(("tokens", "theme"), PAPERS)
def test_marks_and_focus_ring_have_sufficient_contrast(tokens: object, theme: str) -> None:
    colours = tokens(theme)
    paper = colours["background"]
    known = marks(theme)
    # `step` is pale on white; marks filled with it have an outline.
    outlined = {"step"} if theme == "light" else set()
    for name, colour in known.items():
        if name not in outlined:
            assert contrast(colour, paper) >= MARK, name
    for k, colour in enumerate(racers(theme)):
        assert contrast(colour, paper) >= MARK, k
    assert contrast(colours["primary"], paper) >= MARK
    for share in (FAINT, OUTLINE):
        assert contrast(over(paper, colours["text"], share), paper) >= MARK


@pytest.mark.parametrize("theme", THEMES)
def test_drawn_edges_have_sufficient_contrast(theme: str) -> None:
    paper, text = app_theme(theme)["background"], app_theme(theme)["text"]
    shares = dict(re.findall(r"const (ACTIVE|MISSING|GONE) = ([\d.]+);", EDGES))
    for kind in ("right", "wrong", "plain"):
        drawn = over(paper, marks(theme)[kind], float(shares["ACTIVE"]))
        assert contrast(drawn, paper) >= MARK, kind
    for share in (shares["MISSING"], shares["GONE"]):
        assert contrast(over(paper, over(paper, text, MUTED), float(share)), paper) >= MARK


@pytest.mark.parametrize("theme", THEMES)
def test_colours_of_figures_have_sufficient_contrast(theme: str) -> None:
    paper = app_theme(theme)["background"]
    for name in ("ORANGE", "GREEN", "BLUE", "VERMILION", "PURPLE", "GREY"):
        assert contrast(rgb(getattr(figure_style, name)), paper) >= MARK, name
    for colour in CONFIG["chartCategoricalColors"]:
        assert contrast(rgb(colour), paper) >= MARK, colour


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
def test_colours_that_alone_distinguish_marks_are_distinct(theme: str, vision: str) -> None:
    """Check colours of signs and of new or chosen marks; other marks differ in form too."""
    known = marks(theme)
    for first, second in (
        ("attract", "repel"),
        ("attract", "wrong"),
        ("repel", "wrong"),
        ("step", "right"),
        ("step", "wrong"),
        ("step", "plain"),
        ("step", "region"),
    ):
        assert distance(known[first], known[second], vision) >= LEAST_DISTANCE, (first, second)
    primary = app_theme(theme)["primary"]
    assert distance(primary, known["step"], vision) >= LEAST_DISTANCE


def test_signs_have_same_colours_in_player_and_figures() -> None:
    ends = {
        name: rgb(colour)
        for name, colour in (("repel", _SIGNED[0][1]), ("attract", _SIGNED[-1][1]))
    }
    for name, colour in ends.items():
        assert colour.tolist() == marks("light")[name].tolist()


def test_colour_of_new_edges_marks_nothing_else() -> None:
    for kind in ("part-reservoir", "racers td.gv-wins"):
        (rule,) = re.findall(rf"\.gv-{kind} {{(.*?)}}", STYLES)
        assert "--gv-step" not in rule


def test_marks_of_similar_colour_differ_in_form() -> None:
    dashes = re.search(r"const RACER_DASHES = (\[.*?\]);\n", RACERS)
    shapes = re.search(r"const RACER_MARKS = \[(.*?)\];", RACERS, re.DOTALL)
    assert dashes
    assert shapes
    for forms in (json.loads(dashes[1]), re.findall(r'"(.*?)"', shapes[1])):
        assert len(forms) == len(racers("light")) == len(racers("dark"))
        assert all(first != second for first, second in combinations(forms, 2))
    assert 'kind === "wrong" ? [dash, gap] : []' in EDGES
    assert re.search(r"edges: leaving, .*dash: \[7, 5\]", PRUNE)
    assert "crosses: leaving" in PRUNE


def test_every_colour_of_palette_is_documented_once() -> None:
    page = (ROOT / "docs/accessibility.md").read_text(encoding="utf-8")
    table = page.partition("## Meanings of colours")[2].partition("##")[0]
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    defined = re.findall(r"(\w+): \[", CORE.partition("ON_LIGHT = {")[2].partition("};")[0])
    assert sorted(listed) == sorted(defined)
