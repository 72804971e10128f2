"""Made-up rows of every experiment whose verdict is known: as the paper says, and the other way."""

from __future__ import annotations

import numpy as np

from graftviz.reports.reproduction import curves
from graftviz.reports.reproduction.papers import (
    best_choice,
    bounded,
    forced_pruning,
    localized,
    localized_cora as cora,
    thesis_city as city,
    thesis_dynamics as cost,
    thesis_grafting,
    thesis_systems as choice_of_seeds,
)
from graftviz.reports.reproduction.papers.thesis_dynamics import (
    COEFFICIENTS,
    DENSE,
    ENFORCING,
    FRACTIONS,
    INDUCING,
    MEASURES,
    PRECISION,
    PREDICTION,
    STRUCTURE,
    TWO_STEPS,
    scalable,
)

# --- edge grafting ------------------------------------------------------------------------------

NODES = (20, 40, 600)
USUAL = {
    "seconds": 1.0,
    "tests": 100,
    "tables": 100,
    "edges": 10,
    "objective": 50.0,
    "recall": 0.5,
    "nlpl": 50.0,
}


def run(method, nodes, **ends):
    """Return a run that goes in equal steps from nothing to its ends."""
    ends = USUAL | ends
    starts = dict.fromkeys(USUAL, 0.0) | {"objective": 100.0, "nlpl": 100.0}
    points = {name: np.linspace(starts[name], ends[name], 6).tolist() for name in curves.MEASURES}
    return {
        "panel": f"{nodes} nodes, 10 edges, λ = 1",
        "title": f"{nodes} nodes, 10 edges",
        "weights": "λ = 1",
        "method": method.name,
        "seed": 0,
        "nodes": nodes,
        **{"alpha": method.alpha, "hubs": method.hubs, "points": points, **ends},
        "steps": 5,
        "converged": True,
        "tables_possible": 190,
        "reservoir": [7, 10],
    }


def runs(whole, first, by_alpha, nlpl=None):
    """Return runs of all methods: ends of the baselines, and a function of α and nodes."""
    rows = []
    for nodes in NODES:
        for method in (*curves.baselines(), *curves.hub_methods()):
            if method.name in (curves.EDGE_GRAFTING, curves.AS_WRITTEN):
                ends = whole(nodes)
            elif method.name == curves.FIRST_HIT:
                ends = first
            else:
                ends = by_alpha(method.alpha)
                ends = ends if method.hubs else {**ends, "recall": ends.get("lower", 0.1)}
            row = run(method, nodes, **ends)
            if nlpl:
                row["points"]["nlpl"] = nlpl
            rows.append(row)
    return rows


def paper_runs(good):
    """Return runs to a limit of edges."""
    if good:
        return runs(
            lambda n: {"seconds": float(n), "tests": 1000, "tables": 900},
            {"seconds": 0.1, "recall": 0.05, "objective": 80.0},
            lambda alpha: {
                "seconds": 1.0 + alpha,
                "recall": 0.2 + 0.3 * alpha,
                "objective": 55.0 - 5.0 * alpha,
                "nlpl": 55.0 - 5.0 * alpha,
            },
        )
    return runs(
        lambda n: {"seconds": 1.0 / n, "tests": 9, "tables": 8},
        {"seconds": 9.0, "recall": 0.9, "objective": 20.0},
        lambda alpha: {
            "seconds": 3.0 - alpha,
            "recall": 0.41 - 0.01 * alpha,
            "lower": 0.6,
            "objective": 40.0 + 40.0 * alpha,
            "nlpl": 40.0 + 5.0 * alpha,
        },
        nlpl=[40.0, 41.0, 45.0, 50.0, 55.0, 60.0],
    )


