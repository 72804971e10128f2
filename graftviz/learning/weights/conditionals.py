"""Conditional probabilities p(x_i | rest) of every row, updated as the weights change.

The pseudo-likelihood is a function of them alone. Each connected variable has one column of single-
precision numbers per state. A change of weights multiplies the numbers of a row by factors that
depend on the state of one other variable, and normalises them again, without an exponential per
row. The rows in a state are given by a plane of bits, as in the counting of pairs. A variable
without edges has one distribution for all rows and no columns.

Sums over the rows whose bits are set. A processor adds sixteen contiguous numbers at once and masks
those whose bit is 0. Compilers do not generate this from a plain loop, with which a whole run takes
up to 1.5 times as long, so it is written in LLVM instructions here. All numbers are added in the
same order on every machine. Bounds are not checked.

Pseudo-likelihood, its gradient and the conditionals from one pass over the rows. The other kernels
of the pseudo-likelihood update the conditionals edge by edge. If all weights change at once, as
tied weights do, the conditionals are computed from scratch here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from graftviz.learning.weights.noise import impurity_of
from graftviz.utils.array_kernels import exponentiate
from graftviz.utils.compiling import inner_kernel, kernel

_WIDTH = 16  # numbers in a vector
_WORD = 64  # bits in a word
_CHUNKS = _WORD // _WIDTH
_SUMS = 8  # least number of independent sums, to avoid a chain of dependent additions
_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, _WIDTH)
_BITS = ir.VectorType(ir.IntType(1), _WIDTH)
_INDEX = ir.IntType(32)


def _folded(builder: Any, vector: Any) -> Any:
    """Return the sum of the entries of a vector, by repeated halving."""
    count = _WIDTH
    while count > 1:
        count //= 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(
                vector, undefined, ir.Constant(ir.VectorType(_INDEX, count), list(chosen))
            )
            for chosen in (range(count), range(count, 2 * count))
        )
        vector = builder.fadd(low, high)
    return builder.extract_element(vector, ir.Constant(_INDEX, 0))


def _chosen(builder: Any, word: Any) -> Iterator[Any]:
    """Yield the masks of the four vectors of a word."""
    for chunk in range(_CHUNKS):
        shifted = builder.lshr(word, ir.Constant(word.type, chunk * _WIDTH))
        yield builder.bitcast(builder.trunc(shifted, ir.IntType(_WIDTH)), _BITS)


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the pointer to the first number of an array."""
    return context.make_array(kind)(context, builder, array).data


def _place(builder: Any, data: Any, index: Any) -> Any:
    """Return the pointer to the vector that begins at an index."""
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _load(builder: Any, pointer: Any) -> Any:
    vector = builder.load(pointer)
    vector.align = 4
    return vector


def _times(builder: Any, number: Any, count: int) -> Any:
    return builder.mul(number, ir.Constant(number.type, count))


