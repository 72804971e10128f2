"""Settings of all inference methods, and message passing with adaptive damping.

There is no damping while message passing converges, and more when it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from graftviz.utils.errors import InputError

# Sweeps between checks of the residual: a multiple of the kernels' refresh interval, and even,
# because kernels alternate between forward and backward sweeps.
_STRETCH = 16
_LEVELS = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95)
_FALLS = 0.999  # a residual above this share of the best one so far is not decreasing
# An increasing residual below this comes from messages leaving an unstable fixed point, which
# damping would only slow down; that of growing oscillations will exceed it.
_LEAVES = 0.05
_ROUGH = 1e-3  # above this residual, marginals are unreliable
# (previous sweeps, largest number of new sweeps, tolerance, damping) -> (new sweeps, residual)
Sweep = Callable[[int, int, float, float], tuple[int, float]]


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


class Passing(NamedTuple):
    """Outcome of message passing.

    Attributes
    ----------
    sweeps : int
    residual : float
        Largest relative change of a message in the last sweep.
    damping : float
        Damping in the last sweep.
    converged : bool
    """

    sweeps: int
    residual: float
    damping: float
    converged: bool


def pass_damped(
    sweep: Sweep,
    settings: InferenceSettings,
    after_stretch: Callable[[], None] | None = None,
) -> Passing:
    """Pass messages with constant damping, or with more whenever the residual stops decreasing.

    Parameters
    ----------
    sweep : callable
        Makes sweeps until the residual is at most the tolerance.
    after_stretch : callable, optional
        Called after every 16 sweeps.
    """
    tolerance, most = settings.tolerance, settings.max_sweeps
    automatic = isinstance(settings.damping, str)
    level, best, done, residual = 0, float("inf"), 0, float("inf")
    damping = _LEVELS[level] if automatic else float(settings.damping)
    while done < most and not residual <= tolerance:
        last = residual
        sweeps, residual = sweep(done, min(_STRETCH, most - done), tolerance, damping)
        done += sweeps
        if after_stretch is not None:
            after_stretch()
        if last < residual < _LEAVES:
            best = residual
        elif automatic and residual > _FALLS * best and level + 1 < len(_LEVELS):
            level += 1
            damping = _LEVELS[level]
            best = float("inf")
        else:
            best = min(best, residual)
    return Passing(done, residual, damping, residual <= tolerance)


def passing_notes(name: str, passing: Passing) -> tuple[str, ...]:
    """Return remarks on convergence and damping, in sentences."""
    notes = []
    if not passing.converged:
        sweeps = "1 sweep" if passing.sweeps == 1 else f"{passing.sweeps} sweeps"
        worth = (
            "; the marginals may be far off." if passing.residual > _ROUGH else ", nearly settled."
        )
        notes.append(
            f"{name} did not converge after {sweeps}: the largest relative change of a message is "
            f"still {passing.residual:.2g}{worth}"
        )
    if passing.damping > 0.0:
        notes.append(
            f"Messages were damped, in the end with weight {passing.damping:.0%} of the old."
        )
    return tuple(notes)
