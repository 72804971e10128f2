"""Sentences of stop reasons and notes of learners; the templates are in ``ends.toml``."""

from __future__ import annotations

from string import Formatter
from typing import Any

from graftviz.learning.trace import Remark
from graftviz.reports.texts import catalogue
from graftviz.utils.wording import enough_digits

_BELOW = "below "


class _Words(Formatter):
    """Formatter of templates, with remarks as values.

    ``{score:below 1}`` has at least three digits, and enough to show that it is below 1.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Remark):
            return remark_words(value)
        if format_spec.startswith(_BELOW):
            limit = float(format_spec.removeprefix(_BELOW))
            format_spec = f".{enough_digits(value, lambda written: written < limit)}g"
        return format(value, format_spec)


_WORDS = _Words()


def remark_words(remark: Remark) -> str:
    """Return a stop reason or a note of a learner as a sentence."""
    part, key = remark.kind.split(".")
    template = catalogue("ends")[part][key]
    if not isinstance(template, str):  # one for a single thing, one for several
        template = template[remark.values["count"] != 1]
    return _WORDS.vformat(template, (), remark.values)
