"""Prediction of missing states of rows, and rows sampled from a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from graftviz.errors import InputError
from graftviz.inference import Evidence, checked_evidence, conditioned
from graftviz.inference.exact import JunctionTree, plan_elimination
from graftviz.inference.exact.plan import too_expensive
from graftviz.inference.hidden import HiddenModel
from graftviz.inference.settings import InferenceSettings
from graftviz.metrics import nlpl
from graftviz.model import PairwiseMRF
from graftviz.sampling import sample_gibbs
from graftviz.sampling.gibbs import LARGEST_SAMPLE
from graftviz.table import (
    MISSING_STATES,
    DiscreteTable,
    has_gaps,
    read_table,
    table_inside,
    warn_of,
)
from graftviz.wording import quoted

UNOBSERVED = -1
SampleMethod = Literal["auto", "exact", "gibbs"]
SAMPLE_METHODS: tuple[str, ...] = get_args(SampleMethod)


def observed_codes(model: PairwiseMRF, X: Any, target: int | str | None = None) -> np.ndarray:
    """Return the state of every variable in every row, −1 where it is not observed.

    Parameters
    ----------
    model : PairwiseMRF
    X : DataFrame, DiscreteTable, mapping, sequence of mappings, or array of shape (rows, n)
        Missing values and variables without a column are not observed. Where the model has a
        state for missing values, missing values have that state. Values are coded as
        ``read_table(X, like=…)`` codes them; for numbers that are no state, in frames and arrays,
        the nearest state stands, with a warning. See also :func:`variables_of`.
    target : int or str, optional
        Variable whose column may be missing among all others.

    Returns
    -------
    int64 array, shape (n, rows)

    Raises
    ------
    InputError
        For columns that are not used, and values that are no state of their variable.
    """
    if isinstance(X, DiscreteTable):
        if (X.names, X.labels) == (model.names, model.labels):
            return X.codes.astype(np.int64)
        X = X.to_frame()
    is_evidence = isinstance(X, Mapping | Sequence)
    frame = _frame(model, X, target)
    complete = frame.reindex(columns=list(model.names))
    labels = tuple(
        states
        if any(label in MISSING_STATES for label in states) or not has_gaps(complete[name])
        else (*states, MISSING_STATES[0])
        for name, states in zip(model.names, model.labels, strict=True)
    )
    like = DiscreteTable.coding(model.names, labels)
    unseen: Literal["reject", "nearest"] = "reject" if is_evidence else "nearest"
    table = read_table(complete, like=like, missing="state", unseen=unseen)
    warn_of(table)
    codes = table.codes.astype(np.int64)
    codes[codes >= model.cardinalities[:, np.newaxis]] = UNOBSERVED
    return codes


def score(model: PairwiseMRF, X: Any) -> float:
    """Return the mean log pseudo-likelihood of rows; see :meth:`PairwiseMRF.score`."""
    rows = table_inside(X)
    like = DiscreteTable.coding(model.names, model.labels)
    if not isinstance(rows, DiscreteTable):
        rows = read_table(variables_of(rows, model.names), like=like, unseen="nearest")
        warn_of(rows)
    elif (rows.names, rows.labels) != (model.names, model.labels):
        frame = variables_of(rows.to_frame(), model.names)
        rows = read_table(frame, like=like, weights=rows.weights)
    return -nlpl(model, rows)


def variables_of(X: Any, names: Sequence[str], target: str | None = None) -> Any:
    """Return a frame without the columns that are no variables, if it has all variables.

    Such a column, of case weights or of row names, is not meant to be used. If a variable is
    missing, the other column may be that variable, misspelled, so the frame is unchanged, as is
    everything else.

    Parameters
    ----------
    X : Any
    names : sequence of str
        The variables.
    target : str, optional
        Variable that may be missing.
    """
    if not isinstance(X, pd.DataFrame):
        return X
    columns = [str(name) for name in X.columns]
    if not set(names) - {target} <= set(columns):
        return X
    variables = set(names)
    return X.loc[:, [name in variables for name in columns]]


def _frame(model: PairwiseMRF, X: Any, target: int | str | None) -> pd.DataFrame:
    """Return rows as a frame whose columns are variables of the model."""
    if isinstance(X, pd.Series):
        X = X.to_frame().T
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, Sequence) and X and all(isinstance(row, Mapping) for row in X):
        X = pd.DataFrame(list(X))
    if not isinstance(X, pd.DataFrame):
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != model.n_variables:
            raise InputError(
                f"Rows as an array need the shape (rows, {model.n_variables}); got "
                f"{array.shape}. Name the columns in a DataFrame to leave some out."
            )
        X = pd.DataFrame(array, columns=list(model.names))
    X = variables_of(
        X, model.names, None if target is None else model.names[model.index_of(target)]
    )
    frame = X.set_axis([str(name) for name in X.columns], axis=1)
    unknown = [name for name in frame.columns if name not in model.names]
    if unknown:
        model.index_of(unknown[0])  # raises the error, which names a similar variable
    if len(frame) == 0:
        raise InputError("There is no row to predict.")
    return frame


def conditional_marginals(model: PairwiseMRF, codes: np.ndarray) -> np.ndarray:
    """Return p(x_i | observed states of the row) of every unobserved variable.

    Parameters
    ----------
    model : PairwiseMRF
    codes : int array, shape (n, rows)
        States; −1 where a variable is not observed.

    Returns
    -------
    float64 array, shape (rows, Σ s_i)
        Variables in order; an observed variable has all its mass on its state. By exact inference,
        or by belief propagation where the tables of exact inference would be too large.

    Raises
    ------
    InputError
        If the observed states of a row have probability zero.
    """
    offsets = model.node_offsets
    found = np.zeros((codes.shape[1], int(offsets[-1])))
    rows, variables = np.nonzero((codes != UNOBSERVED).T)
    found[rows, offsets[variables] + codes[variables, rows]] = 1.0
    for hidden, where, marginals in _hidden_marginals(model, codes):
        columns = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in hidden])
        found[np.ix_(where, columns)] = marginals
    return found


def _hidden_marginals(
    model: PairwiseMRF, codes: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield connected unobserved variables, their rows, and marginals of shape (rows, Σ s_h)."""
    for hidden, where in _hidden_groups(model, codes == UNOBSERVED):
        part = HiddenModel(model, hidden, InferenceSettings(), "auto")
        marginals = part.marginals(codes[:, where])
        impossible = ~(marginals.sum(axis=1) > 0.0)
        if impossible.any():
            row = int(where[np.argmax(impossible)])
            raise InputError(f"The observed states of row {row + 1} have probability zero.")
        yield hidden, where, marginals


