"""Judgement of the claims of the thesis about the cost of learning."""

from __future__ import annotations

from itertools import pairwise

from graftviz.experiments.reproduction.dynamics_growth import (
    OPERATIONS,
    SECONDS,
    SHARE,
    GrowthPart,
    method_costs,
    of_method,
)
from graftviz.experiments.reproduction.dynamics_methods import (
    DENSE,
    INDUCING,
    PARENTS,
    power,
    scalable,
)
from graftviz.experiments.reproduction.experiment import Claim, NotMeasured, Results, Verdict
from graftviz.experiments.reproduction.verdicts import verdict

_TENTH = scalable(PARENTS, SHARE).name
_LINEAR, _QUADRATIC = (0.8, 1.25), (1.75, 2.25)  # ranges of exponents


def scalable_is_faster(results: Results) -> Verdict:
    """Judge that learning with a tenth as seeds costs less than inducing at every n."""
    few, whole = of_method(results, _TENTH), of_method(results, INDUCING)
    places = [few.n.index(n) for n in whole.n]
    seconds = whole.seconds.mean(axis=0) / few.seconds.mean(axis=0)[places]
    counted = whole.operations.mean(axis=0) / few.operations.mean(axis=0)[places]
    listing = ", ".join(
        f"{counted[k]:.1f} ({seconds[k]:.1f}) at n = {n:,}" for k, n in enumerate(whole.n)
    )
    return verdict(
        [*(counted > 1.0).tolist(), *(seconds > 1.0).tolist()],
        f"Inducing needs so many times the operations (seconds) of a tenth as seeds: {listing}.",
        operations_ratio=dict(zip(map(str, whole.n), counted.tolist(), strict=True)),
        seconds_ratio=dict(zip(map(str, whole.n), seconds.tolist(), strict=True)),
    )


def scalable_grows_slower(results: Results) -> Verdict:
    """Judge that the cost with a tenth as seeds increases less from size to size."""
    few, whole = of_method(results, _TENTH), of_method(results, INDUCING)
    met = []
    for quantity in (SECONDS, OPERATIONS):
        costs, others = (getattr(one, quantity).mean(axis=0) for one in (few, whole))
        for before, after in pairwise(range(len(whole.n))):
            met.append(bool(costs[after] - costs[before] < others[after] - others[before]))
    powers = {
        name: {key: one.power(key) for key in (SECONDS, OPERATIONS)}
        for name, one in (("scalable", few), ("inducing", whole))
    }
    return verdict(
        met,
        f"From size to size its cost increases less in {sum(met)} of {len(met)} comparisons of "
        f"seconds and operations. As a power of n both are alike, since a share of n is seeds: "
        f"operations n^{powers['scalable'][OPERATIONS]:.2f} against "
        f"n^{powers['inducing'][OPERATIONS]:.2f}, "
        f"seconds n^{powers['scalable'][SECONDS]:.2f} against n^"
        f"{powers['inducing'][SECONDS]:.2f}.",
        powers_of_n=powers,
    )


def dense_scales_poorly(results: Results) -> Verdict:
    """Judge that the cost of dense learning grows faster and is larger at the largest n."""
    one, few = of_method(results, DENSE), of_method(results, _TENTH)
    at = few.n.index(one.n[-1])
    met, phrases, numbers = [], [], {}
    for quantity in (SECONDS, OPERATIONS):
        mine, its = one.power(quantity), few.power(quantity)
        ratio = float(getattr(one, quantity)[:, -1].mean() / getattr(few, quantity)[:, at].mean())
        met += [mine > its, ratio > 1.0]
        phrases.append(
            f"{quantity} n^{mine:.2f} against n^{its:.2f}, {ratio:.2f} times as many at n = "
            f"{one.n[-1]:,}"
        )
        numbers[quantity] = {"dense": mine, "scalable": its, "ratio": ratio}
    return verdict(
        met,
        f"Dense learning against a tenth as seeds: {'; '.join(phrases)}. Its decomposition runs in "
        "LAPACK, where an operation takes a fraction of the time.",
        **numbers,
    )


def linear_with_fixed_seeds(results: Results) -> Verdict:
    """Judge that operations with a fixed number of seeds are linear in n; report seconds."""
    fixed = [one for name, one in method_costs(results).items() if name.endswith(" seeds, common")]
    if not fixed:
        raise NotMeasured("No fixed number of seeds was measured.")
    one = fixed[0]
    counted, timed = one.power(OPERATIONS), one.power(SECONDS)
    return verdict(
        [_LINEAR[0] <= counted <= _LINEAR[1]],
        f"{one.method.name}, n = {one.n[0]:,} to {one.n[-1]:,}: operations n^{counted:.2f}, seconds"
        f" n^{timed:.2f} (by least squares on logarithms; {_LINEAR[0]} to {_LINEAR[1]} counts as "
        "linear, for operations).",
        power_of_n={OPERATIONS: counted, SECONDS: timed},
    )


def quadratic_with_a_share(results: Results) -> Verdict:
    """Judge that operations with a tenth as seeds are quadratic in n."""
    one = of_method(results, _TENTH)
    counted, timed = one.power(OPERATIONS), one.power(SECONDS)
    last = [(n, float(c)) for n, c in zip(one.n, one.operations.mean(axis=0), strict=True)][-2:]
    local = power([n for n, _ in last], [c for _, c in last])
    return verdict(
        [_QUADRATIC[0] <= local <= _QUADRATIC[1]],
        f"{one.method.name}: operations n^{counted:.2f} over all sizes, n^{local:.2f} over the two "
        f"largest, where least squares, linear in n, weigh less; seconds n^{timed:.2f}.",
        power_of_n={OPERATIONS: counted, SECONDS: timed, "two largest": local},
    )


def fewer_steps_than_rows(results: Results) -> Verdict:
    """Judge that gradient descent takes fewer steps than there are rows."""
    passes = {
        str(part.n): float(result["passes"])
        for part, result in results.items()
        if isinstance(part, GrowthPart) and part.method.name == INDUCING
    }
    listing = ", ".join(f"{mean:.1f} at n = {n}" for n, mean in passes.items())
    return verdict(
        [mean < 1.0 for mean in passes.values()],
        f"Mean t / N of a regression of inducing learning: {listing}. Descent here goes through "
        "all rows at least once and stops when a pass hardly moves the coefficients.",
        passes=passes,
    )


CLAIMS = (
    Claim(
        "With a tenth of the series as seeds scalable learning takes less than sparsity inducing "
        "learning.",
        scalable_is_faster,
    ),
    Claim("Its cost evolves slower with the number of series.", scalable_grows_slower),
    Claim("Dense learning scales poorly: its cost grows drastically with n.", dense_scales_poorly),
    Claim(
        "With the number of seeds held constant the total cost is linear in n (section 2.2).",
        linear_with_fixed_seeds,
    ),
    Claim(
        "Not in the thesis: with a share of the series as seeds it is quadratic.",
        quadratic_with_a_share,
    ),
    Claim(
        "Gradient descent needs fewer steps than there are rows, t < N, in most cases "
        "(section 2.2).",
        fewer_steps_than_rows,
    ),
)
