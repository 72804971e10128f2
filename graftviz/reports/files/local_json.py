"""Result of a local query as strict JSON."""

from __future__ import annotations

from collections.abc import Mapping

from graftviz.inference.local.marginal import LocalMarginal
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.files import json_text
from graftviz.utils.options import attributes


def local_json(
    answer: LocalMarginal, model: PairwiseModel, evidence: Mapping[int, int] | None = None
) -> str:
    """Return a local marginal as JSON, with the names and labels of the model.

    ``bound`` is always finite; a vacuous bound is 1. ``evidence`` maps indices of variables to
    indices of states.
    """
    content = {
        "query": answer.query,
        "name": model.names[answer.query],
        "states": list(model.labels[answer.query]),
        "marginal": answer.marginal,
        **attributes(answer, "bound", "certified", "nontrivial_bound"),
        "reached_tolerance": answer.certified,
        "nodes": answer.nodes,
        "names": [model.names[i] for i in answer.nodes.tolist()],
        **attributes(answer, "cut", "expansion", "method", "stop_reason"),
        "evidence": {str(i): state for i, state in (evidence or {}).items()},
        "dobrushin_coefficient": answer.history[-1].coefficient,
        "history": [attributes(step, "added", "size", "bound") for step in answer.history],
    }
    return json_text(content, indent=1)
