"""Uploaded files: tables, series and models."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
from pyarrow import parquet

COLUMNS = 40
SERIES = 30
LARGE_NODES, LARGE_ROWS = 2_000, 1_000


def table_of_size(n_bytes: int) -> bytes:
    """Return a CSV table with about that many bytes: forty columns of three states."""
    chance = random.Random(5)
    lines = [",".join(f"v{k}" for k in range(COLUMNS)) + "\n"]
    size = len(lines[0])
    while size < n_bytes:
        lines.append(",".join(chance.choices("012", k=COLUMNS)) + "\n")
        size += len(lines[-1])
    return "".join(lines).encode()


def large_table() -> bytes:
    """Return a CSV table of 2,000 variables, drawn from a network by the project's own command."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "graftviz", "generate", "mrf", "--out", folder]
        command += [
            "--nodes",
            str(LARGE_NODES),
            "--rows",
            str(LARGE_ROWS),
            "--states",
            "3",
            "--burn-in",
            "20",
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=600)
        return (Path(folder) / "table.csv").read_bytes()


def parquet_table(n_bytes: int, seed: int = 0) -> bytes:
    """Return a parquet table of about `n_bytes` bytes: forty columns of three text labels."""
    n_rows = max(100, 4 * n_bytes // COLUMNS)  # two bits per cell
    labels = np.array(["low", "middle", "high"])
    rng = np.random.default_rng(seed)
    columns = {f"v{k}": labels[rng.integers(0, 3, n_rows)] for k in range(COLUMNS)}
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def series_table(n_bytes: int, seed: int = 0) -> bytes:
    """Return a CSV table of about `n_bytes` bytes with thirty series, one row per time step."""
    rng = np.random.default_rng(seed)
    n_rows = max(200, n_bytes // (SERIES * 7))
    values = np.cumsum(rng.normal(size=(n_rows, SERIES)), axis=0) * 0.01
    values += rng.normal(size=values.shape)
    file = io.StringIO()
    np.savetxt(
        file,
        values,
        fmt="%.4f",
        delimiter=",",
        header=",".join(f"s{k}" for k in range(SERIES)),
        comments="",
    )
    return file.getvalue().encode()


def grid_model(side: int, seed: int = 0) -> bytes:
    """Return a UAI file: a grid of `side` times `side` binary variables."""
    rng = np.random.default_rng(seed)
    n = side * side
    edges = [(i, i + 1) for i in range(n) if (i + 1) % side]
    edges += [(i, i + side) for i in range(n - side)]
    scopes = [(i,) for i in range(n)] + edges
    lines = ["MARKOV", str(n), " ".join(["2"] * n), str(len(scopes))]
    lines += [f"{len(scope)} {' '.join(map(str, scope))}" for scope in scopes]
    for scope in scopes:
        size = 2 ** len(scope)
        lines += [str(size), " ".join(f"{x:.4f}" for x in np.exp(rng.normal(0, 0.3, size)))]
    return "\n".join(lines).encode() + b"\n"


def graphml_model(n_nodes: int, seed: int = 0) -> bytes:
    """Return a GraphML file: a sparse random graph with a number called weight on its edges."""
    graph = nx.gnm_random_graph(n_nodes, 2 * n_nodes, seed=seed)
    chance = random.Random(seed)
    for _, _, values in graph.edges(data=True):
        values["weight"] = round(chance.gauss(0, 0.3), 4)
    file = io.BytesIO()
    nx.write_graphml(graph, file)
    return file.getvalue()


def zipped_model(side: int, seed: int = 0) -> bytes:
    """Return a ZIP archive with the UAI file of a grid."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.uai", grid_model(side, seed))
    return file.getvalue()
