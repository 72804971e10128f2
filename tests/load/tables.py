"""The tables that visitors bring."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = 40
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
