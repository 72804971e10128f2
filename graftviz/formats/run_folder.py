"""Files of a run: written by ``learn --out`` and ``Result.save``, read by :func:`read_result`."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graftviz.errors import InputError
from graftviz.formats.files import read_bytes, write_whole
from graftviz.formats.model_formats import model_formats
from graftviz.formats.models import read_model
from graftviz.formats.replay import replay_page
from graftviz.formats.result_folder import check_results, write_results
from graftviz.formats.result_json import result_json
from graftviz.formats.tables import edges_csv, trace_csv
from graftviz.formats.uai import write_uai
from graftviz.model import PairwiseMRF
from graftviz.player.records import recorded_run
from graftviz.predictor import Predictor, model_of
from graftviz.runs import Result, Run
from graftviz.selection import EdgeStability, LamPath

COMMAND = "learn"  # whose part of the manifest lists the files


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
    run: Run,
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
    models = [each for each in model_formats() if each.in_results]
    return contents | {each.file: each.write_result(result) for each in models}


def run_html(run: Run, *, title: str, positions: np.ndarray | None = None) -> str:
    """Return the web page that replays a run."""
    note = " ".join(run.table.warnings)
    return replay_page(*recorded_run(run, title=title, positions=positions, note=note))


def write_model(model: Predictor, path: Path | str) -> Path:
    """Write a model in the format of the path's ending; :func:`read_model` reads it.

    Parameters
    ----------
    model : PairwiseMRF, Result, SavedResult or MarkovNetwork
    path : path
        ``.uai`` (with names and labels in ``.names.json`` beside it), ``.graphml``, ``.json``
        (node-link) or ``.gexf`` (which is not read).

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
    own: PairwiseMRF = model_of(model)
    if path.suffix == ".uai":
        write_uai(own, path)
        return path
    graphs = [each for each in model_formats() if each.file.startswith("graph.")]
    writers = {Path(each.file).suffix: each for each in graphs}
    if path.suffix not in writers:
        endings = ", ".join((".uai", *writers))
        raise InputError(f"A model is written to a file ending in {endings}, not {path.name!r}.")
    return write_whole(path, writers[path.suffix].write(own))


def save_result(result: Result, folder: Path | str, title: str) -> Path:
    """Write the files of a result; see :meth:`graftviz.Result.save`."""
    if result.run is None:
        raise InputError("A pickled result has no run; save the result before pickling it.")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    write_results(path, COMMAND, run_files(result.run, result, title=title))
    return path


def read_result(folder: Path | str) -> SavedResult:
    """Read a folder that ``Result.save`` or ``graftviz learn --out`` has written.

    Raises
    ------
    InputError
        If the folder is no complete result of one run.

    Examples
    --------
    >>> path = result.save("saved")
    >>> gv.read_result("saved").summary["learner"]
    'best-choice'
    """
    path = Path(folder)
    check_results(path)
    model = read_model(path)
    tables = [
        pd.read_csv(io.BytesIO(read_bytes(path / name))) for name in ("trace.csv", "edges.csv")
    ]
    return SavedResult(model, json.loads(read_bytes(path / "result.json")), *tables)


def notebook_html(run: Run, title: str) -> str:
    """Return a frame with the replay, for notebooks: sandboxed, without access to the page."""
    page = run_html(run, title=title).replace("&", "&amp;").replace('"', "&quot;")
    return (
        f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="Replay of a learning run" '
        'style="width: 100%; height: 720px; border: 0"></iframe>'
    )
