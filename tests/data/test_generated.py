"""Generated data: settings, noise, and the entry of the app."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from app_pages import open_page, query_of, run_while, sentences

from graftviz import DiscreteTable, InputError, read_table
from graftviz.__main__ import main
from graftviz.data.sets.generated import Generated, generated
from graftviz.data.sets.registry import load_dataset
from graftviz.data.synthetic.potentials import add_noise
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.reports.words.code import learn_command

TABLE = DiscreteTable.from_codes(np.repeat([[1, 2]], 20_000, axis=0), labels=["ab", "abcd"])
SMALL = Generated(variables=9, samples=200, noise=0.25, data_seed=3)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_noise_replaces_a_share_of_the_cells_by_random_states(share: float) -> None:
    noisy = add_noise(TABLE, share, seed=5)
    assert (noisy.names, noisy.labels) == (TABLE.names, TABLE.labels)
    for before, after, states in zip(TABLE.codes, noisy.codes, TABLE.cardinalities, strict=True):
        counts = np.bincount(after, minlength=states) / TABLE.n_rows
        expected = np.full(states, share / states)
        expected[before[0]] += 1.0 - share
        assert np.abs(counts - expected).max() < 0.02  # six standard deviations
    assert np.array_equal(noisy.codes, add_noise(TABLE, share, seed=5).codes)
    assert np.array_equal(noisy.codes, add_noise(TABLE, share, seed=6).codes) == (share == 0.0)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_noise_outside_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="a share from 0 to 1"):
        add_noise(TABLE, share)


@pytest.mark.parametrize(
    ("graph", "variables", "edges"), [("grid", 11, 12), ("scale-free", 9, 14), ("random", 9, 14)]
)
def test_settings_determine_data(graph: str, variables: int, edges: int) -> None:
    settings = Generated(graph=graph, variables=variables, samples=300, strength=0.8)
    data = settings.data_set()
    assert data.truth is not None
    assert (len(data.truth), data.table.n_rows) == (edges, 300)
    assert data.table.n_variables == 9  # a grid of 3 × 3
    assert (data.positions is not None) == (graph == "grid")
    assert generated(settings.key) == settings
    again = load_dataset(settings.key)
    assert again.table.fingerprint == data.table.fingerprint
    noisy = load_dataset(f"{settings.key},noise=0.5")
    assert np.array_equal(noisy.truth, data.truth)
    changed = (noisy.table.codes != data.table.codes).mean()
    assert abs(changed - 0.5 * 2 / 3) < 0.05  # a third of the random states are the same


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("generated:noise", "Generated data are written as"),
        ("generated:nodes=3", "no option 'nodes'"),
        ("generated:variables=101", "variables"),
        ("generated:noise=2", "noise"),
    ],
)
def test_invalid_settings_are_refused(key: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load_dataset(key)


def test_command_line_adds_same_noise(tmp_path: Path) -> None:
    words = ["generate", "mrf", "--nodes", "9", "--states", "3", "--rows", "200", "--seed", "3"]
    words += ["--edge-sigma", "0.5", "--noise", "0.25", "--out", str(tmp_path)]
    assert main(words) == 0
    found = read_table(tmp_path / "table.csv")
    assert np.array_equal(found.codes, SMALL.data_set().table.codes)
    assert main([*words[:-4], "--noise", "1.5", "--out", str(tmp_path / "other")]) == 2
    assert not (tmp_path / "other").exists()


def test_command_of_page_learns_from_same_data(tmp_path: Path) -> None:
    settings = {"variables": 9, "samples": 200}
    command = learn_command("generated", ChowLiu(), 0, settings)
    key = command.split(" learn ")[1].split()[0]
    assert generated(key) == Generated(**settings)
    assert main(["learn", key, "--learner", "chow-liu", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "edges.csv").exists()


def test_entry_has_settings_in_link_and_true_edges() -> None:
    app = open_page("", data="karate", learner="chow-liu")
    app.selectbox(key="choose.data").set_value("generated").run()
    app.slider(key="choose.generated.variables").set_value(12).run()
    app.slider(key="choose.generated.noise").set_value(0.2).run()
    app = run_while(app, lambda: False)
    assert sentences(app) == ""
    state = app.session_state["grow"]
    expected = Generated(variables=12, noise=0.2).data_set()
    assert state.material.fingerprint == expected.table.fingerprint[:16]
    assert np.array_equal(state.material.truth, expected.truth)
    query = query_of(app)
    assert {"data": "generated", "variables": "12", "noise": "0.2"}.items() <= query.items()
    again = open_page("", **query)
    assert again.session_state["grow"].material.identity == state.material.identity
    app.selectbox(key="choose.data").set_value("karate").run()
    assert not {"variables", "noise"} & query_of(app).keys()


def test_setting_of_link_out_of_range_is_reported() -> None:
    app = open_page("", data="generated", learner="chow-liu", variables="5000", noise="0.1")
    assert "variables" in sentences(app)
    assert app.session_state["grow"].values["reading"] == {"noise": 0.1}
