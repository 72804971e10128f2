"""Files of a run: written by ``learn --out`` and ``Result.save``, read by :func:`read_result`."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from graftviz.evaluation.selection.path import LamPath
from graftviz.evaluation.selection.stability import EdgeStability
from graftviz.inference.prediction import PairwiseMRF, Predictor
from graftviz.learning.run import LearningRun
from graftviz.model.pairwise import HasModel, model_of
from graftviz.model.readwrite.reading import MODEL_FORMATS, read_model_file
from graftviz.model.readwrite.uai import write_uai
from graftviz.reports.files.replay import replay_page
from graftviz.reports.files.result_json import result_json
from graftviz.reports.files.tables import edges_csv, result_model, trace_csv
from graftviz.reports.replay.records import recorded_run
from graftviz.utils.errors import InputError
from graftviz.utils.files import read_bytes, write_results, write_whole

if TYPE_CHECKING:  # the class that offers these files stands above them
    from graftviz.reports.results import Result


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
