"""Data of a run: limits of its cost, and what a session keeps of an upload."""

from __future__ import annotations

import dataclasses
import gc
import io
import json
import shlex
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fakes import Idle, random_table

from graftviz.__main__ import main
from graftviz.app import (
    dynamics,
    material,
    models,
    regions,
    upload,
)
from graftviz.app.dynamics import DynamicsOptions, plan_of, source
from graftviz.app.dynamics_panels import read_series_files
from graftviz.app.grow import GrowState
from graftviz.app.jobs import Executor
from graftviz.app.material import (
    UPLOAD,
    Material,
    RunCheck,
    SourceCache,
    UploadedSeries,
    UploadedTable,
    fewer_edges,
    judge,
    prepare,
)
from graftviz.app.models import (
    ShownModel,
    grid_model,
    link_of_grow_page,
    model_of_run,
    uploaded_model,
)
from graftviz.app.prune import PruneState
from graftviz.app.race import RaceState
from graftviz.app.regions import RegionState
from graftviz.app.regions_records import RegionQuery
from graftviz.app.session import executor
from graftviz.app.url import default_values
from graftviz.data.coding import TableOptions
from graftviz.data.sets.registry import load_dataset
from graftviz.data.synthetic.graphs import ising_grid
from graftviz.learning.registry import learner_class
from graftviz.model.readwrite.records import ModelFile
from graftviz.reports.words.code import learn_command

TABLE = random_table(0, 60, 400)


def test_run_beyond_limits_is_refused_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = learner_class("edge-grafting")()
    assert judge(TABLE, learner) == RunCheck()
    monkeypatch.setattr(material, "MOST_BYTES", 1000.0)
    refusal = judge(TABLE, learner).refusal
    assert "This run will take about" in refusal
    assert "1.0 kB per run. Not started." in refusal


def test_fewer_edges_are_offered_if_they_fit_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learner_class("best-choice")()
    offered = []
    for share in (0.3, 0.6, 0.9):
        seconds = share * material.of_learner(TABLE, learner).seconds
        monkeypatch.setattr(material, "ASK_SECONDS", seconds)
        assert judge(TABLE, learner).question
        budget = fewer_edges(TABLE, learner)
        if budget is not None:
            assert judge(TABLE, dataclasses.replace(learner, max_edges=budget)) == RunCheck()
            offered.append(budget)
    assert offered
    assert offered == sorted(offered), "offers should grow with the limit"
    monkeypatch.setattr(material, "ASK_SECONDS", 0.0)
    assert fewer_edges(TABLE, learner) is None


def test_command_learns_with_settings_of_page(tmp_path: Path) -> None:
    learner = learner_class("best-choice")(max_edges=2, alpha=0.5, preset="paper")
    table = tmp_path / "a table.csv"
    table.write_text("a,b,c\n" + "x,y,1\nx,z,2\ny,z,1\n" * 30, encoding="utf-8")
    command = learn_command("upload", learner, 1, {"missing": "drop"}, str(table))
    words = shlex.split(command)[3:]
    words[words.index("results")] = str(tmp_path / "results")
    assert main(words) == 0
    assert {"max_edges=2", "alpha=0.5", "preset=paper"} <= set(words)
    assert (tmp_path / "results" / "edges.csv").exists()


def test_command_uses_rows_of_page(tmp_path: Path) -> None:
    state = GrowState(
        lambda key, seed: prepare(load_dataset(key), seed), Executor(threads=1).queue()
    )
    for name, value in (("rows", 200), ("held_out", 0.25), ("seed", 3), ("max_edges", 5)):
        state.choose(name, value)
    state.refresh()
    assert state.run is not None
    state.run.grant()
    assert state.run.wait_for_end(120)
    words = shlex.split(state.command())[3:]
    words[words.index("results")] = str(tmp_path)
    assert main(words) == 0
    found, learned = json.loads((tmp_path / "result.json").read_text()), state.run.result()
    assert found["rows"] == learned.n_rows == 200
    assert found["objective"] == pytest.approx(learned.objective, abs=1e-9)
    assert found["nlpl_test"] == pytest.approx(learned.nlpl_test, abs=1e-9)


def uploaded() -> UploadedTable:
    rng = np.random.default_rng(1)
    lines = ["a,b,c,d,e", *(",".join(map(str, row)) for row in rng.integers(0, 2, size=(80, 5)))]
    file = io.BytesIO("\n".join(lines).encode())
    return upload.read_upload([("table", file)], default_values(TableOptions))


def nothing_built_in(key: str, seed: int) -> Material:
    raise AssertionError(f"{key} should not be loaded")


def race() -> RaceState:
    return RaceState(nothing_built_in, Idle())


def prune() -> PruneState:
    return PruneState(nothing_built_in, Idle())


def another_race(state: RaceState) -> None:
    state.choose("edges", 3)


