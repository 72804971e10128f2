"""Results as folders, files and notebook output."""

from __future__ import annotations

import html
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import graftviz as gv
from graftviz import ChowLiu, InputError, Result
from graftviz.__main__ import main


@pytest.fixture(scope="module")
def result() -> Result:
    return gv.learn(gv.load_dataset("survey").table, ChowLiu())


def test_save_writes_same_files_as_the_command(result: Result, tmp_path: Path) -> None:
    saved, learned = tmp_path / "saved", tmp_path / "learned"
    assert result.save(saved) == saved
    assert main(["learn", "survey", "--learner", "chow-liu", "--out", str(learned)]) == 0
    names = {path.name for path in learned.iterdir()}
    assert {path.name for path in saved.iterdir()} == names
    for name in ("edges.csv", "model.uai", "model.names.json", "graph.graphml"):
        assert (saved / name).read_bytes() == (learned / name).read_bytes()
    for folder in (saved, learned):
        found = gv.read_result(folder)
        assert (found.model.edges == result.model.edges).all()
        np.testing.assert_allclose(found.model.weights, result.model.weights, atol=1e-12)
        assert found["edges"] == result.n_edges == len(found.edges)
        assert len(found.trace) == len(result.trace)
        assert found.most_probable() == result.most_probable()
        assert len(repr(found)) < 200
    with pytest.raises(InputError, match="no entry 'f2'"):
        found["f2"]


def test_folder_without_a_file_is_refused_as_result(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    (tmp_path / "trace.csv").unlink()
    with pytest.raises(InputError, match=r"trace\.csv cannot be read"):
        gv.read_result(tmp_path)


@pytest.mark.parametrize("name", ["a.uai", "a.graphml", "a.json"])
def test_model_is_read_as_written(result: Result, tmp_path: Path, name: str) -> None:
    model, path = result.model, tmp_path / name
    assert gv.write_model(model, path) == path
    restored = gv.read_model(path)
    assert (restored.names, restored.labels) == (model.names, model.labels)
    assert {tuple(edge) for edge in restored.edges.tolist()} == {
        tuple(e) for e in model.edges.tolist()
    }
    np.testing.assert_allclose(
        restored.predict_proba({"home": "city"}, "commute"),
        model.predict_proba({"home": "city"}, "commute"),
    )


def test_an_unknown_ending_is_refused(result: Result, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ending in \.uai, .*, not 'a\.txt'"):
        gv.write_model(result.model, tmp_path / "a.txt")


def test_what_has_no_model_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not an object of type str"):
        gv.write_model("model", tmp_path / "model.uai")  # type: ignore[arg-type]


def test_notebooks_show_the_replay_in_a_sandboxed_frame(result: Result) -> None:
    shown = result._repr_html_()
    (source,) = re.findall(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"', shown)
    assert html.unescape(source) == result.run.to_html()
    assert html.escape(repr(result)) in shown
    assert "<iframe" not in gv.Run(gv.load_dataset("survey").table, ChowLiu())._repr_html_()


def test_a_pickled_result_has_its_model_but_no_run(result: Result, tmp_path: Path) -> None:
    restored = pickle.loads(pickle.dumps(result))
    assert (restored.model.weights == result.model.weights).all()
    assert "<iframe" not in restored._repr_html_()
    with pytest.raises(InputError, match="save the result before pickling"):
        restored.save(tmp_path)
