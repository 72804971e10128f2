"""Benchmark: yardsticks do the same work, and rows report the measurements."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import platform
import time

import numba
import numpy as np
import pytest

from graftviz.__main__ import main
from graftviz.cli import bench as command
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.evaluation.benchmarks import bench_rows, bench_work, plain
from graftviz.evaluation.benchmarks.bench import (
    Goal,
    Lab,
    Measurement,
    Problem,
    Repetition,
    Size,
    Yardstick,
    best_f1,
)
from graftviz.evaluation.benchmarks.sweep_files import bench_markdown
from graftviz.inference.methods import infer
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.edge_grafting import EdgeGrafting
from graftviz.learning.observer import recall_precision_f1
from graftviz.learning.weights.network import ActiveNetwork
from graftviz.learning.weights.penalty import Penalty
from graftviz.reports.results import learn

N, S, ROWS = 7, 3, 400


@pytest.fixture(scope="module")
def model():
    return random_model(scale_free_graph(N, 3).edges, [S] * N, edge_sigma=0.7, seed=3)


@pytest.fixture(scope="module")
def table(model):
    return sample_gibbs(model, ROWS, seed=3).table


@pytest.fixture(scope="module")
def codes(table):
    return table.codes.astype(np.int64)


def test_plain_counts_match_package(table, codes):
    pairs = np.array(list(itertools.combinations(range(N), 2)))
    counts = PairCounts(table)
    wanted = [counts.table(i, j) for i, j in pairs]
    assert np.array_equal(plain.bincount_tables(codes, S, pairs), wanted)
    crossed = plain.crosstab_tables(table.to_frame(), pairs)
    assert all(np.array_equal(a, b) for a, b in zip(crossed, wanted, strict=True))


@pytest.mark.parametrize("kind", ["sweep", "sweep_in_logs"])
def test_plain_propagation_matches_package(model, kind):
    twin = plain.Propagation(N, model.edges, S)
    twin.set_weights(*plain.uniform_weights(model))
    while getattr(twin, kind)() > 1e-13:
        pass
    beliefs = infer(model, "bp", tolerance=1e-13)
    assert np.allclose(twin.beliefs().T, beliefs.node, atol=1e-11)
    assert np.allclose(twin.pair_beliefs(), beliefs.edge, atol=1e-11)
    assert twin.log_partition() == pytest.approx(beliefs.log_partition, abs=1e-10)


def test_sweeps_in_products_logs_and_textbook_form_agree(model):
    weights = plain.uniform_weights(model)
    logs = np.full((2, model.n_edges, S), -np.log(S))
    twins = [plain.Propagation(N, model.edges, S) for _ in range(2)]
    for twin in twins:
        twin.set_weights(*weights)
    for _ in range(3):
        logs = plain.textbook_sweep(*weights, model.edges, logs)
        changes = twins[0].sweep(), twins[1].sweep_in_logs()
        assert changes[0] == pytest.approx(changes[1], rel=1e-10)
        for twin in twins:
            for side, into in enumerate((twin.first, twin.second)):
                assert np.allclose(twin.messages[:, into].T, S * np.exp(logs[side]), rtol=1e-10)


def fitted_by_package(table, edges, lam, lam2):
    network = ActiveNetwork(PairCounts(table), table.names, table.labels)
    penalty = Penalty(lam, lam2, False, False)
    network.fit_nodes(penalty, tolerance=1e-10)
    for i, j in edges:
        network.add_edge(int(i), int(j))
    return network.polish(penalty, tolerance=1e-10), network.model()


def test_plain_fit_finds_minimum_of_package(table, codes, model):
    lam, lam2 = 1e-3, 0.03
    margins, targets = plain.frequencies(codes, S, model.edges)
    twin = plain.PlainLikelihoodFit(model.edges, margins, targets, lam=lam, lam2=lam2)
    fitted = twin.minimise(tolerance=1e-8)
    found, learned = fitted_by_package(table, model.edges, lam, lam2)
    assert fitted.objective == pytest.approx(found.objective, abs=1e-7)
    weights = np.stack([learned.edge_weights(e) for e in range(learned.n_edges)])
    assert np.allclose(fitted.edge_weights, weights, atol=1e-3)


def test_slope_of_plain_fit_matches_finite_differences(codes, model):
    margins, targets = plain.frequencies(codes, S, model.edges)
    twin = plain.PlainLikelihoodFit(
        model.edges, margins, targets, lam=1e-3, lam2=0.03, bp_tolerance=1e-14
    )
    point = np.random.default_rng(0).normal(0, 0.3, margins.size + targets.size)
    _, slope = twin.value_and_slope(point)
    for k in range(0, len(point), 11):
        step = np.zeros(len(point))
        step[k] = 1e-5
        rise = twin.value_and_slope(point + step)[0] - twin.value_and_slope(point - step)[0]
        assert rise / 2e-5 == pytest.approx(slope[k], abs=1e-8)


def test_plain_edge_grafting_adds_edges_of_package(table, codes):
    steps = list(itertools.islice(plain.edge_grafting(codes, S, lam=1e-3, lam2=0.03), 5))
    learner = EdgeGrafting(lam=1e-3, lam2=0.03, max_edges=5, preset="paper")
    result = learn(table, learner)
    assert [edge for edge, _ in steps] == [tuple(edge) for edge in result.model.edges]
    assert steps[-1][1].objective == pytest.approx(result.objective, abs=1e-6)


def test_plain_nodewise_regression_ranks_true_edges_first():
    size = Size(8, 2000, 3, held_out=10, seed=5)
    sample = bench_work.nodewise(Lab(), size)
    assert sample.facts["best F1"] > 0.8
    codes = Problem(size).codes
    norms = plain.nodewise_l1(codes, 3, [0, 4], strength=0.05, iterations=5)
    assert norms.shape == (2, 8)
    assert norms[0, 0] == norms[1, 4] == 0.0
    assert (norms >= 0).all()
    assert norms.max() > 0


# Rows and verdicts


SMALL = Size(8, 300, 3, held_out=60, seed=2)


def spent(seconds, **facts):
    def work(lab, size):
        lab.calls = [*getattr(lab, "calls", []), size]
        return Repetition(seconds, seconds, None, facts)

    return work


def test_row_has_medians_ratio_and_verdicts():
    times = iter([9.0, 1.0, 2.0, 3.0, 50.0, 2.0, 2.0, 2.0])

    def work(lab, size):
        return Repetition(next(times), 0.5, None, {"objective": 2.02})

    goals = (Goal("ratio", 2.0, 3.0), Goal("objective gap", 0.005, 0.001), Goal("F1", 0.5, 0.9))
    twin = Yardstick("twin", spent(5.0, objective=2.0))
    row = Lab().measure(Measurement("work", SMALL, work, yardstick=twin, goals=goals))
    assert row.repetitions == 7  # the first of the eight was the warm-up
    assert row.values["seconds"] == 2.0
    assert row.values["ratio"] == 2.5
    assert row.values["objective gap"] == pytest.approx(0.01)
    assert [verdict for _, _, verdict in row.verdicts()] == ["reached", "missed", "not measured"]


def test_repetitions_end_at_time_limit():
    def slow(lab, size):
        if size == SMALL:
            lab.calls = getattr(lab, "calls", 0) + 1
            until = time.process_time() + 0.05
            while time.process_time() < until:
                pass
        return Repetition(0.05, 0.05)

    lab = Lab(seconds_per_row=0.12)
    assert lab.measure(Measurement("slow", SMALL, slow)).repetitions == lab.calls == 2
    lab = Lab(seconds_per_row=0.01)
    assert lab.measure(Measurement("slow", SMALL, slow)).repetitions == 1


@pytest.mark.parametrize(
    ("value", "verdict"), [(3.0, "surpassed"), (2.5, "reached"), (1.0, "missed")]
)
def test_verdict_follows_direction_of_goal(value, verdict):
    assert Goal("F1", 2.0, 3.0).verdict(value) == verdict
    assert Goal("seconds", -2.0, -3.0).verdict(-value) == verdict


def test_missing_data_and_yardsticks_are_reported():
    given = Size(16, 100, 2, 10, source="nltcs")
    lab = Lab()
    row = lab.measure(Measurement("x", given, bench_work.learning(bench_work.defaults)))
    assert row.missing == "the data set nltcs is missing"
    assert not row.values
    yardstick = Yardstick("edge grafting", bench_work.edge_grafting_row, warm_up=False)
    row = lab.measure(Measurement("y", SMALL, spent(1.0), yardstick=yardstick))
    assert row.missing == "edge grafting, belief score was not measured"
    assert "ratio" not in row.values
    assert "was not measured" in bench_markdown(lab.rows)


def test_learner_is_compared_with_earlier_row_and_truth():
    lab = Lab(seconds_per_row=0.0)
    grafting = f"edge grafting, {bench_work.PAPER}"
    learner = bench_work.learning(bench_work.edge_grafting)
    first = lab.measure(Measurement(grafting, SMALL, learner, group="learners"))
    yardstick = Yardstick("edge grafting", bench_work.edge_grafting_row, warm_up=False)
    work = bench_work.learning(bench_work.best_choice(1.0))
    row = lab.measure(Measurement("best-choice", SMALL, work, yardstick, group="learners"))
    assert row.yardstick_values["seconds"] == first.values["seconds"]
    assert abs(row.values["objective gap"]) < 1e-3
    truth = lab.problem(SMALL).model.edges
    found = recall_precision_f1(learned_edges(SMALL, best_choice_of(1.0)), truth)
    assert row.values["recall"] == found.recall
    assert row.values["best F1"] >= row.values["F1"] - 1e-12
    assert row.values["NLPL"] > 0


def best_choice_of(alpha):
    return bench_work.best_choice(alpha)(SMALL)


def learned_edges(size, learner):
    return learn(Problem(size).train, learner).model.edges


def test_values_of_several_samples_are_medians():
    seeds = []

    def work(lab, size):
        seeds.append(size.seed)
        seconds = {3: 1.0, 5: 4.0, 8: 2.0}[size.seed]
        return Repetition(seconds, seconds, None, {"recall": size.seed / 10})

    twin = Yardstick("twin", lambda lab, size: Repetition(10.0 * size.seed, 0.0), warm_up=False)
    measured = Measurement("work", SMALL, work, yardstick=twin, warm_up=False, seeds=(3, 5, 8))
    row = Lab().measure(measured)
    assert seeds == [3, 5, 8]
    assert row.values["seconds"] == row.values["wall"] == 2.0
    assert row.values["recall"] == 0.5
    assert row.values["ratio"] == 50.0 / 2.0
    assert row.repetitions == 3


def test_best_f1_is_the_best_of_all_prefixes():
    truth = np.array([(0, 1), (2, 3), (1, 4)])
    ranked = np.array([(1, 0), (0, 2), (2, 3), (3, 4)])
    wanted = max(recall_precision_f1(ranked[:k], truth).f1 for k in range(1, 5))
    assert best_f1(ranked, truth) == pytest.approx(wanted)
    assert best_f1(ranked[:0], truth) == 0.0


def test_declared_measurements_are_distinct():
    found = bench_rows.measurements(large=True, nltcs=True)
    keys = [(m.name, m.size, m.yardstick and m.yardstick.name) for m in found]
    assert len(set(keys)) == len(keys)
    assert {m.group for m in found} == {"speed", "learners"}
    assert {m.size.nodes for m in found} >= {50, 100, 200, 400, 600, 1_000, 10_000, 30_000}
    assert 10_000 not in {m.size.nodes for m in bench_rows.measurements()}
    named = {goal.quantity for m in found for goal in m.goals}
    assert named <= {
        *("ratio", "seconds", "KKT residual", "objective gap", "share of pairs", "precision"),
        *("recall", "wall"),
        "time over that on 1,000 nodes",
        *("F1", "best F1", "NLPL", "NLPL gap", "precision of n", "recall of 1.5 n"),
    }


def tiny(measurement):
    return dataclasses.replace(measurement, size=measurement.size.tiny(), warm_up=False)


def test_every_declared_measurement_runs():
    """Run all declared measurements on eight variables."""
    lab = Lab(seconds_per_row=0.0)
    for measurement in bench_rows.measurements(large=True):
        row = lab.measure(tiny(measurement))
        assert not row.missing, measurement.name
        assert all(value is not None for _, value, _ in row.verdicts()), measurement.name
        assert np.isfinite(list(row.values.values())).all(), measurement.name


# The command


@pytest.fixture
def few(monkeypatch):
    goals = (Goal("ratio", 2.0, 3.0), Goal("seconds", np.inf, 1.0))
    found = (
        Measurement("quick | work", SMALL, spent(2e-4), yardstick=Yardstick("twin", spent(5e-4))),
        Measurement("slow work", SMALL, spent(3.0), goals=goals),
        Measurement("learner", SMALL, bench_work.learning(bench_work.defaults), group="learners"),
    )
    monkeypatch.setattr(command, "measurements", lambda **_: found)
    return found


def test_the_command_prints_and_writes_three_files(few, tmp_path, capsys):
    assert main(["bench", "--out", str(tmp_path / "made")]) == 0
    printed = capsys.readouterr().out
    assert "quick | work, n = 8: 200 µs, twin 500 µs (2.5 times as long)" in printed
    markdown = (tmp_path / "made" / "bench.md").read_text()
    assert markdown in printed
    assert "| quick \\| work | 8 | 300 | 200 µs | twin | 500 µs | 2.5× |" in markdown
    assert "| slow work | 8 | 300 | seconds | – | ≤ 1 s | 3 s | missed |" in markdown
    assert f"numba {numba.__version__}" in markdown
    with (tmp_path / "made" / "bench.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["work"] for row in rows] == ["quick | work", "slow work", "learner"]
    assert float(rows[0]["ratio"]) == pytest.approx(2.5)
    assert 0 <= float(rows[2]["F1"]) <= 1
    record = json.loads((tmp_path / "made" / "bench.json").read_text())
    assert record["machine"]["Python"] == platform.python_version()
    assert record["rows"][1]["goals"][1] == {
        **{"quantity": "seconds", "least": None, "wanted": 1.0},
        **{"measured": 3.0, "verdict": "missed"},
    }
    assert record["rows"][2]["size"]["nodes"] == 8
    whole = markdown + json.dumps(record)
    assert str(tmp_path) not in whole
    assert platform.node() not in whole.split()


def test_interrupt_keeps_finished_rows(few, tmp_path, capsys, monkeypatch):
    def interrupted(lab, size):
        raise KeyboardInterrupt

    stopped = (few[0], Measurement("never", SMALL, interrupted), few[2])
    monkeypatch.setattr(command, "measurements", lambda **_: stopped)
    assert main(["bench", "--out", str(tmp_path)]) == 130
    assert "1 of 3 rows were measured and written" in capsys.readouterr().err
    with (tmp_path / "bench.csv").open() as file:
        assert [row["work"] for row in csv.DictReader(file)] == ["quick | work"]
    monkeypatch.setattr(command, "measurements", lambda **_: stopped[1:])
    assert main(["bench", "--out", str(tmp_path / "none")]) == 130
    assert not (tmp_path / "none" / "bench.csv").exists()


def test_option_only_selects_rows_by_name(few, tmp_path, capsys):
    assert main(["bench", "--only", "SLOW", "--out", str(tmp_path)]) == 0
    assert len((tmp_path / "bench.csv").read_text().splitlines()) == 2
    assert main(["bench", "--only", "nonsense", "--out", str(tmp_path)]) == 2
    assert "has 'nonsense' in its name" in capsys.readouterr().err


def test_nltcs_is_read_from_text_or_packed_file(tmp_path, capsys):
    rows = np.random.default_rng(0).integers(0, 2, size=(20, 4))
    for name, part in (("train", rows[:15]), ("test", rows[15:])):
        np.savetxt(tmp_path / f"nltcs.{name}.data", part, fmt="%d", delimiter=",")
    train, test = command.read_nltcs(tmp_path)
    assert np.array_equal(train.codes.T, rows[:15])
    assert np.array_equal(test.codes.T, rows[15:])
    packed = tmp_path / "packed"
    packed.mkdir()
    np.savez(packed / "nltcs.npz", train=rows[:15], test=rows[15:])
    assert np.array_equal(command.read_nltcs(packed)[0].codes, train.codes)
    np.savez(packed / "nltcs.npz", train=rows[:15] + 1, test=rows[15:])
    for folder, sentence in (
        (tmp_path / "nowhere", "does not hold rows train, test of one data set"),
        (packed, "train of nltcs is not a table of zeros and ones"),
    ):
        assert main(["bench", "--nltcs", str(folder), "--out", str(tmp_path)]) == 2
        assert sentence in capsys.readouterr().err
