"""Sentences about a growing region: steps, bounds, stopping reasons and influence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graftviz.inference.local.marginal import Expansion
from graftviz.reports.words.phrases import plural, short

_SMALLEST_PLAIN = 1e-4


def bound_text(bound: float) -> str:
    """Format a bound with two digits, rounded up so that it stays valid."""
    if bound <= 0.0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(bound)) - 1)
    rounded = min(1.0, math.ceil(bound / unit - 1e-9) * unit)
    return f"{rounded:.1e}" if rounded < _SMALLEST_PLAIN else f"{float(f'{rounded:.3g}'):g}"


def headline(
    bound: float | None, size: int, n: int, *, is_exact: bool = True, is_useless: bool = False
) -> str:
    """Return the headline of a step: the certified error bound, or why there is none.

    Parameters
    ----------
    bound : float or None
        None when it is vacuous.
    size, n : int
        Numbers of nodes in the region and in the network.
    is_exact : bool
        Whether inference inside the region is exact.
    is_useless : bool
        Whether the bound, though below 1, excludes no probability from 0 to 1.
    """
    used = f"with {size:,} of {plural(n, 'node')}"
    if not is_exact:
        return f"Not certified {used}: exact inference in the region needs too much memory"
    if bound is None:
        return f"Not certified {used}: vacuous bound"
    if is_useless:
        return f"Not certified {used}: ±{bound_text(bound)} excludes no probability"
    if bound == 0.0:
        return f"Exact {used}: no edge is cut"
    return f"Certified to ±{bound_text(bound)} {used}"


def meaning(
    bound: float | None, size: int, n: int, *, is_exact: bool = True, is_useless: bool = False
) -> str:
    """Explain :func:`headline`; the parameters are the same."""
    rest = n - size
    if not is_exact:
        return "The estimate comes from belief propagation in the region, which has no error bound."
    if bound is None or is_useless:
        return "The bound is vacuous: the cut-off part could change the answer completely."
    if bound == 0.0:
        return "The region is the whole component, so the answer is exact."
    return (
        f"Regardless of the other {plural(rest, 'node')}, the true probability is within "
        f"{bound_text(bound)} of this estimate."
    )


def shown_bound_words(bound: float | None, size: int) -> str:
    """Describe the bound of the region that is shown, where a smaller region has a better one."""
    if bound is None:
        return f"With the {plural(size, 'node')} shown the bound is vacuous."
    return f"With the {plural(size, 'node')} shown the bound is {bound_text(bound)}."


def joining_words(
    names: Sequence[str],
    added: int,
    candidates: Sequence[int],
    bounds: Sequence[float | None],
    *,
    expansion: Expansion,
) -> str:
    """Name the node that was added to the region, and the reason.

    Parameters
    ----------
    names : sequence of str
        Names of all variables.
    added : int
    candidates, bounds : sequences
        Candidates, and the bound with each of them added; None is vacuous.
    expansion : {"greedy", "random", "norm"}
    """
    name, count = short(names[added]), len(candidates)
    if count <= 1:
        return f"Added {name}, the only candidate."
    if expansion == "random":
        return f"Added {name}, drawn at random from {count:,} candidates."
    if expansion == "norm":
        return f"Added {name}: strongest edge into the region among {count:,} candidates."
    bound_of = dict(zip(candidates, bounds, strict=True))
    own = bound_of.get(added)
    others = sorted(b for i, b in bound_of.items() if i != added and b is not None)
    if own is None and not others:
        return f"Added {name}: the bound stays vacuous with each of the {count:,} candidates."
    if own is None or (others and own > others[0]):
        return (
            f"Added {name}: none of the {count:,} candidates lowers the bound noticeably; "
            f"{name} has the most influence on the query."
        )
    if not others:
        return f"Added {name}: of {count:,} candidates, the only one with a bound below 1."
    return (
        f"Added {name}: smallest bound among {count:,} candidates "
        f"({bound_text(own)}; runner-up {bound_text(others[0])})."
    )


def start_words(name: str, cut: int) -> str:
    """Describe the region that contains only the query."""
    if cut == 0:
        return f"{short(name)} has no edges, so the region contains only this variable."
    edges = "its edge is cut" if cut == 1 else f"its {cut:,} edges are cut"
    return f"The region contains only {short(name)}; {edges}."


def change_words(before: float | None, after: float | None) -> str:
    """Describe the change of the bound; None is vacuous."""
    if after is None:
        return "The bound is vacuous." if before is None else "The bound is vacuous again."
    if before is None:
        return f"The bound is now {bound_text(after)}."
    if bound_text(before) == bound_text(after):
        return f"The bound stays at {bound_text(after)}."
    verb = "fell" if after < before else "rose"
    return f"The bound {verb} from {bound_text(before)} to {bound_text(after)}."


def stop_words(reason: str, bounds: Sequence[float | None]) -> str:
    """Return why growth stopped, and the best size if a smaller region has a smaller bound."""
    proven = [bound for bound in bounds if bound is not None]
    if not reason or not proven or bounds[-1] == min(proven):
        return reason
    size = bounds.index(min(proven)) + 1
    best = bound_text(min(proven))
    return f"{reason} The best bound, {best}, was at size {size}; use that estimate."


def truth_words(width: int, entries: float, most: float) -> str:
    """Explain why exact inference is not run: its cost, and the limit of the page."""
    return (
        f"Exact inference is infeasible here (elimination width {width}, {_large(entries)} states; "
        f"limit {_large(most)}), so the actual error is unknown."
    )


def coefficient_words(c: float, radius: int | None, tolerance: float) -> str:
    """Explain Dobrushin's coefficient of the whole network.

    Parameters
    ----------
    c : float
    radius : int or None
        Distance beyond which edges may be cut for `tolerance`, from c alone; None if c
        gives no such distance.
    tolerance : float
    """
    if c >= 1.0:
        return _unbroken(
            f"c = {c:.2f} (largest total influence on any node). Only c < 1 guarantees that "
            "influence decays with distance; a particular region may still get a useful bound."
        )
    reach = (
        ""
        if radius is None
        else f" From c alone, all nodes within {plural(radius, 'edge')} would be needed for "
        f"±{bound_text(tolerance)}."
    )
    return _unbroken(
        f"c = {c:.2f} < 1 (largest total influence on any node), so influence decays with "
        f"distance.{reach}"
    )


def _unbroken(text: str) -> str:
    """Keep formulas on one line."""
    return text.replace(" = ", "\u00a0=\u00a0").replace(" < ", "\u00a0<\u00a0")


def _large(count: float) -> str:
    for size, word in ((1e15, ""), (1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if count >= size:
            return f"{count / size:.3g}{word}" if word else f"about 10^{math.log10(count):.0f}"
    return f"{count:,.0f}"
