"""Settings of the Prune page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftviz.app.url import MAX_STEP, DataOptions, data_option, part, texts
from graftviz.learning.pruning.forced_pruning import ForcedPruning
from graftviz.utils.options import option


@dataclass(frozen=True)
class PruneOptions(DataOptions):
    """Settings of the page.

    Attributes
    ----------
    options : mapping
        Options of forced pruning that differ from the defaults of the page.
    """

    data: str = data_option("survey")
    options: Mapping[str, Any] = part({}, lambda link, _: link.take_options(ForcedPruning), texts)
    step: int = option(0, "Step that is shown", minimum=0, maximum=MAX_STEP)
