"""Files of a run, built when one is requested."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from graftviz.formats.files import as_bytes
from graftviz.formats.gexf import result_gexf
from graftviz.formats.graphml import graphml
from graftviz.formats.node_link import result_node_link
from graftviz.formats.replay import replay_page
from graftviz.formats.result_json import result_json
from graftviz.formats.tables import edges_csv, trace_csv
from graftviz.formats.uai import names_text, uai_text
from graftviz.runs import Result
from graftviz.ui.frame.header import PageFile
from graftviz.ui.frame.jobs import EVERYTHING
from graftviz.ui.frame.runs import SessionRun

PATIENCE = 120.0  # seconds a download waits for the end of the run; then it holds the steps so far
RUN_NOTE = "Unfinished runs are completed first."


class FileKind(NamedTuple):
    """One kind of file a run can be saved as."""

    name: str
    label: str
    build: Callable[[SessionRun], str | bytes]


def _of_result(write: Callable[[Result], str | bytes]) -> Callable[[SessionRun], str | bytes]:
    return lambda run: write(run.result())


def build_replay(run: SessionRun) -> str:
    """Return the standalone replay page of a run."""
    content = json.loads(run.feed_json(1, EVERYTHING, whole=True))
    header = json.loads(run.header_json or "{}")
    return replay_page(header, content["records"], content["outcome"])


def build_edges(run: SessionRun) -> str:
    """Return edges.csv, with the stability of each edge if it has been computed."""
    work = run.stability
    return edges_csv(run.result(), work.latest if work is not None and work.finished else None)


_model = _of_result(lambda result: uai_text(result.model))
_names = _of_result(lambda result: names_text(result.model))
FILES = (
    FileKind("replay.html", "Web page of this run (needs no server)", build_replay),
    FileKind("edges.csv", "Edges (CSV)", build_edges),
    FileKind("trace.csv", "Trace, one row per step (CSV)", _of_result(trace_csv)),
    FileKind("result.json", "Result (JSON)", _of_result(result_json)),
    FileKind("model.uai", "Model (UAI)", _model),
    FileKind("model.names.json", "Variable names (for UAI)", _names),
    FileKind("graph.graphml", "Model and graph (GraphML)", _of_result(graphml)),
    FileKind("graph.json", "Model and graph (JSON)", _of_result(result_node_link)),
    FileKind("graph.gexf", "Graph for Gephi (GEXF)", _of_result(result_gexf)),
)


def build_file(run: SessionRun, kind: FileKind) -> bytes:
    """Let the run finish (or run out of patience) and return the file."""
    run.grant()
    run.wait_for_end(PATIENCE)
    return as_bytes(kind.build(run))


def build_archive(run: SessionRun, kinds: Sequence[FileKind] = FILES) -> bytes:
    """Return files of a run in one ZIP archive."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        for kind in kinds:
            files.writestr(kind.name, build_file(run, kind))
    return archive.getvalue()


def run_files(run: SessionRun, *, with_replay: bool = True) -> list[PageFile]:
    """Return the files of a run for the menu Download, the archive of all of them first.

    Parameters
    ----------
    run : SessionRun
    with_replay : bool
        Whether the run has the records of the player.
    """
    kinds = FILES if with_replay else FILES[1:]
    archive = PageFile(
        "graftviz-run.zip",
        f"All {len(kinds)} files (ZIP)",
        partial(build_archive, run, kinds),
        is_main=True,
    )
    files = (PageFile(k.name, k.label, partial(build_file, run, k)) for k in kinds)
    return [archive, *files]
