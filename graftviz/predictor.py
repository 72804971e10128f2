"""Methods that a model shares with the objects that have one: prediction, samples, conversion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from graftviz.discovery import later
from graftviz.errors import InputError

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import plotly.graph_objects as go


class Predictor:
    """Base of what predicts by a model: the model itself, a result, and an estimator."""

    def _model(self) -> Any:
        """Return the model."""
        raise NotImplementedError

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
        found: np.ndarray = later("graftviz.prediction").predict(self._model(), X, target)
        return found

    def predict_proba(self, X: Any, target: int | str | None = None) -> np.ndarray:
        """Return the probabilities of the states of one variable, given the others in each row.

        Exact where the unobserved part of the graph allows it, else by belief propagation.

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
        found: np.ndarray = later("graftviz.prediction").predict_proba(self._model(), X, target)
        return found

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
        found: float = later("graftviz.prediction").score(self._model(), X)
        return found

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
        return later("graftviz.prediction").impute(self._model(), X)

    def most_probable(self, evidence: Mapping[Any, Any] | None = None) -> dict[str, str]:
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
        states = later("graftviz.inference.most_probable").most_probable(model, evidence).tolist()
        return {
            name: labels[state]
            for name, labels, state in zip(model.names, model.labels, states, strict=True)
        }

    def sample(
        self,
        n: int,
        *,
        evidence: Mapping[Any, Any] | None = None,
        seed: int = 0,
        method: Literal["auto", "exact", "gibbs"] = "auto",
    ) -> Any:
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
        return later("graftviz.prediction").sample(
            self._model(), n, evidence=evidence, seed=seed, method=method
        )

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
        return later("graftviz.formats.libraries").to_networkx(self._model())

    def to_pgmpy(self) -> Any:
        """Return the model as a ``pgmpy.models.DiscreteMarkovNetwork``.

        Raises
        ------
        InputError
            If pgmpy is not installed.
        """
        return later("graftviz.formats.libraries").to_pgmpy(self._model())

    def plot(self, truth: Any = None) -> go.Figure:
        """Return a Plotly figure of the graph; wider lines are stronger edges.

        Parameters
        ----------
        truth : array of pairs, optional
            True edges, by index or name: other edges are drawn dashed, missing ones dotted.

        Examples
        --------
        >>> model.plot().layout.title.text
        '11 variables, 11 edges'
        """
        return later("graftviz.figures.graph").graph_figure(self._model(), truth)


def model_of(source: Any) -> Any:
    """Return the model of the first argument of a function, which is one or has one.

    Raises
    ------
    InputError
        For an object of another type.
    """
    if not isinstance(source, Predictor):
        raise InputError(
            "The first argument must be a model (a PairwiseMRF, a Result or a fitted "
            f"MarkovNetwork), not an object of type {type(source).__name__}."
        )
    return source._model()
