"""Files of a run: written by ``learn --out`` and ``Result.save``, read by :func:`read_result`."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from graftviz.evaluation.selection.path import LamPath
from graftviz.evaluation.selection.stability import EdgeStability
from graftviz.inference.prediction import PairwiseMRF, Predictor
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import Certificate
from graftviz.model.pairwise import HasModel, model_of
from graftviz.model.readwrite.reading import MODEL_FORMATS, read_model_file
from graftviz.model.readwrite.uai import write_uai
from graftviz.reports.files.tables import edges_csv, result_model, trace_csv
from graftviz.reports.replay.bundle import replay_parts
from graftviz.reports.replay.plain import rounded
from graftviz.reports.replay.records import recorded_run
from graftviz.reports.texts import catalogue
from graftviz.reports.words.answers import AbsentPair
from graftviz.utils.errors import InputError
from graftviz.utils.files import json_text, read_bytes, write_results, write_whole
from graftviz.utils.options import attributes, option_values
from graftviz.utils.version import __version__

if TYPE_CHECKING:  # the class that offers these files stands above them
    from graftviz.reports.results import Result

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

# --- result.json: null for values that do not apply -----------------------------------------------

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


# --- replay.html: the player and a finished run, usable offline -----------------------------------

# Above this many characters, the run is stored compressed instead of as readable JSON.
_PLAIN_LIMIT = 1_000_000
_ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


def replay_page(
    header: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    outcome: Mapping[str, Any] | None,
) -> str:
    """Return an HTML page with the player and all data of a run.

    Parameters
    ----------
    header, records, outcome : mapping, sequence of mappings, mapping or None
        As described in docs/player.md. Numbers are rounded to six significant digits.

    Returns
    -------
    str
        The page. Its content security policy allows only the page's script and style, by their
        hashes, so that no text of the data is executed and nothing is fetched.
    """
    template, script, style = replay_parts()
    texts = catalogue("player")["replay"]
    if outcome is None:
        outcome = _interrupted_outcome(header, records)
    run = rounded({"header": header, "records": records, "outcome": outcome})
    text = json.dumps(run, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text) <= _PLAIN_LIMIT:
        data_type, data = "application/json", text.translate(_ESCAPES)
    else:
        packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
        data_type, data = "application/gzip", base64.b64encode(packed).decode("ascii")
    parts = {
        "{script_hashes}": _hash(script),
        "{style_hash}": _hash(style),
        "{title}": html.escape(str(header["title"])),
        "{style}": style,
        **{f"{{{name}}}": html.escape(text) for name, text in texts.items()},
        "{provenance}": html.escape(_provenance(header)),
        "{data_type}": data_type,
        "{data}": data,
        "{script}": script,
    }
    # The template is split at each key in turn, so that inserted text is never searched for keys.
    page: list[str] = []
    rest = template
    for key, value in parts.items():
        before, rest = rest.split(key, 1)
        page += [before, value]
    return "".join([*page, rest])


def _provenance(header: Mapping[str, Any]) -> str:
    """Return a sentence with version and numbers of rows; without a date, to be reproducible."""
    rows = header["rows"]
    held_out = f", {rows['test']:,} held out" if rows["test"] else ""
    return (
        f"Learned by graftviz {__version__} from {rows['train']:,} rows{held_out}. "
        "This page needs no network."
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _interrupted_outcome(
    header: Mapping[str, Any], records: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the outcome of an interrupted run, which ends its timeline."""
    last: Mapping[str, Any] = records[-1] if records else {}
    inactive = int(header["possible"]) - int(last.get("edges", 0))
    return {
        "steps": len(records),
        "stop_reason": "The run was interrupted here.",
        "converged": False,
        "objective": last.get("objective", header["start"]["objective"]),
        "kkt": last.get("kkt"),
        "seconds": last.get("seconds", 0),
        "certificate": {
            "scored": 0,
            "possible": inactive,
            "worst_score": None,
            "threshold": header["lam"],
        },
        "edges": last.get("edges", 0),
        "recall": last.get("recall"),
        "precision": last.get("precision"),
        "nlpl": last.get("nlpl"),
        "bp_restart_gap": None,
    }


