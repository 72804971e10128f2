"""Pages whose run takes longer than they wait for its first value at a time."""

from __future__ import annotations

import pytest
from app_pages import open_page

from graftviz.ui.frame import jobs


@pytest.mark.parametrize("page", ["budget", "dynamics"])
def test_a_first_value_that_takes_long_is_shown_in_the_end(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_AT_ONCE", 0.0)
    monkeypatch.setattr(jobs, "_FIRST_VALUE", 0.001)
    app = open_page(page, seed="4711")
    assert not [info.value for info in app.info if "Computing" in info.value]
    assert any(part.proto.component_name.endswith(page) for part in app.get("bidi_component"))
