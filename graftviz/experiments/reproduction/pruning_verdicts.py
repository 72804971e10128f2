"""Judgement of the claims and numbers of the report on forced pruning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from graftviz.experiments.reproduction.experiment import NotMeasured, Results, Verdict
from graftviz.experiments.reproduction.pruning_runs import CellPart, ReferencePart
from graftviz.experiments.reproduction.verdicts import verdict

Judge = Callable[[Results], Verdict]
Cell = tuple[int, int]

NOISE = 0.005  # relative differences of the NLPL between seeds, which are ignored
_NEAR = 0.015
_SAME_START = 0.02
_FEW_ACCEPTED = 0.05
_EXTRAS, _EXCHANGED = (0, 15, 30, 45, 60), (0, 5, 10)


def _table(*numbers: float) -> dict[Cell, float]:
    """Return numbers by m and k, in the order of the paper."""
    keys = [(m, k) for m in _EXTRAS for k in _EXCHANGED]
    return dict(zip(keys, numbers, strict=True))


PAPERS: Mapping[str, Mapping[str, dict[Cell, float]]] = {
    "greedy": {
        "nltcs": _table(
            *(5.08, 4.95, 4.96, 4.75, 4.71, 4.71, 4.75, 4.71, 4.71, 4.77, 4.71, 4.71),
            *(4.75, 4.73, 4.72),
        ),
        "plants": _table(
            *(12.25, 11.43, 11.15, 12.22, 11.40, 11.11, 12.37, 11.21, 11.20, 12.27, 11.25, 11.15),
            *(12.25, 11.23, 11.17),
        ),
        "msnbc": _table(
            *(6.29, 6.15, 6.06, 5.71, 5.59, 5.52, 5.71, 5.57, 5.53, 5.72, 5.57, 5.53),
            *(5.71, 5.57, 5.53),
        ),
    },
    "rejection": {
        "nltcs": _table(
            *(5.89, 5.88, 5.88, 5.59, 5.58, 5.58, 5.51, 5.44, 5.46, 5.33, 5.14, 5.13),
            *(5.38, 4.88, 4.90),
        ),
        "plants": _table(
            *(12.91, 13.36, 11.15, 12.82, 13.29, 13.29, 12.79, 13.30, 13.28, 12.91, 13.31, 13.29),
            *(13.01, 12.92, 13.16),
        ),
        "msnbc": _table(
            *(6.40, 6.55, 6.63, 5.83, 5.83, 5.92, 5.77, 5.82, 5.86, 5.75, 5.77, 5.77),
            *(5.77, 5.69, 5.77),
        ),
    },
}


def papers_numbers() -> dict[str, dict[str, dict[str, float]]]:
    """Return the paper's numbers by heuristic, data set, and m and k, as JSON values."""
    return {heuristic: _plain(tables) for heuristic, tables in PAPERS.items()}


def cells(results: Results, heuristic: str, source: str) -> dict[Cell, dict[str, Any]]:
    """Return the measured cells of a table on one data set, by m and k."""
    return {
        (part.extra, part.exchange): result
        for part, result in results.items()
        if isinstance(part, CellPart)
        and part.size.source == source
        and (part.heuristic == heuristic or part.exchange == 0)
    }


def references(results: Results) -> dict[str, dict[str, Any]]:
    """Return tree and floor of every measured data set."""
    return {
        part.size.source: result
        for part, result in results.items()
        if isinstance(part, ReferencePart)
    }


def _measured(results: Results, heuristic: str) -> dict[str, dict[Cell, float]]:
    """Return held-out NLPL by data set, m and k.

    Raises
    ------
    NotMeasured
        If no data set was measured.
    """
    found = {
        source: {cell: float(result["nlpl_test"]) for cell, result in measured.items()}
        for source in PAPERS[heuristic]
        if (measured := cells(results, heuristic, source))
    }
    if not found:
        raise NotMeasured("None of the data sets was measured.")
    return found