def other_runs(state: PruneState) -> None:
    state.choose("exchanges", 3)


def test_replaced_upload_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    session: dict[str, object] = {}
    streamlit = SimpleNamespace(session_state=session, spinner=lambda _: nullcontext())
    monkeypatch.setattr(upload, "st", streamlit)

    def read(file_id: str) -> weakref.ref[UploadedTable]:
        files = [("table", SimpleNamespace(file_id=file_id))]
        found = upload.read_once("table", files, (), uploaded)
        assert upload.read_once("table", files, (), pytest.fail) is found
        return weakref.ref(found)

    first, state_before = read("first"), dict(session)
    second = read("second")
    gc.collect()
    assert first() is None, "the replaced upload is still referenced"
    assert second() is not None
    assert state_before


@pytest.mark.parametrize(("page", "change"), [(race, another_race), (prune, other_runs)])
def test_table_is_prepared_once_and_released(
    page: Callable[[], RaceState | PruneState],
    change: Callable[[RaceState | PruneState], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared_materials: list[weakref.ref[Material]] = []

    def preparing(*arguments: object) -> Material:
        prepared = prepare(*arguments)
        prepared_materials.append(weakref.ref(prepared))
        return prepared

    prepare = material.prepare
    monkeypatch.setattr(material, "prepare", preparing)
    state = page()
    state.choose("data", UPLOAD)
    state.accept(uploaded())
    state.refresh(), state.problem
    change(state)
    state.refresh(), "these are other runs"
    assert len(prepared_materials) == 1, "the same rows were prepared again"
    state.choose("seed", 1)
    state.refresh()
    assert len(prepared_materials) == 2, "another seed has other held-out rows"
    assert state.material is prepared_materials[1]()
    state.jobs.leave()
    del state
    gc.collect()
    assert [material() for material in prepared_materials] == [None, None]


def series() -> UploadedSeries:
    rows = b"".join(b"%d,%d\n" % (k * k % 7, k % 5) for k in range(60))
    return read_series_files([("series", io.BytesIO(b"a,b\n" + rows))], {})


def test_results_of_uploaded_series_are_cached_with_them() -> None:
    options = DynamicsOptions(data="upload")

    def work_on(files: UploadedSeries) -> list[object]:
        material = source(options, files)
        assert material is not None
        plan = plan_of(options, material)
        return [
            material,
            dynamics.run(material, plan),
            dynamics.measure(material, plan),
            dynamics.survey(material, plan.learner, 0),
        ]

    mine, theirs = series(), series()
    first, second = work_on(mine), work_on(mine)
    assert all(one is again for one, again in zip(first, second, strict=True))
    assert not any(one is other for one, other in zip(first, work_on(theirs), strict=True))
    references = [weakref.ref(one) for one in first]
    mine.own.clear()
    del first, second
    gc.collect()
    assert [one() for one in references] == [None] * len(references)


def test_results_of_uploaded_model_are_cached_with_it() -> None:
    model = ising_grid(2, 2, field=0.3, coupling=0.2, seed=0)
    found = ModelFile(model)

    def work_on(shown: ShownModel) -> list[object]:
        question = RegionQuery(0, "greedy", "drop", 0.0, 3, 0)
        return [
            regions.region(shown, question),
            regions.influence(shown),
            regions.whole(shown),
        ]

    mine, theirs = (uploaded_model(found.model) for _ in range(2))
    assert mine.identity == theirs.identity
    first = work_on(mine)
    assert all(one is again for one, again in zip(first, work_on(mine), strict=True))
    assert not any(one is other for one, other in zip(first, work_on(theirs), strict=True))
    state = RegionState()
    state.choose("data", UPLOAD)
    state.accept(mine)
    state.refresh()
    state.forget()
    assert not any(one is other for one, other in zip(first, work_on(mine), strict=True))
    grid, same_grid = (grid_model(2, 0.3, 0.2, seed=0) for _ in range(2))
    assert all(one is same for one, same in zip(work_on(grid), work_on(same_grid), strict=True)), (
        "results of built-in models should be shared"
    )


def test_model_learned_from_uploaded_table_has_own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    grow = GrowState(nothing_built_in, executor().queue())
    monkeypatch.setattr(models, "opened_grow_state", lambda: grow)
    grow.choose("data", UPLOAD)
    grow.choose("learner", "chow-liu")
    grow.accept(uploaded())
    grow.refresh()
    shown = model_of_run(link_of_grow_page())
    assert shown.own is not None
    assert shown.model.n_edges == 4


def test_cache_drops_the_least_recently_used_entry() -> None:
    cache, computed = SourceCache(2), []

    def get(key: str) -> str:
        return cache.get(key, lambda: computed.append(key) or key)

    for key in "abacbc":
        assert get(key) == key
    assert computed == ["a", "b", "c", "b"]
    cache.clear()
    get("c")
    assert computed[-1] == "c"
