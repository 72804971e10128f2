"""How much of the old messages to keep: nothing while that works, more when it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graftviz.inference.settings import InferenceSettings

# Sweeps between looks at the residual: a multiple of what the kernels do between refreshes, and
# even, because they go there and back.
_STRETCH = 16
_LEVELS = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95)
_FALLS = 0.999  # a residual not below this share of the best one so far does not fall
# Below this a residual that rises is that of messages leaving an unstable fixed point, which
# damping would only draw out; a swing that rises will get above it.
_LEAVES = 0.05
_ROUGH = 1e-3  # a residual above which marginals are not to be relied on

# (sweeps made so far, sweeps to make at most, tolerance, damping) -> (sweeps made, residual)
Sweep = Callable[[int, int, float, float], tuple[int, float]]


class Passing(NamedTuple):
    """How message passing went.

    Attributes
    ----------
    sweeps : int
    residual : float
        Largest relative change of a message in the last sweep.
    damping : float
        Of the last sweep.
    converged : bool
    """

    sweeps: int
    residual: float
    damping: float
    converged: bool


def pass_damped(
    sweep: Sweep,
    settings: InferenceSettings,
    look: Callable[[], None] | None = None,
) -> Passing:
    """Pass messages with constant damping, or with more whenever the residual stops falling.

    Parameters
    ----------
    sweep : callable
        Makes sweeps until its residual is at most the tolerance it is given.
    look : callable, optional
        Called after every stretch of sweeps.
    """
    tolerance, most = settings.tolerance, settings.max_sweeps
    automatic = isinstance(settings.damping, str)
    level, best, done, residual = 0, float("inf"), 0, float("inf")
    damping = _LEVELS[level] if automatic else float(settings.damping)
    while done < most and not residual <= tolerance:
        last = residual
        made, residual = sweep(done, min(_STRETCH, most - done), tolerance, damping)
        done += made
        if look is not None:
            look()
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
    """Return what people should know of how it went, in sentences."""
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
        notes.append(f"Messages were damped: in the end {passing.damping:.0%} of the old was kept.")
    return tuple(notes)
