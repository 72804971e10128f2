"""``reproduce``: results of every experiment, and reuse of measured parts."""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

from graftviz.__main__ import main
from graftviz.cli import reproduce as command
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.reports.reproduction import curves
from graftviz.reports.reproduction.data import SOURCES
from graftviz.reports.reproduction.experiment import (
    SCALES,
    SMALL,
    TINY,
    PartCache,
    Reproduction,
)
from graftviz.reports.reproduction.papers import experiment, experiments

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = tuple(experiments().values())
NAMES = list(experiments())
QUICK = "best-choice-fig4"
PARTS = len(Reproduction(experiment(QUICK), TINY, 0).parts)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Small substitutes of the public data sets: chains of dependent variables."""
    folder = tmp_path_factory.mktemp("given")
    rng = np.random.default_rng(5)
    paths = {}
    for name, states in (
        ("jester", 5),
        *((name, 2) for name in ("yummly", "plants", "nltcs", "msnbc")),
    ):
        steps = rng.random((300, 9)) < 0.3
        codes = np.cumsum(steps, axis=1) % states
        paths[name] = folder / f"{name}.csv"
        header = ",".join(f"v{i}" for i in range(9))
        np.savetxt(paths[name], codes, fmt="%d", delimiter=",", header=header, comments="")
    return paths | {"cora": citations(folder / "cora", papers=25)}


def citations(folder, papers):
    """Write a graph of papers with two fields and return its path."""
    folder.mkdir()
    rows = [f"{k},{'Neural_Networks' if k % 3 else 'Theory'}" for k in range(papers)]
    pairs = [f"{i},{j}" for i, j in scale_free_graph(papers, seed=4).edges]
    (folder / "nodes_all.csv").write_text("\n".join(["node,class", *rows]) + "\n")
    (folder / "edges_all.csv").write_text("\n".join(["u,v", *pairs]) + "\n")
    return folder


def run(name, folder, *more, scale=TINY, given=None):
    paths = [f"{need}={given[need]}" for need in experiment(name).needs] if given else []
    data = ["--data", *paths] if paths else []
    return main(["reproduce", name, "--scale", scale, "--out", str(folder), *data, *more])


def measured(folder):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    text = (folder / "measured.json").read_text(encoding="utf-8")
    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Folder in which figures of the same runs share parts."""
    return tmp_path_factory.mktemp("shared")


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_writes_figure_data_and_verdict(name, shared, given, capsys):
    assert run(name, shared, "--seed", "3", given=given) == 0
    check_results(name, shared, seed=3)
    output = capsys.readouterr()
    assert output.err == ""
    assert all(claim.words in output.out for claim in experiment(name).claims)


def check_results(name, folder, *, seed=0, scale=TINY):
    item, found = experiment(name), measured(folder)
    parts = Reproduction(item, scale, seed).parts
    assert (found["experiment"], found["scale"], found["seed"]) == (name, scale, seed)
    assert found["status"] == "run"
    assert found["parts"] == found["parts_measured"] == len(parts)
    assert found["held"] in (True, False, "partly")
    assert len(found["claims"]) == len(item.claims)
    for claim in found["claims"]:
        assert claim["held"] in (True, False, "partly", None)
        assert claim["measured"].endswith(".")
        assert (claim["judged"] == 0) == (claim["held"] is None)
        assert claim["numbers"] or claim["held"] is None
        assert (claim["met"] == claim["judged"]) == (claim["held"] in (True, None))
    judged = [claim["held"] for claim in found["claims"] if claim["held"] is not None]
    assert (found["held"] is True) == all(held is True for held in judged)
    assert (found["held"] is False) == all(held is False for held in judged)
    assert found["sentence"].startswith(f"{judged.count(True)} of {len(item.claims)} statements")
    assert found["measured"]
    assert found["settings"] == json.loads(json.dumps(item.settings))
    assert {"graftviz", "numpy", "python"} <= set(found["versions"])
    assert name in found["command"]
    page = (folder / f"{name}.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link)[^>]+(src|href)=", page)
    for claim in found["claims"]:
        assert html.escape(claim["claim"]) in page
        assert html.escape(claim["measured"]) in page
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    assert all((folder / file).exists() for file in found["files"])


