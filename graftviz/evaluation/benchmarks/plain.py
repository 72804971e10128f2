"""Reference implementations in NumPy, pandas, SciPy and scikit-learn.

They are the yardsticks of the benchmark. Each is vectorised as well as its library allows and gives
the same result as the package, which tests check. All models here have the same number of states s
for every variable.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from graftviz.model.pairwise import PairwiseModel

_SMALLEST_MARGIN = 1e-12  # of a state that never occurs; its weight would be minus infinity
_SMOOTHING = 1e-7  # ‖w‖ is taken as sqrt(‖w‖² + this²): L-BFGS needs a slope at 0


def bincount_tables(codes: np.ndarray, states: int, pairs: np.ndarray) -> np.ndarray:
    """Count pair tables by a loop of np.bincount, shape (pairs, s, s).

    Parameters
    ----------
    codes : int64 array, shape (n, rows)
    """
    tables = np.empty((len(pairs), states, states), dtype=np.int64)
    for k, (i, j) in enumerate(pairs):
        joint = codes[i] * states + codes[j]
        tables[k] = np.bincount(joint, minlength=states * states).reshape(states, states)
    return tables


def frequencies(codes: np.ndarray, states: int, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p_D of all variables and of some pairs, shapes (n, s) and (pairs, s, s)."""
    rows = codes.shape[1]
    margins = np.stack([np.bincount(column, minlength=states) for column in codes]) / rows
    return margins, bincount_tables(codes, states, pairs) / rows


def crosstab_tables(frame: pd.DataFrame, pairs: np.ndarray) -> list[pd.DataFrame]:
    """Count pair tables by pandas.crosstab; states that never occur are missing from them."""
    columns = list(frame)
    return [pd.crosstab(frame[columns[i]], frame[columns[j]]) for i, j in pairs]


class Propagation:
    """Belief propagation by synchronous sweeps: all 2 m messages at once.

    Messages are sorted by target node, with states as first axis, so that all operations run along
    long contiguous rows.

    Parameters
    ----------
    n : int
    edges : int array, shape (m, 2)
        At least one.
    states : int
    """

    def __init__(self, n: int, edges: np.ndarray, states: int) -> None:
        self.n, self.states, self.edges = n, states, np.asarray(edges)
        m = len(self.edges)
        into = np.concatenate([self.edges[:, 0], self.edges[:, 1]])
        source = np.concatenate([self.edges[:, 1], self.edges[:, 0]])
        self._order = np.argsort(into, kind="stable")
        place = np.argsort(self._order)
        self.into, self.source = into[self._order], source[self._order]
        reverse = np.concatenate([np.arange(m) + m, np.arange(m)])
        self.reverse = place[reverse[self._order]]
        # Position of the messages into the first and the second node of each edge.
        self.first, self.second = place[:m], place[m:]
        self.reached, self._starts = np.unique(self.into, return_index=True)
        self.messages = np.ones((states, 2 * m))

    def set_weights(self, node_weights: np.ndarray, edge_weights: np.ndarray) -> None:
        """Set new weights, shapes (n, s) and (m, s, s), without changing the messages."""
        self.node_weights = np.ascontiguousarray(node_weights.T)
        highest = edge_weights.max(axis=(1, 2), keepdims=True)
        self.shifts = highest[:, 0, 0]
        into_first = (edge_weights - highest).transpose(1, 2, 0)
        both = np.concatenate([into_first, into_first.transpose(1, 0, 2)], axis=2)
        self.log_potentials = np.ascontiguousarray(both[:, :, self._order])  # x_into, x_source
        self.potentials = np.exp(self.log_potentials)
        self.node_potentials = np.exp(self.node_weights)

    def sweep(self) -> float:
        """Update all messages by products; return the largest relative change.

        Products underflow at nodes with many neighbours; use `sweep_in_logs` there.
        """
        beliefs = self.beliefs()
        cavities = np.take(beliefs, self.source, axis=1)
        cavities /= np.take(self.messages, self.reverse, axis=1)
        new = self.potentials[:, 0] * cavities[0]
        for y in range(1, self.states):
            new += self.potentials[:, y] * cavities[y]
        return self._replace(new)

    def sweep_in_logs(self) -> float:
        """Update all messages by sums of logarithms; only cavities are exponentiated."""
        logs = np.log(self.messages)
        fields = self.node_weights.copy()
        fields[:, self.reached] += np.add.reduceat(logs, self._starts, axis=1)
        cavities = np.take(fields, self.source, axis=1) - np.take(logs, self.reverse, axis=1)
        cavities -= cavities.max(axis=0)
        np.exp(cavities, out=cavities)
        return self._replace(np.einsum("xyk,yk->xk", self.potentials, cavities))

    def converge(self, tolerance: float, most_sweeps: int) -> int:
        """Sweep until no message changes by more than `tolerance`; return the number of sweeps."""
        for sweeps in range(1, most_sweeps + 1):
            if self.sweep() <= tolerance:
                return sweeps
        return most_sweeps

    def beliefs(self) -> np.ndarray:
        """Return the node beliefs, shape (s, n)."""
        beliefs = self.node_potentials.copy()
        beliefs[:, self.reached] *= np.multiply.reduceat(self.messages, self._starts, axis=1)
        beliefs /= beliefs.sum(axis=0)
        return beliefs

    def pair_beliefs(self) -> np.ndarray:
        """Return the beliefs of all edges, shape (m, s, s)."""
        joint = self._joint()
        joint /= joint.sum(axis=(0, 1))
        return joint.transpose(2, 0, 1)

    def log_partition(self) -> float:
        """Return the Bethe approximation of log Z at the present messages."""
        fields = self.node_weights.copy()
        fields[:, self.reached] += np.add.reduceat(np.log(self.messages), self._starts, axis=1)
        highest = fields.max(axis=0)
        of_nodes = highest + np.log(np.exp(fields - highest).sum(axis=0))
        # Beliefs are normalised, so that the products of cavities and messages sum to 1.
        of_edges = np.log(self._joint().sum(axis=(0, 1))) + self.shifts
        return float(of_nodes.sum() + of_edges.sum())

    def _joint(self) -> np.ndarray:
        """Return cavity · potential · cavity of every edge, shape (s, s, m)."""
        beliefs = self.beliefs()
        left = beliefs[:, self.edges[:, 0]] / self.messages[:, self.first]
        right = beliefs[:, self.edges[:, 1]] / self.messages[:, self.second]
        joint: np.ndarray = left[:, None] * self.potentials[:, :, self.first] * right[None]
        return joint

    def _replace(self, new: np.ndarray) -> float:
        new *= self.states / new.sum(axis=0)
        change = np.abs(new - self.messages) / np.maximum(new, self.messages)
        self.messages = new
        return float(change.max())


