"""Make-believe runs in the format of docs/player.md, for looking at the player without an engine.

The numbers follow the rules of best-choice edge grafting (reservoir, μ, τ_α, no adjacent edges in
one step) on invented scores; nothing is learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PSEUDOCODE = (
    ("start", 0, "E ← ∅, F ← all pairs, fill the reservoir R"),
    ("while", 0, "while |E| < edge budget:"),
    ("hubs", 1, "find hubs H and prefer the pairs that touch them"),
    ("repeat", 1, "repeat up to t_max times:"),
    ("extract", 2, "take the pair e of best priority from the queue"),
    ("refill", 2, "queue empty: refill it from the frozen list L"),
    ("count", 2, "count the pair table of e unless already counted"),
    ("score", 2, "score e: how far model and data disagree"),
    ("admit", 2, "s_e > λ and R has room: put e into R"),
    ("displace", 2, "s_e > λ and R full: replace its minimum if weaker"),
    ("freeze", 2, "otherwise: put e on the frozen list L"),
    ("tau", 1, "τ_α ← (1 − α) μ + α max s"),
    ("choose", 1, "E* ← pairs of R with s_e ≥ τ_α, none adjacent"),
    ("refit", 1, "add E* to E and refit all active weights"),
    ("update", 1, "score R again; what is ≤ λ leaves to L"),
)


def scale_free_edges(n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return a preferential-attachment graph with two edges per new node."""
    ends = [0, 1]
    edges = [(0, 1)] if n > 1 else []
    for new in range(2, n):
        partners: set[int] = set()
        while len(partners) < min(2, new):
            partners.add(int(ends[rng.integers(len(ends))]))
        for old in sorted(partners):
            edges.append((old, new))
            ends += [old, new]
    return edges


def _relax(xy: np.ndarray, edges: np.ndarray, rounds: int) -> None:
    """Move nodes a little: all repel, joined ones attract; in place, units of the ideal length."""
    n = len(xy)
    for _ in range(rounds):
        delta = xy[:, None, :] - xy[None, :, :]
        square = (delta**2).sum(-1) + 0.01
        push = (delta * (0.35 / square)[..., None]).sum(1)
        pull = np.zeros_like(xy)
        if len(edges):
            along = xy[edges[:, 1]] - xy[edges[:, 0]]
            np.add.at(pull, edges[:, 0], along * 0.12)
            np.add.at(pull, edges[:, 1], -along * 0.12)
        move = push + pull - 0.03 * xy * (100 / n) ** 0.5
        length = np.sqrt((move**2).sum(1, keepdims=True)) + 1e-9
        xy += move / length * np.minimum(length, 0.3)


def _frame(xy: np.ndarray) -> list[int]:
    centred = xy - (xy.max(0) + xy.min(0)) / 2
    scaled = centred / max(float(np.abs(centred).max()), 1e-9) * 4700 + 5000
    return [int(v) for v in np.round(scaled).reshape(-1)]


class _Scores:
    """Invented activation scores: true edges high, pairs that share a true neighbour next."""

    def __init__(self, n: int, truth: list[tuple[int, int]], rng: np.random.Generator) -> None:
        joined = np.zeros((n, n), dtype=bool)
        for i, j in truth:
            joined[i, j] = joined[j, i] = True
        near = (joined.astype(np.float32) @ joined.astype(np.float32)) > 0
        noise = rng.exponential(0.0004, (n, n)) + rng.lognormal(-7.0, 0.5, (n, n))
        base = noise + near * rng.lognormal(-5.8, 0.5, (n, n))
        base = base + joined * rng.lognormal(-4.6, 0.5, (n, n))
        self.base = np.triu(base, 1)
        self.base = self.base + self.base.T
        self.joined = joined

    def explain(self, i: int, j: int) -> None:
        """After (i, j) was added, what reaches across it is partly explained."""
        for a, b in ((i, j), (j, i)):
            self.base[a, self.joined[b]] *= 0.72
            self.base[self.joined[b], a] *= 0.72


