"""The strongest pairs that are not edges, with their reasons: in results, files and on the page."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from app_pages import open_page, run_while
from fakes import finished_run

import graftviz as gv
from graftviz import BestChoice, DiscreteTable, PairwiseMRF
from graftviz.__main__ import main
from graftviz.data.sets.registry import load_dataset
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.learning.registry import learner_class, learner_names
from graftviz.reports.files.run_folder import result_json
from graftviz.reports.words import answers
from graftviz.reports.words.answers import absent_words, strongest_absent
from graftviz.reports.words.third_variable import conditional_norm

NOTHING = "No pair without an edge is stronger than chance explains."


def noisy(column: np.ndarray, flips: float, rng: np.random.Generator) -> np.ndarray:
    """Return a binary column with this share of the values changed."""
    return column ^ (rng.random(len(column)) < flips)


def chain(rows: int = 2000, seed: int = 0) -> DiscreteTable:
    """Return rows of a chain a – b – c with strong links."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, rows)
    b = noisy(a, 0.15, rng)
    return coded([a, b, noisy(b, 0.15, rng)])


def coded(columns: list[np.ndarray]) -> DiscreteTable:
    return DiscreteTable.from_codes(
        np.column_stack(columns), names=list("abcdefgh")[: len(columns)]
    )


def independent(n: int, rows: int, seed: int) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).integers(0, 2, (n, rows)))


def weak() -> DiscreteTable:
    """Return four variables of which the first two depend weakly: 27 of 40 rows agree."""
    rng = np.random.default_rng(3)
    a = np.repeat([0, 1], 20)
    b = a.copy()
    b[[*range(6), *range(20, 27)]] ^= 1
    return coded([a, b, *(rng.permutation(np.tile([0, 1], 20)) for _ in range(2))])


def test_ends_of_a_chain_are_explained_by_its_middle() -> None:
    result = gv.learn(chain(), BestChoice())
    assert sorted(result.edges.tolist()) == [[0, 1], [1, 2]]
    assert result.not_found is not None
    (found,) = result.not_found
    assert found[:2] == (0, 2)
    assert (found.reason, found.third) == ("third", 1)
    assert found.strength > 5.0
    given = 2.0 * conditional_norm(chain(), 0, 2, 1) / 4.0
    assert found.words.startswith("b explains it: given b, the score falls from")
    assert f"to {given:#.3g}, below its own limit" in found.words
    assert result.not_found is result.not_found


def test_weak_pair_with_too_few_rows_is_listed_with_the_rows_it_needs() -> None:
    result = gv.learn(weak(), BestChoice(significance=3.0))
    assert result.n_edges == 0
    assert result.not_found
    found = result.not_found[0]
    assert found[:2] == (0, 1)
    assert found.reason == "rows"
    assert 0.0 < found.strength < 1.0
    assert re.search(r"it needs (about|more than) [\d,]+ rows; there are 40\.", found.words)
    assert "of 6 pairs without an edge as strong as this." in found.words


def test_forbidden_pair_is_listed() -> None:
    result = gv.learn(chain(), BestChoice(forbidden="a -- b"))
    assert result.not_found
    assert result.not_found[0][:2] == (0, 1)
    assert result.not_found[0].reason == "forbidden"
    assert result.not_found[0].words == "The pair is forbidden by the options."


def test_pair_beyond_the_edge_budget_still_violates() -> None:
    result = gv.learn(chain(), BestChoice(max_edges=1))
    assert result.not_found
    assert result.not_found[0].reason == "violates"
    assert result.not_found[0].third is None


def test_pair_that_no_single_variable_explains_is_explained_by_all_edges() -> None:
    ring = [(0, 1), (0, 2), (1, 3), (2, 3)]
    weights = np.concatenate([np.zeros(8), np.tile(1.2 * np.eye(2).ravel(), 4)])
    rows = JunctionTree(PairwiseMRF([2] * 4, ring, weights)).sample(4000, 1)
    result = gv.learn(coded(list(rows)), BestChoice())
    assert sorted(map(tuple, result.edges.tolist())) == ring
    found = next(each for each in result.not_found or () if each[:2] == (0, 3))
    assert found.reason == "edges"
    assert found.third is None
    assert found.words.startswith("No single variable explains it")


def test_pair_of_rare_states_is_judged_by_its_cells() -> None:
    a, b = np.zeros((2, 400), dtype=np.int64)
    a[:7], b[3:10] = 1, 1
    table = coded([a, b, *independent(3, 400, 2)])
    (found,) = gv.learn(table, BestChoice(significance=5.0)).not_found or ()
    assert found[:2] == (0, 1)
    assert found.reason == "rare"
    assert found.strength > 1.0
    assert "too few rows are in the states that deviate" in found.words


def test_pairs_that_chance_explains_are_not_listed() -> None:
    results = [gv.learn(coded(independent(8, 500, seed)), BestChoice()) for seed in range(10)]
    found = [len(result.not_found or ()) for result in results]
    assert found.count(0) >= 5
    assert sum(found) <= 10


def test_listed_pairs_are_the_strongest_inactive_ones() -> None:
    table = load_dataset("karate").table
    result = gv.learn(table, BestChoice())
    found = result.not_found
    assert found is not None
    assert len(found) == 5
    strengths = [each.strength for each in found]
    assert strengths == sorted(strengths, reverse=True)
    active = set(map(tuple, result.edges.tolist()))
    assert not active & {each[:2] for each in found}
    assert result.run is not None
    assert strongest_absent(result.run, 2) == found[:2]
    assert all(absent_words(result.run, each).endswith(".") for each in found)


@pytest.mark.parametrize("name", learner_names())
def test_only_learners_that_score_pairs_have_a_list(name: str) -> None:
    cls = learner_class(name)
    found = gv.learn(chain(300), cls()).not_found
    assert (found is not None) == (cls.by_score and not cls.by_feature)


def test_large_tables_have_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    run = finished_run(chain(), BestChoice())
    monkeypatch.setattr(answers, "_MOST_VARIABLES", 2)
    assert strongest_absent(run) is None


def test_list_is_in_files_and_pickles() -> None:
    result = gv.learn(chain(), BestChoice())
    (entry,) = json.loads(result_json(result))["not_found"]
    assert (entry["source"], entry["target"], entry["third"]) == ("a", "c", "b")
    assert pickle.loads(pickle.dumps(result)).not_found == result.not_found
    fresh = gv.learn(chain(), BestChoice())
    assert pickle.loads(pickle.dumps(fresh)).not_found is None
    other = json.loads(result_json(gv.learn(chain(300), "chow-liu")))
    assert "not_found" not in other


def test_command_prints_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for table, expected in (
        (chain(), "not found   a – c: b explains it: given b"),
        (coded(independent(3, 400, 1)), f"not found   {NOTHING}"),
    ):
        table.to_frame().to_csv(tmp_path / "table.csv", index=False)
        command = ["learn", str(tmp_path / "table.csv"), "--out", str(tmp_path / "out")]
        assert main(command) == 0
        assert expected in capsys.readouterr().out


def test_grow_page_shows_the_list() -> None:
    app = open_page("", data="karate", preset="best")
    app.session_state["grow.not_found.open"] = True
    app.run()
    assert not app.exception
    run_while(app, lambda: not any("explains it" in text.value for text in app.markdown))
    assert "- **member 13 – member 18** – member 1 explains it" in app.markdown[-1].value
    assert "Strongest pairs without an edge" in app.menu_button(key="grow.tools").options
