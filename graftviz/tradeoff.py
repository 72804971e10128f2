"""What a model is worth against what inference on it costs: points of a chart, and who wins.

The experiment of Das Gupta, Srinivasan, Sharma and Greiner, "Learning Markov networks with bounded
inference complexity" (2013): models learned under several bounds τ, and those along the λ path of
group-ℓ₁ pseudo-likelihood, by their likelihood on held-out rows, by the cost of all marginals of
one and two variables, and by the error of the log Z of tree-reweighted belief propagation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from graftviz.errors import InputError
from graftviz.inference import infer
from graftviz.inference.cost import exact_operations, inference_cost
from graftviz.inference.exact import JunctionTree, plan_elimination
from graftviz.metrics import ncmll, negative_log_pseudo_likelihood, nll
from graftviz.model import PairwiseMRF
from graftviz.table import DiscreteTable

Family = Literal["bounded", "l1", "truth"]
QUALITIES = ("nll", "ncmll", "nlpl")
COSTS = ("seconds", "operations")
MOST_OPERATIONS = 2_000_000_000  # of all marginals; what takes more is not measured
MOST_BYTES = 500_000_000
_HALVES = 2
_REPEATS = 3


class TradeOff(NamedTuple):
    """One model as a point: what it is worth, and what it costs.

    Attributes
    ----------
    family : {"bounded", "l1", "truth"}
        Where the model comes from; "truth" is the one the rows were drawn from.
    setting : float
        The bound τ, or λ; 0 for the truth.
    edges, width : int
        The width is that of the elimination order found for the model.
    nll, ncmll, nlpl : float
        On rows, in nats per row; see :mod:`graftviz.metrics`.
    seconds : float
        Processor time of all marginals of one and two variables.
    operations : int
        The same, counted.
    method : str
        The inference whose cost that is.
    log_partition, bound_on_log_partition : float
        Exact log Z, and that of tree-reweighted belief propagation, an upper bound.
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
        """How far the bound on log Z is off, in per cent of the exact log Z."""
        gap = abs(self.bound_on_log_partition - self.log_partition)
        return 100.0 * gap / max(abs(self.log_partition), 1e-12)


def measuring(
    model: PairwiseMRF, rows: DiscreteTable, family: Family, setting: float, method: str = "exact"
) -> Iterator[TradeOff | None]:
    """Measure a model bit by bit: None between the parts, the point at the end.

    Raises
    ------
    InputError
        When exact inference on the model would take more than `MOST_OPERATIONS` or `MOST_BYTES`.
    """
    plan = plan_elimination(model, max_memory=MOST_BYTES)
    work = exact_operations(model, plan) if plan.is_affordable else MOST_OPERATIONS + 1
    if work > MOST_OPERATIONS or plan.bytes > MOST_BYTES:
        raise InputError(
            f"Exact inference on this model (width {plan.width}) would take more than "
            f"{MOST_OPERATIONS:.0e} operations, so it is not measured."
        )
    likelihood = nll(model, rows, max_memory=MOST_BYTES)
    yield None
    halves = ncmll(model, rows, halves=_HALVES, max_memory=MOST_BYTES)
    yield None
    pseudo = negative_log_pseudo_likelihood(model, rows)
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
        ncmll=halves.mean,
        nlpl=pseudo,
        seconds=cost.seconds,
        operations=cost.operations,
        method=method,
        log_partition=log_partition,
        bound_on_log_partition=upper,
    )


class Comparison(NamedTuple):
    """A bounded model and the best ℓ₁ model that costs no more.

    Attributes
    ----------
    bounded : TradeOff
    other : TradeOff or None
        None where every ℓ₁ model costs more.
    gain : float
        By how much the bounded model is better, in nats per row; negative when it is worse.
    """

    bounded: TradeOff
    other: TradeOff | None
    gain: float


def at_equal_cost(
    points: Sequence[TradeOff], quality: str = "nll", cost: str = "seconds"
) -> tuple[Comparison, ...]:
    """Compare every bounded model with the best ℓ₁ model that costs no more than it.

    Raises
    ------
    InputError
        For a quality or a cost that is not measured.
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