def test_finished_parts_are_not_measured_again(tmp_path, monkeypatch):
    counts = counting(monkeypatch)
    assert run(QUICK, tmp_path) == 0
    first = measured(tmp_path)
    assert len(counts) == PARTS
    assert run(QUICK, tmp_path) == 0
    repeated = measured(tmp_path)
    assert len(counts) == PARTS
    assert repeated["parts_kept_from_earlier"] == PARTS
    for found in (first, repeated):
        del found["parts_kept_from_earlier"], found["date"]
    assert first == repeated
    # Figures of the same runs share parts; another seed gives other runs.
    assert run("best-choice-fig2", tmp_path) == 0
    assert len(counts) == PARTS
    assert run(QUICK, tmp_path, "--fresh") == 0
    assert run(QUICK, tmp_path, "--seed", "9") == 0
    assert len(counts) == 3 * PARTS


def test_interrupted_experiment_resumes_from_measured_parts(tmp_path, monkeypatch, capsys):
    counts = counting(monkeypatch, interrupt_at=5)
    assert run(QUICK, tmp_path) == 130
    assert f"4 of {PARTS} parts" in capsys.readouterr().err
    found = measured(tmp_path)
    assert (found["status"], found["parts_measured"]) == ("interrupted", 4)
    assert (tmp_path / f"{QUICK}.html").exists()
    assert len(counts) == 5
    assert run(QUICK, tmp_path) == 0
    assert len(counts) == 5 + PARTS - 4
    assert measured(tmp_path)["parts_kept_from_earlier"] == 4
    check_results(QUICK, tmp_path)


def test_interrupt_before_first_part_is_reported(tmp_path, monkeypatch):
    counting(monkeypatch, interrupt_at=1)
    assert run(QUICK, tmp_path) == 130
    found = measured(tmp_path)
    assert (found["status"], found["held"], found["parts_measured"]) == ("interrupted", None, 0)


def counting(monkeypatch, *, interrupt_at=None):
    """Record every measured part; interrupt at the part of the given number."""
    counts = []
    measure = curves._measure

    def counted(*arguments):
        counts.append(arguments)
        if len(counts) == interrupt_at:
            raise KeyboardInterrupt
        return measure(*arguments)

    monkeypatch.setattr(curves, "_measure", counted)
    return counts


