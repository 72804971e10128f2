"""Text from outside stays text."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from graftviz.wording import plain


@given(st.text())
def test_every_special_character_is_escaped_and_nothing_is_lost(text: str) -> None:
    shown = plain(text)
    assert re.sub(r"\\(.)", r"\1", shown) == " ".join(re.split(r"\s+", text)).strip()
    assert not re.search(r"(?<!\\)(?:\\\\)*[\[\]()<>*_`$!~#|]", shown)
    assert "\n" not in shown
