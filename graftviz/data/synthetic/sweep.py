"""Gibbs sweeps over many chains at once.

All chains update the same variable at the same time, so every step is a short loop over chains,
which the compiler turns into vector instructions. The states are stored as indicator rows: variable
j has s_j − 1 rows; row b is 1 for the chains with x_j = b and 0 for the others. The log-odds of
x_i = k against x_i = 0 are then *linear* in the indicator rows of the neighbours,

    w_i[k] − w_i[0] + Σ_j (w_ij[k, 0] − w_ij[0, 0])
      + Σ_j Σ_(b ≥ 1) (w_ij[k, b] − w_ij[0, b] − w_ij[k, 0] + w_ij[0, 0]) · 1{x_j = b},

so no table is indexed by states. The sums are logarithms from which the largest is subtracted, so
that hubs with any number of neighbours neither overflow nor underflow.

For a hub with leaves j (:class:`Star`), the terms of x_j are replaced by

    log Σ_b p_j(b) · exp(w_ij[k, b] − w_ij[0, b] − w_ij[k, 0] + w_ij[0, 0]) − log Σ_b p_j(b)

where p_j is the distribution of x_j, times any constant, if x_i were 0.

Hubs whose state is drawn with some of their neighbours summed out. Drawn one at a time, a hub and
its neighbours hold each other in place: a chain may keep a hub's state for ever, and rows of
different chains then have the wrong frequencies. So the state of a hub is drawn from its
distribution given all variables but its *leaves*, neighbours that are not joined to each other, and
the leaves are drawn directly afterwards. This is a draw of hub and leaves together from their
distribution given the rest (blocked Gibbs sampling; Jensen, Kong and Kjærulff 1995; Hamze and de
Freitas 2004).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel, kernel

# Root mean square of the interactions of a variable's edges, summed; weaker ones mix well alone.
LEAST_STRENGTH = 3.0
# Larger interactions, in nats, would leave the range of single precision when summed.
_LARGEST_INTERACTION = 35.0


class Star(NamedTuple):
    """A hub and its leaves.

    Attributes
    ----------
    hub : int
    leaves : tuple of int
        Neighbours of the hub, no two of them joined.
    interactions : tuple of float64 arrays, each shape (states of the hub, states of the leaf)
        ``w[k, b] − w[0, b] − w[k, 0] + w[0, 0]`` of the edge to each leaf.
    """

    hub: int
    leaves: tuple[int, ...]
    interactions: tuple[np.ndarray, ...]


def stars(model: PairwiseModel) -> list[Star]:
    """Return the hubs of a model, the strongest first, each with as many leaves as are found.

    The strength of a variable is the root of the summed mean squares of its edges' weights, each
    double centred, since constants of a row or column move nothing. Leaves are sought among the
    neighbours with fewest edges first.
    """
    n, degrees = model.n_variables, model.degrees()
    squares = np.zeros(n)
    neighbours: list[dict[int, int]] = [{} for _ in range(n)]
    for e, (i, j) in enumerate(model.edges.tolist()):
        squares[[i, j]] += np.mean(_centred(model.edge_weights(e)) ** 2)
        neighbours[i][j] = neighbours[j][i] = e
    strengths = np.sqrt(squares)
    found = []
    for hub in np.argsort(-strengths, kind="stable").tolist():
        if strengths[hub] < LEAST_STRENGTH:
            break
        leaves: dict[int, np.ndarray] = {}
        for leaf in sorted(neighbours[hub], key=lambda j: (degrees[j], j)):
            weights = model.edge_weights(neighbours[hub][leaf])
            interaction = _interaction(weights if hub < leaf else weights.T)
            if np.abs(interaction).max() <= _LARGEST_INTERACTION and not (
                leaves.keys() & neighbours[leaf].keys()
            ):
                leaves[leaf] = interaction
        if leaves:
            found.append(Star(hub, tuple(leaves), tuple(leaves.values())))
    return found


def _centred(weights: np.ndarray) -> np.ndarray:
    rows, columns = weights.mean(axis=1, keepdims=True), weights.mean(axis=0)
    return weights - rows - columns + weights.mean()


def _interaction(weights: np.ndarray) -> np.ndarray:
    odds = weights - weights[0]
    return odds - odds[:, :1]


_CHAINS_TOGETHER = 256  # long enough for the vector unit, short enough for the caches
_SWEEPS_TOGETHER = 100  # between reports of progress and checks for Ctrl-C
_INPUTS_TOGETHER = 4  # indicator rows added in one pass over the chains
_LOG2_E = 1.0 / np.log(2.0)

# Taylor coefficients of 2^f; for |f| ≤ 1/2 the error is below 3e-7, about the float32 resolution.
_C1, _C2, _C3, _C4, _C5, _C6 = (
    np.float32(np.log(2.0) ** power / factorial)
    for power, factorial in ((1, 1), (2, 2), (3, 6), (4, 24), (5, 120), (6, 720))
)
# Of log₂ m = 1/2 + Σ_p c_p t^p with t = (m − √2) / (m + √2), p odd; for 1 ≤ m < 2 the error is
# below 1e-7.
_L1, _L3, _L5, _L7 = (np.float32(2.0 / (np.log(2.0) * power)) for power in (1, 3, 5, 7))
_ROOT_2 = np.float32(np.sqrt(2.0))
_MANTISSA, _BITS_OF_ONE = np.int32(0x7FFFFF), np.int32(0x3F800000)
_ZERO = np.float32(0.0)
_HALF = np.float32(0.5)
_ONE = np.float32(1.0)
_UNIFORM_STEP = np.float32(2.0**-24)
# Far below the resolution of a draw, and far above the subnormal numbers, which are slow.
_LEAST_EXPONENT = np.float32(-100.0)


class SweepModel(NamedTuple):
    """Model for the kernel: every full conditional as weights of indicator rows.

    Attributes
    ----------
    cardinalities : int64 array, shape (n,)
    own_rows : int64 array, shape (n + 1,)
        Variable i owns indicator rows ``own_rows[i]`` … ``own_rows[i + 1] − 1``; the row after
        all of them is always zero.
    input_starts : int64 array, shape (n + 1,)
    inputs : int64 array, flat
        Indicator rows of the neighbours of variable i, padded with the zero row to a multiple of
        four.
    weight_starts : int64 array, shape (n,)
    weights : float32 array, flat
        For variable i and k = 1 … s_i − 1 (padded to an even number): the constant, then one
        weight per input; in units of log 2.
    visits : int64 array
        Variables in the order of a sweep: every hub and its leaves, then all that remain.
    leaf_starts : int64 array, shape (visits + 1,)
    leaves : int64 array, flat
        Visit v sums out ``leaves[leaf_starts[v] : leaf_starts[v + 1]]``.
    factor_starts : int64 array, one per entry of `leaves`
    factors : float32 array, flat
        For each leaf and k = 1 … s_i − 1: the exponential of the formula above, for all b.
    """

    cardinalities: np.ndarray
    own_rows: np.ndarray
    input_starts: np.ndarray
    inputs: np.ndarray
    weight_starts: np.ndarray
    weights: np.ndarray
    visits: np.ndarray
    leaf_starts: np.ndarray
    leaves: np.ndarray
    factor_starts: np.ndarray
    factors: np.ndarray

    def tempered(self, beta: float) -> SweepModel:
        """Return the conditionals of the distribution with probabilities to the power β."""
        return self._replace(
            weights=self.weights * np.float32(beta), factors=self.factors ** np.float32(beta)
        )


def conditionals_of(model: PairwiseModel, stars: Sequence[Star] = ()) -> SweepModel:
    """Convert the model's weights, all finite, to those of the formulas above."""
    n = model.n_variables
    sizes = model.cardinalities
    own_rows = np.concatenate([[0], np.cumsum(sizes - 1)])
    constants = [model.node_weights(i) - model.node_weights(i)[0] for i in range(n)]
    inputs: list[list[np.ndarray]] = [[] for _ in range(n)]
    columns: list[list[np.ndarray]] = [[] for _ in range(n)]
    for e, (i, j) in enumerate(model.edges.tolist()):
        matrix = model.edge_weights(e)
        for here, there, weights in ((i, j, matrix), (j, i, matrix.T)):
            odds = weights - weights[0]
            constants[here] = constants[here] + odds[:, 0]
            inputs[here].append(np.arange(own_rows[there], own_rows[there + 1]))
            columns[here].append(odds[:, 1:] - odds[:, :1])
    input_starts = np.zeros(n + 1, dtype=np.int64)
    weight_starts = np.zeros(n, dtype=np.int64)
    flat_inputs = [np.zeros(0, dtype=np.int64)]
    flat_weights = [np.zeros(0, dtype=np.float32)]
    filled = 0
    for i in range(n):
        n_inputs = sum(len(part) for part in inputs[i])
        padding = -n_inputs % _INPUTS_TOGETHER
        flat_inputs += [*inputs[i], np.full(padding, own_rows[-1])]
        input_starts[i + 1] = input_starts[i] + n_inputs + padding
        odds = np.concatenate([constants[i][:, None], *columns[i]], axis=1)[1:]
        padded = np.zeros((int(sizes[i] // 2 * 2), 1 + n_inputs + padding), dtype=np.float32)
        padded[: len(odds), : 1 + n_inputs] = odds * _LOG2_E
        weight_starts[i] = filled
        filled += padded.size
        flat_weights.append(padded.reshape(-1))
    visits: list[int] = []
    leaves_of: list[tuple[int, ...]] = []
    for star in stars:
        visits += [star.hub, *star.leaves]
        leaves_of += [star.leaves, *((),) * len(star.leaves)]
    others = np.setdiff1d(np.flatnonzero(sizes > 1), visits)
    leaf_counts = [len(leaves) for leaves in leaves_of] + [0] * len(others)
    factors = [np.exp(matrix[1:]).ravel() for star in stars for matrix in star.interactions]
    return SweepModel(
        cardinalities=np.array(sizes),
        own_rows=own_rows,
        input_starts=input_starts,
        inputs=np.concatenate(flat_inputs),
        weight_starts=weight_starts,
        weights=np.concatenate(flat_weights),
        visits=np.concatenate([np.array(visits, dtype=np.int64), others]),
        leaf_starts=_starts(leaf_counts),
        leaves=np.array([leaf for star in stars for leaf in star.leaves], dtype=np.int64),
        factor_starts=_starts([part.size for part in factors])[:-1],
        factors=np.concatenate([np.zeros(0), *factors]).astype(np.float32),
    )


def _starts(counts: Sequence[int]) -> np.ndarray:
    return np.cumsum([0, *counts], dtype=np.int64)


def advance(
    conditionals: SweepModel,
    states: np.ndarray,
    generators: np.ndarray,
    sweeps: int,
    done: Callable[[int], None] | None = None,
) -> None:
    """Visit every variable of every chain `sweeps` times, variable by variable.

    Chains are independent: each draws from its own generator, so the result does not depend on how
    the chains are grouped into blocks.

    Parameters
    ----------
    conditionals : SweepModel
    states : uint8 array, shape (n, chains)
        Updated in place.
    generators : uint32 array, shape (4, chains)
        State of each chain's xoshiro128+, not all zero; updated in place.
    sweeps : int
    done : callable, optional
        Called with the number of sweeps just made, summed over chains.
    """
    chains = states.shape[1]
    for first in range(0, chains, _CHAINS_TOGETHER):
        block = slice(first, min(first + _CHAINS_TOGETHER, chains))
        width = block.stop - block.start
        block_states = np.ascontiguousarray(states[:, block])
        block_generators = np.ascontiguousarray(generators[:, block])
        indicators = np.zeros((int(conditionals.own_rows[-1]) + 1, width), dtype=np.float32)
        _write_indicators(conditionals, block_states, indicators)
        for start in range(0, sweeps, _SWEEPS_TOGETHER):
            some = min(_SWEEPS_TOGETHER, sweeps - start)
            _sweep(conditionals, indicators, block_generators, some)
            if done is not None:
                done(some * width)
        _read_indicators(conditionals, indicators, block_states)
        states[:, block] = block_states
        generators[:, block] = block_generators


@kernel
def _sweep(model, indicators, generator, sweeps):
    """Update `indicators`, float32, shape (indicator rows + 1, chains), and `generator`."""
    chains = indicators.shape[1]
    uniforms = np.empty(chains, dtype=np.float32)
    sums = np.empty(chains, dtype=np.float32)
    logarithms = np.empty(chains, dtype=np.float32)
    # One row per state, and one for the padding to an even number of odds.
    rows = model.cardinalities.max() + 1
    table = np.empty((rows, chains), dtype=np.float32)
    leaf_table = np.empty((rows, chains), dtype=np.float32)
    for _ in range(sweeps):
        for v in range(len(model.visits)):
            i = model.visits[v]
            first, last = model.leaf_starts[v], model.leaf_starts[v + 1]
            _draw_uniforms(generator, uniforms)
            if last > first:
                _set_first_state(model, i, indicators)
                for m in range(first, last):
                    _set_first_state(model, model.leaves[m], indicators)
            _log_odds(model, i, indicators, table)
            for m in range(first, last):
                _log_odds(model, model.leaves[m], indicators, leaf_table)
                _sum_out(model, i, m, leaf_table, sums, logarithms, table)
            _to_powers(table, model.cardinalities[i], sums)
            _cumulate(table, model.cardinalities[i])
            _choose_states(model, i, table, uniforms, indicators)


@inner_kernel
def _set_first_state(model, i, indicators):
    indicators[model.own_rows[i] : model.own_rows[i + 1]] = _ZERO


@inner_kernel
def _sum_out(model, i, m, powers, sums, logarithms, table):
    """Add the terms of leaf m to the log-odds of hub i; `powers` are the leaf's log-odds before."""
    states = model.cardinalities[model.leaves[m]]
    _to_powers(powers, states, sums)
    sums[:] = _ZERO
    for b in range(states):
        _add_product(powers[b], _ONE, sums)
    _set_log2(sums.view(np.int32), logarithms)
    for k in range(1, model.cardinalities[i]):
        _add_product(logarithms, -_ONE, table[k])
    at = model.factor_starts[m]
    for k in range(1, model.cardinalities[i]):
        sums[:] = _ZERO
        for b in range(states):
            _add_product(powers[b], model.factors[at + b], sums)
        at += states
        _set_log2(sums.view(np.int32), logarithms)
        _add_product(logarithms, _ONE, table[k])


@inner_kernel
def _add_product(row, factor, sums):
    for c in range(len(sums)):
        sums[c] += factor * row[c]


# Checks for division by zero would not be vectorised.
@inner_kernel(error_model="numpy")
def _set_log2(bits, logarithms):
    """Set `logarithms` to log₂ of the normal positive float32 numbers whose bits are given."""
    for c in range(len(bits)):
        exponent = np.int32(bits[c] >> np.int32(23))
        mantissa = np.int32((bits[c] & _MANTISSA) | _BITS_OF_ONE).view(np.float32)
        t = (mantissa - _ROOT_2) / (mantissa + _ROOT_2)
        square = t * t
        series = t * (_L1 + square * (_L3 + square * (_L5 + square * _L7)))
        logarithms[c] = np.float32(np.int32(exponent - np.int32(127))) + (_HALF + series)


@inner_kernel
def _draw_uniforms(generator, uniforms):
    """Advance every xoshiro128+ (Blackman and Vigna 2021) and write multiples of 2⁻²⁴ below 1."""
    first, second, third, fourth = generator[0], generator[1], generator[2], generator[3]
    for c in range(len(uniforms)):
        s0, s1, s2, s3 = first[c], second[c], third[c], fourth[c]
        # Converted via a signed integer, for which processors have a vector instruction.
        bits = np.int32(np.uint32(s0 + s3) >> np.uint32(8))
        uniforms[c] = np.float32(bits) * _UNIFORM_STEP
        shifted = np.uint32(s1 << np.uint32(9))
        s2 ^= s0
        s3 ^= s1
        first[c] = s0 ^ s3
        second[c] = s1 ^ s2
        third[c] = s2 ^ shifted
        fourth[c] = np.uint32(s3 << np.uint32(11)) | np.uint32(s3 >> np.uint32(21))


@inner_kernel
def _log_odds(model, i, indicators, table):
    """Set row k of `table` to log₂ p(x_i = k | rest) / p(x_i = 0 | rest), for k ≥ 1."""
    chains = indicators.shape[1]
    start, stop = model.input_starts[i], model.input_starts[i + 1]
    at = model.weight_starts[i]
    # Two states per pass, because reading the indicators costs as much as multiplying them.
    for k in range(1, model.cardinalities[i], 2):
        row_a, row_b = table[k], table[k + 1]
        weights_a = model.weights[at : at + 1 + stop - start]
        at += len(weights_a)
        weights_b = model.weights[at : at + 1 + stop - start]
        at += len(weights_b)
        constant_a, constant_b = weights_a[0], weights_b[0]
        for c in range(chains):
            row_a[c] = constant_a
            row_b[c] = constant_b
        for m in range(0, stop - start, _INPUTS_TOGETHER):
            input_0 = indicators[model.inputs[start + m]]
            input_1 = indicators[model.inputs[start + m + 1]]
            input_2 = indicators[model.inputs[start + m + 2]]
            input_3 = indicators[model.inputs[start + m + 3]]
            a0, a1, a2, a3 = weights_a[m + 1], weights_a[m + 2], weights_a[m + 3], weights_a[m + 4]
            b0, b1, b2, b3 = weights_b[m + 1], weights_b[m + 2], weights_b[m + 3], weights_b[m + 4]
            for c in range(chains):
                # All reads precede all writes; otherwise the loop is not vectorised.
                x0, x1, x2, x3 = input_0[c], input_1[c], input_2[c], input_3[c]
                sum_a, sum_b = row_a[c], row_b[c]
                row_a[c] = sum_a + ((a0 * x0 + a1 * x1) + (a2 * x2 + a3 * x3))
                row_b[c] = sum_b + ((b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3))


@inner_kernel
def _to_powers(table, states, largest):
    """Turn log-odds into unnormalised probabilities, in place, the largest of them 1."""
    chains = len(largest)
    for c in range(chains):
        largest[c] = _ZERO
    for k in range(1, states):
        row = table[k]
        for c in range(chains):
            largest[c] = row[c] if row[c] > largest[c] else largest[c]
    row = table[0]
    for c in range(chains):
        row[c] = _exp2(-largest[c])
    for k in range(1, states):
        _to_power(table[k], largest)


@inner_kernel
def _to_power(row, largest):
    """Set `row` to ``2^(row − largest)``.

    A separate function, because the loop is not vectorised when it is written in place.
    """
    for c in range(len(row)):
        row[c] = _exp2(row[c] - largest[c])


@inner_kernel
def _cumulate(table, states):
    """Turn probabilities into cumulative ones, in place."""
    for k in range(1, states):
        _add_product(table[k - 1], _ONE, table[k])


@inner_kernel
def _exp2(exponent):
    """Return 2^exponent for exponent ≤ 0, at least 2⁻¹⁰⁰."""
    exponent = exponent if exponent > _LEAST_EXPONENT else _LEAST_EXPONENT
    whole = np.int32(exponent - _HALF)
    f = exponent - np.float32(whole)
    power = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * _C6)))))
    # The bits of the float 2^whole: a biased exponent with a zero mantissa.
    return power * np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)


