"""The documentation agrees with the project: pages, tables, commands, pictures, links."""

from __future__ import annotations

import re
import shlex
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from docs.making import scenes
from docs.making.__main__ import DATA, DOCS, PICTURES, TEXTS
from docs.making.results import with_counts, with_results
from docs.making.tables import with_tables
from graftviz.__main__ import main
from graftviz.dynamics.learners import LEARNERS
from graftviz.inference.methods import METHODS
from graftviz.learning.registry import learner_names

ROOT = DOCS.parent
PAGES = {path.stem: path for path in sorted(DOCS.glob("methods/*.md")) if path.stem != "README"}
MANUALS = [ROOT / "README.md", ROOT / "sample_data" / "README.md", *sorted(DOCS.glob("**/*.md"))]
COMMAND = re.compile(r"<!-- command -->\n```sh\n(.*?)\n```\n<!-- end -->", re.DOTALL)
MOST_LINES, MOST_BYTES = 120, 40_000
# Pictures that are drawn quickly, also without compiled kernels.
CHEAP = ("edge-grafting", "chow-liu", "exact", "bp", "dynamics-dense", "dynamics-enforcing")

every_page = pytest.mark.parametrize("name", PAGES)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_every_method_has_a_page_and_is_in_the_index():
    dynamics = {f"dynamics-{name}" for name in LEARNERS}
    assert set(PAGES) == {*learner_names(), *METHODS, *dynamics, "localized"}
    linked = re.findall(r"\]\(([\w-]+)\.md\)", text_of(DOCS / "methods" / "README.md"))
    assert set(linked) == set(PAGES)


@every_page
def test_page_has_all_its_parts(name):
    page = text_of(PAGES[name])
    assert len(page.splitlines()) <= MOST_LINES
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == [
        *("The idea", "The formulas", "Options", "On the command line", "When it fails")
    ]
    assert [p for p in re.findall(r"!\[([^\]]*)\]\(pictures/", page) if len(p) > 40]
    assert f"](pictures/{name}.svg)" in page
    assert "$$" in page
    assert "\nSource: " in page
    own = {f"learner {name}", f"dynamics {name.removeprefix('dynamics-')}", "local"}
    marks = re.findall(r"<!-- options: (.*) -->", page)
    assert own & set(marks) or marks[0].startswith("infer ")


@every_page
def test_formulas_are_not_changed_by_markdown(name):
    """Check for formulas that Markdown changes: `\\,` and lines that look like a list."""
    formulas = re.findall(r"\$\$?[^$]+\$\$?", text_of(PAGES[name]))
    assert formulas
    assert [formula for formula in formulas if re.search(r"\\[^A-Za-z]", formula)] == []
    assert [formula for formula in formulas if re.search(r"^\s*[-+=#>*] ", formula, re.M)] == []
    assert all(formula.count("{") == formula.count("}") for formula in formulas)


def test_quoted_numbers_are_in_results():
    results = text_of(DOCS / "reproduction.md")
    quotes = 0
    for path in [ROOT / "README.md", *sorted(DOCS.glob("**/*.md"))]:
        for name, quoted in re.findall(r"\(`([\w.-]+)`: ([^)]*)\)", text_of(path)):
            section = re.search(rf"^### `{re.escape(name)}`.*?(?=^##|\Z)", results, re.M | re.S)
            if section is None:
                continue
            numbers = re.findall(r"(?<![\w.])0\.\d+", quoted)
            assert [number for number in numbers if number not in section[0]] == [], (
                f"{path.name}: {name}"
            )
            quotes += len(numbers)
    assert quotes > 10


def test_counts_of_verdicts_match_tables():
    page = text_of(DOCS / "reproduction.md")
    assert "statements" in with_counts(page)
    assert with_counts(page) == page, "run `python -m docs.making.results`"


def test_statements_that_are_not_the_papers_are_counted_apart():
    rows = ["| A. | held, met 1 of 1 | 1 |", "| Not in the paper: B. | **in part** | 2 |"]
    page = with_counts("\n".join(["<!-- counted -->", "<!-- end -->", *rows, ""]))
    assert (
        "1 verdict on statements of the papers (some on several data or settings): held: 1" in page
    )
    assert "1 further statement, marked" in page
    assert "held: 0; held in part: 1; did not hold: 0" in page