def _add_masked(
    _typing: Any,
    numbers: Any,
    _at: Any,
    _width: Any,
    bits: Any,
    _first_word: Any,
    _words: Any,
    out: Any,
    _into: Any,
    columns: Any,
) -> Any:
    """Add to ``out[into + t]`` the sum of column t over the rows with a bit, t < len(columns).

    Column t holds 64 numbers for each of the `words` words of bits that begin at `first_word`; it
    starts at ``numbers[at + t * width]``. Only the length of the tuple `columns` is used.
    """
    count = len(columns)
    chains = min(_CHUNKS, max(1, _SUMS // count))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, at, width, planes, first_word, words, sums, into, _ = arguments
        data = _data(context, builder, signature.args[0], values)
        masks = _data(context, builder, signature.args[3], planes)
        target = _data(context, builder, signature.args[6], sums)
        zero = ir.Constant(_VECTOR, [0.0] * _WIDTH)
        partial = [
            [cgutils.alloca_once_value(builder, zero) for _ in range(chains)] for _ in range(count)
        ]
        with cgutils.for_range(builder, words, intp=words.type) as loop:
            word = builder.load(builder.gep(masks, [builder.add(first_word, loop.index)]))
            row = builder.add(at, _times(builder, loop.index, _WORD))
            for chunk, chosen in enumerate(_chosen(builder, word)):
                first = builder.add(row, ir.Constant(words.type, chunk * _WIDTH))
                for t in range(count):
                    place = builder.add(first, _times(builder, width, t))
                    vector = _load(builder, _place(builder, data, place))
                    so_far = partial[t][chunk % chains]
                    masked = builder.select(chosen, vector, zero)
                    builder.store(builder.fadd(builder.load(so_far), masked), so_far)
        for t in range(count):
            vector = builder.load(partial[t][0])
            for chain in range(1, chains):
                vector = builder.fadd(vector, builder.load(partial[t][chain]))
            number = builder.fpext(_folded(builder, vector), ir.DoubleType())
            pointer = builder.gep(target, [builder.add(into, ir.Constant(into.type, t))])
            builder.store(builder.fadd(builder.load(pointer), number), pointer)
        return context.get_dummy_value()

    whole = types.intp
    return (
        types.void(numbers, whole, whole, bits, whole, whole, out, whole, columns),
        generate,
    )


add_masked: Any = intrinsic(_add_masked)


SMALLEST = np.float32(1e-30)  # keeps probabilities away from subnormal floats, which are slow
MOST_PLANES = 16  # states up to which rows are selected by planes, which is faster for few states
WORDS_AT_ONCE = 32  # words whose rows are summed in single precision
ROWS_OF_WORD = 64
_WORDS_TO_MIX = 16
ROWS_TO_MIX = ROWS_OF_WORD * _WORDS_TO_MIX
_SUMMED_AT_ONCE = 512  # rows summed in single precision

# Arguments of `mix`. numba compiles a kernel again for each Python constant, but not for NumPy's.
START, WITH_SQUARES, WITHOUT_SQUARES = np.int64(0), np.bool_(True), np.bool_(False)


class Conditionals(NamedTuple):
    """Kernel-side state of the conditionals; R distinct rows fill W words, padded with zeros.

    Attributes
    ----------
    codes : uint8 or uint16 array, shape (n, R)
        States of the distinct rows.
    multiplicity : float32 array, shape (64 W,)
        Number u of occurrences of each distinct row; they sum to N.
    inverse : float32 array, shape (64 W,)
        1 / u; 0 where u = 0.
    node_offsets : int64 array, shape (n + 1,)
    margins : float64 array, flat
        Shares p_D(i) of the states.
    margin_impurity : float64 array, shape (n,)
        Impurity of these shares.
    alone : float64 array, flat
        p(x_i) of a variable without columns, the same in all rows: `margins`, unless its weights
        are penalised.
    starts : int64 array, shape (n,)
        Start of a variable's columns in `columns`; -1: it has none.
    columns : float32 array, flat
        u p(x_i = a | rest) of all rows, 64 W numbers for each state a; then one column with
        the impurity 1 - Σ_a p(a | rest)²: the variance of the indicators given the rest.
    planes : uint64 array, flat
        W words for each state of each variable with at most MOST_PLANES states.
    plane_starts : int64 array, shape (n,)
        Start of a variable's planes; -1: it has none.
    words : int
        W.
    rows : float64
        N.
    """

    codes: np.ndarray
    multiplicity: np.ndarray
    inverse: np.ndarray
    node_offsets: np.ndarray
    margins: np.ndarray
    margin_impurity: np.ndarray
    alone: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    planes: np.ndarray
    plane_starts: np.ndarray
    words: int
    rows: float


def new_conditionals(
    codes: np.ndarray,
    multiplicity: np.ndarray,
    node_offsets: np.ndarray,
    margins: np.ndarray,
    rows: float,
) -> Conditionals:
    """Return the state in which no variable has columns.

    Parameters
    ----------
    codes : uint8 or uint16 array, shape (n, R)
    multiplicity : float32 array, shape (R,)
    node_offsets : int64 array, shape (n + 1,)
    margins : float64 array, flat
    rows : float
        N.
    """
    n, distinct = codes.shape
    words = -(-distinct // ROWS_OF_WORD)
    padded = np.zeros(words * ROWS_OF_WORD, dtype=np.float32)
    padded[:distinct] = multiplicity
    inverse = np.divide(1.0, padded, out=np.zeros_like(padded), where=padded > 0.0)
    sizes = np.diff(node_offsets)
    by_planes = sizes <= MOST_PLANES
    ends = np.cumsum(np.where(by_planes, sizes, 0) * words)
    plane_starts = np.where(by_planes, ends - sizes * words, -1)
    planes = np.zeros(int(ends[-1]), dtype="<u8")
    for i in np.flatnonzero(by_planes):
        bits = np.zeros((int(sizes[i]), words * ROWS_OF_WORD), dtype=np.bool_)
        bits[:, :distinct] = codes[i] == np.arange(int(sizes[i]))[:, None]
        packed = np.packbits(bits, axis=1, bitorder="little").view("<u8").reshape(-1)
        planes[plane_starts[i] : plane_starts[i] + len(packed)] = packed
    return Conditionals(
        codes=codes,
        multiplicity=padded,
        inverse=inverse,
        node_offsets=node_offsets,
        margins=margins,
        margin_impurity=impurity_of(margins, node_offsets),
        alone=margins.copy(),
        starts=np.full(n, -1, dtype=np.int64),
        columns=np.zeros(0, dtype=np.float32),
        planes=planes.astype(np.uint64),
        plane_starts=plane_starts,
        words=words,
        rows=rows,
    )


@kernel
def columns_of(rows, i):
    """Return the columns of variable i, shape (s_i + 1, 64 W); the last one is its impurity."""
    states, width = rows.node_offsets[i + 1] - rows.node_offsets[i], rows.words * ROWS_OF_WORD
    start = rows.starts[i]
    return rows.columns[start : start + (states + 1) * width].reshape((states + 1, width))


@inner_kernel
def _add_tile(values, at, width, planes, bits, words, sums, into, count):
    """Add the sums of `count` ≤ 4 columns; the length of the tuple is the compile-time count."""
    if count == 4:
        add_masked(values, at, width, planes, bits, words, sums, into, (0, 0, 0, 0))
    elif count == 3:
        add_masked(values, at, width, planes, bits, words, sums, into, (0, 0, 0))
    elif count == 2:
        add_masked(values, at, width, planes, bits, words, sums, into, (0, 0))
    else:
        add_masked(values, at, width, planes, bits, words, sums, into, (0,))


@kernel
def add_words(values, at, width, states, codes, planes, partner, span, sums, step):
    """Add the sums of columns over the rows of some words, by the state b of the partner.

    It takes plain arrays, as a tuple of arrays costs a reference count each.

    Parameters
    ----------
    values : float32 array, flat
        Column a < `states` of these rows begins at ``values[at + a * width]``.
    codes, planes
        Those of the conditionals.
    partner : tuple of int
        Variable, start of its planes, W, and number of its states; further states are left out.
    span : tuple of int
        First word and number of words.
    sums : float64 array, flat
        The sum of column a over the rows in state b is added to ``sums[b * step + a]``.
    """
    j, plane, stride, others = partner
    word, words = span
    if plane >= 0:
        for b in range(others):
            bits = plane + b * stride + word
            for a in range(0, states, 4):
                column, target, count = at + a * width, b * step + a, min(4, states - a)
                _add_tile(values, column, width, planes, bits, words, sums, target, count)
        return
    first = word * ROWS_OF_WORD
    last = min(first + words * ROWS_OF_WORD, codes.shape[1])
    for a in range(states):
        column = at + a * width - first
        for m in range(first, last):
            if codes[j, m] < others:
                sums[codes[j, m] * step + a] += values[column + m]


@inner_kernel
def _multiply(values, at, width, states, seen, factors, step, u, scale):
    """Multiply the columns of some rows by ``factors[seen[m] * step + a]``, to sum to u again.

    Parameters
    ----------
    values, at, width, states
        As in :func:`add_words`.
    seen : unsigned array, shape (k,)
        The partner's state in each row.
    factors : float32 array, flat
    u : float32 array, shape (k,)
    scale : float32 array, shape (k or more,)
        Overwritten.
    """
    for m in range(len(u)):
        scale[m] = np.float32(0.0)
    for a in range(states):
        column = values[at + a * width : at + a * width + len(u)]
        for m in range(len(u)):
            # Unsigned, because signed indices are checked for being negative.
            column[m] *= factors[np.uint64(seen[m]) * np.uint64(step) + np.uint64(a)]
            scale[m] += column[m]
    for m in range(len(u)):
        scale[m] = u[m] / max(scale[m], SMALLEST)
    for a in range(states):
        column = values[at + a * width : at + a * width + len(u)]
        for m in range(len(u)):
            column[m] = max(column[m] * scale[m], SMALLEST)


@kernel
def mix(rows, values, start, states, j, factors, has_squares, sums, squares, scratch):
    """Multiply the columns of a variable by factors, normalise each row, and sum by partner state.

    Parameters
    ----------
    values : float32 array, flat
        The columns begin at `start`. Overwritten.
    states : int
    j : int
        The partner.
    factors : float32 array, shape (≥ s_j, ≥ states)
        By state b of the partner and own state a.
    has_squares : bool
        Whether `squares` is computed; otherwise it is unchanged.
    sums, squares : float64 arrays, shape (≥ s_j, ≥ states)
        Receive Σ u p(a | rest) and Σ u p(a | rest)² over the rows with x_j = b.
    scratch : float32 array, shape (≥ states + 1, ROWS_TO_MIX)
    """
    others, width = rows.node_offsets[j + 1] - rows.node_offsets[j], len(rows.multiplicity)
    codes, planes, partner = rows.codes, rows.planes, (j, rows.plane_starts[j], rows.words, others)
    all_sums, all_squares, all_factors = sums.reshape(-1), squares.reshape(-1), factors.reshape(-1)
    step, row = sums.shape[1], factors.shape[1]
    scale, products = scratch[0], scratch[1:].reshape(-1)
    sums[:others, :states] = 0.0
    if has_squares:
        squares[:others, :states] = 0.0
    for word in range(0, rows.words, _WORDS_TO_MIX):
        span = (word, min(_WORDS_TO_MIX, rows.words - word))
        first = word * ROWS_OF_WORD
        at, last = start + first, min(first + span[1] * ROWS_OF_WORD, codes.shape[1])
        u, seen = rows.multiplicity[first:last], codes[j, first:last]
        _multiply(values, at, width, states, seen, all_factors, row, u, scale)
        add_words(values, at, width, states, codes, planes, partner, span, all_sums, step)
        if has_squares:
            inverse = rows.inverse[first:last]
            for a in range(states):
                column = values[at + a * width : at + a * width + len(u)]
                squared = products[a * ROWS_TO_MIX : a * ROWS_TO_MIX + len(u)]
                for m in range(len(u)):
                    squared[m] = column[m] * column[m] * inverse[m]
            length = np.int64(ROWS_TO_MIX)
            add_words(
                products, START, length, states, codes, planes, partner, span, all_squares, step
            )


@kernel
def sum_by_state(rows, i, j, sums):
    """Write Σ u p(x_i = a | rest) over the rows with x_j = b to ``sums[b, a]``."""
    states = rows.node_offsets[i + 1] - rows.node_offsets[i]
    others, width = rows.node_offsets[j + 1] - rows.node_offsets[j], len(rows.multiplicity)
    partner = (j, rows.plane_starts[j], rows.words, others)
    start, step = rows.starts[i], sums.shape[1]
    values, codes, planes, flat = rows.columns, rows.codes, rows.planes, sums.reshape(-1)
    sums[:others, :states] = 0.0
    for word in range(0, rows.words, WORDS_AT_ONCE):
        span = (word, min(WORDS_AT_ONCE, rows.words - word))
        at = start + word * ROWS_OF_WORD
        add_words(values, at, width, states, codes, planes, partner, span, flat, step)


@kernel
def fill_impurity(columns, inverse):
    """Write 1 - Σ_a p(a | rest)² of every row to the last column; shape (s_i + 1, 64 W)."""
    out = columns[len(columns) - 1]
    for m in range(len(out)):
        out[m] = np.float32(1.0)
    for a in range(len(columns) - 1):
        column = columns[a]
        for m in range(len(out)):
            share = column[m] * inverse[m]
            out[m] -= share * share
    for m in range(len(out)):
        out[m] = max(out[m], np.float32(0.0))


@kernel(fastmath={"reassoc", "contract", "nsz"})
def mean_product(first, second, multiplicity, rows):
    """Return the mean over all rows of the product of two columns of 64 W numbers."""
    total = 0.0
    for start in range(0, len(first), _SUMMED_AT_ONCE):
        part = np.float32(0.0)
        # Indices that cannot be negative let the compiler use vector instructions.
        for m in range(np.uint64(start), np.uint64(min(start + _SUMMED_AT_ONCE, len(first)))):
            part += multiplicity[m] * first[m] * second[m]
        total += float(part)
    return total / rows


@inner_kernel
def gradient_variance(product, mean_i, mean_j, margin_i, margin_j):
    """Return N/4 of the variance of a pair's gradient at w_ij = 0, if the pair is independent.

    A row adds (x_i - p_i) x_jᵀ + x_i (x_j - p_j)ᵀ, which is the sum of the uncorrelated terms
    2 (x_i - p_i)(x_j - p_j)ᵀ, (x_i - p_i) p_jᵀ and p_i (x_j - p_j)ᵀ. In the last two, the mean of
    p_j and of p_i does not count, because node weights are fitted; their deviation from it has the
    mean square `margin` - `mean`, and is taken to be independent of the other factor. At a hub,
    which its neighbours determine almost always, only the last term is large.

    Parameters
    ----------
    product : float
        Mean of the product of the impurities of p_i and p_j.
    mean_i, mean_j : float
        Mean impurities.
    margin_i, margin_j : float
        Impurities of the mean of p_i and of p_j.
    """
    explained_i, explained_j = max(margin_i - mean_i, 0.0), max(margin_j - mean_j, 0.0)
    return product + 0.25 * (mean_i * explained_j + explained_i * mean_j)


@kernel
def mean_impurity(column, multiplicity, rows):
    """Return the mean over all rows of a column of 64 W numbers."""
    total = 0.0
    for m in range(len(column)):
        total += multiplicity[m] * column[m]
    return total / rows


@kernel
def log_loss(columns, codes, multiplicity):
    """Return -Σ_rows log p(x_i | rest) of the variable whose own states are `codes`."""
    loss, product, factors = 0.0, 1.0, 0
    for m in range(len(codes)):
        u = multiplicity[m]
        p = np.float64(columns[codes[m], m])
        if u == np.float32(1.0):
            # One logarithm for eight rows: the product of eight factors ≥ 1e-30 does not underflow.
            product *= p
            factors += 1
            if factors == 8:
                loss -= np.log(product)
                product, factors = 1.0, 0
        elif u > np.float32(0.0):
            loss -= u * np.log(p / u)
    return loss - np.log(product)


_BLOCK = 512  # rows whose logits are processed together, so that they stay in the L1 cache


class Structure(NamedTuple):
    """Edges of a graph, and the layout of flat arrays over its nodes and edges.

    Attributes
    ----------
    node_offsets : int64 array, shape (n + 1,)
        Entries of node i are ``node_offsets[i]`` … ``node_offsets[i + 1]``, one per state.
    edges : int64 array, shape (m, 2)
        Pairs i < j.
    edge_offsets : int64 array, shape (m + 1,)
        Entries of edge e, row-major with x_i as the row.
    starts, incident : int64 arrays, shapes (n + 1,), (2m,)
        Node i has the edges ``incident[starts[i]:starts[i + 1]]``.
    """

    node_offsets: np.ndarray
    edges: np.ndarray
    edge_offsets: np.ndarray
    starts: np.ndarray
    incident: np.ndarray


def structure_of(cardinalities: np.ndarray, edges: np.ndarray) -> Structure:
    """Return the structure of a graph.

    Parameters
    ----------
    cardinalities : int64 array, shape (n,)
    edges : int array, shape (m, 2)
        Distinct pairs i < j.
    """
    n = len(cardinalities)
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    ends = edges.reshape(-1)
    incident = np.argsort(ends, kind="stable") // 2
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))])
    sizes = cardinalities[edges].prod(axis=1)
    return Structure(
        node_offsets=np.concatenate([[0], np.cumsum(cardinalities)]).astype(np.int64),
        edges=edges,
        edge_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        starts=starts.astype(np.int64),
        incident=incident.astype(np.int64),
    )