# --- folders --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class SavedResult(Predictor):
    """Result of a run, read from a folder.

    Attributes
    ----------
    model : PairwiseMRF
    summary : dict
        Content of ``result.json``; ``saved["recall"]`` is one of its entries.
    trace : DataFrame
        One row per step.
    edges : DataFrame
        One row per edge.

    Examples
    --------
    >>> path = result.save("saved")
    >>> saved = gv.read_result("saved")
    >>> saved
    <SavedResult of best-choice: 11 edges from 2,000 rows>
    >>> saved.edges.columns.tolist()
    ['source', 'target', 'weight_norm', 'step']
    """

    model: PairwiseMRF
    summary: Mapping[str, Any]
    trace: pd.DataFrame
    edges: pd.DataFrame

    def __getitem__(self, name: str) -> Any:
        """Return an entry of the summary."""
        if name not in self.summary:
            raise InputError(f"A result has no entry {name!r}; it has {', '.join(self.summary)}.")
        return self.summary[name]

    def __repr__(self) -> str:
        learner, rows = self.summary["learner"], self.summary["rows"]
        return f"<SavedResult of {learner}: {len(self.edges):,} edges from {rows:,} rows>"

    def _model(self) -> PairwiseMRF:
        return self.model


def run_files(
    run: LearningRun,
    result: Result,
    *,
    title: str,
    positions: np.ndarray | None = None,
    path: LamPath | None = None,
    stability: EdgeStability | None = None,
) -> dict[str, str | bytes]:
    """Return the contents of all files of a run by name."""
    contents: dict[str, str | bytes] = {
        "result.json": result_json(result, title=title, path=path, stability=stability),
        "trace.csv": trace_csv(result),
        "edges.csv": edges_csv(result, stability),
        "replay.html": run_html(run, title=title, positions=positions),
    }
    models = [each for each in MODEL_FORMATS if each.in_results]
    return contents | {each.file: result_model(each, result) for each in models}


def run_html(run: LearningRun, *, title: str, positions: np.ndarray | None = None) -> str:
    """Return the web page that replays a run."""
    note = " ".join(run.table.warnings)
    return replay_page(*recorded_run(run, title=title, positions=positions, note=note))


def read_model(path: Path | str) -> PairwiseMRF:
    """Read a model from a file or from a folder of results.

    Parameters
    ----------
    path : path
        ``.uai`` or any UAI text (with ``.names.json`` beside it), ``.graphml``, node-link
        ``.json``, or a folder that holds such a file, such as ``learn --out`` writes.

    Raises
    ------
    InputError
        When there is no model, more than one, or a malformed one.

    Examples
    --------
    >>> path = gv.write_model(model, "model.graphml")
    >>> gv.read_model("model.graphml")
    <PairwiseMRF: 11 variables of 2 to 4 states, 11 edges>
    """
    return PairwiseMRF.of(read_model_file(path).model)


def write_model(model: HasModel, path: Path | str) -> Path:
    """Write a model in the format of the path's ending; :func:`read_model` reads it.

    Parameters
    ----------
    model : PairwiseMRF, Result, MarkovNetwork, or what :func:`read_result` returns
    path : path
        ``.uai`` (with names and labels in ``.names.json`` beside it), ``.graphml`` or
        ``.json`` (node-link).

    Returns
    -------
    Path
        The path.

    Raises
    ------
    InputError
        For another ending, and an object without a model.

    Examples
    --------
    >>> gv.write_model(model, "model.uai").name
    'model.uai'
    """
    path = Path(path)
    own = model_of(model)
    if path.suffix == ".uai":
        write_uai(own, path)
        return path
    graphs = [each for each in MODEL_FORMATS if each.file.startswith("graph.")]
    writers = {Path(each.file).suffix: each for each in graphs}
    if path.suffix not in writers:
        endings = ", ".join((".uai", *writers))
        raise InputError(f"A model is written to a file ending in {endings}, not {path.name!r}.")
    return write_whole(path, writers[path.suffix].write(own, None))


def save_result(result: Result, folder: Path | str, title: str) -> Path:
    """Write the files of a result; see :meth:`graftviz.Result.save`."""
    if result.run is None:
        raise InputError("A pickled result has no run; save the result before pickling it.")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    write_results(path, run_files(result.run, result, title=title))
    return path


def read_result(folder: Path | str) -> SavedResult:
    """Read a folder that ``Result.save`` or ``graftviz learn --out`` has written.

    Raises
    ------
    InputError
        If files of the result are missing or damaged.

    Examples
    --------
    >>> path = result.save("saved")
    >>> gv.read_result("saved").summary["learner"]
    'best-choice'
    """
    path = Path(folder)
    model = read_model(path)
    tables = [
        pd.read_csv(io.BytesIO(read_bytes(path / name))) for name in ("trace.csv", "edges.csv")
    ]
    return SavedResult(model, json.loads(read_bytes(path / "result.json")), *tables)


def notebook_html(run: LearningRun, title: str) -> str:
    """Return a frame with the replay, for notebooks: sandboxed, without access to the page."""
    page = run_html(run, title=title).replace("&", "&amp;").replace('"', "&quot;")
    return (
        f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="Replay of a learning run" '
        'style="width: 100%; height: 720px; border: 0"></iframe>'
    )
