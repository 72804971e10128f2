"""Result of a local query as strict JSON."""

from __future__ import annotations

from collections.abc import Mapping

from graftviz.formats.json_values import json_text
from graftviz.model import PairwiseMRF
from graftviz.regions import LocalMarginal


def local_json(
    answer: LocalMarginal, model: PairwiseMRF, evidence: Mapping[int, int] | None = None
) -> str:
    """Return a local marginal as JSON, with the names and labels of the model.

    ``bound`` is always finite; a vacuous bound is 1. ``evidence`` maps indices of variables to
    indices of states.
    """
    content = {
        "query": answer.query,
        "name": model.names[answer.query],
        "states": list(model.labels[answer.query]),
        "marginal": answer.marginal.tolist(),
        "bound": answer.bound,
        "certified": answer.certified,
        "reached_tolerance": answer.reached_tolerance,
        "nodes": answer.nodes.tolist(),
        "names": [model.names[i] for i in answer.nodes.tolist()],
        "cut": answer.cut,
        "expansion": answer.expansion,
        "method": answer.method,
        "stop_reason": answer.stop_reason,
        "evidence": {str(i): state for i, state in (evidence or {}).items()},
        "dobrushin_coefficient": answer.history[-1].coefficient,
        "history": [
            {"added": step.added, "size": step.size, "bound": step.bound} for step in answer.history
        ],
    }
    return json_text(content, indent=1)
