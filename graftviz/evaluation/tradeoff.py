"""Trade-off between the quality of a model and the cost of inference on it.

This is the experiment of Das Gupta, Srinivasan, Sharma and Greiner, "Learning Markov networks with
bounded inference complexity" (2013). It compares models learned under several bounds τ with models
along the λ path of group-ℓ₁ pseudo-likelihood by their likelihood on held-out rows, the cost of all
marginals of one and two variables, and the error of log Z by tree-reweighted belief propagation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from graftviz.data.table import DiscreteTable
from graftviz.inference.cost import exact_operations, inference_cost
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.structure import plan_elimination
from graftviz.inference.likelihood import ncmll, nll, nlpl
from graftviz.inference.methods import Method, infer
from graftviz.learning.nodewise.nodewise_l1 import NodewiseL1
from graftviz.learning.run import LearningRun
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError

Family = Literal["bounded", "l1", "truth"]
QUALITIES = ("nll", "ncmll", "nlpl")
COSTS = ("seconds", "operations")
MOST_OPERATIONS = 2_000_000_000  # of all marginals; models that need more are not measured
MOST_BYTES = 500_000_000
PATH_LENGTH = 12
LAST_LAM = 0.001  # of the ℓ₁ path: there the graph is dense
_HALVES = 2
_REPEATS = 3


class Bounds(NamedTuple):
    """Values of τ that suit a measure of complexity, and its inference.

    Attributes
    ----------
    usual : float
        Default.
    least, most : float
        Range.
    ladder : tuple of float
        Bounds whose models are compared.
    whole : bool
        Whether τ is a whole number.
    method : str
        The inference whose cost is measured.
    """

    usual: float
    least: float
    most: float
    ladder: tuple[float, ...]
    whole: bool = False
    method: Method = "exact"


_SWEEPS = Bounds(20.0, 2.0, 200.0, (5.0, 10.0, 20.0, 50.0))
BOUNDS: Mapping[str, Bounds] = {
    "treewidth": Bounds(3.0, 1.0, 8.0, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), whole=True),
    "bp-sweeps": _SWEEPS._replace(method="bp"),
    "trbp-sweeps": _SWEEPS._replace(method="trbp"),
    "seconds": Bounds(0.01, 0.0005, 1.0, (0.002, 0.005, 0.01, 0.02), method="trbp"),
    "circuit-size": Bounds(500.0, 50.0, 50_000.0, (100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)),
}


class TradeOff(NamedTuple):
    """Quality and inference cost of one model.

    Attributes
    ----------
    family : {"bounded", "l1", "truth"}
        Origin of the model; "truth" is the model that the rows were drawn from.
    setting : float
        The bound τ, or λ; 0 for the truth.
    edges, width : int
        Number of edges, and width of the elimination order found for the model.
    nll, ncmll, nlpl : float
        Metrics on the rows in nats per row; see :mod:`-`.
    seconds : float
        Processor time of all marginals of one and two variables.
    operations : int
        Number of operations for the same marginals.
    method : str
        Inference method whose cost is measured.
    log_partition, bound_on_log_partition : float
        Exact log Z, and the upper bound of tree-reweighted belief propagation.
    """

    family: Family
    setting: float
    edges: int
    width: int
    nll: float
    ncmll: float
    nlpl: float
    seconds: float
    operations: int
    method: str
    log_partition: float
    bound_on_log_partition: float

    @property
    def log_partition_error(self) -> float:
        """Error of the bound on log Z in per cent of the exact log Z."""
        gap = abs(self.bound_on_log_partition - self.log_partition)
        return 100.0 * gap / max(abs(self.log_partition), 1e-12)


def measuring(
    model: PairwiseModel,
    rows: DiscreteTable,
    family: Family,
    setting: float,
    method: Method = "exact",
) -> Iterator[TradeOff | None]:
    """Measure a model in parts: yield None between the parts and the result at the end.

    Raises
    ------
    InputError
        If exact inference on the model would take more than `MOST_OPERATIONS` or `MOST_BYTES`.
    """
    plan = plan_elimination(model, max_memory=MOST_BYTES)
    work = exact_operations(model, plan) if plan.is_affordable else MOST_OPERATIONS + 1
    if work > MOST_OPERATIONS or plan.bytes > MOST_BYTES:
        raise InputError(
            f"Exact inference in this model (width {plan.width}) takes more than "
            f"{MOST_OPERATIONS:.0e} operations, so it was not measured."
        )
    likelihood = nll(model, rows, max_memory=MOST_BYTES)
    yield None
    hidden = ncmll(model, rows, halves=_HALVES, max_memory=MOST_BYTES)
    yield None
    pseudo = nlpl(model, rows)
    log_partition = JunctionTree(model, max_memory=MOST_BYTES).log_partition
    upper = infer(model, "trbp").log_partition
    yield None
    cost = inference_cost(model, method, repeats=_REPEATS, max_memory=MOST_BYTES)
    yield TradeOff(
        family=family,
        setting=float(setting),
        edges=len(model.edges),
        width=int(plan.width),
        nll=likelihood,
        ncmll=hidden,
        nlpl=pseudo,
        seconds=cost.seconds,
        operations=cost.operations,
        method=method,
        log_partition=log_partition,
        bound_on_log_partition=upper,
    )


class MeasuredPath(NamedTuple):
    """Models measured so far, and why the rest is missing; empty if it is not."""

    points: tuple[TradeOff, ...] = ()
    unmeasured: str = ""


def measuring_path(
    train: DiscreteTable,
    rows: DiscreteTable,
    *,
    lam2: float = 0.0,
    method: Method = "exact",
    truth: PairwiseModel | None = None,
) -> Iterator[MeasuredPath]:
    """Measure the true model if it is known, then every model along the λ path of nodewise ℓ₁."""
    points: tuple[TradeOff, ...] = ()
    if truth is not None:
        for point in measuring(truth, rows, "truth", 0.0, method):
            points = points if point is None else (point,)
            yield MeasuredPath(points)
    run = LearningRun(train, NodewiseL1(lam=LAST_LAM, path=PATH_LENGTH, lam2=lam2), seed=0)
    while run.advance():
        yield MeasuredPath(points)
        step = run.steps[-1]
        assert step.test is not None  # the learner compares with λ
        lam = step.test.lam
        try:
            for point in measuring(step.model(), rows, "l1", lam, method):
                points = points if point is None else (*points, point)
                yield MeasuredPath(points)
        except InputError as error:
            yield MeasuredPath(points, f"ℓ₁ path from λ = {lam:.2g} on: {error}")
            return


class Comparison(NamedTuple):
    """Bounded model and the best ℓ₁ model of at most the same cost.

    Attributes
    ----------
    bounded : TradeOff
    other : TradeOff or None
        None if every ℓ₁ model costs more.
    gain : float
        Advantage of the bounded model in nats per row; negative if it is worse.
    """

    bounded: TradeOff
    other: TradeOff | None
    gain: float


def at_equal_cost(
    points: Sequence[TradeOff], quality: str = "nll", cost: str = "seconds"
) -> tuple[Comparison, ...]:
    """Compare every bounded model with the best ℓ₁ model of at most the same cost.

    Raises
    ------
    InputError
        If the quality or the cost is not measured.
    """
    if quality not in QUALITIES or cost not in COSTS:
        raise InputError(
            f"Models are compared by {', '.join(QUALITIES)} at equal {' or '.join(COSTS)}, not by "
            f"{quality!r} at equal {cost!r}."
        )
    others = [point for point in points if point.family == "l1"]
    found = []
    for point in sorted(points, key=lambda p: (getattr(p, cost), p.setting)):
        if point.family != "bounded":
            continue
        rivals = [other for other in others if getattr(other, cost) <= getattr(point, cost)]
        best = min(rivals, key=lambda p: getattr(p, quality), default=None)
        gain = 0.0 if best is None else getattr(best, quality) - getattr(point, quality)
        found.append(Comparison(point, best, gain))
    return tuple(found)