def textbook_sweep(
    node_weights: np.ndarray, edge_weights: np.ndarray, edges: np.ndarray, logs: np.ndarray
) -> np.ndarray:
    """Return the messages after one synchronous sweep in the log domain.

    Parameters
    ----------
    node_weights, edge_weights : float64 arrays, shapes (n, s) and (m, s, s)
    logs : float64 array, shape (2, m, s)
        Logarithms of the messages into the first and into the second nodes.

    Returns
    -------
    float64 array, shape (2, m, s)
        Logarithms of the new messages, each summing to one.
    """
    fields = node_weights.copy()
    np.add.at(fields, edges[:, 0], logs[0])
    np.add.at(fields, edges[:, 1], logs[1])
    from_second = edge_weights + (fields[edges[:, 1]] - logs[1])[:, None, :]
    from_first = edge_weights + (fields[edges[:, 0]] - logs[0])[:, :, None]
    new = np.stack([_log_sum(from_second, 2), _log_sum(from_first, 1)])
    new -= _log_sum(new, 2)[:, :, None]
    return new


def _log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    highest = values.max(axis=axis, keepdims=True)
    summed = np.log(np.exp(values - highest).sum(axis=axis, keepdims=True)) + highest
    result: np.ndarray = summed.squeeze(axis)
    return result


class PlainFit(NamedTuple):
    """Fitted weights, beliefs and objective.

    Attributes
    ----------
    node_weights, edge_weights : float64 arrays, shapes (n, s) and (m, s, s)
    beliefs : float64 array, shape (n, s)
    objective : float
    evaluations : int
        Number of times BP was run to convergence.
    """

    node_weights: np.ndarray
    edge_weights: np.ndarray
    beliefs: np.ndarray
    objective: float
    evaluations: int


