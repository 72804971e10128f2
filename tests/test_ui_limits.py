"""Limits: entries of the file, refusals, notices and offers."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from app_pages import is_compiling, page_at, run_while, sentences
from fakes import random_table
from streamlit.runtime.caching import clear_session_resource_cache

from graftviz import InputError
from graftviz.__main__ import main
from graftviz.datasets import load_dataset
from graftviz.learners.registry import learner_class
from graftviz.material import prepare
from graftviz.narrative.command_line import learn_command
from graftviz.options import option_specs
from graftviz.serving import limits as limits_module
from graftviz.serving.limits import VARIABLE, Limits, limits, read_limits
from graftviz.serving.scheduler import Scheduler
from graftviz.ui import run_limits, visits as visits_module
from graftviz.ui.grow.state import GrowState
from graftviz.ui.run_limits import RunCheck, fewer_edges, judge
from graftviz.ui.visits import Visit, Visits
from graftviz.wording import quoted

ROOT = Path(__file__).resolve().parent.parent
APP_TEST_SESSION = "test session id"
TABLE = random_table(0, 60, 400)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "limits.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_entry_is_optional(tmp_path: Path) -> None:
    assert read_limits(written(tmp_path, "")) == Limits()
    for spec in option_specs(Limits):
        known = read_limits(written(tmp_path, f"{spec.name} = {spec.minimum!r}\n"))
        assert known == dataclasses.replace(Limits(), **{spec.name: spec.minimum})


# In the header, these would allow several origins or add a directive.
FOREIGN_TO_A_HEADER = [
    *("", "*", "https:", "https://", "https://*", "https://*.example", "'self'", "null"),
    *("a.example", "ftp://a.example", "https://a.example/", "https://a.example/page", "data:x"),
    *(
        "https://a.example https://b.example",
        "https://a.example; script-src *",
        "https://A.example",
    ),
    *(
        "https://a.example\r\nx: y",
        "https://a.example\n",
        "https://a..example",
        "https://-a.example",
    ),
    *("https://a.example:0", "https://a.example:65536", "https://a.example:*", "https://ä.example"),
    *("https://user@a.example", "https://[::1]", "https://a.example?x", "https://a.*.example"),
]


@pytest.mark.parametrize(
    "origin",
    [
        *("https://learn.example.org", "http://localhost:8080", "http://192.0.2.20"),
        *("https://*.example.org", "https://*.school.example.org:8443", "https://xn--4ca.example"),
    ],
)
def test_an_origin_may_embed_the_app(tmp_path: Path, origin: str) -> None:
    path = written(tmp_path, f"embed_origins = [{origin!r}]\n")
    assert read_limits(path) == Limits(embed_origins=(origin,))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("clients = 0", "clients must be at least 1 and at most 10,000; got 0"),
        ("clients = 2.5", "a whole number"),
        ("clients = true", "a whole number"),
        ('ask_seconds = "ten"', "ask_seconds must be a number"),
        ("ask_seconds = nan", "ask_seconds must be finite"),
        ("seconds = 3", "there is no limit 'seconds'; there are ask_seconds"),
        ("clients = = 3", "are not valid TOML"),
        ("[clients]\nmost = 3", "clients must be"),
        ('embed_origins = "https://a.example"', "must be a list of at most 20 origins"),
        (f"embed_origins = {['https://a.example'] * 21}", "must be a list of at most 20 origins"),
        ("embed_origins = [3]", "3 is not an origin"),
        *(
            (f"embed_origins = [{json.dumps(origin)}]", f"{quoted(origin)} is not an origin")
            for origin in FOREIGN_TO_A_HEADER
        ),
    ],
)
def test_invalid_entry_is_refused_in_a_sentence(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as refused:
        read_limits(path)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_environment_variable_selects_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(written(tmp_path, "clients = 7\n")))
    limits.cache_clear()
    try:
        assert limits().clients == 7
        monkeypatch.setenv(VARIABLE, str(tmp_path / "none.toml"))
        limits.cache_clear()
        with pytest.raises(InputError, match="cannot be read"):
            limits()
    finally:
        limits.cache_clear()


def test_file_of_project_lists_the_defaults(tmp_path: Path) -> None:
    text = (ROOT / limits_module.FILE).read_text(encoding="utf-8")
    entries = [line[2:] for line in text.splitlines() if " = " in line]
    assert [entry.split(" = ")[0] for entry in entries] == [
        field.name for field in dataclasses.fields(Limits)
    ]
    assert read_limits(written(tmp_path, "\n".join(entries))) == Limits()
    assert read_limits(ROOT / limits_module.FILE) == Limits()


def set_limits(monkeypatch: pytest.MonkeyPatch, **granted: float) -> None:
    monkeypatch.setattr(run_limits, "limits", lambda: Limits(**granted))


def test_run_beyond_limits_is_refused_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = learner_class("edge-grafting")()
    assert judge(TABLE, learner) == RunCheck()
    set_limits(monkeypatch, run_memory=0.001)
    refusal = judge(TABLE, learner).refusal
    assert "This run will take about" in refusal
    assert "1.0 kB per run. Not started." in refusal


@pytest.mark.parametrize(
    ("gone", "kept", "has_room"), [(0, 0.0, False), (2, 1.0, False), (2, 0.5, True)]
)
def test_run_beyond_server_memory_is_refused_after_closed_visits_released(
    monkeypatch: pytest.MonkeyPatch, gone: int, kept: float, has_room: bool
) -> None:
    forgotten: list[bool] = []

    class FullVisits(Visits):
        def forget(self, *, all_of_them: bool = False) -> int:
            forgotten.append(all_of_them)
            return gone

    learner = learner_class("best-choice")()
    known = run_limits.forecast(TABLE, learner)
    base_bytes = known.peak_bytes - known.added_bytes
    monkeypatch.setattr(run_limits, "visits", lambda: FullVisits(60.0))
    monkeypatch.setattr(run_limits, "resident_bytes", lambda: int(kept * base_bytes))
    set_limits(monkeypatch, total_memory=0.9 * known.peak_bytes / 1e6)
    refusal = judge(TABLE, learner).refusal
    assert forgotten == [True]
    assert (refusal == "") is has_room
    assert ("its limit is" in refusal) is not has_room
    assert ("Try again later" in refusal) is not has_room


def test_fewer_edges_are_offered_if_they_fit_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learner_class("best-choice")()
    offered = []
    for share in (0.3, 0.6, 0.9):
        seconds = share * run_limits.forecast(TABLE, learner).seconds
        set_limits(monkeypatch, ask_seconds=seconds)
        assert judge(TABLE, learner).question
        budget = fewer_edges(TABLE, learner)
        if budget is not None:
            assert judge(TABLE, dataclasses.replace(learner, max_edges=budget)) == RunCheck()
            offered.append(budget)
    assert offered
    assert offered == sorted(offered), "offers should grow with the limit"
    set_limits(monkeypatch, ask_seconds=0.0)
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
        lambda key, seed: prepare(load_dataset(key), seed), Scheduler(threads=1).share()
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


@pytest.fixture
def newcomer() -> Iterator[None]:
    """Clear the session cache: for Streamlit, all pages of these tests are one session."""
    clear_session_resource_cache(APP_TEST_SESSION)
    yield
    clear_session_resource_cache(APP_TEST_SESSION)


@pytest.mark.usefixtures("newcomer")
def test_script_of_closed_page_is_not_counted_as_visit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    visits, connected = Visits(60.0), False
    monkeypatch.setattr(visits_module, "visits", lambda: visits)
    runtime = SimpleNamespace(is_active_session=lambda _: connected)
    monkeypatch.setattr(visits_module, "get_instance", lambda: runtime)
    app = page_at("", data="karate").run()
    assert visits.here == 0
    connected = True
    app.run()
    assert visits.here == 1


@pytest.mark.usefixtures("newcomer")
def test_full_server_opens_page_after_another_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    visits, first = Visits(60.0), Visit(Scheduler(threads=1).share())
    visits.register(first)
    monkeypatch.setattr(visits_module, "visits", lambda: visits)
    monkeypatch.setattr(visits_module, "limits", lambda: Limits(clients=1))
    app = page_at("", data="karate").run()
    assert sentences(app).startswith("1 page is open, the limit of this server.")
    assert "grow" not in app.session_state
    visits.left(first)
    run_while(app, lambda: is_compiling(app))
    assert sentences(app) == ""
    assert app.session_state["grow"].run is not None
    assert visits.here == 1
