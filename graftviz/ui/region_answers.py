"""Certified regions of selected nodes, requested by the player while it is scrubbed."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from graftviz.player.records import answer
from graftviz.runs import Run

KEPT = 256  # answers
COMPILING = "Compiling the engine for regions; try again in a minute."
# Set by the warm-up: earlier queries would make the page wait for the compiler.
compiled = threading.Event()


class RegionAnswers:
    """Answers of one run to questions that ask for a region; what was grown is kept.

    Parameters
    ----------
    run : Run
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept: OrderedDict[str, Mapping[str, Any]] = OrderedDict()

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a question about a node and its region; raises like :func:`records.answer`."""
        if not compiled.is_set():
            plain = {key: value for key, value in question.items() if key != "region"}
            return {**answer(self._run, plain), "region": {"error": COMPILING, "again": True}}
        # The last step speaks of the final fit, once that has been made.
        key = json.dumps([question, self._run.outcome is None], sort_keys=True)
        if key not in self._kept:
            self._kept[key] = answer(self._run, question)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
