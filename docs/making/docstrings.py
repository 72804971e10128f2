"""Griffe extension of the reference: docstrings as the site needs them.

Roles of reStructuredText become links, and options that are filled in at import are filled in.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from griffe import AliasResolutionError, Extension, NameResolutionError, Object

_ROLE = re.compile(r":(?:func|class|meth|attr|mod|data|exc):`(~?)([\w.]+)`")


class SiteDocstrings(Extension):
    """Extension that replaces roles such as ``:func:`learn``` by links, where there is a page."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Complete the docstring of an object, and replace its roles."""
        if not obj.docstring or obj.is_alias:
            return
        text = obj.docstring.value
        if "{options}" in text:
            value = getattr(importlib.import_module(obj.module.path), obj.name)
            text = inspect.getdoc(value) or ""
        obj.docstring.value = _ROLE.sub(lambda role: _link(obj, role), text)


def _link(obj: Object, role: re.Match[str]) -> str:
    """Return the link of a role, which is plain text if its object has no place in the site."""
    short, name = role[1], role[2]
    try:
        target = name if name.startswith("graftviz.") else obj.resolve(name)
    except (NameResolutionError, AliasResolutionError):
        target = name
    text = name.rpartition(".")[2] if short else name
    return f'<autoref identifier="{target}" optional><code>{text}</code></autoref>'
