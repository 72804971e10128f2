"""Registry of named data sets; keys and titles are available without loading data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.sets.dataset import DataSet, positions_from_names
from graftviz.data.sets.digits import digits_table
from graftviz.data.sets.folders import ROOT, folder_keys, folder_title, load_folder
from graftviz.data.sets.generated import generated, is_generated
from graftviz.data.sets.networks import network_sample
from graftviz.data.synthetic.graphs import karate_graph, les_miserables_graph
from graftviz.data.table import DiscreteTable
from graftviz.utils.errors import InputError
from graftviz.utils.wording import nearest


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