class PlainLikelihoodFit:
    """Penalised Bethe likelihood of a fixed set of edges, minimised by L-BFGS with BP.

    Nodes are not penalised, d_g is the number of joint states. Every evaluation runs BP to
    convergence from the messages of the previous evaluation.

    Parameters
    ----------
    margins : float64 array, shape (n, s)
        p_D of the nodes.
    targets : float64 array, shape (m, s, s)
        p_D of the edges.
    """

    def __init__(
        self,
        edges: np.ndarray,
        margins: np.ndarray,
        targets: np.ndarray,
        *,
        lam: float,
        lam2: float,
        bp_tolerance: float = 1e-9,
        most_sweeps: int = 200,
    ) -> None:
        self.shape_nodes, self.shape_edges = margins.shape, targets.shape
        self.margins, self.targets = np.maximum(margins, _SMALLEST_MARGIN), targets
        self.price, self.lam2 = lam * targets[0].size, lam2
        self.propagation = Propagation(len(margins), edges, margins.shape[1])
        self.bp = (bp_tolerance, most_sweeps)

    def minimise(
        self, start: PlainFit | None = None, *, tolerance: float = 1e-6, most: int = 4000
    ) -> PlainFit:
        """Minimise from `start`, which may have fewer edges, or from independence.

        Parameters
        ----------
        tolerance : float
            Largest gradient entry at which L-BFGS stops.
        most : int
            Limit on evaluations. The objective is not smooth where the weights of a group are zero,
            and L-BFGS is slow there.
        """
        node_weights = np.log(self.margins)
        edge_weights = np.zeros(self.shape_edges)
        if start is not None:
            node_weights = start.node_weights
            edge_weights[: len(start.edge_weights)] = start.edge_weights
        limits = {"maxiter": most, "maxfun": most}
        found = minimize(
            self.value_and_slope,
            np.concatenate([node_weights.ravel(), edge_weights.ravel()]),
            jac=True,
            method="L-BFGS-B",
            options={**limits, "gtol": tolerance, "ftol": 1e-14},
        )
        objective, _ = self.value_and_slope(found.x)  # leaves the beliefs at the minimum
        nodes, weights = self._split(found.x)
        beliefs = self.propagation.beliefs().T
        return PlainFit(nodes, weights, beliefs, objective, int(found.nfev) + 1)

    def value_and_slope(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient at all weights in one flat array."""
        node_weights, edge_weights = self._split(weights)
        propagation = self.propagation
        propagation.set_weights(node_weights, edge_weights)
        propagation.converge(*self.bp)
        norms = np.sqrt((edge_weights**2).sum(axis=(1, 2)) + _SMOOTHING**2)
        value = propagation.log_partition()
        value -= (node_weights * self.margins).sum() + (edge_weights * self.targets).sum()
        value += self.price * norms.sum() + self.lam2 * (edge_weights**2).sum()
        slope = propagation.pair_beliefs() - self.targets
        slope += (2.0 * self.lam2 + self.price / norms)[:, None, None] * edge_weights
        node_slope = propagation.beliefs().T - self.margins
        return float(value), np.concatenate([node_slope.ravel(), slope.ravel()])

    def _split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cut = int(np.prod(self.shape_nodes))
        return weights[:cut].reshape(self.shape_nodes), weights[cut:].reshape(self.shape_edges)


def edge_grafting(
    codes: np.ndarray, states: int, *, lam: float, lam2: float
) -> Iterator[tuple[tuple[int, int], PlainFit]]:
    """Yield the steps of edge grafting: score all inactive pairs, activate the best, refit.

    Yields
    ------
    edge : tuple of int
        The activated edge.
    fitted : Fitted
        The fit with that edge.
    """
    pairs = np.array(list(combinations(range(len(codes)), 2)))
    margins, tables = frequencies(codes, states, pairs)
    beliefs, fitted = margins, None
    active = np.zeros(len(pairs), dtype=bool)
    chosen: list[int] = []
    while not active.all():
        products = beliefs[pairs[:, 0], :, None] * beliefs[pairs[:, 1], None, :]
        scores = np.sqrt(((products - tables) ** 2).sum(axis=(1, 2))) / states**2
        scores[active] = -np.inf
        best = int(scores.argmax())
        if scores[best] <= lam:
            return
        active[best] = True
        chosen.append(best)
        fit = PlainLikelihoodFit(pairs[chosen], margins, tables[chosen], lam=lam, lam2=lam2)
        fitted = fit.minimise(fitted, tolerance=1e-5)
        beliefs = fitted.beliefs
        i, j = pairs[best]
        yield (int(i), int(j)), fitted


def nodewise_l1(
    codes: np.ndarray, states: int, nodes: Sequence[int], *, strength: float, iterations: int
) -> np.ndarray:
    """Regress some variables on all others by scikit-learn's ℓ₁-penalised logistic regression.

    Parameters
    ----------
    strength : float
        scikit-learn's C, the inverse of the penalty.
    iterations : int
        Limit on passes of the solver (SAGA).

    Returns
    -------
    float64 array, shape (len(nodes), n)
        Norm of the coefficients of every other variable; 0 for the variable itself.
    """
    n = len(codes)
    indicators = np.concatenate([np.eye(states)[column] for column in codes], axis=1)
    norms = np.zeros((len(nodes), n))
    for k, i in enumerate(nodes):
        others = np.arange(n) != i
        model = LogisticRegression(
            l1_ratio=1.0, C=strength, solver="saga", tol=1e-3, max_iter=iterations
        )
        with warnings.catch_warnings():
            # Stopped after a few passes on purpose: the ranking of the edges settles early.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(indicators[:, np.repeat(others, states)], codes[i])
        weights = model.coef_.reshape(len(model.coef_), n - 1, states)
        norms[k, others] = np.sqrt((weights**2).sum(axis=(0, 2)))
    return norms


def uniform_weights(model: PairwiseModel) -> tuple[np.ndarray, np.ndarray]:
    """Return a model's weights as arrays, shapes (n, s) and (m, s, s)."""
    states = int(model.cardinalities[0])
    cut = model.n_variables * states
    return (
        model.weights[:cut].reshape(model.n_variables, states),
        model.weights[cut:].reshape(model.n_edges, states, states),
    )