@inner_kernel
def _choose_states(model, i, table, uniforms, indicators):
    """Invert the cumulative probabilities and write the indicator rows of variable i."""
    chains = len(uniforms)
    states = model.cardinalities[i]
    total = table[states - 1]
    for c in range(chains):
        uniforms[c] *= total[c]
    for k in range(1, states):
        lower, upper = table[k - 1], table[k]
        row = indicators[model.own_rows[i] + k - 1]
        for c in range(chains):
            # Even after rounding, u · total < total for u < 1: exactly one state is chosen.
            u = uniforms[c]
            row[c] = np.float32(u >= lower[c]) - np.float32(u >= upper[c])


@kernel
def _write_indicators(model, states, indicators):
    """Set the indicator rows to `states`, uint8, shape (n, chains)."""
    for i in range(len(model.cardinalities)):
        for k in range(1, model.cardinalities[i]):
            row = indicators[model.own_rows[i] + k - 1]
            for c in range(states.shape[1]):
                row[c] = np.float32(states[i, c] == k)


@kernel
def _read_indicators(model, indicators, states):
    """Set `states`, uint8, shape (n, chains), from the indicator rows."""
    for i in range(len(model.cardinalities)):
        own = states[i]
        own[:] = 0
        for k in range(1, model.cardinalities[i]):
            row = indicators[model.own_rows[i] + k - 1]
            for c in range(len(own)):
                own[c] += np.uint8(k) * np.uint8(row[c])