def better_with_exchange(heuristic: str) -> Judge:
    """Judge that a larger k is better for all m, up to noise."""

    def judge(results: Results) -> Verdict:
        found = _measured(results, heuristic)
        pairs = _steps_of_k(found)
        met = [after <= before * (1.0 + NOISE) for _, _, before, after in pairs]
        worse = [name for (name, _, _, _), good in zip(pairs, met, strict=True) if not good]
        excepted = f", but for {', '.join(worse)}" if worse else ""
        return verdict(
            met,
            f"In {sum(met)} of {len(met)} comparisons the larger k is no worse (within "
            f"{NOISE:.1%}){excepted}. {_table_sentence(found)}",
            cells=_plain(found),
        )

    return judge


def sometimes_worse_with_exchange(heuristic: str) -> Judge:
    """Judge that a larger k is sometimes worse."""

    def judge(results: Results) -> Verdict:
        found = _measured(results, heuristic)
        pairs = [pair for pair in _steps_of_k(found) if "k = 0" not in pair[1]]
        worse = [name for name, _, before, after in pairs if after > before]
        return verdict(
            [bool(worse)],
            f"The larger k is worse in {len(worse)} of {len(pairs)} comparisons of exchanges"
            f"{': ' + ', '.join(worse) if worse else ''}. {_table_sentence(found)}",
            worse=worse,
            cells=_plain(found),
        )

    return judge


def better_with_size(heuristic: str) -> Judge:
    """Judge that more edges are better for all k, up to noise."""

    def judge(results: Results) -> Verdict:
        met, phrases, found = [], [], _measured(results, heuristic)
        for source, table in found.items():
            for k in sorted({k for _, k in table}):
                row = [table[m, k] for m in sorted(m for m, other in table if other == k)]
                good = [after <= before * (1.0 + NOISE) for before, after in pairwise(row)]
                met += good
                phrases.append(f"{source}, k = {k}: {', '.join(f'{value:.3f}' for value in row)}")
        return verdict(
            met,
            f"{sum(met)} of {len(met)} steps to a larger m make it no worse (within {NOISE:.1%}): "
            f"{'; '.join(phrases)}.",
            cells=_plain(found),
        )

    return judge


def reaches_the_papers(heuristic: str) -> Judge:
    """Judge that the best cell is as good as the paper's best."""

    def judge(results: Results) -> Verdict:
        met, phrases = [], []
        measured, numbers = references(results), {}
        for source, table in _measured(results, heuristic).items():
            papers = PAPERS[heuristic][source]
            best, stated = min(table.values()), min(papers.values())
            met.append(best <= stated * (1.0 + NOISE))
            floor = measured[source]["floor"] if source in measured else None
            below = ""
            if floor is not None and stated < floor:
                below = (
                    f"; logistic regression of each variable on all others reaches {floor:.3f}, so "
                    "the paper's number is not attainable by a pairwise model"
                )
            phrases.append(f"{source}: {best:.3f} here, {stated:.2f} in the paper{below}")
            numbers[source] = {"best": best, "paper": stated, "floor": floor}
        return verdict(met, "; ".join(phrases) + ".", by_data=numbers)

    return judge


def near_the_floor(heuristic: str) -> Judge:
    """Judge that the largest m and k come near regressions of each variable on all others."""

    def judge(results: Results) -> Verdict:
        measured = references(results)
        met, phrases, numbers = [], [], {}
        for source, table in _measured(results, heuristic).items():
            if source not in measured:
                continue
            m, k = max(table)
            value, floor = table[m, k], measured[source]["floor"]
            above = value / floor - 1.0
            met.append(above <= _NEAR)
            phrases.append(
                f"{source}: {value:.3f} with m = {m}, k = {k}, {above:.1%} above the {floor:.3f} "
                "of logistic regressions on all other variables (tree: "
                f"{measured[source]['tree']:.3f})"
            )
            numbers[source] = {"nlpl": value, "floor": floor, "tree": measured[source]["tree"]}
        return verdict(met, "; ".join(phrases) + ".", by_data=numbers)

    return judge


