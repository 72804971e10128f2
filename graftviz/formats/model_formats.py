"""Registry of the formats in which models are written, found by their files.

A module of this folder that defines a :class:`ModelFormat` adds a format: to the menus Download of
the pages Grow and Inspect and, if it says so, to the results of ``learn``. See
docs/add_a_format.md.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from graftviz import formats
from graftviz.discovery import values_in
from graftviz.formats.tables import activation_steps
from graftviz.model import PairwiseMRF

if TYPE_CHECKING:  # the process that reads models needs neither learners nor numba
    from collections.abc import Sequence

    from graftviz.runs import Result


class ModelWriter(Protocol):
    """Function that returns the content of a file.

    Its arguments are the model, the step in which each edge was activated if it was learned here,
    and the positions of its nodes if it is shown: array of shape (n, 2), 0 … 10000, y downwards.
    """

    def __call__(
        self,
        model: PairwiseMRF,
        steps: Sequence[int] | None = None,
        places: np.ndarray | None = None,
        /,
    ) -> str | bytes:
        """Return the content of the file."""


class ModelFormat(NamedTuple):
    """Format in which models are written.

    Attributes
    ----------
    file : str
        Name of the file.
    title : str
        Label in menus.
    write : ModelWriter
    in_results : bool
        Whether ``learn`` writes the file.
    """

    file: str
    title: str
    write: ModelWriter
    in_results: bool = False

    def write_result(self, result: Result) -> str | bytes:
        """Return the file of a learned model."""
        return self.write(result.model, activation_steps(result).tolist())


@functools.cache
def model_formats() -> tuple[ModelFormat, ...]:
    """Return all formats, sorted by the names of their files."""
    return tuple(sorted({value for value in values_in(formats) if isinstance(value, ModelFormat)}))
