"""Session state of the Regions page: links, queries, unusable models."""

from __future__ import annotations

import numpy as np
import pytest

from graftviz import InputError, PairwiseMRF
from graftviz.app.material import UPLOAD
from graftviz.app.models import ShownModel, check_size, grid_model, uploaded_model
from graftviz.app.regions import GRID, RUN, RegionState
from graftviz.inference.local.marginal import promising_query
from graftviz.reports.files.uploads import read_uploaded_model


def uploaded(files: dict[str, bytes]) -> ShownModel:
    found = read_uploaded_model(files)
    return uploaded_model(found.model, found.notes)


def opened(**query: str) -> RegionState:
    state = RegionState()
    state.follow(query)
    state.refresh()
    return state


def test_a_query_is_set_by_name_or_number() -> None:
    state = opened(side="4")
    state.set_query("r2c3")
    assert (state.query, state.options.step) == (11, None)
    state.set_query(" 5 ")
    assert state.query == 5
    for bad in ("r9c9", "16", "-1", "", "5.5", "99999999999999999999"):
        state.set_query(bad)
        assert state.query == 5
        assert len(state.complaints) == 1
    state.set_query("0")
    assert (state.query, state.complaints) == (0, ())


def test_another_query_starts_at_its_first_step() -> None:
    state = opened(step="3", state="0")
    state.choose("t2", 0.5)
    assert state.options.step == 3
    state.choose("query", 7)
    assert (state.options.step, state.options.state) == (None, None)
    state.choose("data", UPLOAD)
    assert state.options.query is None


def test_refused_model_leaves_shown_model_unchanged() -> None:
    state = opened(side="4")
    shown = state.shown
    state.choose("data", RUN)
    state.refresh()
    assert state.shown is shown
    assert "no run yet" in state.problem
    state.choose("data", GRID)
    state.refresh()
    assert state.problem == ""


def test_link_has_fingerprint_of_uploaded_model() -> None:
    state = opened(data=UPLOAD)
    assert state.shown is None
    text = b"MARKOV\n3\n2 3 2\n2\n2 0 1\n2 1 2\n6\n1 2 3 4 5 6\n6\n1 2 3 4 5 6\n"
    state.accept(uploaded({"small.uai": text}))
    state.refresh()
    shown = state.shown
    assert shown.model.n_variables == 3
    assert state.link() == {"data": UPLOAD, "fingerprint": state.options.fingerprint}
    assert len(state.options.fingerprint) == 16


def test_refusal_of_large_model_names_the_command_line() -> None:
    chain = np.stack([np.arange(3999), np.arange(1, 4000)], axis=1)
    model = grid_model(2, 1.0, 1.0, 0).model
    large = type(model)(np.full(4000, 1), chain, np.zeros(4000 + 3999))
    with pytest.raises(InputError, match="graftviz local"):
        check_size(large)


def test_picture_depends_on_seed_and_not_on_strengths() -> None:
    one, other = grid_model(5, 0.2, 0.3, 1), grid_model(5, 0.9, 0.1, 1)
    assert one.picture == other.picture
    assert one.identity != other.identity
    relative = [m.model.edge_norms() / m.model.edge_norms().max() for m in (one, other)]
    np.testing.assert_allclose(*relative)
    assert grid_model(5, 0.2, 0.3, 2).picture != one.picture
    assert one.usual_query == 12


def test_default_query_is_in_weakly_coupled_part() -> None:
    # A chain of strong edges, 0 – 1 – 2, and a chain of weak edges, 3 – 4 – 5.
    tables = {(0, 1): 3.0, (1, 2): 3.0, (3, 4): 0.2, (4, 5): 0.2}
    edges = {pair: np.array([[w, -w], [-w, w]]) for pair, w in tables.items()}
    model = PairwiseMRF.from_tables([np.zeros(2)] * 6, edges)
    assert promising_query(model) == 4
    assert promising_query(PairwiseMRF.from_tables([np.zeros(2)] * 3, {})) == 0
