"""Decorator of kernels that only other kernels call.

numba compiles a wrapper of each kernel for Python, about a tenth of its compilation. Without the
wrapper a call from Python would crash the process, so a test looks for such calls.
"""

from __future__ import annotations

from typing import Any

from numba import njit

NO_WRAPPER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner_kernel = njit(cache=True, nogil=True, **NO_WRAPPER)
