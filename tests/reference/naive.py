"""Plain twins: the formulas of the papers, slow and obvious, for tests to compare with."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.optimize
import scipy.stats


def nlpl(model, codes):
    """Mean over rows of −Σ_i log p(x_i | all others), from the joint scores of every alternative.

    p(x_i = a | rest) ∝ p(x with x_i replaced by a): no neighbourhoods, no messages, no tricks.
    """
    total = 0.0
    for i in range(model.n_variables):
        scores = []
        for a in range(model.cardinalities[i]):
            changed = codes.copy()
            changed[i] = a
            scores.append(model.log_scores(changed))
        top = np.max(scores, axis=0)
        log_sum = top + np.log(np.sum(np.exp(np.array(scores) - top), axis=0))
        total += np.sum(log_sum - model.log_scores(codes))
    return total / codes.shape[1]


def hop_distances(n, edges):
    """All shortest path lengths by Floyd and Warshall; infinite where no path joins."""
    hops = np.full((n, n), np.inf)
    np.fill_diagonal(hops, 0.0)
    for i, j in edges:
        hops[i, j] = hops[j, i] = 1.0
    for via in range(n):
        hops = np.minimum(hops, hops[:, via, None] + hops[None, via, :])
    return hops


def anneal_layout(positions, hops, rates, orders):
    """Move each pair along its line by min(1, rate / h²) of what it lacks, half at either end."""
    positions = positions.copy()
    for rate, order in zip(rates, orders, strict=True):
        for i in order:
            for j in range(i):
                line = positions[i] - positions[j]
                distance, hop = np.linalg.norm(line), abs(hops[i, j])
                if hops[i, j] < 0 and distance > hop:
                    continue
                move = 0.5 * min(1.0, rate / hop**2) * (distance - hop) * line / distance
                positions[i] -= move
                positions[j] += move
    return positions


def settle_layout(positions, hops, unit, sweeps):
    """Put each node in turn at the weighted mean of x_j + unit · h (x_i − x_j) / |x_i − x_j|."""
    positions = positions.copy()
    n = len(positions)
    for sweep in range(sweeps):
        for i in range(n) if sweep % 2 == 0 else reversed(range(n)):
            wanted, weights = [], []
            for j in range(n):
                line = positions[i] - positions[j]
                distance, hop = np.linalg.norm(line), abs(hops[j, i])
                if i != j and not (hops[j, i] < 0 and distance > unit * hop):
                    wanted.append(positions[j] + unit * hop * line / distance)
                    weights.append(hop**-2)
            if weights:
                positions[i] = np.average(wanted, axis=0, weights=weights)
    return positions


def push_apart(positions, gap):
    """One sweep: each pair closer than `gap` is pushed by half of what it lacks."""
    pushed = positions.copy()
    for i, j in itertools.combinations(range(len(positions)), 2):
        line = positions[i] - positions[j]
        distance = np.linalg.norm(line)
        if distance < gap:
            pushed[i] += 0.25 * (gap - distance) * line / distance
            pushed[j] -= 0.25 * (gap - distance) * line / distance
    return pushed


def count_pair(codes_i, codes_j, states_i, states_j):
    """Count how often x_i = a and x_j = b, with one bincount."""
    joint = codes_i.astype(np.int64) * states_j + codes_j
    return np.bincount(joint, minlength=states_i * states_j).reshape(states_i, states_j)


def belief_score(counts, belief_i, belief_j, square_root):
    """s = ‖b_i b_jᵀ − p_D‖ / d, cell by cell; d is the number of cells, or its square root."""
    rows, total = counts.sum(), 0.0
    for a, b in itertools.product(range(len(belief_i)), range(len(belief_j))):
        total += (belief_i[a] * belief_j[b] - counts[a, b] / rows) ** 2
    cells = counts.size
    return total**0.5 / (cells**0.5 if square_root else cells)


def splitmix64(state):
    """One step of the generator in whole numbers: the next state and its 64 random bits."""
    word = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & word
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & word
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
    return state, z ^ (z >> 31)


class FullQueue:
    """Best-choice's queue, reservoir and frozen list, with every pair of the queue in a dict.

    priority(i, j) = base − h_i − h_j, smallest first; base is 0, or 1 − s/λ for a pair that came
    back from the frozen list. Which of several equal pairs comes first is decided by the caller,
    except that *stored* pairs (drawn before, or between two hubs) precede the others.
    """

    def __init__(self, n, capacity, lam, by_history=True, all_stored=False):
        self.capacity, self.lam, self.by_history = capacity, lam, by_history
        self.pairs = list(itertools.combinations(range(n), 2))
        self.queue = dict.fromkeys(self.pairs, 0.0)
        self.stored = set(self.pairs) if all_stored else set()
        self.boosts = [0] * n
        self.reservoir, self.frozen, self.tested = {}, {}, {}
        self.refills = 0

    @property
    def unseen(self):
        return {pair for pair in self.queue if pair not in self.stored}

    def priority(self, pair):
        return self.queue[pair] - self.boosts[pair[0]] - self.boosts[pair[1]]

    def boost(self, hubs):
        for i in hubs:
            self.boosts[i] += 1
        self.stored |= {(i, j) for i, j in self.pairs if self.boosts[i] and self.boosts[j]}

    def next_pairs(self, round_number):
        """The pairs that may be tested next; the queue is refilled only if nothing is in it."""
        if not self.queue:
            back = [p for p in self.frozen if self.tested[p] != round_number]
            self.refills += bool(back)
            for pair in back:
                score = self.frozen.pop(pair)
                self.queue[pair] = 1.0 - score / self.lam if self.by_history else 0.0
        if not self.queue:
            return set()
        lowest = min(map(self.priority, self.queue))
        first = {pair for pair in self.queue if self.priority(pair) <= lowest + 1e-12}
        return first & self.stored or first

    def judge(self, score):
        """Which verdict an edge deserves, and which edges of R it may push out."""
        if score <= self.lam:
            return "passed", set()
        if len(self.reservoir) < self.capacity:
            return "admitted", set()
        weakest = min(self.reservoir.values())
        if score <= weakest:
            return "too weak", set()
        return "displaced", {p for p, s in self.reservoir.items() if s == weakest}

    def settle(self, pair, score, round_number, displaced):
        """Take a tested pair to where its verdict sends it."""
        verdict, _ = self.judge(score)
        del self.queue[pair]
        self.stored.add(pair)
        self.tested[pair] = round_number
        if verdict == "displaced":
            self.frozen[displaced] = self.reservoir.pop(displaced)
        (self.reservoir if verdict in ("admitted", "displaced") else self.frozen)[pair] = score


def choose_edges(scores, alpha, budget):
    """Best-choice's pick from {pair: score}: from τ_α up, best first, none adjacent to another.

    Also returns the pairs passed over because they touch one picked before.
    """
    best = max(scores.values())
    tau = min(best, (1 - alpha) * np.mean(list(scores.values())) + alpha * best)
    chosen, skipped = [], []
    for pair in sorted(scores, key=lambda pair: (-scores[pair], pair)):
        if len(chosen) == budget or scores[pair] < tau or (alpha == 1 and chosen):
            break
        near = any(set(pair) & set(other) for other in chosen)
        (skipped if near else chosen).append(pair)
    return chosen, skipped, tau


def xoshiro128plus(state):
    """Next word of the generator on a list of four Python ints (updated), modulo 2³² throughout."""
    s0, s1, s2, s3 = state
    word = (s0 + s3) % 2**32
    shifted = (s1 << 9) % 2**32
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = ((s3 << 11) | (s3 >> 21)) % 2**32
    state[:] = s0, s1, s2, s3
    return word


def gibbs_sweeps(model, states, generators, sweeps, stars=()):
    """Chain by chain: draw x_i from p(x_i | rest), of a hub with its leaves summed out."""
    states = states.astype(int)
    visits = [
        visit for hub, leaves, _ in stars for visit in [(hub, leaves), *((j, ()) for j in leaves)]
    ]
    visited = {i for i, _ in visits}
    visits += [(i, ()) for i in range(model.n_variables) if i not in visited]
    for c in range(states.shape[1]):
        words, x = [int(word) for word in generators[:, c]], states[:, c]
        for _ in range(sweeps):
            for i, leaves in visits:
                if model.cardinalities[i] == 1:
                    continue
                logs = local_scores(model, x, i, leaves)
                for j in leaves:
                    for k in range(len(logs)):
                        x[i] = k
                        logs[k] += log_sum(local_scores(model, x, j), 0)
                cumulative = np.cumsum(np.exp(logs - logs.max()))
                uniform = (xoshiro128plus(words) >> 8) * 2.0**-24
                x[i] = int(np.sum(cumulative <= uniform * cumulative[-1]))
    return states


def local_scores(model, x, i, omitted=()):
    """Scores of the states of variable i, given its neighbours' states x but the omitted ones'."""
    weights = model.node_weights(i).copy()
    for e, (a, b) in enumerate(model.edges):
        if a == i and b not in omitted:
            weights += model.edge_weights(e)[:, x[b]]
        elif b == i and a not in omitted:
            weights += model.edge_weights(e)[x[a], :]
    return weights


def joint_probabilities(model):
    """Yield every joint state, the last variable running fastest, with exp(score) / Z."""
    every = list(itertools.product(*[range(size) for size in model.cardinalities]))
    weights = []
    for x in every:
        score = sum(model.node_weights(i)[x[i]] for i in range(model.n_variables))
        score += sum(model.edge_weights(e)[x[i], x[j]] for e, (i, j) in enumerate(model.edges))
        weights.append(np.exp(score))
    return every, np.array(weights) / np.sum(weights)


def marginals(model):
    """Node marginals, pair marginals of the edges and log Z, by going through every joint state."""
    every = list(itertools.product(*[range(size) for size in model.cardinalities]))
    scores = []
    for x in every:
        score = sum(model.node_weights(i)[x[i]] for i in range(model.n_variables))
        score += sum(model.edge_weights(e)[x[i], x[j]] for e, (i, j) in enumerate(model.edges))
        scores.append(score)
    log_partition = log_sum(np.array(scores), 0)
    nodes = [np.zeros(size) for size in model.cardinalities]
    edges = [np.zeros(model.edge_weights(e).shape) for e in range(model.n_edges)]
    for x, score in zip(every, scores, strict=True):
        share = np.exp(score - log_partition)
        for i in range(model.n_variables):
            nodes[i][x[i]] += share
        for e, (i, j) in enumerate(model.edges):
            edges[e][x[i], x[j]] += share
    return nodes, edges, log_partition


def log_sum(values, axis):
    """log Σ exp along one axis; −inf where all are."""
    top = np.max(values, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.squeeze(top, axis) + np.log(np.sum(np.exp(values - top), axis=axis))


def loopy_propagation(model, sweeps, damping=0.0):
    """Synchronous sum-product in logs: node beliefs and pair beliefs after so many sweeps.

    m_ij(x_j) = Σ_(x_i) ψ_ij(x_i, x_j) ψ_i(x_i) Π_(k ≠ j) m_ki(x_i), all messages at once from those
    of the sweep before.
    """
    pairs = {}
    for e, (i, j) in enumerate(model.edges.tolist()):
        pairs[i, j], pairs[j, i] = model.edge_weights(e), model.edge_weights(e).T
    sources = {i: [a for a, b in pairs if b == i] for i in range(model.n_variables)}

    def field(i, without=None):
        return model.node_weights(i) + sum(
            (messages[k, i] for k in sources[i] if k != without), np.zeros(model.cardinalities[i])
        )

    messages = {(i, j): np.zeros(model.cardinalities[j]) for i, j in pairs}
    for _ in range(sweeps):
        sent = {}
        for (i, j), weights in pairs.items():
            new = log_sum(weights + field(i, j)[:, None], 0)
            new -= log_sum(new, 0)
            if damping:
                old = np.exp(messages[i, j] - log_sum(messages[i, j], 0))
                new = np.log((1 - damping) * np.exp(new) + damping * old)
            sent[i, j] = new
        messages = sent
    nodes = [np.exp(field(i) - log_sum(field(i), 0)) for i in range(model.n_variables)]
    edges = []
    for i, j in model.edges.tolist():
        joint = pairs[i, j] + field(i, j)[:, None] + field(j, i)[None, :]
        edges.append(np.exp(joint - log_sum(joint.reshape(-1), 0)))
    return nodes, edges


def bethe_log_partition(model, nodes, edges):
    """Energy plus Bethe entropy of beliefs: Σ b w + Σ_e H(b_e) − Σ_i (degree_i − 1) H(b_i)."""

    def entropy(belief):
        positive = belief[belief > 0]
        return -np.sum(positive * np.log(positive))

    def energy(belief, weights):
        return np.sum(belief[belief > 0] * weights[belief > 0])

    total = 0.0
    for i, degree in enumerate(model.degrees()):
        total += energy(nodes[i], model.node_weights(i)) - (degree - 1) * entropy(nodes[i])
    for e in range(model.n_edges):
        total += energy(edges[e], model.edge_weights(e)) + entropy(edges[e])
    return total


class PenalisedLikelihood:
    """L(w) + λ Σ_g d_g ‖w_g‖ + λ₂ ‖w‖² over the penalised groups, group by group (BC eq. 2).

    A group is a node (i,) or an edge (i, j). L(w) = log Z − Σ_g ⟨w_g, p_D(g)⟩; log Z and
    the model's marginals are arguments.
    """

    def __init__(self, codes, sizes, edges, lam, lam2, square_root=False, nodes=False):
        self.sizes, self.lam, self.lam2 = list(sizes), lam, lam2
        self.groups = [(i,) for i in range(len(sizes))] + [(int(i), int(j)) for i, j in edges]
        self.targets, self.penalised, self.dimensions = [], [], []
        for group in self.groups:
            target = np.zeros([sizes[i] for i in group])
            np.add.at(target, tuple(codes[i] for i in group), 1.0 / codes.shape[1])
            self.targets.append(target)
            self.penalised.append(nodes or len(group) == 2)
            self.dimensions.append(target.size**0.5 if square_root else target.size)

    def weights_of(self, model):
        """w_g of a model with the same edges, one array per group."""
        return [model.node_weights(i) for i in range(model.n_variables)] + [
            model.edge_weights(e) for e in range(model.n_edges)
        ]

    def objective(self, weights, log_partition):
        """𝕃(w)."""
        value = log_partition
        for g, w in enumerate(weights):
            value -= np.sum(w * self.targets[g])
            if self.penalised[g]:
                value += self.lam * self.dimensions[g] * np.linalg.norm(w)
                value += self.lam2 * np.sum(w**2)
        return value

    def violation(self, weights, marginals):
        """The KKT residual: the largest violation of a group's optimality condition."""
        worst = 0.0
        for g, w in enumerate(weights):
            slope = marginals[g] - self.targets[g]
            price = self.lam * self.dimensions[g] if self.penalised[g] else 0.0
            if self.penalised[g]:
                slope = slope + 2 * self.lam2 * w
            norm = np.linalg.norm(w)
            if norm > 0:
                worst = max(worst, np.linalg.norm(slope + price * w / norm))
            else:
                worst = max(worst, np.linalg.norm(slope) - price)
        return worst

    def minimum(self, iterations=20_000, tolerance=1e-10):
        """The smallest 𝕃 under exact inference, by accelerated proximal gradient descent.

        p is listed over all joint states; the step is one over a bound on the curvature, the
        momentum starts anew whenever it points uphill.
        """
        every = np.array(list(itertools.product(*[range(size) for size in self.sizes]))).T
        owner = [tuple(every[i] for i in group) for group in self.groups]

        def marginals(weights):
            scores = sum(w[at] for w, at in zip(weights, owner, strict=True))
            log_partition = log_sum(scores, 0)
            p = np.exp(scores - log_partition)
            shares = []
            for w, at in zip(weights, owner, strict=True):
                share = np.zeros(w.shape)
                np.add.at(share, at, p)
                shares.append(share)
            return shares, log_partition

        step = 1.0 / (len(self.groups) + 2 * self.lam2)
        weights = [np.zeros(target.shape) for target in self.targets]
        ahead, momentum = weights, 1.0
        for _ in range(iterations):
            shares, _ = marginals(ahead)
            new = []
            for g, w in enumerate(ahead):
                moved = w - step * (shares[g] - self.targets[g])
                if self.penalised[g]:
                    price = step * self.lam * self.dimensions[g]
                    norm = np.linalg.norm(moved)
                    moved = moved * max(0.0, 1.0 - price / norm) if norm > 0 else moved
                    moved = moved / (1.0 + 2 * step * self.lam2)
                new.append(moved)
            uphill = sum(
                np.sum((a - n) * (n - w)) for a, n, w in zip(ahead, new, weights, strict=True)
            )
            longer = 1.0 if uphill > 0 else (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            share = 0.0 if uphill > 0 else (momentum - 1) / longer
            ahead = [n + share * (n - w) for n, w in zip(new, weights, strict=True)]
            weights, momentum = new, longer
            shares, log_partition = marginals(weights)
            if self.violation(weights, shares) < tolerance:
                break
        return self.objective(weights, log_partition), weights


def edge_grafting(table_of, sizes, refit, lam, max_edges, square_root=False):
    """Edge grafting by the book: score every inactive pair, activate the best, fit again.

    `table_of(i, j)` gives counts; `refit(edges)` fits the model and returns its node beliefs.
    """
    edges = []
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    while len(edges) < max_edges:
        beliefs = refit(edges)
        scores = {
            (i, j): belief_score(table_of(i, j), beliefs[i], beliefs[j], square_root)
            for i, j in pairs
            if (i, j) not in edges
        }
        best = max(scores, key=lambda pair: (scores[pair], [-k for k in pair]), default=None)
        if best is None or scores[best] <= lam:
            break
        edges.append(best)
    return edges


def bethe_hessian(nodes, edges, pairs):
    """Σ_e embed(Σ_e⁻¹) − Σ_i (deg_i − 1) Σ_i⁻¹ in minimal coordinates: each last state dropped."""
    sizes = [len(belief) - 1 for belief in nodes]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    where = [np.arange(starts[i], starts[i + 1]) for i in range(len(nodes))]
    single = [np.diag(b[:-1]) - np.outer(b[:-1], b[:-1]) for b in nodes]
    hessian = np.zeros((starts[-1], starts[-1]))
    for at, covariance in zip(where, single, strict=True):
        hessian[np.ix_(at, at)] += np.linalg.inv(covariance)
    for (i, j), pair in zip(edges, pairs, strict=True):
        across = pair[:-1, :-1] - np.outer(nodes[i][:-1], nodes[j][:-1])
        both = np.concatenate([where[i], where[j]])
        joint = np.block([[single[i], across], [across.T, single[j]]])
        hessian[np.ix_(both, both)] += np.linalg.inv(joint)
        for k in (i, j):
            hessian[np.ix_(where[k], where[k])] -= np.linalg.inv(single[k])
    return hessian


def exact_covariances(model):
    """Covariances of the indicators of all states, by going through every joint state."""
    every, shares = joint_probabilities(model)
    every = np.array(every)
    indicators = np.concatenate(
        [every[:, [i]] == np.arange(size) for i, size in enumerate(model.cardinalities)], axis=1
    )
    mean = shares @ indicators
    return (indicators * shares[:, None]).T @ indicators - np.outer(mean, mean)


def eliminate(n, edges, order):
    """Which nodes each elimination joins to each other, in a plain graph of sets."""
    around = {i: set() for i in range(n)}
    for i, j in edges:
        around[i].add(j)
        around[j].add(i)
    touched = []
    for i in order:
        touched.append(around.pop(i))
        for j in touched[-1]:
            around[j] = (around[j] | touched[-1]) - {i, j}
    return touched


def edge_counts(found, n):
    """In how many lists of edges each pair of n variables stands; pairs in none are left out."""
    counts = {}
    for i in range(n):
        for j in range(i + 1, n):
            count = 0
            for edges in found:
                for a, b in edges:
                    if (a, b) in ((i, j), (j, i)):
                        count += 1
            if count > 0:
                counts[i, j] = count
    return counts


def nodewise_ebic(model, codes, gamma):
    """Sum over variables of −2 log L_i + df_i log N + 2 γ deg_i log n, each on its neighbours."""
    total = 0.0
    for i in range(model.n_variables):
        log_likelihood = 0.0
        for row in codes.T:
            logits = np.array(model.node_weights(i))
            for e, (a, b) in enumerate(model.edges):
                if a == i:
                    logits += model.edge_weights(e)[:, row[b]]
                elif b == i:
                    logits += model.edge_weights(e)[row[a], :]
            log_likelihood += logits[row[i]] - np.log(np.sum(np.exp(logits)))
        weights, degree = 0, 0
        for a, b in model.edges:
            if i in (a, b):
                weights += (model.cardinalities[a] - 1) * (model.cardinalities[b] - 1)
                degree += 1
        total += -2.0 * log_likelihood + weights * np.log(codes.shape[1])
        total += 2.0 * gamma * degree * np.log(model.n_variables)
    return total


def send_messages(graph, e):
    """Update both messages of edge e and the beliefs of its ends; return the largest change."""
    offsets, messages = graph.node_offsets, graph.messages
    i, j = graph.edge_nodes[e]
    node_i = slice(offsets[i], offsets[i + 1])
    node_j = slice(offsets[j], offsets[j + 1])
    middle = graph.message_offsets[e] + node_i.stop - node_i.start
    into_i = slice(graph.message_offsets[e], middle)
    into_j = slice(middle, graph.message_offsets[e + 1])
    cells = graph.potentials[graph.edge_offsets[e] : graph.edge_offsets[e + 1]]
    table = cells.reshape(node_i.stop - node_i.start, -1)
    cavity_i = graph.node_beliefs[node_i] / messages[into_i]
    cavity_j = graph.node_beliefs[node_j] / messages[into_j]
    largest = 0.0
    for node, into, cavity, new in (
        (node_i, into_i, cavity_i, table @ cavity_j),
        (node_j, into_j, cavity_j, cavity_i @ table),
    ):
        new = new / new.mean()
        change = np.abs(new - messages[into]) / np.maximum(new, messages[into])
        largest = max(largest, change.max())
        messages[into] = new
        belief = cavity * new
        graph.node_beliefs[node] = belief / belief.sum()
    return largest


def regression_probabilities(intercept, groups, codes):
    """p(x_i = a | the others), shape (N, s): softmax of b + Σ_j W_j[x_j]; groups: {j: W_j}."""
    logits = np.tile(np.asarray(intercept, dtype=float), (codes.shape[1], 1))
    for j, weights in groups.items():
        logits += weights[codes[j]]
    logits -= logits.max(axis=1, keepdims=True)
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def regression_loss(own, intercept, groups, codes):
    """Mean of −log p(x_i | the others)."""
    chances = regression_probabilities(intercept, groups, codes)
    return -np.mean(np.log(chances[np.arange(len(own)), own]))


def regression_gradient(own, intercept, groups, codes, j, states_j):
    """Gradient of the loss for W_j, shape (s_j, s): also where j is no neighbour."""
    residuals = regression_probabilities(intercept, groups, codes)
    residuals[np.arange(len(own)), own] -= 1.0
    return np.stack([residuals[codes[j] == b].sum(axis=0) for b in range(states_j)]) / len(own)


def mutual_information(counts, pseudo_count=0.0):
    """Σ p log(p / (p_i p_j)) in nats, with `pseudo_count` rows spread evenly over the cells."""
    joint = (counts + pseudo_count / counts.size) / (counts.sum() + pseudo_count)
    total = 0.0
    for a, b in itertools.product(*map(range, joint.shape)):
        if joint[a, b] > 0:
            total += joint[a, b] * np.log(joint[a, b] / (joint[a].sum() * joint[:, b].sum()))
    return total


def weakest_on_path(edges, weights, i, j):
    """Smallest weight on the path from i to j in a forest; None where there is none."""
    if i == j:
        return np.inf
    for e, (a, b) in enumerate(edges):
        if i in (a, b):
            rest = edges[:e] + edges[e + 1 :]
            found = weakest_on_path(rest, weights, b if a == i else a, j)
            if found is not None:
                return min(weights[a, b], found)
    return None


def belief_variance(belief_i, belief_j):
    """Mean of ‖O − E‖² / N over draws of N rows in which i and j are independent:
    Σ_a b_i(a) (1 − b_i(a)) Σ_b b_j(b) (1 − b_j(b))."""
    return np.sum(belief_i * (1 - belief_i)) * np.sum(belief_j * (1 - belief_j))


def permuted_moments(counts):
    """tr K, ν_K and σ_K of the test of pairs, from the centred indicators of the states."""
    rows = counts.sum()
    shares = counts / rows
    own = np.sum((np.eye(len(shares)) - shares) ** 2, axis=1)  # K_mm of a row in each state
    trace = counts @ own
    square = np.sum((rows * (np.diag(shares) - np.outer(shares, shares))) ** 2)
    rare = rows / (rows - 2) * (counts @ own**2 - trace**2 / rows)
    return trace, square - trace**2 / (rows - 1), rare


def moments_of_pair(counts_i, counts_j):
    """Mean and variance of T over all permutations of a column."""
    rows = counts_i.sum()
    (trace_i, square_i, rare_i), (trace_j, square_j, rare_j) = map(
        permuted_moments, (counts_i, counts_j)
    )
    variance = 2 / (rows * (rows - 3)) * (square_i - rare_i) * (square_j - rare_j)
    return trace_i * trace_j / (rows - 1), variance + rare_i * rare_j / (rows - 1)


def judged(expected, observed, variance, kappa):
    """Multiple of its noise, threshold, and share of the threshold of a pair (pair_test.py)."""
    rows, level = observed.sum(), 2 * scipy.stats.norm.sf(kappa)
    counts = observed.sum(axis=1), observed.sum(axis=0)
    spread = np.prod([1 - np.sum((own / rows) ** 2) for own in counts])
    few = min(rows - own.max() for own in counts) < 2  # rows outside the most frequent state
    if few or spread < 1e-9 or variance <= 1e-15:
        return 0.0, 0.0, 0.0
    mean, permuted = moments_of_pair(*counts)
    shape = mean**2 / max(permuted, 1e-6 * mean**2)
    needed = max(np.sqrt(scipy.stats.gamma.isf(level, shape) / shape), 1e-3)
    multiple = np.sqrt(np.sum((expected - observed) ** 2) / (rows * variance))
    share = multiple / needed
    if share <= 1:
        return multiple, needed, share
    occurs = np.outer(counts[0] > 0, counts[1] > 0)
    large, small, cells = occurs & (expected >= 2), occurs & (expected < 2), 0.0
    if small.any():
        seen, means = np.floor(observed[small]), np.maximum(expected[small], 1e-12)
        tails = scipy.stats.poisson.sf(seen, means) + scipy.stats.poisson.pmf(seen, means) / 2
        tails = np.where(seen > 0, tails, 1.0)
        cells = np.log(max(len(tails) * tails.min(), 1e-300)) / np.log(min(2 * level, 0.5))
    if large.any():
        freedom = np.outer(*(1 - own / rows for own in counts))[large].sum()
        statistic = np.sum((expected - observed)[large] ** 2 / expected[large])
        usual = scipy.stats.chi2.isf(min(5 * level, 0.5), freedom)
        cells = max(cells, np.sqrt(statistic * spread / variance / usual))
    return multiple, needed, min(share, max(cells, 0.0))


def conditionals(model, codes):
    """p(x_i = a | the other variables) in every row, one array (N, s_i) per variable."""
    groups = [{} for _ in range(model.n_variables)]
    for e, (i, j) in enumerate(model.edges.tolist()):
        groups[i][j] = model.edge_weights(e).T
        groups[j][i] = model.edge_weights(e)
    return [
        regression_probabilities(model.node_weights(i), groups[i], codes)
        for i in range(model.n_variables)
    ]


def sums_by_state(rows, codes, states, multiplicity):
    """Σ of the rows (R, s_i) in which the partner is in state b, each as often as it occurs."""
    sums = np.zeros((states, rows.shape[1]))
    for row, b, often in zip(rows, codes, multiplicity, strict=True):
        sums[b] += often * row
    return sums


def mixed(rows, codes, factors):
    """Rows (R, s_i) times the factors of the partner's state, normalised."""
    moved = rows * factors[codes]
    return moved / moved.sum(axis=1, keepdims=True)


def pseudo_gradient(chances, codes, i, j, sizes):
    """∂PL/∂w_ij (a, b): what p(x_i | rest) and p(x_j | rest) expect, minus twice the share."""
    is_a, is_b = np.eye(sizes[i])[codes[i]], np.eye(sizes[j])[codes[j]]
    model = chances[i].T @ is_b + is_a.T @ chances[j]
    return (model - 2.0 * is_a.T @ is_b) / codes.shape[1]


def pseudo_variance(chances, codes, i, j):
    """Mean of ‖gradient‖² N / 4 where i and j are independent given the rest."""
    spread, explained = {}, {}
    for k in (i, j):
        spread[k] = np.sum(chances[k] * (1 - chances[k]), axis=1)
        shares = np.bincount(codes[k]) / codes.shape[1]
        explained[k] = max(np.sum(shares * (1 - shares)) - np.mean(spread[k]), 0.0)
    variance = np.mean(spread[i] * spread[j])
    return variance + (np.mean(spread[i]) * explained[j] + explained[i] * np.mean(spread[j])) / 4


def pseudo_expected(chances, codes, i, j, sizes):
    """What the conditionals of both ends expect of the counts of a pair, and the counts."""
    observed = count_pair(codes[i], codes[j], sizes[i], sizes[j]).astype(float)
    gradient = pseudo_gradient(chances, codes, i, j, sizes)
    return observed + gradient * codes.shape[1] / 2, observed


def left_out(model, codes, e, kappa):
    """Norm of edge e's gradient at zero weights, its ends at the data's margins, and its share."""
    i, j = model.edges[e].tolist()
    sizes = model.cardinalities.tolist()
    chances = conditionals(model, codes)
    chances[i] = mixed(chances[i], codes[j], np.exp(-model.edge_weights(e)).T)
    chances[j] = mixed(chances[j], codes[i], np.exp(-model.edge_weights(e)))
    for k in (i, j):
        shares = np.bincount(codes[k], minlength=sizes[k]) / codes.shape[1]
        for _ in range(2000):
            # Scaling by the ratio of margins never overshoots.
            factors = np.where(shares > 0, shares / chances[k].mean(axis=0), 1.0)
            chances[k] = mixed(chances[k], np.zeros(len(chances[k]), dtype=int), factors[None, :])
            if np.abs(chances[k].mean(axis=0) - shares).max() < 1e-9:
                break
    norm = np.linalg.norm(pseudo_gradient(chances, codes, i, j, sizes))
    variance = pseudo_variance(chances, codes, i, j)
    return norm, judged(*pseudo_expected(chances, codes, i, j, sizes), variance, kappa)[2]


class PenalisedPseudoLikelihood:
    """−(1/N) Σ_m Σ_i log p(x_i | rest) + λ Σ_g d_g ‖w_g‖ + λ₂ ‖w‖² over the penalised groups."""

    def __init__(self, codes, lam, lam2, square_root=False, nodes=False):
        self.codes, self.lam, self.lam2 = codes, lam, lam2
        self.square_root, self.nodes = square_root, nodes

    def groups(self, model):
        """(weights, gradient of the pseudo-likelihood, λ d_g, λ₂) of every node, then edge."""
        sizes = model.cardinalities.tolist()
        chances = conditionals(model, self.codes)
        found = []
        for i, size in enumerate(sizes):
            shares = np.bincount(self.codes[i], minlength=size) / self.codes.shape[1]
            found.append((model.node_weights(i), chances[i].mean(axis=0) - shares, self.nodes))
        for e, (i, j) in enumerate(model.edges.tolist()):
            gradient = pseudo_gradient(chances, self.codes, i, j, sizes)
            found.append((model.edge_weights(e), gradient, True))
        for weights, gradient, is_penalised in found:
            dimension = weights.size**0.5 if self.square_root else weights.size
            share = 1.0 if is_penalised else 0.0
            yield weights, gradient, share * self.lam * dimension, share * self.lam2

    def loss(self, model):
        """Without the penalty, nats per row."""
        total = 0.0
        for own, chances in zip(self.codes, conditionals(model, self.codes), strict=True):
            total -= np.mean(np.log(chances[np.arange(len(own)), own]))
        return total

    def objective(self, model):
        """Return the objective of the fit."""
        total = self.loss(model)
        for weights, _, price, lam2 in self.groups(model):
            total += price * np.linalg.norm(weights) + lam2 * np.sum(weights**2)
        return total

    def violation(self, model):
        """The KKT residual: the largest violation of a group's optimality condition."""
        worst = 0.0
        for weights, gradient, price, lam2 in self.groups(model):
            norm = np.linalg.norm(weights)
            slope = gradient + 2 * lam2 * weights
            if norm > 0:
                worst = max(worst, np.linalg.norm(slope + price * weights / norm))
            else:
                worst = max(worst, np.linalg.norm(slope) - price)
        return worst


def smallest_ranks(population, sizes, state):
    """The smallest rank of each draw without replacement from 1 … population."""
    found = []
    for size in sizes:
        drawn: set[int] = set()
        while len(drawn) < size:
            state, word = splitmix64(state)
            drawn.add(int((word >> 11) * 2.0**-53 * population))
        found.append(min(drawn) + 1)
    return found


class PenalisedFeatures:
    """L(w) + λ Σ |w_k| + λ₂ Σ w_k² over the active features of the edges; node weights are free.

    Everything is a vector: one entry per state of a node, then one per joint state of an edge, and
    `seen` says in which of all joint states of all variables each of them holds.
    """

    def __init__(self, codes, sizes, edges, active, lam, lam2):
        self.lam, self.lam2 = lam, lam2
        every = np.array(list(itertools.product(*[range(size) for size in sizes]))).T
        seen, target, penalised, free = [], [], [], []

        def add(groups, states, is_edge, is_active):
            holds = [np.all([x[i] == a for i, a in zip(groups, states, strict=True)], axis=0)
                     for x in (every, codes)]  # fmt: skip
            seen.append(holds[0])
            target.append(holds[1].mean())
            penalised.append(is_edge)
            free.append(is_active)

        for i, size in enumerate(sizes):
            for a in range(size):
                add([i], [a], False, True)
        for (i, j), cells in zip(edges, active, strict=True):
            for a, b in itertools.product(range(sizes[i]), range(sizes[j])):
                add([i, j], [a, b], True, bool(cells[a][b]))
        self.seen = np.array(seen, dtype=float)
        self.target, self.penalised = np.array(target), np.array(penalised)
        self.free = np.array(free)

    def vector_of(self, model):
        """w of a model with the same edges."""
        return model.weights.copy()

    def gradient(self, weights):
        """∂L/∂w: marginals of the model minus those of the data; and log Z."""
        scores = weights @ self.seen
        log_partition = log_sum(scores, 0)
        return self.seen @ np.exp(scores - log_partition) - self.target, log_partition

    def objective(self, weights):
        """𝕃(w)."""
        edges = weights[self.penalised]
        price = self.lam * np.sum(np.abs(edges)) + self.lam2 * np.sum(edges**2)
        return self.gradient(weights)[1] - weights @ self.target + price

    def violation(self, weights):
        """Largest violation of an optimality condition over nodes and active features."""
        slope, _ = self.gradient(weights)
        worst = 0.0
        for k in np.flatnonzero(self.free):
            if not self.penalised[k]:
                worst = max(worst, abs(slope[k]))
            elif weights[k] == 0.0:
                worst = max(worst, abs(slope[k]) - self.lam)
            else:
                pull = slope[k] + 2 * self.lam2 * weights[k] + self.lam * np.sign(weights[k])
                worst = max(worst, abs(pull))
        return worst

    def minimum(self, iterations=50_000, tolerance=1e-9):
        """The smallest 𝕃 by accelerated proximal gradient descent, momentum restarted uphill."""
        step = 1.0 / (np.max(self.seen.sum(axis=0)) + 2 * self.lam2)
        weights = ahead = np.zeros(len(self.target))
        momentum = 1.0
        for _ in range(iterations):
            slope, _ = self.gradient(ahead)
            moved = np.where(self.free, ahead - step * slope, 0.0)
            shrunk = np.sign(moved) * np.maximum(np.abs(moved) - step * self.lam, 0.0)
            new = np.where(self.penalised, shrunk / (1.0 + 2 * step * self.lam2), moved)
            longer = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            share = (momentum - 1) / longer
            if np.sum((ahead - new) * (new - weights)) > 0:
                longer, share = 1.0, 0.0
            weights, ahead, momentum = new, new + share * (new - weights), longer
            if self.violation(weights) < tolerance:
                break
        return self.objective(weights), weights


def feature_scores(codes, sizes, node_beliefs, pair_beliefs):
    """|b(a, b) − p_D(a, b)| of every joint state of every pair: {(i, j, a, b): score}.

    `pair_beliefs` holds {(i, j): b_ij} of the edges; of other pairs the belief is b_i b_jᵀ.
    """
    found = {}
    for i, j in itertools.combinations(range(len(sizes)), 2):
        for a, b in itertools.product(range(sizes[i]), range(sizes[j])):
            belief = node_beliefs[i][a] * node_beliefs[j][b]
            if (i, j) in pair_beliefs:
                belief = pair_beliefs[i, j][a][b]
            share = np.mean((codes[i] == a) & (codes[j] == b))
            found[i, j, a, b] = abs(belief - share)
    return found


def feature_thresholds(codes, sizes, kappa):
    """Score of every joint state of every pair that chance exceeds at the level of κ deviations."""
    found, rows = {}, codes.shape[1]
    for i, j in itertools.combinations(range(len(sizes)), 2):
        for a, b in itertools.product(range(sizes[i]), range(sizes[j])):
            p, q = np.mean(codes[i] == a), np.mean(codes[j] == b)
            deviation = np.sqrt(rows * p * (1 - p) * q * (1 - q))
            found[i, j, a, b] = (kappa * deviation + (kappa**2 - 1) / 6) / rows
    return found


def feature_grafting(codes, sizes, lam, lam2, most=10_000):
    """Feature grafting by the book, for the Bethe likelihood with free nodes: features in order.

    Every edge then has the data's margins at its ends regardless of other edges, so it is fitted
    exactly, as a model of two variables.
    """
    margins = [
        np.bincount(x, minlength=size) / len(x) for x, size in zip(codes, sizes, strict=True)
    ]
    taken, active, beliefs = [], {}, {}
    while len(taken) < most:
        scores = feature_scores(codes, sizes, margins, beliefs)
        left = {key: score for key, score in scores.items() if key not in taken}
        best = max(left, key=lambda key: left[key], default=None)
        if best is None or left[best] <= lam:
            break
        taken.append(best)
        i, j, a, b = best
        active.setdefault((i, j), np.zeros((sizes[i], sizes[j]), dtype=bool))[a, b] = True
        pair = PenalisedFeatures(
            codes[[i, j]], [sizes[i], sizes[j]], [(0, 1)], [active[i, j]], lam, lam2
        )
        _, weights = pair.minimum()
        slope, _ = pair.gradient(weights)
        beliefs[i, j] = (slope + pair.target)[sizes[i] + sizes[j] :].reshape(sizes[i], sizes[j])
    return taken


def influences(model):
    """C_ij by its definition: over all joint states of all variables, neighbours or not."""
    n = model.n_variables
    found = np.zeros((n, n))
    for states in itertools.product(*(range(s) for s in model.cardinalities)):
        for j in range(n):
            for other in range(states[j]):
                changed = (*states[:j], other, *states[j + 1 :])
                for i in set(range(n)) - {j}:
                    distance = total_variation(
                        conditional(model, i, states), conditional(model, i, changed)
                    )
                    found[i, j] = max(found[i, j], distance)
    return found


def conditional(model, i, states):
    """p(x_i | the others), from the joint scores of every alternative."""
    alternatives = np.array([states] * int(model.cardinalities[i])).T
    alternatives[i] = np.arange(model.cardinalities[i])
    scores = model.log_scores(alternatives)
    chances = np.exp(scores - scores.max())
    return chances / chances.sum()


def total_variation(first, second):
    return 0.5 * float(np.abs(first - second).sum())


def star(model, i, inside, field):
    """Influences, perturbation and spread of a variable of a region, by enumeration.

    `inside` are the neighbours in the region, `field` what the local model has for the others.
    """
    tables = {}
    for e, (a, b) in enumerate(model.edges.tolist()):
        if a == i:
            tables[b] = model.edge_weights(e)
        elif b == i:
            tables[a] = model.edge_weights(e).T

    def distributions(neighbours, base):
        for states in itertools.product(*(range(tables[k].shape[1]) for k in neighbours)):
            logs = base + sum(tables[k][:, x] for k, x in zip(neighbours, states, strict=True))
            chances = np.ones(len(logs))
            if logs.max() > -np.inf:
                chances = np.exp(logs - logs.max())
            yield states, chances / chances.sum()

    outside = sorted(set(tables) - set(inside))
    local = dict(distributions(inside, model.node_weights(i) + field))
    full = dict(distributions([*inside, *outside], model.node_weights(i)))
    influence = np.zeros(len(inside))
    for first, second in itertools.combinations(local, 2):
        differ = [k for k in range(len(inside)) if first[k] != second[k]]
        if len(differ) == 1:
            distance = total_variation(local[first], local[second])
            influence[differ[0]] = max(influence[differ[0]], distance)
    perturbation = max(total_variation(p, local[x[: len(inside)]]) for x, p in full.items())
    spread = max(total_variation(p, q) for p in full.values() for q in local.values())
    return influence, perturbation, spread


def least_bounds(influence, perturbation, spread):
    """The solution of a = min(C a + b, s), from above."""
    bounds = spread.copy()
    while True:
        smaller = np.minimum(influence @ bounds + perturbation, bounds)
        if (bounds - smaller).max() < 1e-13:
            return smaller
        bounds = smaller


def marginal(model, i):
    """p(x_i) from the table of all joint states; None where all of them are impossible."""
    n, sizes = model.n_variables, model.cardinalities.tolist()
    logs = np.zeros([1] * n)
    for k in range(n):
        logs = logs + model.node_weights(k).reshape([sizes[k] if a == k else 1 for a in range(n)])
    for e, (j, k) in enumerate(model.edges.tolist()):
        shape = [sizes[a] if a in (j, k) else 1 for a in range(n)]
        logs = logs + model.edge_weights(e).reshape(shape)
    if logs.max() == -np.inf:
        return None
    chances = np.exp(logs - logs.max()).sum(axis=tuple(a for a in range(n) if a != i))
    return chances / chances.sum()


def factor_graph_propagation(model, rounds):
    """Sum-product on the factor graph, as textbooks have it: variable and factor nodes take turns.

    Every weight vector and every weight matrix is a factor; returns the node beliefs.
    """
    factors = [((i,), np.exp(model.node_weights(i))) for i in range(model.n_variables)]
    factors += [(tuple(pair), np.exp(model.edge_weights(e))) for e, pair in enumerate(model.edges)]
    to_variable = {
        (f, i): np.ones(model.cardinalities[i])
        for f, (scope, _) in enumerate(factors)
        for i in scope
    }
    for _ in range(rounds):
        to_factor = {}
        for f, i in to_variable:
            product = np.ones(model.cardinalities[i])
            for (g, k), message in to_variable.items():
                if k == i and g != f:
                    product = product * message
            to_factor[i, f] = product / product.sum()
        for f, (scope, table) in enumerate(factors):
            for axis, i in enumerate(scope):
                rest = table
                for other, k in enumerate(scope):
                    if k != i:
                        shape = [1] * len(scope)
                        shape[other] = -1
                        rest = rest * to_factor[k, f].reshape(shape)
                message = rest.sum(axis=tuple(a for a in range(len(scope)) if a != axis))
                to_variable[f, i] = message / message.sum()
    beliefs = []
    for i in range(model.n_variables):
        product = np.ones(model.cardinalities[i])
        for (_, k), message in to_variable.items():
            if k == i:
                product = product * message
        beliefs.append(product / product.sum())
    return beliefs


def reweighted_sweep(model, rho, messages, forwards, damping=0.0):
    """One sweep of tree-reweighted message passing over all edges, in place and in logs.

    ``messages[e, i]`` is the log-message of edge e into its end i, a vector with exponentials of
    mean one over the states with a finite node weight (all the rest: 0).
    """
    order = range(model.n_edges) if forwards else reversed(range(model.n_edges))
    for e in order:
        i, j = model.edges[e].tolist()
        table = model.edge_weights(e) / rho[e]
        for source, target, weights in ((i, j, table), (j, i, table.T))[:: 1 if forwards else -1]:
            cavity = reweighted_field(model, rho, messages, source) - messages[e, source]
            new = log_sum(weights + cavity[:, None], 0)
            alive = np.isfinite(model.node_weights(target))
            new = np.where(alive, new - log_sum(new[alive], 0) + np.log(alive.sum()), 0.0)
            messages[e, target] = damping * messages[e, target] + (1 - damping) * new


def reweighted_field(model, rho, messages, i):
    """w_i + Σ_e ρ_e log m_e→i."""
    total = model.node_weights(i).copy()
    for e, pair in enumerate(model.edges.tolist()):
        if i in pair:
            total += rho[e] * messages[e, i]
    return total


def spanning_trees(n, edges):
    """All maximal spanning forests of a small graph, as tuples of edge indices."""
    size = n - len(component_sizes(n, edges))
    every = itertools.combinations(range(len(edges)), size)
    return [t for t in every if len(component_sizes(n, [edges[e] for e in t])) == n - size]


def component_sizes(n, edges):
    """The numbers of nodes of all connected components."""
    label = list(range(n))
    for i, j in edges:
        a, b = label[i], label[j]
        label = [a if k == b else k for k in label]
    return [label.count(k) for k in sorted(set(label))]


def arc_consistent(model):
    """The possible states of every variable, by striking out until nothing changes."""
    possible = [np.isfinite(model.node_weights(i)) for i in range(model.n_variables)]
    while True:
        before = [row.copy() for row in possible]
        for e, (i, j) in enumerate(model.edges.tolist()):
            allowed = np.isfinite(model.edge_weights(e))
            possible[i] &= (allowed & possible[j][None, :]).any(axis=1)
            possible[j] &= (allowed & possible[i][:, None]).any(axis=0)
        if all((a == b).all() for a, b in zip(before, possible, strict=True)):
            return possible


def mean_field_sweep(model, beliefs, order):
    """One belief after the other, in place: b_i ∝ exp(w_i + Σ_j E w_ij); finite weights only."""
    for i in order:
        field = model.node_weights(i).copy()
        for e, (a, b) in enumerate(model.edges.tolist()):
            if i == a:
                field += model.edge_weights(e) @ beliefs[b]
            elif i == b:
                field += beliefs[a] @ model.edge_weights(e)
        beliefs[i] = np.exp(field - log_sum(field, 0))


def mean_field_bound(model, beliefs):
    """Energy plus entropy of independent beliefs; −inf where a zero potential is met."""
    total = 0.0
    for i, b in enumerate(beliefs):
        w = model.node_weights(i)
        total += np.sum(b[b > 0] * (w[b > 0] - np.log(b[b > 0])))
    for e, (i, j) in enumerate(model.edges.tolist()):
        joint, w = np.outer(beliefs[i], beliefs[j]), model.edge_weights(e)
        total += np.sum(joint[joint > 0] * w[joint > 0])
    return total


def min_fill(sizes, edges):
    """Eliminate, again and again, the node that adds fewest edges; ties: smallest table, index."""
    around = {i: set() for i in range(len(sizes))}
    for i, j in edges:
        around[i].add(j)
        around[j].add(i)
    order = []
    while around:

        def price(i):
            pairs = itertools.combinations(around[i], 2)
            fill = sum(b not in around[a] for a, b in pairs)
            return fill, np.prod([sizes[j] for j in (i, *around[i])]), i

        pivot = min(around, key=price)
        order.append(pivot)
        neighbours = around.pop(pivot)
        for j in neighbours:
            around[j] |= neighbours - {j}
            around[j].discard(pivot)
    return order


def table_lives(parent, bounds):
    """Return the live tables at each moment of a junction tree's passes: sets of (kind, place).

    Up: message k is written while its children's are read. Down, segment by segment: messages
    within all but the last segment are written again; then belief k is read with the messages of
    its children, whose beliefs are written.
    """
    n = len(parent)
    children = [[c for c in range(n) if parent[c] == k] for k in range(n)]
    segment = np.searchsorted(bounds, range(n), side="right") - 1
    last = len(bounds) - 2
    inside = {c for c in range(n) if parent[c] >= 0 and segment[c] == segment[parent[c]] != last}
    alive = set()
    for k in range(n):
        alive.add(("first", k))
        yield set(alive)
        alive -= {("first", c) for c in children[k] if c in inside}
    for g in range(last, -1, -1):
        places = range(bounds[g], bounds[g + 1])
        for k in places:
            if k in inside:
                alive.add(("again", k))
                yield set(alive)
        for k in reversed(places):
            if parent[k] < 0:
                alive.add(("belief", k))
            alive |= {("belief", c) for c in children[k]}
            yield set(alive)
            alive -= {("again" if c in inside else "first", c) for c in children[k]}
            alive.discard(("belief", k))


def k_means_cost(values, clusters):
    """The least Σ (θ − μ)² over all partitions of sorted numbers into so many intervals."""
    ascending = np.sort(values)
    n = len(ascending)
    costs = []
    for cuts in itertools.combinations(range(1, n), clusters - 1):
        parts = np.split(ascending, cuts)
        costs.append(sum(float(((part - part.mean()) ** 2).sum()) for part in parts))
    return min(costs)


def k_means_by_table(values, clusters):
    """The same by the dynamic programme without divide and conquer: O(K n²)."""
    ascending = np.sort(values)
    n = len(ascending)

    def spread(first, last):
        part = ascending[first:last]
        return float(((part - part.mean()) ** 2).sum())

    best = [spread(0, j) if j else np.inf for j in range(n + 1)]
    for q in range(1, clusters):
        best = [
            min((best[split] + spread(split, j) for split in range(q, j)), default=np.inf)
            for j in range(n + 1)
        ]
    return best[n]


def pseudo_losses(model, codes):
    """−Σ_rows log p(x_i | rest) of every variable, row by row."""
    chances = conditionals(model, codes)
    rows = np.arange(codes.shape[1])
    return [
        -float(np.log(table[rows, own]).sum()) for table, own in zip(chances, codes, strict=True)
    ]


def best_gain(model, codes, i, j, lam2, contrasts):
    """Return the gain in mean log pseudo-likelihood of a pair's parameters, by a general optimiser.

    Fitted is the gain minus λ₂ Σ t² with the table C_i t C_jᵀ; returned is the gain.
    """
    chances = conditionals(model, codes)
    rows = np.arange(codes.shape[1])
    shape = (contrasts[0].shape[1], contrasts[1].shape[1])

    def gain(parameters):
        table = contrasts[0] @ parameters.reshape(shape) @ contrasts[1].T
        total = 0.0
        for own, other, oriented in ((i, j, table), (j, i, table.T)):
            tilted = chances[own] * np.exp(oriented[:, codes[other]].T)
            tilted /= tilted.sum(axis=1, keepdims=True)
            picked = np.log(tilted[rows, codes[own]]) - np.log(chances[own][rows, codes[own]])
            total += float(picked.mean())
        return total

    found = scipy.optimize.minimize(
        lambda parameters: lam2 * float(parameters @ parameters) - gain(parameters),
        np.zeros(shape[0] * shape[1]),
        tol=1e-12,
    )
    return gain(found.x)
