"""Prediction of missing states of rows, and rows sampled from a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

import networkx as nx
import numpy as np
import pandas as pd

from graftviz.data.coding import TableOptions
from graftviz.data.labels import MISSING_STATES
from graftviz.data.reading.raw import has_gaps
from graftviz.data.reading.reading import read_rows, table_inside, warn_of
from graftviz.data.synthetic.gibbs import LARGEST_SAMPLE, sample_gibbs
from graftviz.data.table import DiscreteTable
from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.structure import plan_elimination, too_expensive
from graftviz.inference.hidden import HiddenModel
from graftviz.inference.likelihood import nlpl
from graftviz.inference.most_probable import most_probable
from graftviz.inference.queries import component_numbers
from graftviz.inference.settings import InferenceSettings
from graftviz.model.pairwise import HasModel, PairwiseModel
from graftviz.model.readwrite.graphml import attribute_text
from graftviz.model.readwrite.records import model_records
from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

UNOBSERVED = -1
SampleMethod = Literal["auto", "exact", "gibbs"]
SAMPLE_METHODS: tuple[str, ...] = get_args(SampleMethod)


def observed_codes(model: PairwiseModel, X: Any, target: int | str | None = None) -> np.ndarray:
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
    table = read_rows(complete, TableOptions(missing="state"), like=like, unseen=unseen).table
    warn_of(table)
    codes = table.codes.astype(np.int64)
    codes[codes >= model.cardinalities[:, np.newaxis]] = UNOBSERVED
    return codes


def score(model: PairwiseModel, X: Any) -> float:
    """Return the mean log pseudo-likelihood of rows; see :meth:`PairwiseMRF.score`."""
    rows = table_inside(X)
    like = DiscreteTable.coding(model.names, model.labels)
    if not isinstance(rows, DiscreteTable):
        rows = read_rows(variables_of(rows, model.names), like=like, unseen="nearest").table
        warn_of(rows)
    elif (rows.names, rows.labels) != (model.names, model.labels):
        frame = variables_of(rows.to_frame(), model.names)
        rows = read_rows(frame, like=like, weights=rows.weights).table
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


def _frame(model: PairwiseModel, X: Any, target: int | str | None) -> pd.DataFrame:
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


def conditional_marginals(model: PairwiseModel, codes: np.ndarray) -> np.ndarray:
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
        or by belief propagation where the tables of exact inference would be too large, with a
        warning.

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
    model: PairwiseModel, codes: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield connected unobserved variables, their rows, and marginals of shape (rows, Σ s_h).

    At the end it issues a warning if some marginals are not exact.
    """
    largest, converged = 0, True
    for hidden, where in _hidden_groups(model, codes == UNOBSERVED):
        part = HiddenModel(model, hidden, InferenceSettings(), "auto")
        marginals = part.marginals(codes[:, where])
        impossible = ~(marginals.sum(axis=1) > 0.0)
        if impossible.any():
            row = int(where[np.argmax(impossible)])
            raise InputError(f"The observed states of row {row + 1} have probability zero.")
        if not part.is_exact:
            largest, converged = max(largest, len(hidden)), converged and part.converged
        yield hidden, where, marginals
    if largest:
        state = "converged, but may be far off" if converged else "did not converge"
        warnings.warn(
            f"A row leaves {largest} columns unknown that depend on each other, too many for exact "
            f"inference; belief propagation {state}. Give the values of more columns, or draw rows "
            "with sample(evidence=…).",
            stacklevel=5,
        )


