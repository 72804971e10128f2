"""Estimator for scikit-learn: :class:`MarkovNetwork`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from graftviz.data.coding import BINS, MAX_STATES, Missing
from graftviz.data.labels import MISSING_STATES
from graftviz.data.reading.reading import table_inside, warn_of
from graftviz.data.table import MAX_CARDINALITY, DiscreteTable
from graftviz.inference.likelihood import nlpl
from graftviz.inference.prediction import PairwiseMRF, Predictor, variables_of
from graftviz.learning.base import Learner
from graftviz.learning.completion import read_table
from graftviz.learning.registry import DEFAULT, as_learner, learner_names
from graftviz.reports.results import learn
from graftviz.utils.errors import InputError
from graftviz.utils.options import option_specs

_OPTION = "learner__"  # prefix of the names of a learner's options

# --- X as a table: codes, and categories declared by frames ---------------------------------------


def header(table: DiscreteTable) -> pd.DataFrame:
    """Return an empty frame with the columns of `table`."""
    return pd.DataFrame(columns=list(table.names))


def table_of_codes(
    source: pd.DataFrame | np.ndarray, cardinalities: int | Sequence[int]
) -> DiscreteTable:
    """Return a table with the codes of `source` and the given numbers of states.

    Raises
    ------
    InputError
        If `source` holds anything but whole numbers from 0 to below `cardinalities`.
    """
    sizes = np.asarray(cardinalities)
    if sizes.dtype.kind not in "iu" or sizes.ndim > 1:
        raise InputError(
            f"cardinalities must be one whole number, or one per column, not {cardinalities!r}."
        )
    codes = np.asarray(source)
    if codes.dtype.kind not in "iub":
        # scikit-learn's discretizers return codes as floats.
        codes = _whole_numbers(codes)
    if (codes < 0).any():
        row, column = np.argwhere(codes < 0)[0].tolist()
        raise InputError(
            f"Negative values in data: row {row + 1}, column {column + 1} of X holds "
            f"{codes[row, column]}, but as cardinalities were given, X must hold codes, whole "
            "numbers from 0."
        )
    names = tuple(map(str, source.columns)) if isinstance(source, pd.DataFrame) else None
    sizes = np.broadcast_to(sizes, codes.shape[1:]) if sizes.ndim == 0 else sizes
    return DiscreteTable.from_codes(codes, names, sizes)


def _whole_numbers(array: np.ndarray) -> np.ndarray:
    try:
        numbers = array.astype(np.float64)
    except ValueError:
        raise InputError(
            "cardinalities were given, so X must hold codes, whole numbers from 0; it holds text."
        ) from None
    whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
    if not whole.all():
        row, column = np.argwhere(~whole)[0].tolist()
        value = numbers[row, column]
        raise InputError(
            f"Row {row + 1}, column {column + 1} of X holds {'NaN' if np.isnan(value) else value}, "
            "but as cardinalities were given, X must hold codes, whole numbers from 0."
        )
    return numbers.astype(np.int64)


def declared_labels(frame: pd.DataFrame, table: DiscreteTable) -> tuple[tuple[str, ...], ...]:
    """Return the labels of `table`, read from `frame`, including categories that do not occur."""
    labels = list(table.labels)
    for i, dtype in enumerate(frame.dtypes):
        if not isinstance(dtype, pd.CategoricalDtype):
            continue
        own = tuple(label for label in labels[i] if label in MISSING_STATES)
        if len(dtype.categories) <= max(len(labels[i]) - len(own), 1):
            continue
        # Read a column with all categories, so that these are named and sorted as in any table.
        column = pd.Series(pd.Categorical(dtype.categories, dtype=dtype))
        alone = pd.DataFrame({"declared": column, "again": column})
        declared = read_table(alone, missing="drop", max_states=MAX_CARDINALITY - 1).labels[0]
        labels[i] = (*declared, *(label for label in own if label not in declared))
    return tuple(labels)


# --- the estimator --------------------------------------------------------------------------------


class MarkovNetwork(Predictor, DensityMixin, BaseEstimator):
    """Pairwise Markov network of discrete variables whose graph is learned from the rows of X.

    It works like other estimators of scikit-learn: in ``clone``, ``Pipeline``, ``GridSearchCV``,
    and through joblib on other cores or machines. Options of the learner are nested parameters:
    ``learner__alpha`` is the option ``alpha``.

    Parameters
    ----------
    learner : str or Learner
        A learner, or the name of one with its default options.
    random_state : int
        Seed of the learner: the same seed gives the same network, in any process.
    missing : {"reject", "drop", "state", "em"}
        This and the next options are those of :func:`graftviz.read_table`, which reads X.
    continuous : {"reject", "bin"}
        By default continuous columns are divided into quantiles.
    max_states : int
        A column with more distinct values is continuous.
    bins : int
        Number of quantiles.
    min_count : int
        Texts in fewer rows become the state ``"other"``. Later rows may hold other texts only if
        there is such a state; for other numbers the nearest state stands, with a warning.
    cardinalities : int or sequence of int, optional
        Number of states s of all columns or of each; X must then hold codes 0 … s−1. Codes that
        do not occur in the training rows are allowed later. (In a data frame, the categories of a
        categorical column have the same effect.)

    Attributes
    ----------
    model_ : PairwiseMRF
    edges_ : int array, shape (m, 2)
        Pairs of columns, in order of activation.
    result_ : Result
        Result of the run: stop reason, certificate, trace and more.
    learner_ : Learner
        The learner with all its options.
    coding_ : DiscreteTable
        One row with the names and labels of the training rows, to encode other rows in the same
        way: ``read_table(rows, like=coding_)``.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import graftviz as gv
    >>> rows = [[0, 0, 1], [1, 1, 0], [1, 1, 1]] * 50
    >>> network = gv.MarkovNetwork(gv.BestChoice(lam=0.01, alpha=0.5)).fit(rows)
    >>> network.edges_.tolist()
    [[0, 1], [0, 2]]
    """

    def __init__(
        self,
        learner: str | Learner = DEFAULT,
        *,
        random_state: int = 0,
        missing: Missing = "reject",
        continuous: Literal["reject", "bin"] = "bin",
        max_states: int = MAX_STATES,
        bins: int = BINS,
        min_count: int = 0,
        cardinalities: int | Sequence[int] | None = None,
    ) -> None:
        self.learner = learner
        self.random_state = random_state
        self.missing = missing
        self.continuous = continuous
        self.max_states = max_states
        self.bins = bins
        self.min_count = min_count
        self.cardinalities = cardinalities

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name; with `deep` also the options of the learner."""
        params: dict[str, Any] = super().get_params(deep=False)
        # `fit` refuses what is no learner, as scikit-learn wants it.
        is_name = isinstance(self.learner, str) and self.learner in learner_names()
        if deep and (is_name or isinstance(self.learner, Learner)):
            learner = as_learner(self.learner)
            names = [spec.name for spec in option_specs(learner)]
            params |= {_OPTION + name: getattr(learner, name) for name in names}
        return params

    def set_params(self, **params: Any) -> MarkovNetwork:
        """Set parameters and return the estimator; ``learner__alpha`` is the option ``alpha``.

        Raises
        ------
        InputError
            For a name that is no parameter.

        Examples
        --------
        >>> import graftviz as gv
        >>> gv.MarkovNetwork().set_params(learner__alpha=0.5).learner.alpha
        0.5
        """
        own = {name: value for name, value in params.items() if not name.startswith(_OPTION)}
        names = self.get_params(deep=False)
        for name in own:
            if name not in names:
                raise InputError(_unknown(name, "parameter of MarkovNetwork", self.get_params()))
        super().set_params(**own)
        options = {name.removeprefix(_OPTION): params[name] for name in params if name not in own}
        if options:
            learner = as_learner(self.learner)
            known = [spec.name for spec in option_specs(learner)]
            for name in options:
                if name not in known:
                    raise InputError(_unknown(name, f"option of {learner.name}", known))
            self.learner = dataclasses.replace(learner, **options)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MarkovNetwork:
        """Learn graph and weights.

        Parameters
        ----------
        X : DataFrame, array of shape (rows, variables), DiscreteTable or DataSet
        y : ignored
        sample_weight : array of shape (rows,), optional
            Case weights: a row of weight 2 counts as two rows.

        Returns
        -------
        MarkovNetwork
            Itself.

        Raises
        ------
        InputError
            If X cannot be read, or an option does not fit the learner or X.
        """
        learner = as_learner(self.learner)
        table = self._training_table(X, sample_weight)
        result = learn(table, learner, seed=self.random_state)
        self.learner_ = learner
        self.coding_ = DiscreteTable.coding(table.names, table.labels)
        self.result_ = result
        self.model_ = result.model
        self.edges_ = result.model.edges
        return self

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log pseudo-likelihood of the rows in nats, −NLPL; higher is better.

        Raises
        ------
        InputError
            If X lacks columns of the training rows (further ones are ignored), or has labels that
            these do not have.
        """
        table = self._table_in_coding(X, sample_weight)
        return -nlpl(self.model_, table)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return Σ_i log p(x_i | x_N(i)) of every row in nats, shape (rows,).

        Raises
        ------
        InputError
            See :meth:`score`.
        """
        table = self._table_in_coding(X)
        return _log_pseudo_likelihoods(self.model_, table)

    def predict(self, X: Any, target: int | str | None = None) -> np.ndarray:
        """Return the most probable states of one variable, given the others in each row.

        With a target, missing values and missing columns of X are not observed, and the result has
        labels, shape (rows,). Without one, X must be complete, and the result has the codes of all
        variables, each given all others, shape (rows, n).
        """
        return super().predict(self._rows_to_predict(X, target), target)

    def predict_proba(self, X: Any, target: int | str | None = None) -> np.ndarray:
        """Return the probabilities of the states of one variable, given the others in each row.

        See :meth:`predict`; without a target, the states of all variables are side by side.
        """
        return super().predict_proba(self._rows_to_predict(X, target), target)

    def _model(self) -> PairwiseMRF:
        check_is_fitted(self)
        return self.model_

    def _rows_to_predict(self, X: Any, target: int | str | None) -> Any:
        return self._table_in_coding(X) if target is None else X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = self.cardinalities is None
        tags.input_tags.positive_only = self.cardinalities is not None
        tags.input_tags.allow_nan = self.cardinalities is None and self.missing != "reject"
        return tags

    def _training_table(self, X: Any, weights: Any) -> DiscreteTable:
        """Return the training rows as a table; set scikit-learn's attributes of columns."""
        X = table_inside(X)
        if isinstance(X, DiscreteTable):
            validate_data(self, header(X), skip_check_array=True)
            return _weighted(X, weights)
        source = self._validated(X, least=2)
        if self.cardinalities is not None:
            return _weighted(table_of_codes(source, self.cardinalities), weights)
        table = self._read(source, weights=weights)
        if isinstance(source, pd.DataFrame):
            labels = declared_labels(source, table)
            if labels != table.labels:
                wider = self._read(
                    source, like=DiscreteTable.coding(table.names, labels), weights=weights
                )
                return dataclasses.replace(wider, warnings=table.warnings)
        return table

    def _table_in_coding(self, X: Any, weights: Any = None) -> DiscreteTable:
        check_is_fitted(self)
        X = table_inside(X)
        if isinstance(X, DiscreteTable):
            validate_data(self, header(X), skip_check_array=True, reset=False)
            if (X.names, X.labels) == (self.coding_.names, self.coding_.labels):
                return _weighted(X, weights)
            weights = X.weights if weights is None else weights
            return self._read(X.to_frame(), like=self.coding_, weights=weights)
        source = self._validated(variables_of(X, self.coding_.names), least=1, reset=False)
        if isinstance(source, pd.DataFrame) and not hasattr(self, "feature_names_in_"):
            source = source.set_axis(list(self.coding_.names), axis=1)
        return self._read(source, like=self.coding_, weights=weights)

    def _validated(self, X: Any, *, least: int, reset: bool = True) -> pd.DataFrame | np.ndarray:
        """Return a frame unchanged, anything else as an array with at least `least` rows."""
        if isinstance(X, pd.DataFrame):
            # An array would lose the types of the columns.
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        array = validate_data(
            self,
            X,
            reset=reset,
            dtype=None,
            ensure_all_finite=False,
            ensure_min_samples=least,
            ensure_min_features=least,
        )
        if self.missing == "reject" and array.dtype.kind == "f" and np.isnan(array).any():
            row, column = np.argwhere(np.isnan(array))[0].tolist()
            raise InputError(
                f"Row {row + 1}, column {column + 1} of X holds NaN, a missing value; fill it in, "
                'or drop such rows (missing="drop"), or make missing a separate state '
                '(missing="state").'
            )
        return array

    def _read(
        self,
        source: pd.DataFrame | np.ndarray,
        like: DiscreteTable | None = None,
        weights: Any = None,
    ) -> DiscreteTable:
        table = read_table(
            source,
            missing=self.missing,
            continuous=self.continuous,
            max_states=self.max_states,
            bins=self.bins,
            min_count=self.min_count,
            weights=weights,
            unseen="nearest",
            like=like,
        )
        if like is not None:
            warn_of(table)
        return table


