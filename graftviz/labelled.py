"""Numbers of states as pandas objects with the labels of the states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


def by_state(values: np.ndarray, name: str, labels: Sequence[str]) -> pd.Series:
    """Return a number for each state of a variable, by label."""
    return pd.Series(np.array(values), index=pd.Index(labels, name=name), name=name)


def by_states(
    values: np.ndarray,
    pair: tuple[int, int],
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
) -> pd.DataFrame:
    """Return a number for each pair of states, by label; rows are states of the first variable."""
    rows, columns = (pd.Index(labels[k], name=names[k]) for k in pair)
    return pd.DataFrame(np.array(values), index=rows, columns=columns)
