"""Numbers of states as pandas objects with the labels of the states."""

from __future__ import annotations

from collections.abc import Callable
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
        states = pd.Index(labels[i], name=names[i])
        return pd.Series(np.array(node(i)), index=states, name=names[i])
    i, j, e = model.edge_between(*variables)
    rows, columns = (pd.Index(labels[k], name=names[k]) for k in (i, j))
    return pd.DataFrame(np.array(edge(e) if i < j else edge(e).T), index=rows, columns=columns)
