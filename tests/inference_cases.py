"""Small random models for tests of inference, and what is true of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import naive
import numpy as np

from graftviz import PairwiseMRF


def random_model(
    seed: int,
    *,
    scale: float = 1.0,
    zeros: float = 0.0,
    density: float = 0.6,
    most: int = 6,
    states: tuple[int, int] = (2, 4),
) -> PairwiseMRF:
    """A model of 2 to `most` variables; `zeros` of its pairs of states have a zero potential."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most + 1))
    sizes = rng.integers(states[0], states[1] + 1, size=n)
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
    tables = {(i, j): rng.normal(0, scale, (sizes[i], sizes[j])) for i, j in pairs}
    for table in tables.values():
        table[rng.random(table.shape) < zeros] = -np.inf
    return PairwiseMRF.from_tables([rng.normal(0, 1, size) for size in sizes], tables)


def random_edges(n: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Edges among n variables; each pair is one with the probability `share`."""
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < share]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def shuffled_model(
    seed: int, n: int, share: float = 0.4, *, scale: float = 1.0, names: tuple[str, ...] = ()
) -> PairwiseMRF:
    """A model of 1 to 4 states per variable whose edges are in random order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=n)
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < share]
    rng.shuffle(pairs)
    return PairwiseMRF.from_tables(
        [scale * rng.normal(size=size) for size in sizes],
        {(int(i), int(j)): scale * rng.normal(size=(sizes[i], sizes[j])) for i, j in pairs},
        names=names,
    )


def random_tree(seed: int, *, scale: float = 1.0, zeros: float = 0.0, n: int = 6) -> PairwiseMRF:
    """A tree whose edges stand in no helpful order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=n)
    names = rng.permutation(n)
    tables = {}
    for k in rng.permutation(np.arange(1, n)):
        i, j = int(names[k]), int(names[rng.integers(k)])
        tables[i, j] = rng.normal(0, scale, (sizes[i], sizes[j]))
        tables[i, j][rng.random(tables[i, j].shape) < zeros] = -np.inf
    return PairwiseMRF.from_tables([rng.normal(0, scale, size) for size in sizes], tables)


def joint_scores(model: PairwiseMRF, evidence: dict[int, int] | None = None) -> np.ndarray:
    """The scores of all joint states, −inf where they contradict the evidence."""
    every = np.array(list(itertools.product(*(range(s) for s in model.cardinalities)))).T
    scores = model.log_scores(every)
    for i, state in (evidence or {}).items():
        scores = np.where(every[i] == state, scores, -np.inf)
    return scores


def log_partition(model: PairwiseMRF, evidence: dict[int, int] | None = None) -> float:
    """log Z by going through all joint states."""
    return float(naive.log_sum(joint_scores(model, evidence), 0))


def largest_gap(beliefs, nodes, edges) -> float:
    """Return the largest difference between beliefs and given marginals."""
    gaps = [np.abs(a - b).max() for a, b in zip(beliefs.node, nodes, strict=True)]
    gaps += [np.abs(a - b).max() for a, b in zip(beliefs.edge, edges, strict=True)]
    return max(gaps)


def read_mar(path: Path) -> list[np.ndarray]:
    """Return the marginals in a file of ``infer``."""
    kind, count, *words = path.read_text().split()
    assert kind == "MAR"
    marginals = []
    for _ in range(int(count)):
        states = int(words[0])
        marginals.append(np.array(words[1 : states + 1], dtype=np.float64))
        words = words[states + 1 :]
    assert words == []
    return marginals


def read_pr(path: Path) -> float:
    """Return log₁₀ Z in a file of ``infer``."""
    kind, value = path.read_text().split()
    assert kind == "PR"
    return float(value)
