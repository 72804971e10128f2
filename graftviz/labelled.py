"""Numbers of states as pandas objects with the labels of the states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from graftviz.model import PairwiseMRF


def labelled(
    model: PairwiseMRF,
    variables: Any,
    node: Callable[[int], np.ndarray],
    edge: Callable[[int], np.ndarray],
) -> pd.Series | pd.DataFrame:
    """Return the numbers of a variable, or of the edge between two, by label.

    Parameters
    ----------
    model : PairwiseMRF
    variables : int, str or pair of them
        A variable, or the ends of an edge; rows are the states of the end that is named first.
    node, edge : callable
        Return the numbers of the i-th variable, and of the e-th edge.

    Raises
    ------
    InputError
        If there is no such variable or edge.
    """
    names, labels = model.names, model.labels
    if not isinstance(variables, tuple):
        i = model.index_of(variables)
        return _by_state(node(i), names[i], labels[i])
    i, j, e = model.edge_between(*variables)
    return _by_states(edge(e) if i < j else edge(e).T, (i, j), names, labels)


def _by_state(values: np.ndarray, name: str, labels: Sequence[str]) -> pd.Series:
    """Return a number for each state of a variable, by label."""
    return pd.Series(np.array(values), index=pd.Index(labels, name=name), name=name)


def _by_states(
    values: np.ndarray,
    pair: tuple[int, int],
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
) -> pd.DataFrame:
    """Return a number for each pair of states, by label; rows are states of the first variable."""
    rows, columns = (pd.Index(labels[k], name=names[k]) for k in pair)
    return pd.DataFrame(np.array(values), index=rows, columns=columns)
