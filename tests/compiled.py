"""Kernels that have been compiled in this process, and for which types."""

from __future__ import annotations

import sys

from numba.core.dispatcher import Dispatcher


def signatures() -> dict[str, set[str]]:
    """Return the signatures of the kernels of all loaded modules."""
    kernels = {
        id(value): value
        for name, module in list(sys.modules.items())
        if name.startswith("graftviz.")
        for value in list(vars(module).values())
        if isinstance(value, Dispatcher)
    }
    return {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__}": {
            str(signature) for signature in kernel.signatures
        }
        for kernel in kernels.values()
    }