def test_runs_of_an_experiment_on_several_data_sets_become_one_section():
    claim = {"claim": "A|B", "held": True, "judged": 2, "met": 2, "measured": "1 (a), 2 (b)"}
    run = {"experiment": "x", "title": "T", "place": "P", "date": "2026-01-02", "claims": [claim]}
    commands = ("reproduce x", "reproduce x --data series=/where/it/is.npz")
    page = "# Page\n\n### `x`: old\n\nOld.\n\n### `y`: next\n\nMore.\n"
    more = {"claim": "C", "held": True, "judged": 2, "met": 2, "measured": "3 (a)"}
    renewed = with_results(
        page,
        [
            {**run, "command": commands[0]},
            {**run, "command": commands[1], "claims": [claim, more]},  # `claim` measured again
        ],
    )
    assert renewed.startswith("# Page\n\n### `x`: T\n\nP.\n\n`reproduce x`, 2026-01-02\n")
    assert renewed.endswith("\n\n### `y`: next\n\nMore.\n")
    assert renewed.count("| held, met 2 of 2 |") == 2
    assert "series=FILE" in renewed
    assert "/where" not in renewed
    assert "P. `reproduce x`, 2026-01-02\n" in with_results(page, [{**run, "command": commands[0]}])


def test_tables_of_options_are_current():
    stale = [path.name for path in MANUALS if with_tables(text_of(path)) != text_of(path)]
    assert stale == [], "run `python -m docs.making`"
    page = text_of(PAGES["best-choice"])
    assert with_tables(page.replace("`0.95`", "`0.9`")) == page
    assert "| `--max-size` |" in text_of(PAGES["localized"])


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """Folder with the files that the commands of the pages read."""
    folder = tmp_path_factory.mktemp("workshop")
    for place in ("sample_data/survey", "sample_data/grid-8x8", "docs/methods/data"):
        shutil.copytree(ROOT / place, folder / place)
    return folder


@every_page
def test_command_of_page_runs(name, workshop, monkeypatch, capsys):
    monkeypatch.chdir(workshop)
    found = COMMAND.search(text_of(PAGES[name]))
    assert found
    program, *words = shlex.split(found[1])
    assert (program, words[:2]) == (".venv/bin/python", ["-m", "graftviz"])
    assert main(words[2:]) == 0
    assert capsys.readouterr().out
    if "--out" in words:
        assert list((workshop / words[words.index("--out") + 1]).iterdir())


@pytest.mark.parametrize("name", TEXTS)
def test_generated_pages_are_current(name):
    assert text_of(DOCS / name) == TEXTS[name](), "run `python -m docs.making`"


def test_every_screenshot_is_taken_by_the_script():
    picture = r"!\[([^\]]*)\]\((?:docs/)?images/([\w-]+\.png)\)"
    shown = [found for path in MANUALS for found in re.findall(picture, text_of(path))]
    assert {name for _, name in shown} == set(scenes.SCENES)
    assert [words for words, _ in shown if len(words) < 40] == []
    taken = {path.name: path.stat().st_size for path in (DOCS / "images").iterdir()}
    assert set(taken) == set(scenes.SCENES)
    assert max(taken.values()) <= scenes.MOST_BYTES


def structure(svg: str) -> list[tuple[str, str]]:
    """Return the tags of a drawing, and its texts without numbers."""
    elements = ET.fromstring(svg).iter()
    return [(e.tag, re.sub(r"[\d.]+", "#", e.text or "").strip()) for e in elements]


def test_pictures_are_complete_small_and_titled():
    drawn = {str(path.relative_to(DOCS)) for path in DOCS.glob("**/*.svg")}
    assert drawn == set(PICTURES)
    for name in PICTURES:
        svg = text_of(DOCS / name)
        assert len(svg.encode()) < MOST_BYTES, name
        assert structure(svg)[1][0].endswith("title"), name
        assert 'fill="#ffffff"' in svg.splitlines()[2], "white background for dark pages"


@pytest.mark.parametrize("name", CHEAP)
def test_pictures_match_runs(name):
    path = f"methods/pictures/{name}.svg"
    assert structure(PICTURES[path]()) == structure(text_of(DOCS / path))


def test_sample_series_match_system():
    parents, series = "methods/data/parents.csv", "methods/data/series.csv"
    assert DATA[parents]() == text_of(DOCS / parents)
    generated, stored = (
        np.array([line.split(",") for line in text.splitlines()[1:]], dtype=float)
        for text in (DATA[series](), text_of(DOCS / series))
    )
    assert np.allclose(generated, stored, atol=2e-3)


def anchors(page: str) -> set[str]:
    """Return the anchors of headings: lower case, without punctuation, hyphens for spaces."""
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: Path) -> list[str]:
    """Return relative links of a page to missing files or headings."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text_of(path), flags=re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = path.parent / name if name else path
        if not linked.exists() or (anchor and anchor not in anchors(text_of(linked))):
            broken.append(target)
    return broken


@pytest.mark.parametrize("path", MANUALS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_have_targets(path):
    assert broken_links(path) == []
