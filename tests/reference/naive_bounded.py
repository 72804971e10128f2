"""Plain twins of what learning under a bound on inference does: enumeration, sets and loops."""

from __future__ import annotations

import itertools

import naive
import numpy as np


def width(n, edges, order):
    """Most nodes that any node is still joined to when it is taken out in that order."""
    return max(len(joined) for joined in naive.eliminate(n, edges, order))


def treewidth(n, edges):
    """The smallest width of any order."""
    return min(width(n, edges, order) for order in itertools.permutations(range(n)))


def min_fill_fits(n, edges, most):
    """Whether min-fill gets through the graph, taking only nodes of at most `most` neighbours.

    Ties are broken by the number of neighbours, then by the number of the node.
    """
    around = {i: set() for i in range(n)}
    for i, j in edges:
        around[i].add(j)
        around[j].add(i)

    def price(i):
        pairs = itertools.combinations(around[i], 2)
        return sum(b not in around[a] for a, b in pairs), len(around[i]), i

    while around:
        left = [i for i in around if len(around[i]) <= most]
        if not left:
            return False
        i = min(left, key=price)
        joined = around.pop(i)
        for j in joined:
            around[j] = (around[j] | joined) - {i, j}
    return True


def circuit_size(sizes, edges, order):
    """Additions and multiplications of two numbers that variable elimination makes, counted."""
    factors = [({i}, 1) for i in range(len(sizes))] + [(set(edge), 1) for edge in edges]
    operations = 0
    for i in order:
        mine = [scope for scope, _ in factors if i in scope]
        factors = [factor for factor in factors if i not in factor[0]]
        clique = set().union(*mine)
        states = int(np.prod([sizes[k] for k in clique]))
        operations += (len(mine) - 1) * states  # products, entry by entry
        operations += states - states // sizes[i]  # sums over the states of i
        factors.append((clique - {i}, 1))
    return operations + len(factors) - 1


def pair_marginals(model):
    """Marginals of all pairs, by going through every joint state."""
    every, shares = naive.joint_probabilities(model)
    sizes = model.cardinalities
    found = {}
    for i, j in itertools.combinations(range(len(sizes)), 2):
        table = np.zeros((sizes[i], sizes[j]))
        for x, share in zip(every, shares, strict=True):
            table[x[i], x[j]] += share
        found[i, j] = table
    return found


def targets(codes, sizes, pseudo_count):
    """Pair marginals of the data and of imaginary rows with independent variables."""
    rows = codes.shape[1]
    found = {}
    for i, j in itertools.combinations(range(len(sizes)), 2):
        counts = naive.count_pair(codes[i], codes[j], sizes[i], sizes[j])
        alone = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
        found[i, j] = (counts + pseudo_count * alone / rows) / (rows + pseudo_count)
    return found


def mean_loss(model, seen):
    """log Z minus the mean score, from pair marginals of the data."""
    log_partition = naive.marginals(model)[2]
    total = 0.0
    n = model.n_variables
    for i in range(n):
        share = seen[i, i + 1].sum(axis=1) if i + 1 < n else seen[i - 1, i].sum(axis=0)
        total += float(share @ model.node_weights(i))
    for e, (i, j) in enumerate(model.edges.tolist()):
        total += float((seen[i, j] * model.edge_weights(e)).sum())
    return log_partition - total