@kernel
def conditional_sums(
    codes,
    multiplicity,
    structure,
    node_weights,
    tables,
    node_losses,
    node_sums,
    edge_sums,
    probabilities,
    keep,
):
    """Sum losses and residuals over all rows.

    With r_i(a) = p(x_i = a | rest) − 1{x_i = a} and u the multiplicity of a row

    - ``node_losses[i]`` = −Σ u log p(x_i | rest),
    - ``node_sums`` of state a of node i = Σ u r_i(a),
    - ``edge_sums`` of (a, b) of edge (i, j) = Σ u (r_i(a) 1{x_j = b} + r_j(b) 1{x_i = a}).

    Parameters
    ----------
    codes : unsigned array, shape (n, R)
    multiplicity : float64 array, shape (R,)
    structure : Structure
    node_weights, tables : float64 arrays, flat
        w_i and w_ij.
    node_losses, node_sums, edge_sums : float64 arrays, flat
        Overwritten.
    probabilities : float32 array, flat
        With `keep`: p(x_i = a | rest) of row m is written to ``[(node_offsets[i] + a) * R + m]``.
    keep : bool
        Whether to write `probabilities`.
    """
    n, rows = codes.shape
    node_offsets, edges, edge_offsets = (
        structure.node_offsets,
        structure.edges,
        structure.edge_offsets,
    )
    starts, incident = structure.starts, structure.incident
    most = 1
    for i in range(n):
        most = max(most, node_offsets[i + 1] - node_offsets[i])
    logits = np.empty((most, _BLOCK))
    chosen = np.empty(_BLOCK)
    top = np.empty(_BLOCK)
    total = np.empty(_BLOCK)
    bits = np.empty(_BLOCK, dtype=np.int64)
    move = np.empty(most)
    bins = np.empty(most)
    edge_sums[:] = 0.0
    for i in range(n):
        at = node_offsets[i]
        states = node_offsets[i + 1] - at
        loss = 0.0
        for a in range(states):
            node_sums[at + a] = 0.0
        for first in range(0, rows, _BLOCK):
            count = min(_BLOCK, rows - first)
            own = codes[i, first : first + count]
            weight = multiplicity[first : first + count]
            # All logits are relative to state 0, whose logit is 0.
            for a in range(1, states):
                logits[a, :count] = node_weights[at + a] - node_weights[at]
            for k in range(starts[i], starts[i + 1]):
                e = incident[k]
                i_is_row = edges[e, 0] == i
                j = edges[e, 1] if i_is_row else edges[e, 0]
                states_j = node_offsets[j + 1] - node_offsets[j]
                table = tables[edge_offsets[e] : edge_offsets[e + 1]]
                seen = codes[j, first : first + count]
                for a in range(1, states):
                    for b in range(states_j):
                        if i_is_row:
                            move[b] = table[a * states_j + b] - table[b]
                        else:
                            move[b] = table[b * states + a] - table[b * states]
                    logit = logits[a]
                    if states_j == 2:
                        low, rise = move[0], move[1] - move[0]
                        for m in range(count):
                            logit[m] += low + rise * seen[m]
                    else:
                        for m in range(count):
                            logit[m] += move[seen[m]]
            for m in range(count):
                top[m] = 0.0
                chosen[m] = 0.0
            for a in range(1, states):
                for m in range(count):
                    value = logits[a, m]
                    top[m] = max(top[m], value)
                    if own[m] == a:
                        chosen[m] = value
            for a in range(1, states):
                logit = logits[a]
                for m in range(count):
                    logit[m] -= top[m]
                exponentiate(logit, bits, count)
            product, factors = 1.0, 0
            for m in range(count):
                loss += weight[m] * (top[m] - chosen[m])
                top[m] = -top[m]
            exponentiate(top, bits, count)
            for m in range(count):
                total[m] = top[m]
            for a in range(1, states):
                logit = logits[a]
                for m in range(count):
                    total[m] += logit[m]
            for m in range(count):
                # Each total lies between 1 and the number of states, so the product of 16 cannot
                # overflow, and one logarithm is enough for all.
                if weight[m] == 1.0:
                    product *= total[m]
                    factors += 1
                    if factors == 16:
                        loss += np.log(product)
                        product, factors = 1.0, 0
                else:
                    loss += weight[m] * np.log(total[m])
                total[m] = 1.0 / total[m]
            loss += np.log(product)
            if keep:
                base = at * rows + first
                for m in range(count):
                    probabilities[base + m] = top[m] * total[m]
            for a in range(1, states):
                residual = logits[a]
                if keep:
                    base = (at + a) * rows + first
                    for m in range(count):
                        probabilities[base + m] = residual[m] * total[m]
                added = 0.0
                for m in range(count):
                    hit = 1.0 if own[m] == a else 0.0
                    residual[m] = weight[m] * (residual[m] * total[m] - hit)
                    added += residual[m]
                node_sums[at + a] += added
                node_sums[at] -= added
                for k in range(starts[i], starts[i + 1]):
                    e = incident[k]
                    i_is_row = edges[e, 0] == i
                    j = edges[e, 1] if i_is_row else edges[e, 0]
                    states_j = node_offsets[j + 1] - node_offsets[j]
                    seen = codes[j, first : first + count]
                    if states_j == 2:
                        # Four independent sums avoid a chain of dependent additions.
                        sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
                        for m in range(0, count - 3, 4):
                            sum_0 += residual[m] * seen[m]
                            sum_1 += residual[m + 1] * seen[m + 1]
                            sum_2 += residual[m + 2] * seen[m + 2]
                            sum_3 += residual[m + 3] * seen[m + 3]
                        for m in range(count - count % 4, count):
                            sum_0 += residual[m] * seen[m]
                        bins[1] = (sum_0 + sum_1) + (sum_2 + sum_3)
                        bins[0] = added - bins[1]
                    else:
                        for b in range(states_j):
                            bins[b] = 0.0
                        for m in range(count):
                            bins[seen[m]] += residual[m]
                    start = edge_offsets[e]
                    for b in range(states_j):
                        if i_is_row:
                            edge_sums[start + a * states_j + b] += bins[b]
                            edge_sums[start + b] -= bins[b]
                        else:
                            edge_sums[start + b * states + a] += bins[b]
                            edge_sums[start + b * states] -= bins[b]
        node_losses[i] = loss
