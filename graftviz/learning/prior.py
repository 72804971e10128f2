"""Prior knowledge of learners: pairs that must be edges, and pairs that must not."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.trace import NO_PAIRS
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError
from graftviz.utils.options import option
from graftviz.utils.wording import nearest, quoted

_BETWEEN = "--"
_SYNTAX = (
    'Write "a -- b; c -- d" for pairs, "a, b -- c, d" for all pairs between two groups, and '
    '"a, b, c" for all pairs within a group.'
)


class Prior(NamedTuple):
    """Pairs i < j that must be edges, and pairs that must not, each in lexicographic order.

    Attributes
    ----------
    required, forbidden : int32 arrays, shapes (k, 2) and (m, 2)
    """

    required: np.ndarray
    forbidden: np.ndarray

    @property
    def decided(self) -> np.ndarray:
        """All pairs that are not for the data to decide, shape (k + m, 2)."""
        return np.concatenate([self.required, self.forbidden])

    def applied(self, pairs: np.ndarray | None, n: int) -> np.ndarray:
        """Return pairs of n variables (None: all), with the required, without the forbidden ones.

        int32, in lexicographic order.
        """
        return _pairs_of(np.union1d(_keys(pairs, n), _keys(self.required, n)), self.forbidden, n)

    def undecided(self, pairs: np.ndarray | None, n: int) -> np.ndarray | None:
        """Return the pairs of n variables (None: all) that are for the data to decide."""
        return _pairs_of(_keys(pairs, n), self.decided, n) if len(self.decided) else pairs


def _keys(pairs: np.ndarray | None, n: int) -> np.ndarray:
    """Return pairs i < j (None: all) as numbers in lexicographic order."""
    if pairs is None:
        pairs = np.stack(np.triu_indices(n, 1), axis=1)
    keys: np.ndarray = pairs.astype(np.int64) @ np.array([n, 1])
    return keys


def _pairs_of(keys: np.ndarray, omitted: np.ndarray, n: int) -> np.ndarray:
    chosen = np.setdiff1d(keys, _keys(omitted, n), assume_unique=True)
    return read_only(np.stack([chosen // n, chosen % n], axis=1).astype(np.int32))


def pairs_text(pairs: Any) -> str:
    """Return pairs of variables as text, such as ``"a -- b; c, d -- e"``.

    Parameters
    ----------
    pairs : str, array of shape (k, 2), or sequence
        Of pairs ``(a, b)`` of variables by name or index, of pairs of lists (all pairs between two
        groups), and of sets (all pairs within a group).

    Raises
    ------
    InputError
        If `pairs` is something else.
    """
    if isinstance(pairs, str):
        return "; ".join(filter(None, (text.strip() for text in pairs.split(";"))))
    try:
        return "; ".join(_one_text(one) for one in pairs)
    except InputError:
        raise
    except (TypeError, ValueError):
        raise InputError(
            "Pairs of variables are a list such as [('a', 'b'), (['a', 'b'], ['c'])], not "
            f"{quoted(pairs)}. {_SYNTAX}"
        ) from None


def _one_text(one: Any) -> str:
    if isinstance(one, set | frozenset):
        return _group_text(sorted(one, key=str))
    first, second = one
    return f" {_BETWEEN} ".join(map(_group_text, (first, second)))


def _group_text(group: Any) -> str:
    is_one = isinstance(group, str | int | np.integer)
    texts = [_variable_text(variable) for variable in ([group] if is_one else group)]
    return ", ".join(texts)


def _variable_text(variable: Any) -> str:
    if not isinstance(variable, str):
        return f"#{int(variable)}"
    if any(mark in variable for mark in (",", ";", _BETWEEN)):
        raise InputError(
            f"The name {quoted(variable)} holds a comma, a semicolon or two hyphens, which "
            "separate names here; use the index of the variable."
        )
    return variable.strip()


def parsed_pairs(text: str, names: Sequence[str]) -> np.ndarray:
    """Return the pairs of a text, int32, shape (k, 2), i < j, in lexicographic order.

    Raises
    ------
    InputError
        For unknown variables, and text that is no pair.
    """
    found: set[tuple[int, int]] = set()
    for one in filter(None, (part.strip() for part in text.split(";"))):
        sides = [
            [_index(name.strip(), names) for name in side.split(",")]
            for side in one.split(_BETWEEN)
        ]
        pairs: Iterable[tuple[int, ...]] = ()
        if len(sides) <= 2:
            pairs = itertools.product(*sides) if sides[1:] else itertools.combinations(sides[0], 2)
        ordered = [(min(ends), max(ends)) for ends in pairs]
        if not ordered or any(i == j for i, j in ordered):
            raise InputError(f"{quoted(one)} is no pair of different variables. {_SYNTAX}")
        found.update(ordered)
    return read_only(np.array(sorted(found), dtype=np.int32).reshape(-1, 2)) if found else NO_PAIRS


def _index(text: str, names: Sequence[str]) -> int:
    """Return the index of a variable by its name, or by ``#index``."""
    if text in names:
        return list(names).index(text)
    number = text.removeprefix("#")
    if text.startswith("#") and number.isdecimal() and int(number) < len(names):
        return int(number)
    hint = nearest(text, names)
    raise InputError(
        f"There is no variable {quoted(text)}{f'; {hint}' if hint else f'. {_SYNTAX}'}"
    )


