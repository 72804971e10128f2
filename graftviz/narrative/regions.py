"""A growing region told in words: what joined and why, what is promised, and what is not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graftviz.narrative.phrases import plural, short

_SMALLEST_PLAIN = 1e-4


def bound_text(bound: float) -> str:
    """Write a bound with two digits, rounded up: a certificate must not promise too much."""
    if bound <= 0.0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(bound)) - 1)
    rounded = min(1.0, math.ceil(bound / unit - 1e-9) * unit)
    return f"{rounded:.1e}" if rounded < _SMALLEST_PLAIN else f"{float(f'{rounded:.3g}'):g}"


def headline(
    bound: float | None, size: int, n: int, *, is_exact: bool = True, says_nothing: bool = False
) -> str:
    """Say what is certified, in the words of a headline.

    Parameters
    ----------
    bound : float or None
        None when it is vacuous.
    size, n : int
        Nodes in the region and in all.
    is_exact : bool
        Whether the region was answered by exact inference.
    says_nothing : bool
        Whether the bound, though below 1, leaves every probability possible.
    """
    reach = f"after {size:,} of {plural(n, 'node')}"
    if not is_exact:
        return f"Not certified {reach}: the region is too wide for exact inference"
    if bound is None:
        return f"Not certified {reach}: the bound is vacuous"
    if says_nothing:
        return f"Nothing certified {reach}: ±{bound_text(bound)} leaves every probability possible"
    if bound == 0.0:
        return f"Exact {reach}: nothing is cut off"
    return f"Certified to ±{bound_text(bound)} {reach}"


def meaning(
    bound: float | None, size: int, n: int, *, is_exact: bool = True, says_nothing: bool = False
) -> str:
    """Say what :func:`headline` means; the parameters are the same."""
    rest = n - size
    if not is_exact:
        return "Belief propagation answered within the region, and for that there is no guarantee."
    if bound is None or says_nothing:
        return "As far as is proven yet, what was cut off could still turn the answer around."
    if bound == 0.0:
        return "No edge leaves the region, so no other node has a say in the answer."
    others = f"the {plural(rest, 'node')} outside {'is' if rest == 1 else 'are'} like"
    return f"Whatever {others}, the true probability lies within {bound_text(bound)} of the answer."


def joining_words(
    names: Sequence[str],
    added: int,
    candidates: Sequence[int],
    bounds: Sequence[float | None],
    *,
    expansion: str,
) -> str:
    """Say who joined the region and why.

    Parameters
    ----------
    names : sequence of str
        Of all variables.
    added : int
    candidates, bounds : sequences
        Who could have joined, and the bound each would have brought; None is vacuous.
    expansion : {"greedy", "random", "norm"}
    """
    name, count = short(names[added]), len(candidates)
    if count <= 1:
        return f"{name} joined: there was no other neighbour."
    if expansion == "random":
        return f"{name} joined, drawn at random from {count:,} neighbours."
    if expansion == "norm":
        return f"{name} joined: of {count:,} neighbours its edge into the region is the strongest."
    promised = dict(zip(candidates, bounds, strict=True))
    own = promised.get(added)
    others = sorted(b for i, b in promised.items() if i != added and b is not None)
    if own is None and not others:
        return f"{name} joined: with none of the {count:,} neighbours is there a bound yet."
    if own is None or (others and own > others[0]):
        return (
            f"{name} joined: none of {count:,} neighbours would lower the bound by much, and of "
            "these it is felt most at the query."
        )
    if not others:
        return f"{name} joined: of {count:,} neighbours only this one brings a bound."
    return (
        f"{name} joined: of {count:,} neighbours it promised the smallest bound "
        f"({bound_text(own)}; the next best {bound_text(others[0])})."
    )


def start_words(name: str, cut: int) -> str:
    """Say what the region is before anybody has joined."""
    if cut == 0:
        return f"{short(name)} has no neighbours: it is a region by itself."
    return f"The region is {short(name)} alone, cut off at {plural(cut, 'edge')}."


def change_words(before: float | None, after: float | None) -> str:
    """Say what a step did to the bound; None is vacuous."""
    if after is None:
        return "The bound is vacuous." if before is None else "The bound is vacuous again."
    if before is None:
        return f"Now there is a bound: {bound_text(after)}."
    if bound_text(before) == bound_text(after):
        return f"The bound stays at {bound_text(after)}."
    verb = "fell" if after < before else "rose"
    return f"The bound {verb} from {bound_text(before)} to {bound_text(after)}."


def stop_words(reason: str, bounds: Sequence[float | None]) -> str:
    """Say why a region stopped growing, and whether a smaller one promises more."""
    known = [bound for bound in bounds if bound is not None]
    if not reason or not known or bounds[-1] == min(known):
        return reason
    size = bounds.index(min(known)) + 1
    return (
        f"{reason} The bound was smallest, {bound_text(min(known))}, with the first "
        f"{plural(size, 'node')}: that is the answer to take."
    )


def truth_words(width: int, entries: float, most: float) -> str:
    """Say why the exact answer is not worked out: what it would take, and what is allowed."""
    return (
        "The exact answer is out of reach, so the true error is unknown: the best order found to "
        f"sum the variables out has width {width} and goes through {_large(entries)} joint states, "
        f"where this page stops at {_large(most)}."
    )


def coefficient_words(c: float, radius: int | None, tolerance: float) -> str:
    """Say what Dobrushin's coefficient promises for the whole network.

    Parameters
    ----------
    c : float
    radius : int or None
        From which distance on everything may be cut off for `tolerance`, by c alone; None if c
        promises nothing.
    tolerance : float
    """
    if c >= 1.0:
        return _unbroken(
            f"Some node is pulled by its neighbours with c = {c:.2f} in all. Only c < 1 promises "
            "that influence dies out everywhere; a region may still earn its own bound."
        )
    reach = (
        ""
        if radius is None
        else f" By c alone, all within {plural(radius, 'edge')} of a query would be needed for "
        f"±{bound_text(tolerance)}."
    )
    return _unbroken(
        f"No node is pulled by its neighbours with more than c = {c:.2f} < 1 in all, so influence "
        f"dies out with distance.{reach}"
    )


def _unbroken(text: str) -> str:
    """Keep formulas on one line."""
    return text.replace(" = ", "\u00a0=\u00a0").replace(" < ", "\u00a0<\u00a0")


def _large(count: float) -> str:
    for size, word in ((1e15, ""), (1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if count >= size:
            return f"{count / size:.3g}{word}" if word else f"about 10^{math.log10(count):.0f}"
    return f"{count:,.0f}"