def sample_run(
    n: int = 60,
    *,
    seed: int = 1,
    alpha: float = 0.75,
    max_edges: int | None = None,
    max_steps: int = 10_000,
    truth_known: bool = True,
    reservoir: bool = True,
    positions: bool = False,
    run: str = "run-1",
    names: list[str] | None = None,
    test_rows: int = 1000,
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """Return header, records and outcome of an invented run over `n` variables."""
    rng = np.random.default_rng(seed)
    lam, capacity, t_max = 0.001, n, max(n // 2, 1)
    truth = scale_free_edges(n, rng)
    scores = _Scores(n, truth, rng)
    names = names or [f"x{i + 1}" for i in range(n)]
    labels = [[str(s) for s in range(1, 6)] for _ in range(n)]
    budget = max_edges or 3 * n
    order = [(i, j) for i in range(n) for j in range(i + 1, n)]
    possible = len(order)
    order = [order[k] for k in rng.permutation(possible)]
    true_keys = set(truth)
    xy = rng.normal(0, np.sqrt(n) / 2.2, (n, 2))
    places = None
    if positions:
        side = int(np.ceil(np.sqrt(n)))
        places = [[700 + 8600 * (i % side) // max(side - 1, 1),
                   700 + 8600 * (i // side) // max(side - 1, 1)] for i in range(n)]  # fmt: skip

    header = {
        "run": run,
        "title": f"Scale-free sample · {n} variables, 5 states",
        "learner": {
            "name": "best-choice",
            "title": "Best-choice edge grafting",
            "options": {"alpha": alpha, "lam": lam, "lam2": 0.03, "reservoir": capacity,
                        "t_max": t_max, "max_edges": budget},
            "pseudocode": [{"key": k, "indent": i, "text": t} for k, i, t in PSEUDOCODE],
        },
        "seed": seed, "names": names, "labels": labels, "positions": places,
        "layout": None if positions else _frame(xy),
        "truth": [list(e) for e in truth] if truth_known else None,
        "possible": possible, "lam": lam, "rows": {"train": 19_000, "test": test_rows},
        "start": {"objective": 1.6 * n, "nlpl": 1.61 * n if test_rows else None},
        "branch": None, "note": "",
    }  # fmt: skip

    records: list[dict[str, Any]] = []
    active: dict[tuple[int, int], float] = {}
    held: dict[tuple[int, int], float] = {}
    degree = np.zeros(n, dtype=int)
    cursor = tests_total = frozen = 0
    objective = header["start"]["objective"]
    dropped: list[list[int]] = []
    seconds = 0.004
    while len(active) < budget and len(records) < max_steps:
        limit = t_max if records else 2 * capacity
        tests, replaced = 0, []
        while cursor < possible and (
            (tests < limit and not (not records and len(held) >= capacity)) or not held
        ):
            e = order[cursor]
            cursor += 1
            tests += 1
            s = float(scores.base[e])
            if s <= lam:
                frozen += 1
            elif len(held) < capacity:
                held[e] = s
            else:
                weakest = min(held, key=held.__getitem__)
                if held[weakest] < s:
                    del held[weakest]
                    held[e] = s
                    replaced.append(list(weakest))
                frozen += 1
        if not held:
            break
        ranked = sorted(held.items(), key=lambda item: -item[1])
        values = [s for _, s in ranked]
        mean, top = float(np.mean(values)), values[0]
        tau = (1 - alpha) * mean + alpha * top
        taken, skipped, touched = [], [], set()
        for position, (e, s) in enumerate(ranked):
            if (s < tau and position > 0) or len(active) + len(taken) >= budget:
                break
            if touched & set(e):
                skipped.append(position)
            else:
                taken.append(position)
                touched |= set(e)
        view = {
            "edges": [list(e) for e, _ in ranked], "scores": values, "mean": mean, "tau": tau,
            "max": top, "capacity": capacity, "taken": taken, "skipped": skipped,
        }  # fmt: skip
        activated = [[*ranked[p][0], ranked[p][1]] for p in taken]
        weights = []
        for i, j, s in activated:
            objective -= 14 * s
            active[i, j] = float(60 * s + rng.uniform(0.3, 1.2))
            degree[[i, j]] += 1
            del held[i, j]
            scores.explain(i, j)
            weights.append([i, j, active[i, j]])
        for e in rng.permutation(len(active))[: min(6, len(active))]:
            i, j = list(active)[e]
            active[i, j] *= float(rng.uniform(0.9, 1.06))
            weights.append([i, j, active[i, j]])
        leaving = [list(e) for e in held if scores.base[e] <= lam]
        held = {e: float(scores.base[e]) for e in held if scores.base[e] > lam}
        frozen += len(leaving)
        tests_total += tests
        seconds += 0.0009 + 0.000004 * len(active)
        hubs = np.flatnonzero(degree > max(2.2 * degree.mean(), 3)) if len(active) > 15 else []
        hits = sum(e in true_keys for e in active)
        t = len(records) + 1
        words = (
            f"{tests} pairs were tested. {len(taken)} of {len(ranked)} reservoir edges reached "
            f"τ = {tau:.4f} without touching one another and became active"
            + (f"; {len(skipped)} more were passed over because they touch one of these." if skipped
               else ".")
        )  # fmt: skip
        record = {
            "t": t, "activated": activated, "edges": len(active), "objective": objective,
            "kkt": 3e-3, "recall": hits / len(truth) if truth_known and truth else None,
            "precision": hits / len(active) if truth_known else None,
            "nlpl": objective * 1.004 + 0.0004 * len(active) if test_rows else None,
            "reservoir": view if reservoir else None, "replaced": replaced, "dropped": dropped,
            "queue": max(len(hubs) * 7 - 3, 0), "frozen": frozen, "unseen": possible - cursor,
            "tests": tests, "tests_total": tests_total, "test_limit": limit,
            "tables": cursor, "hubs": [int(h) for h in hubs], "weights": weights,
            "seconds": seconds,
            "lines": (["start"] if t == 1 else []) + ["while", "repeat", "extract", "count",
                      "score", "admit", "freeze", "tau", "choose", "refit", "update"]
                      + (["hubs"] if len(hubs) else []) + (["displace"] if replaced else []),
            "words": words,
            "notes": ["The first filling stopped at its cap of 2 |R| tests."] if t == 1 else [],
        }  # fmt: skip
        if places is None and (t == 1 or t % 3 == 0):
            _relax(xy, np.array(list(active)), 60 if t == 1 else 12)
            record["layout"] = _frame(xy)
        records.append(record)
        dropped = leaving
    converged = not held and cursor == possible
    outcome = {
        "steps": len(records),
        "stop_reason": "No inactive edge violates its condition any more." if converged
        else f"The edge budget of {budget} edges is used up.",
        "converged": converged, "objective": objective, "kkt": 4e-7, "seconds": seconds + 0.01,
        "certificate": {"scored": possible - len(active), "possible": possible - len(active),
                        "worst_score": 0.0009 if converged else 0.0042, "threshold": lam},
        "edges": len(active), "recall": records[-1]["recall"] if records else None,
        "precision": records[-1]["precision"] if records else None,
        "nlpl": records[-1]["nlpl"] if records else None, "bp_restart_gap": 2e-7,
    }  # fmt: skip
    return header, records, outcome
