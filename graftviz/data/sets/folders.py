"""Data sets in the folders of ``sample_data``, next to the package.

A folder with a ``table.csv`` is a data set, and its name is the key. Optional files are
``truth_edges.csv``, ``model.uai`` with the model that the rows were sampled from, and
``about.json`` with some of ``title``, ``description``, ``suggested`` (option values),
``test_fraction`` and ``rank`` (position in lists).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from graftviz.data.coding import TableOptions
from graftviz.data.reading.reading import read_rows
from graftviz.data.sets.dataset import DataSet, positions_from_names
from graftviz.data.sets.truth import read_truth
from graftviz.utils.errors import InputError
from graftviz.utils.installed import beside_package

ROOT = beside_package("sample_data")


def folder_keys(root: Path = ROOT) -> tuple[str, ...]:
    """Return the names of all data folders by rank, then by name; none if `root` is missing."""
    found = [path.parent for path in root.glob("*/table.csv")]
    ranks = {path.name: float(_about(path).get("rank", math.inf)) for path in found}
    return tuple(sorted(ranks, key=lambda name: (ranks[name], name)))


def folder_title(key: str, root: Path = ROOT) -> str:
    """Return the title of a data folder; its name if ``about.json`` has no title."""
    return str(_about(root / key).get("title", key))


def load_folder(key: str, root: Path = ROOT) -> DataSet:
    """Read a data folder.

    Raises
    ------
    InputError
        When one of its files cannot be used.
    """
    folder = root / key
    about = _about(folder)
    table = read_rows(folder / "table.csv", TableOptions(header="yes")).table
    truth = folder / "truth_edges.csv"
    return DataSet(
        key=key,
        title=folder_title(key, root),
        table=table,
        truth=read_truth(truth, table.names) if truth.exists() else None,
        positions=positions_from_names(table.names),
        description=str(about.get("description", "")),
        suggested=dict(about.get("suggested", {})),
        test_fraction=float(about.get("test_fraction", 0.0)),
    )


def _about(folder: Path) -> dict[str, Any]:
    path = folder / "about.json"
    title = f"{path.name} of data set {folder.name}"
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"{title} cannot be read: {problem}.") from None
    if not isinstance(content, dict):
        raise InputError(f"{title} must hold a JSON object.")
    return content