def _hidden_groups(
    model: PairwiseModel, missing: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
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
        component = component_numbers(len(hidden), ends)
        for number in range(component.max() + 1):
            rows_of.setdefault(tuple(hidden[component == number].tolist()), []).append(where)
    return [(np.array(group), np.concatenate(where)) for group, where in rows_of.items()]


def predict_proba(model: PairwiseModel, X: Any, target: int | str | None = None) -> np.ndarray:
    """Return the probabilities of states; see :meth:`graftviz.PairwiseMRF.predict_proba`."""
    codes = observed_codes(model, X, target)
    if target is None:
        return np.concatenate([_alone(model, codes, i) for i in range(model.n_variables)], axis=1)
    return _alone(model, codes, model.index_of(target))


def _alone(model: PairwiseModel, codes: np.ndarray, i: int) -> np.ndarray:
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


def _component_of_missing(model: PairwiseModel, codes: np.ndarray, i: int) -> np.ndarray:
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


def predict(model: PairwiseModel, X: Any, target: int | str | None = None) -> np.ndarray:
    """Return the most probable states; see :meth:`graftviz.PairwiseMRF.predict`."""
    chances = predict_proba(model, X, target)
    if target is not None:
        labels = np.array(model.labels[model.index_of(target)], dtype=object)
        return np.asarray(labels[chances.argmax(axis=1)])
    starts = model.node_offsets[:-1].tolist()
    parts = np.split(chances, starts[1:], axis=1)
    return np.stack([part.argmax(axis=1) for part in parts], axis=1)


def impute(model: PairwiseModel, X: Any) -> pd.DataFrame:
    """Return the rows with their missing states; see :meth:`graftviz.PairwiseMRF.impute`."""
    codes = observed_codes(model, X)
    marginals = conditional_marginals(model, codes)
    starts = model.node_offsets[:-1].tolist()
    best = [part.argmax(axis=1) for part in np.split(marginals, starts[1:], axis=1)]
    table = DiscreteTable(np.stack(best), model.names, model.labels)
    frame = table.to_frame()
    return frame.set_index(X.index) if isinstance(X, pd.DataFrame) else frame


def sample(
    model: PairwiseModel,
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
    plan = None if method == "gibbs" else plan_elimination(conditional)
    if plan is not None and (method == "exact" or not too_expensive(plan)):
        codes = JunctionTree(conditional, plan=plan).sample(n, seed)
    else:
        codes = sample_gibbs(conditional, n, seed=seed).table.codes
    if observed:
        codes = codes.astype(np.int64)
        codes[list(observed)] = np.array(list(observed.values()))[:, np.newaxis]
    return DiscreteTable(codes, model.names, model.labels)


class Predictor(HasModel):
    """Base of what predicts by a model: the model itself, a result, and an estimator."""

    def predict(self, X: Any, target: int | str | None = None) -> np.ndarray:
        """Return the most probable states of one variable, given the others in each row.

        Parameters
        ----------
        X : DataFrame, DiscreteTable, mapping, list of mappings, or array of shape (rows, n)
            Missing values and columns that are left out are not observed; a column of the target
            is not used. Other columns, such as one of case weights, are ignored if all variables
            (but the target) have a column, and else refused, as one may be misspelled. Values are
            coded as those of the training table.
        target : int or str, optional
            Index or name of a variable. Default: every variable, given all others.

        Returns
        -------
        array
            Labels, shape (rows,); without a target codes, shape (rows, n).

        Raises
        ------
        InputError
            For an unknown variable, a value that is no state of its variable, and observed states
            of probability zero.

        Examples
        --------
        >>> model.predict({"home": "city", "exercise": "daily"}, target="commute")
        array(['bicycle'], dtype=object)
        """
        return predict(self._model(), X, target)

    def predict_proba(self, X: Any, target: int | str | None = None) -> np.ndarray:
        """Return the probabilities of the states of one variable, given the others in each row.

        Exact where the unobserved part of the graph allows it, else by belief propagation, with a
        warning.

        Parameters
        ----------
        X, target
            See :meth:`predict`.

        Returns
        -------
        float64 array
            Shape (rows, states), states in the order of the model's labels; without a target the
            states of all variables side by side.

        Examples
        --------
        >>> model.predict_proba({"home": "city"}, target="garden").round(2)
        array([[0.71, 0.29]])
        """
        return predict_proba(self._model(), X, target)

    def score(self, X: Any) -> float:
        """Return the mean log pseudo-likelihood of rows in nats, −NLPL; higher is better.

        Parameters
        ----------
        X : DataFrame, DiscreteTable, DataSet or array of shape (rows, n)
            Complete rows of all variables; other columns are ignored. The rows count alike, except
            those of a :class:`DiscreteTable` with case weights. Numbers that the training rows do
            not have count as the nearest ones, and such texts as the state ``"other"``.

        Raises
        ------
        InputError
            For missing values or columns, and texts that are no state of their variable.

        Examples
        --------
        >>> round(model.score(survey), 2)
        -9.04
        """
        return score(self._model(), X)

    def impute(self, X: Any) -> pd.DataFrame:
        """Return the rows with missing values replaced by their most probable states.

        Each missing value is the most probable state of its variable given the observed values of
        the row.

        Parameters
        ----------
        X
            See :meth:`predict`.

        Returns
        -------
        DataFrame
            Categorical columns, one for every variable of the model.

        Examples
        --------
        >>> rows = pd.DataFrame({"home": ["city", None], "garden": [None, "yes"]})
        >>> model.impute(rows)[["home", "garden"]]
              home garden
        0     city     no
        1  village    yes
        """
        return impute(self._model(), X)

    def most_probable(self, evidence: Evidence | None = None) -> dict[str, str]:
        """Return a joint state of maximum probability, given evidence or none.

        Parameters
        ----------
        evidence : mapping, optional
            Variables by index or name, states by index or label.

        Returns
        -------
        dict
            Label of each variable by its name.

        Raises
        ------
        InputError
            If the graph is too wide for exact inference.

        Examples
        --------
        >>> model.most_probable({"commute": "car"})["home"]
        'village'
        """
        model = self._model()
        states = most_probable(model, evidence).tolist()
        return {
            name: labels[state]
            for name, labels, state in zip(model.names, model.labels, states, strict=True)
        }

    def sample(
        self,
        n: int,
        *,
        evidence: Evidence | None = None,
        seed: int = 0,
        method: Literal["auto", "exact", "gibbs"] = "auto",
    ) -> DiscreteTable:
        """Return rows drawn from the model, as a :class:`DiscreteTable`.

        Parameters
        ----------
        n : int
            Number of rows.
        evidence : mapping, optional
            States of variables that are the same in all rows.
        seed : int
            The same seed gives the same rows.
        method : {"auto", "exact", "gibbs"}
            "exact": independent rows from a junction tree. "gibbs": Gibbs sampling, for graphs that
            are too wide. "auto": exact where it is affordable.

        Examples
        --------
        >>> import graftviz as gv
        >>> model = gv.PairwiseMRF([2, 2], [(0, 1)], [0, 0, 0, 0, 1, 0, 0, 1])
        >>> model.sample(5, evidence={"x0": 1}).to_frame()["x0"].tolist()
        ['1', '1', '1', '1', '1']
        """
        return sample(self._model(), n, evidence=evidence, seed=seed, method=method)

    def to_networkx(self) -> nx.Graph:
        """Return the graph with variables by name, and the norms of edges as ``weight``.

        All other attributes are whole numbers and texts, which the writers of networkx accept:
        ``states`` is the number of states of a node, ``labels`` their names as JSON, and
        ``weights`` the potentials of a node or an edge, separated by blanks. A file of
        ``networkx.write_graphml`` or of the node-link data is read back by
        :func:`graftviz.read_model` as the same model.

        Examples
        --------
        >>> sorted(model.to_networkx()["home"])
        ['commute', 'garden']
        """
        model, graph = self._model(), nx.Graph()
        nodes, edges = model_records(model)
        for node in nodes:
            texts = {key: attribute_text(key, node[key]) for key in ("labels", "weights")}
            graph.add_node(node["name"], states=node["states"], **texts)
        for edge in edges:
            first, second = (model.names[edge[end]] for end in ("source", "target"))
            weights = attribute_text("weights", edge["weights"])
            graph.add_edge(first, second, weight=edge["weight_norm"], weights=weights)
        return graph

    def to_pgmpy(self) -> Any:
        """Return a ``pgmpy.models.DiscreteMarkovNetwork`` with a factor for each node and edge.

        Raises
        ------
        InputError
            If pgmpy is not installed.
        """
        try:
            models, factors = import_module("pgmpy.models"), import_module("pgmpy.factors.discrete")
        except ImportError:
            raise InputError(
                "This needs pgmpy: install it with pip install 'pgmpy>=1.1'."
            ) from None
        model = self._model()
        network = models.DiscreteMarkovNetwork()
        network.add_nodes_from(model.names)
        states = dict(zip(model.names, map(list, model.labels), strict=True))

        def add(variables: list[int], weights: np.ndarray) -> None:
            names = [model.names[i] for i in variables]
            # The largest potential is 1, so that no exponential overflows.
            values = np.exp(weights - weights.max())
            sizes = [int(model.cardinalities[i]) for i in variables]
            own = {name: states[name] for name in names}
            network.add_factors(factors.DiscreteFactor(names, sizes, values, state_names=own))

        for i in range(model.n_variables):
            add([i], model.node_weights(i))
        for e, (i, j) in enumerate(model.edges.tolist()):
            network.add_edge(model.names[i], model.names[j])
            add([i, j], model.edge_weights(e))
        return network


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseMRF(PairwiseModel, Predictor):
    """Log-linear pairwise model p(x) ∝ exp(Σ_i w_i[x_i] + Σ_(i,j) w_ij[x_i, x_j]).

    Attributes
    ----------
    cardinalities : int64 array, shape (n,)
        Number of states s_i of each variable, at least 1.
    edges : int64 array, shape (m, 2)
        Distinct pairs (i, j) with i < j, in the order of activation.
    weights : float64 array, flat
        All node weights in variable order, then all edge weights in edge order, each edge
        row-major with x_i as the row. ``-inf`` is a zero potential.
    names : tuple of str
        One distinct name per variable.
    labels : tuple of tuple of str
        State labels; ``labels[i][k]`` is state k of variable i.

    Raises
    ------
    InputError
        If shapes, ranges or names are inconsistent.

    Examples
    --------
    >>> coins = gv.PairwiseMRF([2, 2], [(0, 1)], [0, 0, 0, 0, 1, 0, 0, 1], names=("a", "b"))
    >>> coins["a", "b"].to_numpy()
    array([[1., 0.],
           [0., 1.]])
    >>> coins.predict_proba({"a": "0"}, target="b").round(2)
    array([[0.73, 0.27]])
    """

    @classmethod
    def of(cls, model: PairwiseModel) -> PairwiseMRF:
        """Return a model with the methods of this class."""
        return cls(model.cardinalities, model.edges, model.weights, model.names, model.labels)
