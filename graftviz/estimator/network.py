"""The estimator itself: :class:`MarkovNetwork`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from graftviz.errors import InputError
from graftviz.estimator.coding import coding, declared_labels, header, table_of_codes
from graftviz.estimator.options import (
    LEFT_OPEN,
    OPTIONS,
    is_open,
    no_option,
    options_beside_methods,
    options_in_docstring,
    options_in_signature,
)
from graftviz.learners.base import Learner
from graftviz.learners.registry import learner_class, learner_names
from graftviz.metrics import negative_log_pseudo_likelihood
from graftviz.model import PairwiseMRF
from graftviz.options import option_specs
from graftviz.runs import learn
from graftviz.table import BINS, MAX_STATES, DiscreteTable, read_table


@options_beside_methods
@options_in_docstring
class MarkovNetwork(DensityMixin, BaseEstimator):
    """A pairwise Markov network of discrete variables, its graph learned from the rows of X.

    Works wherever scikit-learn's estimators do: in ``clone``, ``Pipeline``, ``GridSearchCV``, and
    through joblib on other cores or machines.

    Parameters
    ----------
    learner : str or Learner
        Name of a learner, or a learner whose options apply where none is given here.
    random_state : int
        Seed of the learner: the same seed gives the same network, in any process.
    missing, continuous, max_states, bins
        How X is read, see :func:`graftviz.read_table`. Unlike there, continuous columns are
        divided into quantiles unless ``continuous="reject"``.
    cardinalities : int or sequence of int, optional
        Says that X holds codes 0 … s−1, and the number of states s of all columns or of each. Then
        a code that does not occur in the training rows is known all the same. (In a data frame,
        the categories of a categorical column say so too.)
    {options}

    Attributes
    ----------
    model_ : PairwiseMRF
    edges_ : int array, shape (m, 2)
        Pairs of columns, in order of activation.
    result_ : Result
        All about the run: stop reason, certificate, trace and more.
    learner_ : Learner
        With all its options.
    coding_ : DiscreteTable
        One row with the names and labels of the training rows, to code others in the same way:
        ``read_table(rows, like=coding_)``.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when X had names.

    Examples
    --------
    >>> import graftviz as gv
    >>> network = gv.MarkovNetwork(lam=0.01, alpha=0.5).fit([[0, 0, 1], [1, 1, 0], [1, 1, 1]] * 50)
    >>> network.edges_.tolist()
    [[0, 1]]
    """

    @options_in_signature
    def __init__(
        self,
        learner: str | Learner = "best-choice",
        *,
        random_state: int = 0,
        missing: Literal["reject", "drop", "state"] = "reject",
        continuous: Literal["reject", "bin"] = "bin",
        max_states: int = MAX_STATES,
        bins: int = BINS,
        cardinalities: int | Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        self.learner = learner
        self.random_state = random_state
        self.missing = missing
        self.continuous = continuous
        self.max_states = max_states
        self.bins = bins
        self.cardinalities = cardinalities
        for name in OPTIONS:
            setattr(self, name, options.pop(name, LEFT_OPEN))
        if options:
            raise InputError(no_option(next(iter(options)), "any learner", OPTIONS))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters, options left open included, by their names."""
        return {**super().get_params(deep), **{name: vars(self)[name] for name in OPTIONS}}

    def fit(self, X: Any, y: Any = None) -> MarkovNetwork:
        """Learn graph and weights.

        Parameters
        ----------
        X : DataFrame, array of shape (rows, variables), or DiscreteTable
        y : ignored

        Returns
        -------
        MarkovNetwork
            Itself.

        Raises
        ------
        InputError
            When X cannot be read, or an option does not suit the learner or X.
        """
        learner = self._chosen_learner()
        table = self._first_table(X)
        result = learn(table, learner, seed=self.random_state)
        self.learner_ = learner
        self.coding_ = coding(table.names, table.labels)
        self.result_ = result
        self.model_ = result.model
        self.edges_ = result.model.edges
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log pseudo-likelihood of the rows in nats, −NLPL; more is better.

        Raises
        ------
        InputError
            When X has other columns than the training rows, or labels they do not know.
        """
        table = self._table_like_first(X)
        return -negative_log_pseudo_likelihood(self.model_, table)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return Σ_i log p(x_i | x_N(i)) of every row in nats, shape (rows,).

        Raises
        ------
        InputError
            See :meth:`score`.
        """
        table = self._table_like_first(X)
        return _log_pseudo_likelihoods(self.model_, table)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = self.cardinalities is None
        tags.input_tags.positive_only = self.cardinalities is not None
        tags.input_tags.allow_nan = self.cardinalities is None and self.missing != "reject"
        return tags

    def _chosen_learner(self) -> Learner:
        given = {name: value for name in OPTIONS if not is_open(value := vars(self)[name])}
        if not isinstance(self.learner, str | Learner):
            raise InputError(
                f"The learner must be one of {', '.join(learner_names())}, or a Learner, not "
                f"{self.learner!r}."
            )
        cls = learner_class(self.learner) if isinstance(self.learner, str) else type(self.learner)
        known = [spec.name for spec in option_specs(cls)]
        for name in given:
            if name not in known:
                raise InputError(no_option(name, f"the learner {cls.name!r}", known))
        if isinstance(self.learner, Learner):
            return dataclasses.replace(self.learner, **given)
        return cls(**given)

    def _first_table(self, X: Any) -> DiscreteTable:
        """Code the training rows, and note what scikit-learn wants to know of their columns."""
        if isinstance(X, DiscreteTable):
            validate_data(self, header(X), skip_check_array=True)
            return X
        source = self._checked(X, least=2)
        if self.cardinalities is not None:
            return table_of_codes(source, self.cardinalities)
        table = self._read(source)
        if isinstance(source, pd.DataFrame):
            labels = declared_labels(source, table)
            if labels != table.labels:
                wider = self._read(source, like=coding(table.names, labels))
                return dataclasses.replace(wider, warnings=table.warnings)
        return table

    def _table_like_first(self, X: Any) -> DiscreteTable:
        check_is_fitted(self)
        if isinstance(X, DiscreteTable):
            validate_data(self, header(X), skip_check_array=True, reset=False)
            if (X.names, X.labels) == (self.coding_.names, self.coding_.labels):
                return X
            return self._read(X.to_frame(), like=self.coding_)
        source = self._checked(X, least=1, reset=False)
        if isinstance(source, pd.DataFrame) and not hasattr(self, "feature_names_in_"):
            source = source.set_axis(list(self.coding_.names), axis=1)
        return self._read(source, like=self.coding_)

    def _checked(self, X: Any, *, least: int, reset: bool = True) -> pd.DataFrame | np.ndarray:
        """Return a frame as it is, anything else as an array of `least` rows and columns."""
        if isinstance(X, pd.DataFrame):
            # As an array it would lose the types of its columns.
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
                'or drop such rows (missing="drop"), or make missing a state of its own '
                '(missing="state").'
            )
        return array

    def _read(
        self, source: pd.DataFrame | np.ndarray, like: DiscreteTable | None = None
    ) -> DiscreteTable:
        return read_table(
            source,
            missing=self.missing,
            continuous=self.continuous,
            max_states=self.max_states,
            bins=self.bins,
            like=like,
        )


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
        # What is impossible stays so where all states are, and the difference would be undefined.
        possible = np.isfinite(chosen)
        total[~possible] = -np.inf
        total[possible] += chosen[possible] - np.logaddexp.reduce(logits[possible], axis=1)
    return total