def greedy_is_better() -> Judge:
    """Judge that greedy deletion is no worse than rejection sampling in the same cell."""

    def judge(results: Results) -> Verdict:
        greedy, sampled = (_measured(results, name) for name in ("greedy", "rejection"))
        met, worse, gaps = [], [], []
        for source, table in sampled.items():
            for (m, k), value in sorted(table.items()):
                if k == 0 or (m, k) not in greedy.get(source, {}):
                    continue
                own = greedy[source][m, k]
                met.append(own <= value * (1.0 + 1e-9))
                gaps.append(value / own - 1.0)
                if not met[-1]:
                    worse.append(f"{source}, m = {m}, k = {k} ({own:.3f} against {value:.3f})")
        if not met:
            raise NotMeasured("Both heuristics are needed for this.")
        excepted = f"; not for {', '.join(worse)}" if worse else ""
        return verdict(
            met,
            f"Greedy is at least as good in {sum(met)} of {len(met)} cells{excepted}. Rejection "
            f"sampling is up to {max(gaps):.1%} worse, {sum(gaps) / len(gaps):.1%} on average. "
            f"{_table_sentence(sampled)}",
            greedy=_plain(greedy),
            rejection=_plain(sampled),
        )

    return judge


def mostly_rejected() -> Judge:
    """Judge that few of the drawn subsets are accepted."""

    def judge(results: Results) -> Verdict:
        met, phrases, numbers = [], [], {}
        for source in PAPERS["rejection"]:
            measured = [
                result for (_, k), result in cells(results, "rejection", source).items() if k
            ]
            tries = sum(result["tries"] for result in measured)
            if not tries:
                continue
            accepted = sum(result["accepted"] for result in measured)
            fallbacks = sum(result["fallbacks"] for result in measured)
            met.append(accepted / tries <= _FEW_ACCEPTED)
            fallback_words = f", and {fallbacks:,} exchanges used a fallback" if fallbacks else ""
            phrases.append(
                f"{source}: {accepted:,} of {tries:,} subsets drawn were accepted "
                f"({accepted / tries:.2%}){fallback_words}; "
                f"{sum(r['seconds'] for r in measured):.0f} s"
            )
            numbers[source] = {"tries": tries, "accepted": accepted, "fallbacks": fallbacks}
        return verdict(
            met,
            "; ".join(phrases) + ". Most are rejected quickly by a bound that needs no rows.",
            by_data=numbers,
        )

    return judge


def starts_at_the_tree() -> Judge:
    """Judge that the first cell equals the NLPL of the Chow–Liu tree and the paper's number."""

    def judge(results: Results) -> Verdict:
        measured = references(results)
        met, phrases, numbers = [], [], {}
        for source, table in _measured(results, "rejection").items():
            if source not in measured or (0, 0) not in table:
                continue
            own, tree = table[0, 0], measured[source]["tree"]
            stated = PAPERS["rejection"][source][0, 0]
            met.append(abs(stated / tree - 1.0) <= _SAME_START)
            phrases.append(
                f"{source}: the tree has {tree:.3f}, the paper {stated:.2f}; the same edges fitted "
                f"by pseudo-likelihood with tied parameters {own:.3f}"
            )
            numbers[source] = {"tree": tree, "paper": stated, "tied": own}
        return verdict(met, "; ".join(phrases) + ".", by_data=numbers)

    return judge


def _steps_of_k(found: Mapping[str, Mapping[Cell, float]]) -> list[tuple[str, str, float, float]]:
    """Return every step from one k to the next, with both values."""
    steps = []
    for source, table in found.items():
        for m in sorted({m for m, _ in table}):
            row = sorted(k for other, k in table if other == m)
            for before, after in pairwise(row):
                name = f"k = {before} to {after} at m = {m} ({source})"
                steps.append((name, f"k = {before}", table[m, before], table[m, after]))
    return steps


def _table_sentence(found: Mapping[str, Mapping[Cell, float]]) -> str:
    """Return the cells of every data set as text, ordered by m."""
    phrases = []
    for source, table in found.items():
        exchanged = sorted({k for _, k in table})
        rows = [
            f"m = {m}: " + ", ".join(f"{table[m, k]:.3f}" for k in exchanged if (m, k) in table)
            for m in sorted({m for m, _ in table})
        ]
        of_k = ", ".join(str(k) for k in exchanged)
        phrases.append(f"{source} (k = {of_k}) " + "; ".join(rows))
    return ". ".join(phrases) + "."


def _plain(found: Mapping[str, Mapping[Cell, float]]) -> dict[str, dict[str, float]]:
    return {
        source: {f"m={m},k={k}": value for (m, k), value in sorted(table.items())}
        for source, table in found.items()
    }
