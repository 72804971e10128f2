"""Arena: comparison of all learners on the same rows.

Each learner gets the same edge budget and otherwise runs with its defaults. The learned models are
compared by their likelihood on held-out rows and by the cost of inference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graftviz.errors import InputError
from graftviz.experiments import bench
from graftviz.inference.cost import exact_operations, inference_cost
from graftviz.inference.exact import plan_elimination
from graftviz.inference.methods import Method
from graftviz.learners.base import Learner
from graftviz.learners.registry import learner_class, learner_names
from graftviz.metrics import nll, nlpl
from graftviz.model import PairwiseMRF
from graftviz.options import option_specs
from graftviz.runs import Run
from graftviz.table import DiscreteTable

EDGES_PER_VARIABLE = 2
MOST_OPERATIONS = 3_000_000_000  # for all marginals by exact inference: about 15 s
_MOST_ENTRIES = 1_000_000_000  # of the cliques, for log Z alone
_MOST_BYTES = 2_000_000_000
_INSTEAD: Final = "bp"
_MOST_EDGES = 10**12
_MOST_REPEATS = 1000
_MOST_STATES = 5  # of the data of the rehearsal
_ENOUGH_SECONDS = 10.0  # of learning, after which a run is not repeated
# Values of a learner in the order of the files. NLPL and NLL are in nats per held-out row; the NLL
# uses the exact log Z. The width is that of the best elimination order found, an upper bound on the
# treewidth; if `width_is_least`, the search was stopped and all orders tried are at least as wide.
# The inference is "exact", or "bp" if exact inference is infeasible.
COLUMNS = (
    *("data", "learner", "options", "nlpl", "nll", "edges", "width", "width_is_least"),
    *("inference", "inference_seconds", "inference_operations", "learning_seconds"),
    *("runs", "stop_reason", "notes", "failure"),
)
_EMPTY = {"width_is_least": False, "inference": "", "stop_reason": "", "notes": ()}


@dataclass(frozen=True, eq=False)
class Contest:
    """The data of one contest.

    Attributes
    ----------
    name : str
    train, test : DiscreteTable
    split : str
        Description of how the rows were split.
    """

    name: str
    train: DiscreteTable
    test: DiscreteTable
    split: str


def contest_of(
    name: str, table: DiscreteTable, test: DiscreteTable | None, *, fraction: float, seed: int
) -> Contest:
    """Return a contest on given training and test rows, or on a random split of `table`."""
    if test is not None:
        return Contest(name, table, test, "training and test rows as given")
    train, held_out = table.split(fraction, seed=seed)
    return Contest(name, train, held_out, f"{fraction:.0%} of the rows held out by seed {seed}")


def lab_of(contests: Iterable[Contest], *, repeats: int = 3) -> bench.Lab:
    """Return the lab of some contests.

    Parameters
    ----------
    repeats : int
        Number of timed runs, of which the median is reported; fewer if they take long.
    """
    _check_number("repeats", repeats, _MOST_REPEATS)
    data = {contest.name: (contest.train, contest.test) for contest in contests}
    return bench.Lab(data, seconds_per_row=_ENOUGH_SECONDS, most_repetitions=repeats)


def measurements(
    contests: Sequence[Contest],
    learners: Sequence[str] | None = None,
    *,
    max_edges: int | None = None,
    seed: int = 0,
    limit: float = 120.0,
) -> tuple[bench.Measurement, ...]:
    """Return a measurement of every learner in every contest.

    Parameters
    ----------
    learners : sequence of str, optional
        Names of the learners; default: all.
    max_edges : int, optional
        Edge budget of all learners; default: twice the number of variables.
    seed : int
        Seed of the learners.
    limit : float
        Time limit of a run in seconds, checked after every step.

    Raises
    ------
    InputError
        For an unknown learner, and settings out of range.
    """
    if max_edges is not None:
        _check_number("max-edges", max_edges, _MOST_EDGES)
    if not limit > 0.0:
        raise InputError(f"The limit must be more than 0 seconds; got {limit:g}.")
    classes = [learner_class(name) for name in (learner_names() if learners is None else learners)]
    found = []
    for contest in contests:
        train, test = contest.train, contest.test
        states = min(int(train.cardinalities.max()), _MOST_STATES)
        size = bench.Size(train.n_variables, train.n_rows, states, test.n_rows, source=contest.name)
        for cls in classes:
            options = _options(cls, max_edges, train.n_variables)
            run = _learning(cls, max_edges, seed, limit)
            found.append(bench.Measurement(cls.name, size, run, judge=evaluation, options=options))
    return tuple(found)


def _check_number(setting: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise InputError(f"The arena needs {setting} from 1 to {most:,}; got {value:,}.")


def _options(cls: type[Learner], max_edges: int | None, variables: int) -> dict[str, int]:
    """Return the edge budget among so many variables, if the learner has one."""
    if all(spec.name != "max_edges" for spec in option_specs(cls)):
        return {}
    requested = EDGES_PER_VARIABLE * variables if max_edges is None else max_edges
    return {"max_edges": min(requested, variables * (variables - 1) // 2)}


def _learning(cls: type[Learner], max_edges: int | None, seed: int, limit: float) -> bench.Work:
    """Return a function that runs a learner until its end or the time limit."""

    def work(lab: bench.Lab, size: bench.Size) -> bench.Repetition:
        problem = lab.problem(size)
        learner = cls(**_options(cls, max_edges, size.nodes))
        run = Run(problem.train, learner, seed=seed, test=problem.test)
        while run.advance() and run.steps[-1].seconds.total <= limit:
            pass
        result = run.result()
        seconds = result.seconds.total
        return bench.Repetition(seconds, seconds, result.model, {"stop_reason": result.stop_reason})

    return work


def evaluation(model: PairwiseMRF, problem: bench.Problem) -> dict[str, Any]:
    """Return the likelihood of a model on held-out rows and the cost of inference."""
    plan = plan_elimination(model, max_memory=_MOST_BYTES)
    notes = []
    likelihood = None
    if plan.is_affordable and plan.total_entries <= _MOST_ENTRIES:
        try:
            likelihood = nll(model, problem.test, max_memory=_MOST_BYTES)
        except bench.FAILURES as error:
            notes.append(f"NLL: {error}")
    else:
        notes.append("NLL: an exact log Z is infeasible at this width.")
    is_affordable = plan.is_affordable and exact_operations(model, plan) <= MOST_OPERATIONS
    method: Method = "exact" if is_affordable else _INSTEAD
    seconds = counted = None
    try:
        cost = inference_cost(model, method)
        seconds, counted = cost.seconds, cost.operations
        if not cost.converged:
            notes.append(f"{method} did not converge in all runs.")
    except bench.FAILURES as error:
        notes.append(f"Inference: {error}")
    found: dict[str, Any] = {"nll": likelihood, "edges": model.n_edges, "notes": notes}
    found |= {"width": plan.width, "width_is_least": not plan.is_affordable, "inference": method}
    found |= {"inference_seconds": seconds, "inference_operations": counted}
    return {"nlpl": nlpl(model, problem.test), **found}


def entry(row: bench.BenchRow) -> dict[str, Any]:
    """Return the results of one learner in one contest by the names of :data:`COLUMNS`."""
    measurement = row.measurement
    found = {**_EMPTY, **row.values, "learning_seconds": row.values.get("seconds")}
    found |= {"data": measurement.size.source, "learner": measurement.name}
    found |= {"options": dict(measurement.options), "runs": row.repetitions}
    found |= {"failure": row.missing}
    return {name: found.get(name) for name in COLUMNS}
