"""Registry of named data sets; keys and titles are available without loading data.

Data sets in the folders of ``sample_data``, next to the package. A folder with a ``table.csv`` is a
data set, and its name is the key. Optional files are ``truth_edges.csv``, ``model.uai`` with the
model that the rows were sampled from, and ``about.json`` with some of ``title``, ``description``,
``suggested`` (option values), ``test_fraction`` and ``rank`` (position in lists).
"""

from __future__ import annotations

import gzip
import importlib.resources
import io
import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.coding import TableOptions
from graftviz.data.reading.reading import read_rows
from graftviz.data.sets.dataset import DataSet, positions_from_names
from graftviz.data.sets.files import read_truth
from graftviz.data.sets.generated import generated, is_generated
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import Graph, karate_graph, les_miserables_graph, random_graph
from graftviz.data.synthetic.potentials import random_model, sample_exact
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError
from graftviz.utils.installed import beside_package
from graftviz.utils.wording import nearest

SIDE = 8
_GREY_STEPS = 17  # a pixel is the number of dark points in a 4 × 4 block: 0 … 16
LABELS = {2: ("light", "dark"), 4: ("white", "light", "dark", "black")}


def digits_table(levels: int) -> DiscreteTable:
    """Return the 1,797 images with 2 or 4 grey levels, one variable per pixel.

    The pixel in row r and column c has the name ``r<r>c<c>``. Its states are the grey levels that
    occur; pixels that are always white have one state.
    """
    # The file is read directly: importing scikit-learn takes longer than learning the network.
    packed = importlib.resources.files("sklearn.datasets.data") / "digits.csv.gz"
    numbers = np.loadtxt(io.BytesIO(gzip.decompress(packed.read_bytes())), delimiter=",")
    grey = numbers[:, : SIDE * SIDE].astype(np.int64) * levels // _GREY_STEPS
    codes = np.empty_like(grey)
    labels = []
    for pixel, values in enumerate(grey.T):
        occurring, codes[:, pixel] = np.unique(values, return_inverse=True)
        labels.append([LABELS[levels][level] for level in occurring])
    names = [f"r{row}c{column}" for row in range(SIDE) for column in range(SIDE)]
    return DiscreteTable.from_codes(codes, names=names, labels=labels)


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


SEED, STATES, ROWS = 1, 3, 4000  # of the samples on real graphs
DENSE, DENSE_TITLE = "dense-16", "Dense network · 16 variables, 2 states"


def network_sample(graph: Graph, edge_sigma: float) -> tuple[DiscreteTable, np.ndarray]:
    """Return rows sampled from a model with random potentials on a graph, and its edges."""
    model = random_model(
        graph.edges,
        [STATES] * graph.n_nodes,
        edge_sigma=edge_sigma,
        seed=SEED,
        names=graph.names,
    )
    return sample_gibbs(model, ROWS, seed=SEED).table, graph.edges


def dense_network(
    seed: int, variables: int = 16, rows: int = 1_000
) -> tuple[DataSet, PairwiseModel]:
    """Return a sample of a small dense network, and its model.

    Every edge has probability ½, and all weights are drawn from N(0, 1), as in the paper on bounded
    inference complexity. Half of the rows, drawn exactly from the joint distribution, are held out.
    """
    graph = random_graph(variables, probability=0.5, seed=seed)
    model = random_model(
        graph.edges, [2] * variables, node_sigma=1.0, edge_sigma=1.0, seed=seed, names=graph.names
    )
    data = DataSet(
        key=DENSE,
        title=DENSE_TITLE,
        table=sample_exact(model, rows, seed=seed),
        truth=graph.edges,
        test_fraction=0.5,
    )
    return data, model


class _BuiltIn(NamedTuple):
    """Data set without files in ``sample_data``; `load` returns the table and the true edges."""

    title: str
    description: str
    load: Callable[[], tuple[DiscreteTable, np.ndarray | None]]
    suggested: Mapping[str, Any]
    test_fraction: float


_DIGITS = (
    "1,797 handwritten digits of 8 × 8 pixels, from scikit-learn. Every pixel is a variable; the "
    "learner has no information on their positions, but most learned edges join pixels that "
    "are close together. "
)
_BUILT_IN = {
    "karate": _BuiltIn(
        title="Karate club · 34 variables, 3 states",
        description="Friendships in a karate club (Zachary 1977), from networkx; the two leaders "
        "are hubs. The graph is real; the rows are sampled from a model with random potentials "
        "on it.",
        load=lambda: network_sample(karate_graph(), edge_sigma=0.5),
        suggested={"lam": 0.0035},
        test_fraction=0.1,
    ),
    "les-miserables": _BuiltIn(
        title="Les Misérables · 77 variables, 3 states",
        description="Characters of the novel that appear together (Knuth 1993), from networkx: "
        "many triangles, with Valjean in the centre. The graph is real; the rows are sampled from "
        "a model with random potentials on it. Edges in dense groups are hard to recover.",
        load=lambda: network_sample(les_miserables_graph(), edge_sigma=0.4),
        suggested={"lam": 0.003},
        test_fraction=0.1,
    ),
    "digits-2": _BuiltIn(
        title="Handwritten digits · 64 pixels, 2 grey levels",
        description=_DIGITS + "A pixel is light or dark.",
        load=lambda: (digits_table(2), None),
        suggested={"lam": 0.025},
        test_fraction=0.2,
    ),
    "digits-4": _BuiltIn(
        title="Handwritten digits · 64 pixels, 4 grey levels",
        description=_DIGITS + "A pixel is white, light, dark or black.",
        load=lambda: (digits_table(4), None),
        suggested={"lam": 0.007},
        test_fraction=0.2,
    ),
}


def dataset_keys() -> tuple[str, ...]:
    """Return the keys of all data sets, in the order of menus."""
    return (*folder_keys(), *_BUILT_IN)


@lru_cache(maxsize=256)
def dataset_title(key: str) -> str:
    """Return the title of a data set without loading its table; titles are cached.

    Raises
    ------
    InputError
        For an unknown key.
    """
    _check(key)
    return _BUILT_IN[key].title if key in _BUILT_IN else folder_title(key)


@lru_cache(maxsize=16)
def load_dataset(key: str) -> DataSet:
    """Return the data set with a key, read from files or sampled; data sets are cached.

    Raises
    ------
    InputError
        For an unknown key (the message suggests valid ones), invalid settings of generated data,
        or a damaged file of sample_data.

    Examples
    --------
    >>> data = gv.load_dataset("karate")
    >>> data.table, len(data.truth)
    (DiscreteTable(34 variables, 4000 rows), 78)
    """
    if is_generated(key):
        return generated(key).data_set()
    _check(key)
    if key not in _BUILT_IN:
        return load_folder(key)
    built_in = _BUILT_IN[key]
    table, truth = built_in.load()
    return DataSet(
        key=key,
        title=built_in.title,
        table=table,
        truth=truth,
        positions=positions_from_names(table.names),
        description=built_in.description,
        suggested=built_in.suggested,
        test_fraction=built_in.test_fraction,
    )


def model_path(key: str) -> Path | None:
    """Return the UAI file of the model a data set was sampled from; None if there is no file.

    Raises
    ------
    InputError
        For an unknown key.
    """
    _check(key)
    path = ROOT / key / "model.uai"
    return path if path.exists() else None


def _check(key: str) -> None:
    keys = dataset_keys()
    if key not in keys:
        hint = nearest(key, keys, f"there are {', '.join(keys)}.", shown=str)
        raise InputError(f"There is no data set {key!r}; {hint}")