@dataclass(frozen=True)
class PriorOptions(Learner):
    """Options of learners that can start from given edges and leave pairs out."""

    _: KW_ONLY  # so that the options of a learner itself come first
    required: str | Sequence[Any] | None = option(
        None,
        "edges that are activated first and never removed, such as a -- b; c -- d",
        label="Required edges",
        none_means="none",
        text=pairs_text,
        advanced=True,
    )
    forbidden: str | Sequence[Any] | None = option(
        None,
        "pairs that never become edges: a -- b for one, a, b -- c, d for all pairs between two "
        "groups, and a, b, c for all within a group",
        label="Forbidden edges",
        none_means="none",
        text=pairs_text,
        advanced=True,
    )

    def prior(self, names: Sequence[str]) -> Prior:
        """Return the required and forbidden pairs of variables with these names.

        Raises
        ------
        InputError
            For unknown variables, a pair that is both, and more required edges than the budget.
        """
        prior = Prior(
            parsed_pairs(str(self.required or ""), names),
            parsed_pairs(str(self.forbidden or ""), names),
        )
        forbidden = set(map(tuple, prior.forbidden.tolist()))
        for i, j in prior.required.tolist():
            if (i, j) in forbidden:
                raise InputError(
                    f"The edge {names[i]} – {names[j]} is both required and forbidden."
                )
        if len(prior.required) > self.edge_budget(len(names)):
            raise InputError(
                f"{len(prior.required):,} edges are required, more than the edge budget of "
                f"{self.edge_budget(len(names)):,}; raise the budget."
            )
        return prior

    def is_given(self, names: Sequence[str]) -> bool:
        """Return whether the options leave no pair to decide, as for a given graph."""
        prior, n = self.prior(names), len(names)
        spent = len(prior.required) == self.edge_budget(n)
        return spent or len(prior.decided) == n * (n - 1) // 2

    def forbidden_pairs(self, names: Sequence[str]) -> np.ndarray:
        """Return the pairs of variables that the options forbid, shape (k, 2)."""
        return self.prior(names).forbidden

    def for_warm_up(self) -> Self:
        """Return the learner without options that require data of a certain size, or names."""
        return replace(super().for_warm_up(), required=None, forbidden=None)

    def check(self, table: DiscreteTable) -> None:
        """Raise :class:`InputError` if `table` is too small or does not fit the options."""
        super().check(table)
        self.prior(table.names)
