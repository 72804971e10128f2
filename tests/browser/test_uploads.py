"""Uploads that the server refuses: the page says why, in one sentence, and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served_app import served_app
from waiting import eventually

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.sync_api")

LIMITS = "upload_memory = 2\nsession_uploads = 3\n"
ROWS = "0,1,0\n1,0,1\n1,1,0\n0,0,1\n"
EXPECTED = "This page holds 2 MB of uploaded files, and a page may hold 3 MB"


@pytest.fixture(scope="module")
def small_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an app with small limits."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "limits.toml").write_text(LIMITS)
    environment = {"GRAFTVIZ_LIMITS": str(folder / "limits.toml")}
    with served_app(folder / "log", environment=environment) as url:
        yield url
    assert "Traceback" not in (folder / "log").read_text(errors="replace")


def test_a_file_too_many_is_refused_in_a_sentence(
    small_address: str, open_page: Any, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b,c\n" + ROWS * 80_000)
    page = open_page()
    page.goto(small_address + "?data=upload")
    uploaders = page.locator("[data-testid=stFileUploader]")
    uploaders.nth(2).wait_for(timeout=300_000)
    page.locator("input[type=file]").nth(0).set_input_files(str(table))
    page.wait_for_url("**fingerprint=**")
    before = page.url
    page.locator("input[type=file]").nth(2).set_input_files(str(table))
    alert = page.locator("[data-testid=stAlert]", has_text=EXPECTED)
    alert.wait_for()
    assert alert.inner_text().strip().count(".") == 1
    assert page.url == before
    # Browsers log the status of the refused request, and Streamlit an error of its own.
    open_page.troubles[:] = [t for t in open_page.troubles if "413" not in t]
    remove = uploaders.nth(0).get_by_role("button", name="Remove table.csv")
    eventually(page, lambda: is_clicked(remove) or open_own_data(page))
    eventually(page, lambda: "table.csv" not in uploaders.nth(0).inner_text())
    eventually(page, lambda: alert.count() == 0)


def is_clicked(button: Any) -> bool:
    """Click a button; return False if it is out of sight, or its form is closing."""
    try:
        button.click(timeout=2000)
    except playwright.TimeoutError:
        return False
    return True


def open_own_data(page: Any) -> None:
    """Open the form, which the page closes some time after a file has arrived."""
    page.locator("details:not([open]) summary", has_text="Your own data").evaluate_all(
        "summaries => summaries.forEach((summary) => summary.click())"
    )
