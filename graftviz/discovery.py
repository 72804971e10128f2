"""Discovery of what the modules of a package define, for registries without a list of names."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def values_in(package: ModuleType) -> Iterator[Any]:
    """Iterate over the values of all names in the modules of a package."""
    for info in pkgutil.iter_modules(package.__path__, prefix=f"{package.__name__}."):
        yield from vars(importlib.import_module(info.name)).values()


def named_classes(package: ModuleType, kind: Any) -> dict[str, Any]:
    """Return the subclasses of `kind` with a name in the modules of a package, sorted by name.

    Raises
    ------
    TypeError
        If two classes have the same name.
    """
    classes: dict[str, Any] = {}
    for value in values_in(package):
        if (
            isinstance(value, type)
            and issubclass(value, kind)
            and (name := getattr(value, "name", ""))
        ):
            other = classes.setdefault(name, value)
            if other is not value:
                raise TypeError(f"{other.__module__} and {value.__module__} both define {name!r}.")
    return dict(sorted(classes.items()))


def later(module: str) -> Any:
    """Return a module that is imported when a method that needs it is called.

    For methods of low-level classes that are implemented on top of them, such as
    ``PairwiseMRF.predict``, and for libraries that are large and rarely needed.
    """
    return importlib.import_module(module)
