"""Griffe extension of the reference: docstrings and signatures as the site needs them.

Roles of reStructuredText become links, options that are filled in at import are filled in, and
defaults are written as values, also those of constants and of the options of learners.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
from typing import Any

from griffe import (
    AliasResolutionError,
    Attribute,
    Expr,
    ExprCall,
    Extension,
    Function,
    Module,
    NameResolutionError,
    Object,
)

_ROLE = re.compile(r":(?:func|class|meth|attr|mod|data|exc):`(~?)([\w.]+)`")
_CONSTANT = re.compile(r"_?[A-Z][A-Z_]+")


class SiteDocstrings(Extension):
    """Extension for docstrings with roles of reStructuredText, and for named defaults."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Complete the docstring of an object, and replace its roles."""
        if not obj.docstring or obj.is_alias:
            return
        text = obj.docstring.value
        if "{options}" in text:
            value = getattr(importlib.import_module(obj.module.path), obj.name)
            text = inspect.getdoc(value) or ""
        obj.docstring.value = _ROLE.sub(lambda role: _link(obj, role), text)

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Write the values of constants into the signatures."""
        _fill_defaults(pkg)


def _link(obj: Object, role: re.Match[str]) -> str:
    """Return the link of a role, which is plain text if its object has no place in the site."""
    short, name = role[1], role[2]
    try:
        target = name if name.startswith("graftviz.") else obj.resolve(name)
    except (NameResolutionError, AliasResolutionError):
        target = name
    text = name.rpartition(".")[2] if short else name
    return f'<autoref identifier="{target}" optional><code>{text}</code></autoref>'


def _fill_defaults(obj: Object) -> None:
    """Replace defaults by their values, in `obj` and in what it contains."""
    for member in obj.members.values():
        if member.is_alias:
            continue
        if isinstance(member, Function):
            for parameter in member.parameters:
                parameter.default = _value(member, parameter.default)
        elif isinstance(member, Attribute) and isinstance(member.value, ExprCall):
            # A field of a learner: the default is first, or None in functions that several share.
            name = str(member.value.function)
            if name == "option":
                member.value = _value(member, member.value.arguments[0])
            elif name.endswith("_option"):
                member.value = "None"
        elif isinstance(member, Object):
            _fill_defaults(member)


def _value(obj: Object, default: str | Expr | None) -> str | Expr | None:
    """Return the value of a default that names a constant, other defaults unchanged."""
    name = str(default)
    if _CONSTANT.fullmatch(name):
        with contextlib.suppress(KeyError, NameResolutionError, AliasResolutionError):
            value: str | Expr | None = obj.modules_collection[obj.resolve(name)].value
            return value
    return default
