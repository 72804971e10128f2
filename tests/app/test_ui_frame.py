"""Header of the pages: title, headline, link, help and files."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from app_pages import QUICK, open_page
from streamlit.testing.v1 import AppTest
from waiting import wait_until

import graftviz
from graftviz.app.budget import budget_files
from graftviz.app.regions import region_files
from graftviz.reports.texts import page_text

# Page → its file that is a table.
TABLES = {
    "grow": "edges.csv",
    "race": "race.csv",
    "reservoir": "reservoir.csv",
    "regions": "region.csv",
    "prune": "trace.csv",
    "budget": "budget.csv",
    "dynamics": "matrix.csv",
    "inspect": "edges.csv",
}
LONGEST_HEADLINE = 200


def opened(page: str, *menus: str) -> AppTest:
    """Return a page with menus open."""
    app = open_page(page, **QUICK[page])
    for menu in menus:
        app.session_state[f"{page}.{menu}"] = True
    return app.run()


def files_of(app: AppTest) -> list[str]:
    """Return the keys of all buttons that download a file."""
    return [button.key or "" for button in app.get("download_button")]


def test_every_text_belongs_to_a_page() -> None:
    folder = Path(graftviz.__file__).parent / "reports" / "texts" / "en" / "pages"
    assert {path.stem for path in folder.iterdir()} == set(QUICK)
    for page in QUICK:
        text = page_text(page)
        assert text.headline
        assert not re.search(r"\{[a-z ]+\}$", text.explanation), "a placeholder is not filled in"


@pytest.mark.parametrize("page", QUICK)
def test_every_page_has_title_headline_link_and_help(page: str) -> None:
    app = opened(page, "link")
    headline = app.main.markdown[0].value
    assert headline.startswith(f"**{page.title()}** · ")
    assert len(headline) < LONGEST_HEADLINE
    wait_until(lambda: len(app.code) > 0, 60, pause=app.run)  # Inspect needs its model first
    assert app.code[-1].value.startswith("http")
    app.button(key=f"{page}.help").click().run()
    assert any(len(text.value) > LONGEST_HEADLINE for text in app.markdown)


@pytest.mark.parametrize("page", QUICK)
def test_menus_have_content_only_while_open(page: str) -> None:
    assert not any(key.startswith(f"{page}.download.") for key in files_of(opened(page)))
    app, table = opened(page, "download"), TABLES.get(page)
    if table:  # a page that is still learning has its files later
        wait_until(lambda: f"{page}.download.{table}" in files_of(app), 60, pause=app.run)
    else:
        assert not any(".download." in key for key in files_of(app))


def test_region_and_budget_tables_have_a_row_per_step() -> None:
    regions, budget = opened("regions"), opened("budget")
    region_file, *_ = region_files(regions.session_state["regions"])
    budget_file, *_ = budget_files(budget.session_state["budget"])
    region = list(csv.DictReader(io.StringIO(str(region_file.build()))))
    steps = list(csv.DictReader(io.StringIO(str(budget_file.build()))))
    assert [int(row["size"]) for row in region] == list(range(1, len(region) + 1))
    assert len({row["variable"] for row in region}) == len(region) > 1
    for row in region:
        assert 0 <= float(row["bound"]) <= 1
        shares = [float(value) for name, value in row.items() if name.startswith("p(")]
        assert sum(shares) == pytest.approx(1.0)
    assert [int(row["step"]) for row in steps] == list(range(len(steps)))
    assert all(float(row["complexity"]) <= 1 for row in steps)
    assert len(steps) > 2
