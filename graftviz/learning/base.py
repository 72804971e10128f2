"""Base class of learners: a frozen dataclass of options with a generator `steps`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.trace import NO_PAIRS, ActivationTest, Outcome, Step
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, normalise_options, option_specs

Value = TypeVar("Value")


@dataclass(frozen=True)
class Learner(ABC):
    """Base class of learners; a subclass adds options (``utils/options.py``) and `steps`.

    Attributes
    ----------
    name : str
        Name in the command line, the URL and the registry.
    title : str
        Name shown to users.
    idea : str
        Two sentences: what the learner does and when to use it.
    source : str
        Paper and algorithm.
    pseudocode : tuple of CodeLine
    sentences : str
        Kind of the sentences about its steps, see :mod:`graftviz.reports.words.steps`.
    has_budget : bool
        Whether `edge_budget` is a limit, not the number of edges of every model.
    by_score : bool
        Whether an edge or a feature is activated if its score is above a threshold.
    by_feature : bool
        Whether it activates single features instead of edges.
    smaller : str
        Learner that does the same in less memory, and why; empty if there is none.
    pace : float
        Typical time of a run, relative to best-choice on the same table.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    idea: ClassVar[str] = ""
    source: ClassVar[str] = ""
    pseudocode: ClassVar[tuple[CodeLine, ...]] = ()
    sentences: ClassVar[str] = ""
    has_budget: ClassVar[bool] = True
    by_score: ClassVar[bool] = False
    by_feature: ClassVar[bool] = False
    smaller: ClassVar[str] = ""
    pace: ClassVar[float] = 1.0

    @property
    def code_lines(self) -> tuple[CodeLine, ...]:
        """Lines of the pseudo-code that these options can run."""
        return self.pseudocode

    def __post_init__(self) -> None:
        normalise_options(self)

    def check(self, table: DiscreteTable) -> None:
        """Raise :class:`InputError` if `table` is too small or does not fit the options."""
        if not isinstance(table, DiscreteTable):
            raise InputError(
                f"Learners learn from a table, not from an object of type {type(table).__name__}; "
                "make a table of it with read_table."
            )
        if table.n_rows < 2:
            raise InputError("There is only one row to learn from; at least two are needed.")
        if table.weights is not None and np.count_nonzero(table.weights) < 2:
            raise InputError(
                "There is only one row with a weight above 0 to learn from; at least two are "
                "needed."
            )
        if table.n_variables < 2:
            raise InputError(
                f"There is only one variable, {table.names[0]!r}; an edge needs at least two."
            )
        self.edge_budget(table.n_variables)

    def edge_budget(self, n: int) -> int:
        """Return the largest number of edges allowed among n variables.

        Raises
        ------
        InputError
            If the budget exceeds the number of pairs.
        """
        return checked_budget(getattr(self, "max_edges", None), n)

    def counted_pairs(self, n: int) -> int:
        """Return how many pairs of n variables a run counts at most."""
        return n * (n - 1) // 2

    def forbidden_pairs(self, names: Sequence[str]) -> np.ndarray:
        """Return the pairs of variables that the options forbid, shape (k, 2)."""
        return NO_PAIRS

    def activation_test(self, counts: PairCounts) -> ActivationTest | None:
        """Return the test that activates edges or features; None for learners without one."""
        return None

    def for_warm_up(self) -> Self:
        """Return the learner without options that require data of a certain size.

        The warm-up runs it on tiny data to compile the kernels that the learner uses.
        """
        names = {spec.name for spec in option_specs(self)}
        defaults: dict[str, Any] = {"max_edges": None} if "max_edges" in names else {}
        return replace(self, **defaults)

    def automatic(self, counts: PairCounts, *, has_rows: bool = True) -> dict[str, Any]:
        """Return the values that rules give to automatic options on the counted data, by name.

        Parameters
        ----------
        counts : PairCounts
        has_rows : bool
            Whether the rows are in memory.
        """
        return {}

    @abstractmethod
    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`, yielding after each activation step and returning the outcome.

        A learner of the same class that is *sent* into the generator replaces the options from the
        next step on, so that a run can branch.
        """

    def outcome(self, table: DiscreteTable, *, seed: int = 0) -> Outcome:
        """Learn from `table` and return the outcome of `steps`, whose history may have one step."""
        return drained(self.steps(table, seed=seed))


def drained(steps: Generator[Any, Any, Value]) -> Value:
    """Run a generator to its end and return its value."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            value: Value = stop.value
            return value


def checked_budget(max_edges: int | None, n: int) -> int:
    """Return the largest number of edges allowed among `n` variables; None allows every pair.

    Raises
    ------
    InputError
        If the budget exceeds the number of pairs.
    """
    possible = n * (n - 1) // 2
    if max_edges is None:
        return possible
    if max_edges > possible:
        raise InputError(
            f"{max_edges:,} edges were requested, but {n:,} variables have only {possible:,} "
            f"pairs; request at most {possible:,}, or give no limit."
        )
    return int(max_edges)