def _hidden_groups(model: PairwiseMRF, missing: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return connected groups of unobserved variables, each with the rows in which it occurs."""
    patterns, same = np.unique(missing, axis=1, return_inverse=True)
    same = same.reshape(-1)
    rows_of: dict[tuple[int, ...], list[np.ndarray]] = {}
    for k in range(patterns.shape[1]):
        hidden = np.flatnonzero(patterns[:, k])
        if len(hidden) == 0:
            continue
        where = np.flatnonzero(same == k)
        place = np.full(model.n_variables, -1)
        place[hidden] = np.arange(len(hidden))
        ends = place[model.edges]
        ends = ends[(ends >= 0).all(axis=1)]
        graph = csr_array((np.ones(len(ends)), ends.T), shape=(len(hidden), len(hidden)))
        count, labels = connected_components(graph, directed=False)
        for label in range(count):
            rows_of.setdefault(tuple(hidden[labels == label].tolist()), []).append(where)
    return [(np.array(group), np.concatenate(where)) for group, where in rows_of.items()]


def predict_proba(model: PairwiseMRF, X: Any, target: int | str | None = None) -> np.ndarray:
    """Return the probabilities of states; see :meth:`graftviz.PairwiseMRF.predict_proba`."""
    codes = observed_codes(model, X, target)
    if target is None:
        return np.concatenate([_alone(model, codes, i) for i in range(model.n_variables)], axis=1)
    return _alone(model, codes, model.index_of(target))


def _alone(model: PairwiseMRF, codes: np.ndarray, i: int) -> np.ndarray:
    """Return the probabilities of the states of one variable given the others, (rows, s_i)."""
    others = codes.copy()
    others[i] = UNOBSERVED
    near = _component_of_missing(model, others, i)
    # What is not joined to the variable through unobserved ones does not matter.
    others[~near & (others == UNOBSERVED)] = 0
    found = np.empty((codes.shape[1], int(model.cardinalities[i])))
    for hidden, where, marginals in _hidden_marginals(model, others):
        begin = int(model.cardinalities[hidden[hidden < i]].sum())
        found[where] = marginals[:, begin : begin + found.shape[1]]
    return found


def _component_of_missing(model: PairwiseMRF, codes: np.ndarray, i: int) -> np.ndarray:
    """Return which variables a path of unobserved ones joins to variable `i`, (n, rows)."""
    missing = codes == UNOBSERVED
    reached = np.zeros(missing.shape, dtype=bool)
    reached[i] = True
    front = [i]
    starts, neighbours, _ = model.incidence
    while front:
        k = front.pop()
        for j in neighbours[starts[k] : starts[k + 1]].tolist():
            new = reached[k] & missing[j] & ~reached[j]
            if new.any():
                reached[j] |= new
                front.append(j)
    return reached


def predict(model: PairwiseMRF, X: Any, target: int | str | None = None) -> np.ndarray:
    """Return the most probable states; see :meth:`graftviz.PairwiseMRF.predict`."""
    chances = predict_proba(model, X, target)
    if target is not None:
        labels = np.array(model.labels[model.index_of(target)], dtype=object)
        return np.asarray(labels[chances.argmax(axis=1)])
    starts = model.node_offsets[:-1].tolist()
    parts = np.split(chances, starts[1:], axis=1)
    return np.stack([part.argmax(axis=1) for part in parts], axis=1)


def impute(model: PairwiseMRF, X: Any) -> pd.DataFrame:
    """Return the rows with their missing states; see :meth:`graftviz.PairwiseMRF.impute`."""
    codes = observed_codes(model, X)
    marginals = conditional_marginals(model, codes)
    starts = model.node_offsets[:-1].tolist()
    best = [part.argmax(axis=1) for part in np.split(marginals, starts[1:], axis=1)]
    table = DiscreteTable(np.stack(best), model.names, model.labels)
    frame = table.to_frame()
    return frame.set_index(X.index) if isinstance(X, pd.DataFrame) else frame


def sample(
    model: PairwiseMRF,
    n: int,
    *,
    evidence: Evidence | None = None,
    seed: int = 0,
    method: SampleMethod = "auto",
) -> DiscreteTable:
    """Return rows drawn from a model; see :meth:`graftviz.PairwiseMRF.sample`."""
    if method not in SAMPLE_METHODS:
        raise InputError(f"A sampling method is auto, exact or gibbs, not {quoted(str(method))}.")
    if n > LARGEST_SAMPLE:
        raise InputError(f"A sample has at most {LARGEST_SAMPLE:,} rows; got {n:,}.")
    observed = checked_evidence(model, evidence)
    conditional = conditioned(model, observed).model
    if method == "auto":
        method = "gibbs" if too_expensive(plan_elimination(conditional)) else "exact"
    if method == "exact":
        codes = JunctionTree(conditional).sample(n, seed)
    else:
        codes = sample_gibbs(conditional, n, seed=seed).table.codes
    if observed:
        codes = codes.astype(np.int64)
        codes[list(observed)] = np.array(list(observed.values()))[:, np.newaxis]
    return DiscreteTable(codes, model.names, model.labels)
