"""Run of forced pruning: start, exchanges, restarts, return to the best model, and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.inference.methods import infer
from graftviz.learning.learner_run import LearnerRun
from graftviz.learning.pruning.contributions import (
    Contributions,
    Deletion,
    Gains,
    SubsetLosses,
    best_gains,
    by_metropolis,
    by_rejection,
    estimated_gains,
    gain_of,
    least_contributing,
)
from graftviz.learning.pruning.models import (
    OBJECTIVE,
    FittedModel,
    Pair,
    TiedFit,
    fit_with_tying,
    no_changes,
    reordered,
)
from graftviz.learning.pruning.structure_fit import Penalties, StructureFit, fit_free, rows_of
from graftviz.learning.trace import Certificate, Exchange, Kind, Outcome, Remark, ScoredEdge, Step
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.learning.weights.deviations import model_of
from graftviz.utils.errors import InputError

_LEAST_GAINS = 32  # gains computed for the certificate, at least
_ROW_VISITS = 3e6  # further gains are computed until so many rows are visited
_CANDIDATES_PER_DRAW = 20  # pairs whose gain is computed, per pair drawn


def edges_out(
    options: Any,
    model: FittedModel,
    contributions: Contributions,
    removable: np.ndarray,
    count: int,
    generator: np.random.Generator,
) -> Deletion:
    """Choose the edges to remove.

    Parameters
    ----------
    options : ForcedPruning
    model : FittedModel
        Its fit must have been evaluated at this model last.
    contributions : Contributions
        Contributions of the model's edges.
    removable : int64 array
        Positions of the edges that may be removed.
    count : int
        k.
    generator : Generator
        Random generator.
    """
    own = Contributions(contributions.total[removable], contributions.sides[removable])
    if options.heuristic == "greedy" or count == 0:
        found = least_contributing(own, count)
        return found._replace(edges=removable[found.edges])
    fit = model.fit
    tables = fit.layout.weights(model.tied.solved.point.parameters)[1]
    losses = SubsetLosses(fit, tables, own, fit.node_losses / fit.rows.total, removable)
    draw = by_rejection if options.heuristic == "rejection" else by_metropolis
    found = draw(losses, own, count, options.most_tries(count), generator)
    return found._replace(edges=removable[found.edges])


def pairs_in(
    options: Any,
    model: FittedModel,
    lam2: float,
    outside: np.ndarray,
    count: int,
    generator: np.random.Generator,
) -> Gains:
    """Choose the pairs to activate, best first.

    Parameters
    ----------
    options : ForcedPruning
    model : FittedModel
        Its fit must have been evaluated at this model last.
    lam2 : float
    outside : int64 array, shape (k, 2)
        Candidate pairs.
    count : int
    generator : Generator
    """
    estimates = estimated_gains(model.fit, lam2)
    if not options.sample_additions or count == 0:
        return best_gains(model.fit, lam2, estimates, outside, count)
    found = best_gains(model.fit, lam2, estimates, outside, _CANDIDATES_PER_DRAW * count)
    weights = np.maximum(found.gains, 1e-300)
    # Exponential race: the k smallest of E / w are a draw without replacement ∝ w.
    arrivals = generator.exponential(size=len(weights)) / weights
    chosen = np.sort(np.argsort(arrivals, kind="stable")[:count])
    return Gains(
        found.edges[chosen], found.gains[chosen], tuple(found.parameters[e] for e in chosen)
    )


def certificate_of(
    model: FittedModel | None,
    outside: np.ndarray,
    removable: np.ndarray,
    possible: int,
    lam2: float,
) -> Certificate:
    """Compare the largest gain of a pair outside with the smallest contribution inside.

    On large data the computation stops early once a gain proves that the model is not optimal;
    otherwise all gains are computed.

    Parameters
    ----------
    model : FittedModel or None
        None if fewer than two variables vary.
    outside : int64 array, shape (k, 2)
        Inactive pairs of variables that vary; all other pairs have gain 0.
    removable : int64 array
        Positions of the model's edges that may be removed.
    possible : int
        Number of all pairs that may be edges.
    lam2 : float
    """
    inactive = possible - (0 if model is None else len(model.pairs))
    scored, worst = inactive - len(outside), 0.0 if inactive > len(outside) else None
    edge: tuple[int, int] | None = None
    if model is not None and len(outside) and len(removable) == 0:
        scored = inactive  # no exchange is possible
    elif model is not None and len(outside):
        least = float(model.contributions().total[removable].min())
        fit = model.fit
        estimates = estimated_gains(fit, lam2)[outside[:, 0], outside[:, 1]]
        remaining = max(_LEAST_GAINS, int(_ROW_VISITS / len(fit.rows.multiplicity)))
        worst = -np.inf
        for k in np.argsort(-estimates, kind="stable"):
            if remaining <= 0 and worst > 0.0:
                break
            i, j = (int(node) for node in outside[k])
            gain = gain_of(fit, lam2, i, j)[0] - least
            scored, remaining = scored + 1, remaining - 1
            if gain > worst:
                worst, edge = gain, (i, j)
    return Certificate(
        scored=scored,
        possible=inactive,
        worst_score=worst,
        worst_edge=edge,
        threshold=0.0,
        score="gain of an exchange",
        objective=OBJECTIVE,
        symbol="gain",
    )


_TOLERANCE = 1e-8  # violation allowed after every fit
_START_TOLERANCE = 1e-3  # of the untied fit at the beginning of a start


class ExchangeRun(LearnerRun):
    """Current model, best model and structures already visited of a run.

    Parameters
    ----------
    table : DiscreteTable
    options : ForcedPruning
    seed : int
    """

    def __init__(self, table: DiscreteTable, options: Any, seed: int) -> None:
        super().__init__(table, options)
        self._table = table
        self._random = np.random.default_rng(seed)
        with self.clock.work("statistics"):
            self._rows = rows_of(table)
            varies = table.varying
        self._varying = int(varies.sum())
        n = table.n_variables
        prior = options.prior(table.names)
        forbidden: set[Pair] = set(map(tuple, prior.forbidden.tolist()))
        self._forbidden = len(forbidden)
        self._pairs: list[Pair] = [
            (i, j)
            for i in range(n)
            for j in range(i + 1, n)
            if varies[i] and varies[j] and (i, j) not in forbidden
        ]
        self._required: list[Pair] = [(i, j) for i, j in prior.required.tolist()]
        for i, j in self._required:
            if not (varies[i] and varies[j]):
                raise InputError(
                    f"The required edge {table.names[i]} – {table.names[j]} has a variable that is "
                    "constant, which forced pruning never joins to another."
                )
        with self.clock.work("fitting"):
            empty = StructureFit(self._rows, np.zeros((0, 2), dtype=np.int64))
            self._buffer = empty.probabilities
            free = fit_free(
                empty, np.zeros(empty.layout.size), Penalties(self._lam2), tolerance=_TOLERANCE
            )
        self._empty = free
        start = model_of(empty.layout, free.point.parameters, table.names, table.labels)
        self.begin(start, free.point.beliefs)
        self._ids: dict[Pair, int] = {}
        self._tree: list[Pair] = []
        self._model: FittedModel | None = None
        self._best: FittedModel | None = None
        self._visited: dict[frozenset[Pair], list[FittedModel]] = {}
        self._tests = self._exchanges = self._starts = 0
        self._cycle_start: int | None = None  # step that the next exchange would lead back to
        self._activated: tuple[ScoredEdge, ...] = ()
        self._previous_objective = free.objective
        self._exchange: Exchange | None = None
        self._notes: list[Remark] = []
        self._lines: tuple[str, ...] = ()

    @property
    def _lam2(self) -> float:
        return float(self.options.weight_penalty(self._table.total_weight))

    @property
    def _edges(self) -> int:
        """M, capped at the number of pairs of variables that vary."""
        return max(min(self._requested, len(self._pairs)), len(self._required))

    @property
    def _requested(self) -> int:
        """M."""
        edges: int = self.options.model_edges(self._table.n_variables, self._varying)
        return edges

    def switch(self, options: Any) -> None:
        """Continue with other options from the next exchange on.

        Raises
        ------
        InputError
            If the options do not fit the table.
        """
        options.check(self._table)
        before, self.options = self.options, options
        objective_options = ("max_edges", "clusters", "tied", "beta", "lam2")
        if any(getattr(before, name) != getattr(options, name) for name in objective_options):
            # Values before and after the change are not comparable.
            self._best = self._model
        self._visited = {}
        self._cycle_start = None

    def advance(self) -> bool:
        """Make the next step; return False, changing nothing, when the run has ended."""
        self._notes = []
        if not self._pairs:
            return False
        if self._model is None and self._required:
            self._fit_start("start", self._required, ("start", "fit", "tie"))
            return True
        if self._starts == 0:
            self._start("start")
            return True
        assert self._model is not None  # there was a start
        if self._may_exchange() and self._try_exchange():
            return True
        if self._starts <= self.options.restarts and len(self._outside()) > 0:
            self._start("restart")
            return True
        assert self._best is not None  # there was a start
        if self._best.step != self._model.step:
            self._return_to_best()
            return True
        return False

    def step(self) -> Step:
        """Return the report of the last step and pause the clock until it is resumed."""
        assert self._model is not None  # a step was made
        assert self._exchange is not None
        return self.step_report(
            tests=self._tests,
            activated=self._activated,
            required=self._starts == 0,
            n_edges=len(self._model.pairs),
            removed=self._exchange.removed,
            objective=self._model.objective,
            previous_objective=self._previous_objective,
            kkt_residual=self._model.tied.solved.violation,
            lines=self._lines,
            notes=tuple(self._notes),
            exchange=self._exchange,
        )

    def finish(self) -> Outcome:
        """Search for an exchange that gains and return the outcome of the run."""
        outside = self._outside()
        with self.clock.work("scoring"):
            certificate = certificate_of(
                self._model,
                outside,
                np.zeros(0, dtype=np.int64) if self._model is None else self._removable(),
                self.tables_possible - self._forbidden,
                self._lam2,
            )
        self.tests += len(outside)
        self.history.append((), no_changes())
        model = self._model
        gap = 0.0
        with self.clock.work("other"):
            if model is not None:
                final = self.history.state_at(self.index).model
                beliefs = np.concatenate(infer(final, "bp", max_sweeps=100).node)
                gap = float(np.abs(beliefs - self._rows.shares).max())
        solved = self._empty if model is None else model.tied.solved
        return self.outcome(
            certificate,
            self._reason(),
            objective=solved.objective,
            kkt_residual=solved.violation,
            bp_restart_gap=gap,
            automatic=self.options.automatic_for(
                self._table.n_variables, self._varying, self._table.total_weight
            ),
            objective_name=OBJECTIVE,
        )

    # Starts.

    def _start(self, kind: Kind) -> None:
        """Fit the Chow–Liu tree with random further edges."""
        if kind == "start":
            with self.clock.work("statistics"):
                self._tree = [
                    (edge.source, edge.target)
                    for step in ChowLiu(forbidden=self.options.forbidden).steps(self._table)
                    for edge in step.activated
                ]
            if self._requested > self._edges:
                edges = {"count": self._edges, "requested": self._requested}
                self._notes.append(Remark("notes.fewer_edges", edges))
            if self._required:
                self._notes.append(Remark("notes.required", {"count": len(self._required)}))
            self._best = None  # a model of the required edges only is none with M edges
        fixed = list(dict.fromkeys([*self._required, *self._tree]))[: self._edges]
        others = [pair for pair in self._pairs if pair not in set(fixed)]
        drawn = self._random.permutation(len(others))[: self._edges - len(fixed)]
        self._starts += 1
        self._exchanges = self._tests = 0
        self._cycle_start = None
        chosen = [*fixed, *(others[k] for k in drawn)]
        self._fit_start(kind, chosen, ("start", "loop", "fit", "tie", "keep"))

    def _fit_start(self, kind: Kind, chosen: list[Pair], lines: tuple[str, ...]) -> None:
        """Fit edges from zero weights and make them the current model."""
        with self.clock.work("fitting"):
            fit = self._fit_of(chosen)
            values = np.zeros(fit.layout.size)
            values[: len(self._empty.point.parameters)] = self._empty.point.parameters
            free = fit_free(fit, values, Penalties(self._lam2), tolerance=_START_TOLERANCE)
            tied = self._tied(fit, free.point.parameters)
        with self.clock.work("scoring"):
            total = FittedModel(chosen, fit, tied, 0).contributions().total
        worth = dict(zip(chosen, total.tolist(), strict=True))
        removed, pairs, new = self._replacement(chosen, worth)
        ordered = self._fit_of(pairs)
        tied = reordered(tied, fit.layout, chosen, ordered.layout, pairs)
        self._previous_objective = self._objective_left(ordered, pairs)
        gains = np.array([worth[pair] for pair in new])
        lost = self._sort_removed(removed)
        self._record(kind, pairs, ordered, tied, gains, removed, lines, lost=lost, added=new)

    def _replacement(
        self, target: Sequence[Pair], worth: Mapping[Pair, float]
    ) -> tuple[list[Pair], list[Pair], list[Pair]]:
        """Return the removed edges, all edges afterwards, and the new edges of a target structure.

        New edges are sorted by decreasing `worth` and follow the remaining ones.
        """
        current = [] if self._model is None else self._model.pairs
        target_set = set(target)
        removed = [pair for pair in current if pair not in target_set]
        new = sorted(target_set - set(current), key=lambda pair: (-worth[pair], pair))
        return removed, [*(pair for pair in current if pair in target_set), *new], new

    def _objective_left(self, fit: StructureFit, pairs: list[Pair]) -> float:
        """Return the objective of a structure when only edges of the current model have weights."""
        if self._model is None:
            return self._empty.objective
        point = self._model.tied.solved.point
        parameters = self._model.carried(point.parameters, fit.layout, pairs)
        return fit.evaluate(parameters).loss + Penalties(self._lam2).price(parameters)

    def _sort_removed(self, removed: list[Pair]) -> np.ndarray:
        """Sort removed edges by their contribution to the current model; return these."""
        if self._model is None:
            return np.zeros(0)
        with self.clock.work("scoring"):
            total = self._model.contributions().total
        contribution = dict(zip(self._model.pairs, total.tolist(), strict=True))
        removed.sort(key=lambda pair: (contribution[pair], pair))
        return np.array([contribution[pair] for pair in removed])

    def _fit_of(self, pairs: Sequence[Pair]) -> StructureFit:
        return StructureFit(self._rows, np.array(pairs, dtype=np.int64), self._buffer)

    # Exchanges.

    def _may_exchange(self) -> bool:
        """Whether this start allows another exchange."""
        assert self._model is not None
        changes_edges = self._k > 0 or len(self._model.pairs) != self._edges
        has_room = self._exchanges < self.options.exchanges and self._cycle_start is None
        return changes_edges and has_room and len(self._outside()) > 0

    @property
    def _k(self) -> int:
        assert self._model is not None
        size: int = self.options.exchange_size(self._edges)
        return min(size, len(self._removable()))

    def _removable(self) -> np.ndarray:
        """Return the positions of the edges that are not required."""
        assert self._model is not None
        required = set(self._required)
        removable = [e for e, pair in enumerate(self._model.pairs) if pair not in required]
        return np.array(removable, dtype=np.int64)

    def _outside(self) -> np.ndarray:
        """Return the inactive pairs of variables that vary, shape (k, 2)."""
        inside = set() if self._model is None else set(self._model.pairs)
        return np.array([p for p in self._pairs if p not in inside], dtype=np.int64).reshape(-1, 2)

    def _try_exchange(self) -> bool:
        """Exchange edges; return False, changing nothing, if the model was visited before."""
        model = self._model
        assert model is not None
        outside = self._outside()
        surplus = len(model.pairs) - self._edges
        k = min(self._k, len(outside) - max(0, -surplus))
        with self.clock.work("scoring"):
            contributions = model.contributions()
            count = k + max(0, surplus)
            removable = self._removable()
            deletion = edges_out(self.options, model, contributions, removable, count, self._random)
            gains = pairs_in(
                self.options, model, self._lam2, outside, k + max(0, -surplus), self._random
            )
        removed = [model.pairs[e] for e in deletion.edges]
        new = [(int(i), int(j)) for i, j in gains.edges]
        pairs = [pair for pair in model.pairs if pair not in set(removed)] + new
        with self.clock.work("fitting"):
            fit = self._fit_of(pairs)
            entering = dict(zip(new, gains.parameters, strict=True))
            values = model.carried(model.tied.values, fit.layout, pairs, entering)
            tied = self._tied(fit, values)
        is_random = self.options.heuristic != "greedy" or self.options.sample_additions
        found = FittedModel(pairs, fit, tied, 0)
        for visited in self._visited.get(frozenset(pairs), ()):
            if not is_random and found.repeats(visited):
                self._cycle_start = visited.step
                return False
        if k < self._k:
            self._notes.append(Remark("notes.fewer_exchanged", {"count": k}))
        if deletion.fallback:
            self._notes.append(Remark("notes.none_accepted", {"tries": deletion.tries}))
        self._tests = len(outside)
        with self.clock.work("fitting"):
            self._previous_objective = self._objective_left(fit, pairs)
        self._exchanges += 1
        lines = ("loop", "fit", "tie", "keep", "delete", "add", "exchange")
        self._record(
            "exchange",
            pairs,
            fit,
            tied,
            gains.gains,
            removed,
            lines,
            deletion=deletion,
            lost=contributions.total[deletion.edges],
            added=new,
        )
        return True

    # The best model.

    def _return_to_best(self) -> None:
        """Make the best model the current one again."""
        best = self._best
        assert best is not None  # a model was replaced before
        with self.clock.work("scoring"):
            total = best.contributions().total
        worth = dict(zip(best.pairs, total.tolist(), strict=True))
        removed, pairs, new = self._replacement(best.pairs, worth)
        fit = self._fit_of(pairs)
        with self.clock.work("fitting"):
            self._previous_objective = self._objective_left(fit, pairs)
        tied = reordered(best.tied, best.fit.layout, best.pairs, fit.layout, pairs)
        gains = np.array([worth[pair] for pair in new])
        lost = self._sort_removed(removed)
        self._tests = 0
        self._record("best", pairs, fit, tied, gains, removed, ("best",), lost=lost, added=new)

    # Recording.

    def _record(
        self,
        kind: Kind,
        pairs: list[Pair],
        fit: StructureFit,
        tied: TiedFit,
        gains: np.ndarray,
        removed: Sequence[Pair],
        lines: tuple[str, ...],
        *,
        lost: np.ndarray,
        added: list[Pair],
        deletion: Deletion | None = None,
    ) -> None:
        """Make a fitted structure the current model and record the step."""
        before = -self._empty.point.loss if self._model is None else self._model.value
        self.index += 1
        model = FittedModel(pairs, fit, tied, self.index)
        self._model = model
        is_best = self._best is None or model.value > self._best.value or kind == "best"
        if is_best:
            self._best = model
        assert self._best is not None
        if not tied.settled:
            self._notes.append(Remark("notes.tying", {}))
        self._visited.setdefault(frozenset(pairs), []).append(model)
        if not is_best:
            lines = tuple(line for line in lines if line != "keep")
        self._lines = lines
        removed_ids = [self._ids.pop(pair) for pair in removed]
        first = len(self.history.activations)
        self._ids.update({pair: first + e for e, pair in enumerate(added)})
        self._activated = tuple(
            ScoredEdge(i, j, float(gain)) for (i, j), gain in zip(added, gains, strict=True)
        )
        self.history.append(added, model.changes(self._ids), removed=removed_ids)
        tree = set(self._tree)
        self._exchange = Exchange(
            kind=kind,
            removed=np.array(removed, dtype=np.int32).reshape(-1, 2),
            contributions=np.array(lost, dtype=np.float64),
            added=np.array(added, dtype=np.int32).reshape(-1, 2),
            gains=np.array(gains, dtype=np.float64),
            before=before,
            after=model.value,
            best=self._best.value,
            tries=0 if deletion is None else deletion.tries,
            accepted=0 if deletion is None else deletion.accepted,
            fallback=deletion is not None and deletion.fallback,
            values=tied.values.copy(),
            centres=tied.tying.centres.copy(),
            assignment=tied.tying.assignment.copy(),
            tree=sum(pair in tree for pair in pairs),
            required=len(set(self._required) - tree),
        )

    def _tied(self, fit: StructureFit, values: np.ndarray) -> TiedFit:
        return fit_with_tying(
            fit,
            values,
            clusters=self.options.cluster_count(fit.layout.size),
            beta=float(self.options.beta),
            lam2=self._lam2,
            tolerance=_TOLERANCE,
        )

    def _reason(self) -> Remark:
        """Return the reason why the run ended."""
        model, best = self._model, self._best
        if model is None or best is None:
            return Remark("reasons.constant", {}) if self._varying < 2 else self.nothing_left()
        if len(model.pairs) == self.tables_possible:
            return self.nothing_left()
        if len(self._outside()) == 0:
            return Remark("exchange.all_varying", {})
        if len(self._removable()) == 0:
            return Remark("exchange.required", {})
        if self._k == 0:
            return Remark("exchange.none", {})
        ended = Remark("exchange.limit", {"count": self._exchanges})
        if self._cycle_start is not None:
            again = {"step": self._cycle_start, "count": self._exchanges}
            ended = Remark("exchange.cycle", again)
        if self._starts > 1:
            ended = Remark("exchange.starts", {"starts": self._starts, "ended": ended})
        return Remark("exchange.result", {"ended": ended, "loss": -best.value})
