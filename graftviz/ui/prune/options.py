"""Settings of the Prune page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftviz.datasets import dataset_keys
from graftviz.learners.forced_pruning import ForcedPruning
from graftviz.options import option
from graftviz.ui.url_state import MAX_STEP, UPLOAD, DataOptions, part, texts

_FIRST_DATA = "survey"
DATA = (_FIRST_DATA, *(key for key in dataset_keys() if key != _FIRST_DATA), UPLOAD)


@dataclass(frozen=True)
class PruneOptions(DataOptions):
    """Settings of the page.

    Attributes
    ----------
    options : mapping
        Options of forced pruning that differ from the defaults of the page.
    """

    data: str = option(_FIRST_DATA, "Data to learn from", label="Data", choices=DATA)
    options: Mapping[str, Any] = part({}, lambda link, _: link.take_options(ForcedPruning), texts)
    step: int = option(0, "Step that is shown", minimum=0, maximum=MAX_STEP)