def test_the_same_seed_gives_the_same_curves(tmp_path):
    for folder in ("a", "b"):
        assert run(QUICK, tmp_path / folder) == 0
    tables = []
    for folder in ("a", "b"):
        with (tmp_path / folder / f"{QUICK}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            del row["seconds"], row["time_to_edge_grafting"]
        tables.append(rows)
    assert tables[0] == tables[1]


def test_damaged_or_foreign_stored_part_is_not_used(tmp_path):
    cache = PartCache(tmp_path)
    cache.put({"a": 1}, [{"b": 2.5}])
    assert cache.get({"a": 1}) == [{"b": 2.5}]
    assert cache.get({"a": 2}) is None
    assert PartCache(tmp_path, fresh=True).get({"a": 1}) is None
    (file,) = tmp_path.iterdir()
    file.write_text(json.dumps({"settings": {"a": 2}, "rows": []}))
    assert cache.get({"a": 1}) is None
    file.write_text('{"settings": {"a"')
    assert cache.get({"a": 1}) is None


def test_list_has_data_and_cost_of_every_experiment(capsys):
    assert main(["reproduce", "list"]) == 0
    output = capsys.readouterr().out
    for item in EXPERIMENTS:
        assert re.search(rf"^{re.escape(item.name)}$", output, re.MULTILINE)
        assert item.title in output
        assert item.place in output
        assert f"small about {item.cost[0]}, paper about {item.cost[1]}" in output
    assert "needs --data: jester, yummly" in output


def test_the_list_holds_all_figures_of_papers_and_chapter():
    assert len(set(NAMES)) == len(NAMES)
    wanted = {f"best-choice-fig{k}" for k in range(1, 8)}
    wanted |= {"best-choice-table1", "best-choice-tuning"}
    wanted |= {f"thesis-fig3.{k}" for k in range(3, 11)}
    wanted |= {f"thesis-fig2.{k}" for k in range(2, 9)}
    wanted |= {"thesis-table2.1", "thesis-table3.1", "thesis-rows", "thesis-seeds"}
    wanted |= {f"localized-fig{k}" for k in range(3, 8)}
    assert wanted <= set(NAMES)
    for item in EXPERIMENTS:
        assert {*item.needs, *item.accepts} <= set(SOURCES)
        works = [sum(part.work for part in Reproduction(item, scale, 0).parts) for scale in SCALES]
        assert works == sorted(works)


def test_the_results_page_has_every_experiment_with_its_statements():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    for item in EXPERIMENTS:
        section = re.search(
            rf"^### `{re.escape(item.name)}`.*?(?=^##|\Z)", page, re.DOTALL | re.MULTILINE
        )
        assert section, item.name
        output = section[0].replace("\\|", "|")
        assert [claim.words for claim in item.claims if claim.words not in output] == []


def test_experiment_without_data_names_the_download(tmp_path, capsys):
    assert run("best-choice-fig7", tmp_path) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "best-choice-fig7 was not run" in output.err
    assert "--data jester=FILE yummly=FILE" in output.err
    found = measured(tmp_path)
    assert (found["status"], found["held"]) == ("not run", None)
    assert found["sentence"].startswith("Not run. Data are missing")


def test_experiment_with_one_of_two_data_sets_is_measured_in_part(tmp_path, given, capsys):
    assert run("best-choice-fig7", tmp_path, "--data", str(given["jester"])) == 0
    assert "--data yummly=FILE" in capsys.readouterr().out
    found = measured(tmp_path)
    assert found["status"] == "partly run"
    assert {run["title"] for run in found["measured"]} == {"Jester, 8 variables, 8 edges"}
    assert found["claims"][-1]["held"] is None


def test_given_series_replace_generated_series(tmp_path, capsys):
    values = np.random.default_rng(2).poisson(40.0 + 30.0 * np.sin(np.arange(200) / 4.0), (8, 200))
    np.savez(tmp_path / "hourly_counts.npz", hourly=values.T)
    name, folder = "thesis-fig2.8", tmp_path / "results"
    assert run(name, folder, "--data", str(tmp_path / "hourly_counts.npz")) == 0
    check_results(name, folder)
    assert {run["data"] for run in measured(folder)["measured"]} == {
        "hourly_counts.npz: 8 series, 134 + 34 rows"
    }
    assert "hourly_counts.npz" in (folder / f"{name}.html").read_text(encoding="utf-8")
    assert run(name, folder) == 0  # stored parts belong to other data
    assert "simulated city" in measured(folder)["measured"][0]["data"]
    assert main(["reproduce", "list"]) == 0
    assert "needs no data, accepts --data: series" in capsys.readouterr().out


def test_default_folder_of_results_is_beside_shared_parts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", QUICK, "--scale", TINY]) == 0
    assert "its verdicts say nothing about the statements" in capsys.readouterr().out
    assert measured(tmp_path / command.DEFAULT_FOLDER / QUICK)["experiment"] == QUICK
    assert len(list((tmp_path / command.DEFAULT_FOLDER / command.CACHE).iterdir())) == PARTS


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["best-choice-fig99"], "There is no experiment 'best-choice-fig99'; did you mean"),
        (["thesis-fig3.8", "--data", "nowhere.csv"], "There is no file or folder nowhere.csv."),
        ([QUICK, "--data", "."], "it needs no data"),
        (["thesis-fig2.2", "--data", "."], "it needs no data"),
        (["thesis-fig2.7", "--data", ".", "."], "one path too many"),
        (["thesis-fig2.7", "--data", "."], "There are no time series"),
        (["thesis-fig3.8", "--data", "jester=."], "does not use jester"),
        (["thesis-fig3.8", "--data", ".", "."], "one path too many"),
        (["localized-fig6", "--data", "cora=."], "holds no cora.cites and cora.content"),
        ([QUICK, "--seed", "-1"], "The seed must be at least 0"),
    ],
)
def test_invalid_requests_print_one_sentence(arguments, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    output = capsys.readouterr()
    assert complaint in output.err
    assert output.err.count("\n") == 1
    assert "Traceback" not in output.err


@pytest.fixture(scope="module")
def larger(tmp_path_factory):
    """Substitutes of the public data sets, large enough for the small scale."""
    folder = tmp_path_factory.mktemp("larger")
    rng = np.random.default_rng(7)
    paths = {}
    for name, states in (
        ("jester", 5),
        *((name, 2) for name in ("yummly", "plants", "nltcs", "msnbc")),
    ):
        paths[name] = folder / f"{name}.npz"
        codes = np.cumsum(rng.random((4500, 150)) < 0.2, axis=1) % states
        np.savez_compressed(paths[name], X=codes.astype(np.uint8))
    return paths | {"cora": citations(folder / "cora", papers=400)}


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_at_the_small_scale(name, shared, larger):
    assert run(name, shared, scale=SMALL, given=larger) == 0
    check_results(name, shared, scale=SMALL)
