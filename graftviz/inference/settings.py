"""Settings of all inference methods."""

from __future__ import annotations

from typing import Literal, NamedTuple

from graftviz.utils.errors import InputError


class InferenceSettings(NamedTuple):
    """Settings of an inference method; see :func:`graftviz.inference.infer`.

    Attributes
    ----------
    tolerance : float
    max_sweeps : int
    damping : float or "auto"
    max_memory : int or None
        Bytes; None: 80 % of the free memory.
    reweighting : int
    starts : int
    seed : int
    """

    tolerance: float = 1e-9
    max_sweeps: int = 500
    damping: float | Literal["auto"] = "auto"
    max_memory: int | None = None
    reweighting: int = 0
    starts: int = 5
    seed: int = 0

    def check(self) -> None:
        """Raise an InputError for settings out of range.

        Raises
        ------
        InputError
        """
        if not self.tolerance >= 0.0:
            raise InputError(f"The tolerance must be at least 0; got {self.tolerance:g}.")
        if self.max_sweeps < 1:
            raise InputError(f"The number of sweeps must be at least 1; got {self.max_sweeps}.")
        if isinstance(self.damping, str):
            if self.damping != "auto":
                raise InputError(f"Damping is a number or 'auto', not {self.damping!r}.")
        elif not 0.0 <= self.damping < 1.0:
            raise InputError(f"Damping must be at least 0 and less than 1; got {self.damping:g}.")
        if self.max_memory is not None and self.max_memory < 1:
            raise InputError(f"The memory limit must be at least 1 byte; got {self.max_memory}.")
        if self.reweighting < 0:
            raise InputError(
                f"The number of reweighting steps must be at least 0; got {self.reweighting}."
            )
        if self.starts < 1:
            raise InputError(f"The number of starts must be at least 1; got {self.starts}.")