def _unknown(name: str, what: str, known: Iterable[str]) -> str:
    return f"{name!r} is no {what}; there are {', '.join(known)}."


def _weighted(table: DiscreteTable, weights: Any) -> DiscreteTable:
    """Return a table with case weights; unchanged if there are none."""
    if weights is None:
        return table
    return dataclasses.replace(table, weights=weights)


def _log_pseudo_likelihoods(model: PairwiseMRF, table: DiscreteTable) -> np.ndarray:
    incident: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(model.n_variables)]
    ends = model.edge_offsets.tolist()
    for e, (i, j) in enumerate(model.edges.tolist()):
        weights = model.weights[ends[e] : ends[e + 1]].reshape(model.cardinalities[[i, j]])
        incident[i].append((j, weights.T))
        incident[j].append((i, weights))
    total = np.zeros(table.n_rows)
    rows = np.arange(table.n_rows)
    for i, neighbours in enumerate(incident):
        logits = np.tile(model.node_weights(i), (table.n_rows, 1))
        for j, by_neighbour in neighbours:
            logits += by_neighbour[table.codes[j]]
        chosen = logits[rows, table.codes[i]]
        # Impossible rows stay impossible if all states are, where the difference is undefined.
        possible = np.isfinite(chosen)
        total[~possible] = -np.inf
        total[possible] += chosen[possible] - np.logaddexp.reduce(logits[possible], axis=1)
    return total