def converged_runs(good):
    """Return runs without a limit."""
    rows = runs(
        lambda n: {
            "seconds": 10.0 if good else 0.1,
            "tests": 1000 if good else 1,
            "tables": 900 if good else 1,
        },
        {"seconds": 99.0 if good else 0.01},
        lambda alpha: {"objective": 50.0 if good else 50.0 + alpha},
    )
    if good:  # best-choice has done all before the first edge
        for row in rows:
            if row["method"] in (curves.EDGE_GRAFTING, curves.AS_WRITTEN):
                row["points"]["seconds"] = [0.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    return rows


def counted_runs(good):
    rows = []
    for method in (curves.baselines()[1], curves.best_choice(1.0)):
        for n in (20, 40, 80):
            row = run(method, n)
            whole = (method.alpha is None) == good
            first = n**2 if whole else n
            later = n**2 if whole else n // 4
            tables = [0, first, first + n // 8, first + n // 4] if good else [0, first, first, n**4]
            row["points"] |= {
                "edges": [0, 1, 2, 3],
                "tests": [0, first, first + later, first + 2 * later],
                "tables": tables,
            }
            rows.append({**row, "steps": 3})
    return rows


def queue_runs(good):
    methods = best_choice._PLAIN_QUEUE, best_choice._FULL_QUEUE
    return [
        run(method, n, seconds=1.0 + k * (0.1 if good else 0.9))
        for k, method in enumerate(methods)
        for n in (20, 40)
    ]


def feature_runs(good):
    """Return runs in which grafting is the slowest, or the fastest."""
    features = best_choice.FEATURES, thesis_grafting._BY_BOUNDS
    methods = best_choice.AS_WRITTEN, *features, *thesis_grafting._LIGHT
    seconds = (1.0, 12.0, 8.0, 2.0, 3.0) if good else (9.0, 1.0, 1.0, 2.0, 3.0)
    return [
        run(method, n, seconds=taken) | {"features": 20}
        for method, taken in zip(methods, seconds, strict=True)
        for n in (20, 40)
    ]


def ranks(good):
    expected = [round(10_000 / (k + 1)) for k in range(1, 101)]
    means = expected if good else [2 * expected[0]] * 100
    columns = zip(means, expected, strict=True)
    return [
        {"reservoir": k + 1, "mean_rank": m, "expected_rank": e, "least_rank": m, "largest_rank": m}
        for k, (m, e) in enumerate(columns)
    ]


def tuning(good):
    rows = []
    for grid, gain in (("the paper's grid", 9.5 if good else 2.0), ("a more useful grid", 10.0)):
        for lam in (0.001, 0.01, 1.0):
            for lam2 in (0.5, 1.0):
                loss = 0.0 if good or lam2 == 0.5 else 9.0
                edges = 0 if lam == 1.0 else 12
                nlpl = 100.0 if lam == 1.0 else 100.0 - gain + loss
                precision = lam if good else 1.0 - lam
                rows.append(
                    {
                        "grid": grid,
                        "lam": lam,
                        "lam2": lam2,
                        "edges": edges,
                        "nlpl_test": nlpl,
                        "recall": 0.5,
                        "precision": precision,
                    }
                )
    return rows


# --- linear dynamical systems -------------------------------------------------------------------


def noise(good):
    """Return measures of two systems at three levels of noise."""
    few_more_many = ((0.3, 0.32, 0.329), (0.2, 0.25, 0.32), (0.1, 0.2, 0.31))
    errors = {DENSE: (0.0, 0.5, 0.9), INDUCING: (0.0, 0.1, 0.3), ENFORCING: (0.0, 0.05, 0.1)}
    predictions = dict(errors)
    scalables = scalable_predictions = few_more_many
    if not good:
        errors = {DENSE: (0.3, 0.2, 0.1), INDUCING: (0.9, 0.8, 0.7), ENFORCING: (0.3, 0.2, 0.1)}
        scalables = ((0.3, 0.2, 0.1), (0.4, 0.3, 0.2), (0.5, 0.4, 0.3))
        predictions = {DENSE: (0.9, 0.05, 0.05), INDUCING: (0.5, 0.3, 0.1), ENFORCING: (0.5,) * 3}
        scalable_predictions = ((0.5, 0.4, 0.3), (0.6, 0.5, 0.4), (0.7, 0.6, 0.5))
    for k, share in enumerate(FRACTIONS):
        for common in (False, True):
            errors[scalable(share, common=common)] = scalables[k]
            predictions[scalable(share, common=common)] = scalable_predictions[k]
    rows = []
    for number in range(2):
        for method, values in errors.items():
            for level, error, prediction in zip(
                (0.0, 0.5, 1.0), values, predictions[method], strict=True
            ):
                more = 0.001 * number
                rows.append(
                    {
                        "method": method,
                        "system": number,
                        "noise": level,
                        "n": 20,
                        **{"parents": 6, "entries": 60, "rows": 300, COEFFICIENTS: error + more},
                        **{STRUCTURE: 1.0 - error - more, PRECISION: 1.0 - error - more},
                        **{PREDICTION: prediction + more, TWO_STEPS: prediction + more},
                    }
                )
    return rows


def noise_by_rows(good):
    """Return the same measures for two numbers of rows."""
    return [
        {**row, "rows": 20 * multiple, "multiple": multiple}
        for multiple in (3, 15)
        for row in noise(good)
    ]


def growth(good):
    """Return costs that are powers of n."""
    fixed = "scalable, 5 seeds, common"
    powers = {DENSE: 3.0, INDUCING: 2.0, scalable(0.1): 2.0, fixed: 1.0}
    factors = {DENSE: 0.05, scalable(0.1): 0.2}
    if not good:
        powers = {DENSE: 1.0, INDUCING: 1.0, scalable(0.1): 1.5, fixed: 1.6}
        factors = {}
    rows = []
    for method, exponent in powers.items():
        for n in (50, 100, 200, 400):
            for number in range(2):
                cost = factors.get(method, 1.0) * n**exponent
                rows.append(
                    {
                        "method": method,
                        "n": n,
                        "rows": 1000,
                        "system": number,
                        "seconds": cost,
                        "operations": 10.0 * cost,
                        "structure": 1,
                        "coefficients": 1,
                        "seeds": 1,
                        "uncovered": 0,
                        "passes": 0.5 if good else 1.5,
                    }
                )
    return rows


def work(good):
    """Return counts with the stated powers of each factor, or one more."""
    rows = []
    for part in cost.work_parts(0, cost._amounts(16, 80, 2, 2, 4), cost._amounts(32, 8, 2, 2, 4)):
        row = part.columns
        factor, multiple = row["changed"], row[row["changed"]]
        stated = cost.STATED[row["method"]]
        counts = {
            phase: multiple ** (powers.get(factor, 0) + (not good))
            for phase, powers in stated.items()
        }
        rows.append({"structure": 0 if good else 5, **row, **counts})
    return rows


def on_city(method, errors, *, train=0.4, share=None, parents=50):
    """Return city rows, one for each draw."""
    return [
        {
            "method": method,
            "share_of_seeds": share,
            "draw": draw,
            "parents": parents,
            "n": 300,
            "seeds": 3,
            "uncovered": 0,
            "train": train,
            "persistence": 1.0,
            "spectral_radius": 0.9,
            "test_1": error,
            "test_6": error,
            "test_24": None,
            "data": "a city",
        }
        for draw, error in enumerate(errors)
    ]


def parents(good):
    errors = (0.5, 0.45, 0.44, 0.5) if good else (0.61, 0.62, 0.7, 0.8)
    rows = on_city(DENSE, [0.6], train=0.1, parents=300)
    for k, error in zip((5, 20, 50, 100), errors, strict=True):
        rows += on_city(INDUCING, [error], parents=k)
        rows += on_city(city.SCALABLE, [error, error], parents=k, share=0.15)
    return rows


def seeds(good):
    tenth, fifth = (0.52, 0.505) if good else (0.6, 0.52)
    dense, train = (0.9, 0.1) if good else (0.4, 0.45)
    rows = on_city(DENSE, [dense], train=train) + on_city(INDUCING, [0.5])
    for method in (city.SCALABLE, city.COMMON):
        rows += on_city(method, [tenth, tenth + 0.002], share=0.1)
        rows += on_city(method, [fifth], share=0.2)
    return rows


def week(good):
    hours = np.arange(city.WEEK)
    seen = 1.0 + np.sin(hours * np.pi / 12.0)
    rows = []
    for method, noise_of in ((city.SCALABLE, 0.05 if good else 0.9), (DENSE, 0.2 if good else 0.9)):
        random = np.random.default_rng(len(rows))
        forecasts = [
            {
                "name": name,
                "deviation": 0.1,
                "actual": seen.tolist(),
                "predicted": (seen + noise_of * random.standard_normal(city.WEEK)).tolist(),
            }
            for name in "abcd"
        ]
        rows.append({**on_city(method, [0.1])[0], "forecasts": forecasts})
    return rows


def choices(good):
    gain = 0.1 if good else -0.1
    rows = []
    for choice in (INDUCING, *choice_of_seeds.CHOICES):
        for share in (0.1, 0.3):
            for number in range(3):
                better = (choice != choice_of_seeds.RANDOM) * gain + 0.01 * number
                values = dict.fromkeys(MEASURES, 0.5 - better) | {STRUCTURE: 0.5 + better}
                place = {"data": "random systems", "choice": choice, "system": number}
                rows.append({**place, "share_of_seeds": share, **values})
            if choice != INDUCING:
                errors = [0.51, 0.5, 0.49] if choice == choice_of_seeds.RANDOM else [0.5 - gain]
                rows += [{**row, "choice": choice} for row in on_city(choice, errors, share=share)]
    return [*rows, {**on_city(INDUCING, [0.5])[0], "choice": INDUCING}]


# --- localized inference ------------------------------------------------------------------------

SIZES, MODELS = np.arange(1, 9), 20
LEVELS = {
    localized.GREEDY: (0.01, 0.1),
    localized.MEAN_FIELD: (0.011, 0.08),
    localized.RANDOM: (0.2, 0.5),
    localized.NORM: (0.15, 0.4),
}


def regions(levels, field=1.0):
    """Return rows with (error, bound) of every rule at size 1; both fall as 1 / size."""
    noise_of = 1.0 + 0.01 * np.random.default_rng(3).random(MODELS)
    return [
        {
            "side": 6,
            "T1": field,
            "T2": 0.3,
            "form": form,
            "rule": rule,
            "nodes": 8,
            "errors": (one * error / SIZES).tolist(),
            "bounds": (one * bound / SIZES).tolist(),
        }
        for form in localized.FORMS
        for rule, (error, bound) in levels.items()
        for one in noise_of
    ]


def region_sizes(good):
    if good:
        return regions(LEVELS)
    return regions(
        {
            localized.GREEDY: (0.2, 0.1),
            localized.MEAN_FIELD: (0.3, 0.2),
            localized.RANDOM: (0.05, 0.04),
            localized.NORM: (0.05, 0.04),
        }
    )


def region_fields(good):
    errors, bounds = (
        ((0.2, 0.1, 0.05), (1.6, 0.8, 0.1)) if good else ((0.05, 0.1, 0.2), (0.1, 0.8, 2.0))
    )
    rows = []
    for k, level in enumerate(zip(errors, bounds, strict=True)):
        rows += regions(dict.fromkeys((localized.GREEDY, localized.MEAN_FIELD), level), k + 1.0)
    if not good:
        rows[0]["errors"][0] = 9.0  # one error above its bound, in a small region
    return rows


def plane(good):
    means = ((0.1, 0.1), (0.5, 0.4), (1.5, 0.8)) if good else ((1.1, 1.1), (1.2, 1.3), (0.9, 1.0))
    return [
        {"T1": field, "T2": coupling, "c": [value, value]}
        for coupling, values in zip((0.1, 0.5, 1.0), means, strict=True)
        for field, value in zip((0.0, 1.0), values, strict=True)
    ]


TRUTH = np.arange(100) % 4 == 0


def labels(whole, local):
    """Return rows in which methods have so many wrong labels at T = 1, 2, …"""
    rows = []
    for method in cora.METHODS:
        for k, count in enumerate(local if method.startswith("local") else whole):
            found = TRUTH.copy()
            found[:count] = ~found[:count]
            more = {"bound": [0.1] * 100, "size": [16] * 100} if method.startswith("local") else {}
            rows.append(
                {
                    "T": k + 1.0,
                    "method": method,
                    "papers": 100,
                    "citations": 99,
                    "truth": np.where(TRUTH, 1, -1).tolist(),
                    **{"positive": np.where(found, 0.9, 0.1).tolist(), **more},
                }
            )
    return rows


def accuracies(good):
    return labels((44, 24, 4), (40, 22, 4)) if good else labels((4, 24, 44), (20, 50, 80))


def qualities(good):
    return labels((0, 0, 0), (40, 20, 0)) if good else labels((4, 24, 44), (4, 38, 64))


# --- forced pruning and bounded inference -------------------------------------------------------


def cells(good, table="greedy"):
    """Return cells of both heuristics near the numbers that make the claims of a table."""
    rows = []
    for source in ("nltcs", "plants", "msnbc"):
        papers = forced_pruning.PAPERS
        best = min(papers["greedy", source].values())
        start = papers[table, source][0, 0]
        reference = {"tree": start, "floor": best if good else best / 2}
        variables, count, held_out = forced_pruning.WHOLE[source]
        sizes = {"variables": variables, "rows": count, "rows_test": held_out}
        place = {"data": source, "heuristic": "tree and regressions", "test_rows_are": "published"}
        rows.append(place | sizes | reference)
        for m in (0, 15, 60):
            for k in (0, 5, 10):
                size = m + k if good else -m - k
                for name in ("greedy", "rejection") if k else ("greedy",):
                    # From the paper's first number to its best one, which its tables share.
                    falling = start + (best - start) * size / 70
                    value = falling if good else best * (2.0 - 0.01 * size)
                    if name == "rejection":
                        # Worse than greedy, and worse with k but better with m.
                        value = value * (1.1 + 0.002 * k) + 0.05 * k if good else value * 0.9
                    rows.append(
                        {
                            "data": source,
                            "heuristic": name,
                            "m": m,
                            "k": k,
                            "edges": 8 + m,
                            "nlpl_test": value,
                            "nlpl_train": value,
                            "steps": 3,
                            "tries": 1000,
                            "accepted": 5 if good else 500,
                            "fallbacks": 0,
                            "stop_reason": "",
                            "seconds": 1.0,
                        }
                    )
    return rows


def rejection_cells(good):
    rows = cells(good, "rejection")
    if good:
        return rows
    for row in rows:  # worse with m, never worse with k
        if row["heuristic"] == "rejection":
            row["nlpl_test"] = 4.0 + 0.1 * row["m"] - 0.1 * row["k"]
        elif row.get("k") == 0:
            row["nlpl_test"] = 60.0 + 0.2 * row["m"]
        elif row["heuristic"] == "greedy":
            row["nlpl_test"] = 99.0
    return rows


def models(good):
    """Return models of all learners with cost, loss and error."""
    path = ((1.0, 9.0, 1.0), (10.0, 8.0, 2.0), (100.0, 7.0, 4.0))
    ours = ((3.0, 8.0, 0.5), (30.0, 7.0, 1.5), (300.0, 6.5, 2.5))
    if not good:
        path = ((1.0, 7.0, 1.0), (10.0, 7.5, 2.0), (100.0, 8.0, 4.0))
        ours = ((3.0, 7.4, 7.0), (30.0, 7.9, 8.0), (300.0, 8.5, 9.0))
    learners = dict.fromkeys((bounded.BOUNDED, bounded.PENALISED, bounded.STAGE_WISE), ours)
    learners |= {bounded.PATH: path, bounded.REFITTED: path, bounded.JOINT: path}
    return [
        {
            "network": 2,
            "learner": learner,
            "bound": float(k),
            "lambda": None,
            **{f"{m}_{q}": cost for m in ("exact", "trbp") for q in ("seconds", "operations")},
            "nll": loss,
            "ncmll": loss,
            "log_partition_error": error,
            "edges": 3,
            "width": 2,
            "ncmll_total": 1.0,
            "trbp_sweeps": 9,
            "trbp_converged": True,
        }
        for learner, points in learners.items()
        for k, (cost, loss, error) in enumerate(points)
    ]


# By beginning of the name of an experiment, the more specific first.
ROWS = {
    "best-choice-fig1": ranks,
    "best-choice-fig5": converged_runs,
    "best-choice-table1": counted_runs,
    "best-choice-tuning": tuning,
    "best-choice-queue": queue_runs,
    "best-choice": paper_runs,
    "thesis-table3.1": counted_runs,
    "thesis-grafting": feature_runs,
    "thesis-fig3.3": converged_runs,
    "thesis-fig3": paper_runs,
    "thesis-table2.1": work,
    "thesis-fig2.2": growth,
    "thesis-fig2.6": parents,
    "thesis-fig2.7": seeds,
    "thesis-fig2.8": week,
    "thesis-fig2": noise,
    "thesis-rows": noise_by_rows,
    "thesis-seeds": choices,
    "localized-fig3": plane,
    "localized-fig4": region_sizes,
    "localized-fig5": region_fields,
    "localized-fig6": accuracies,
    "localized-fig7": qualities,
    "forced-pruning-table2": rejection_cells,
    "forced-pruning": cells,
    "bounded": models,
}


def rows_for(name, good):
    """Return rows of an experiment that agree with its paper, or contradict it."""
    for start, make in ROWS.items():
        if name.startswith(start):
            return make(good)
    raise LookupError(f"ROWS of tests/claim_rows.py has no function of rows for {name}.")
