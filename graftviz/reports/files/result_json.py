"""File result.json: summary of a run as strict JSON; null for values that do not apply."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graftviz.evaluation.selection.path import LamPath
from graftviz.evaluation.selection.stability import EdgeStability
from graftviz.learning.trace import Certificate
from graftviz.reports.words.answers import AbsentPair
from graftviz.utils.files import json_text
from graftviz.utils.options import attributes, option_values
from graftviz.utils.version import __version__

if TYPE_CHECKING:  # the class that offers these files stands above them
    from graftviz.reports.results import Result

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


# Keys in their order; most are attributes of the result.
_KEYS = (
    *("learner", "options", "options_used", "seed", "variables", "rows", "rows_test", "edges"),
    *("stop_reason", "converged", "certificate", "objective", "kkt_residual", "bp_restart_gap"),
    *("recall", "precision", "f1", "nlpl_train", "nlpl_test", "tests", "tables_counted"),
    *("tables_possible", "pairs_screened", "seconds", "peak_memory_mb", "version"),
    *("n_edges", "fingerprint", "data"),
)


def result_json(
    result: Result,
    *,
    title: str | None = None,
    path: LamPath | None = None,
    stability: EdgeStability | None = None,
) -> str:
    """Return `result` as JSON text.

    ``data`` is the title of the data, and ``fingerprint`` that of the training rows.

    ``certificate`` describes the final scoring of inactive pairs, which an interrupted run does
    not have. ``options_used`` holds the options at the end, automatic ones with the value used
    (null if no rule gives them one). Some keys are optional: ``branch`` if the options changed
    during the run, ``not_found`` with the strongest pairs that are not edges, by variable names,
    if the learner scores pairs, ``quality`` with the loss of rows beside that of independent
    columns (see :class:`graftviz.learning.observer.Quality`), ``lam_path`` if λ was chosen on a
    path, ``stability`` if edges were searched in subsamples, and ``complexity`` if inference was
    bounded. The latter holds R (``value``) and τ (``bound``) of ``measure``, the number of inactive
    pairs excluded by τ (``infeasible``), and the elimination order, by index of variable, with its
    width.
    """
    derived: dict[str, Any] = {
        "learner": result.learner.name,
        "options": option_values(result.learner),
        "options_used": _options_used(result),
        "certificate": _certificate(result),
        "seconds": result.seconds._asdict(),
        "peak_memory_mb": peak_memory_mb(),
        "version": __version__,
        "edges": result.n_edges,
        "variables": result.n_variables,
        "rows": result.n_rows,
        "rows_test": result.n_rows_test,
        "data": title,
    }
    record = {key: derived[key] if key in derived else getattr(result, key) for key in _KEYS}
    if result.branch is not None:
        options = option_values(result.branch.learner)
        record["branch"] = {"at": result.branch.at, "options": options}
    if len(result.trace) and (complexity := result.trace[-1].complexity) is not None:
        at_end = None if result.trace.outcome is None else result.trace.outcome.infeasible
        record["complexity"] = {
            **attributes(complexity, "measure", "value", "bound"),
            "infeasible": complexity.infeasible if at_end is None else at_end,
            **attributes(complexity, "width", "order", "inference"),
        }
    if result.not_found is not None:
        record["not_found"] = _not_found(result.not_found, result.model.names)
    if result.quality is not None:
        record["quality"] = result.quality._asdict()
    if path is not None:
        record["lam_path"] = path.summary()
    if stability is not None:
        record["stability"] = stability.summary()
    return json_text(record)


def _not_found(pairs: Sequence[AbsentPair], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the strongest pairs that are not edges, with names of variables."""
    return [
        each._asdict()
        | {"source": names[each.source], "target": names[each.target]}
        | {"third": None if each.third is None else names[each.third]}
        for each in pairs
    ]


def _options_used(result: Result) -> dict[str, Any]:
    """Return the options at the end, with the values of automatic ones once the run has ended."""
    outcome = result.trace.outcome
    automatic = {} if outcome is None else outcome.automatic
    options = option_values(result.learner if result.branch is None else result.branch.learner)
    return {
        name: automatic.get(name) if value is None else value for name, value in options.items()
    }


def peak_memory_mb() -> float | None:
    """Return the peak resident memory of this process, in MB (10⁶ bytes)."""
    try:
        # On Linux, ru_maxrss is inherited from the parent process.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        kilobytes = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(kilobytes.split()[1]) * 1024 / 1e6
    except (OSError, StopIteration):
        pass
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def _certificate(result: Result) -> dict[str, Any]:
    if result.certificate is None:
        pairs = result.n_variables * (result.n_variables - 1) // 2
        empty: dict[str, Any] = dict.fromkeys(Certificate._fields)
        return empty | {"scored": 0, "possible": pairs - result.n_edges}
    screening = result.certificate.screening
    found = None if screening is None else screening._asdict()
    return result.certificate._asdict() | {"screening": found}
