"""Shared helpers of the table tests."""

from __future__ import annotations

import io
from typing import Any

import pytest

from graftviz import InputError, read_table


def upload(name: str, content: bytes) -> io.BytesIO:
    """Return a binary file object that has a name, as uploads have."""
    file = io.BytesIO(content)
    file.name = name
    return file


def refusal(source: Any, **options: Any) -> str:
    """Return the sentence with which a source is refused."""
    with pytest.raises(InputError) as caught:
        read_table(source, **options)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence
