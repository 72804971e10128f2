"""Uploads on all pages, and data for classes."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from app_pages import add_files, is_compiling, open_page, query_of, run_while, sentences
from streamlit.testing.v1 import AppTest

import graftviz as gv
from graftviz import InputError
from graftviz.app.url import CLASS_DATA, class_data
from graftviz.data.sets.public import REGIONS
from graftviz.data.synthetic.graphs import grid_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.model.readwrite.uai import uai_text
from graftviz.reports.words.code import learn_command

TABLE = b"a,b,c\n" + b"0,0,1\n1,1,0\n1,1,1\n0,1,0\n" * 20
MODEL, OTHER_MODEL = (
    uai_text(random_model(grid_graph(3, 3).edges, [s] * 9, edge_sigma=0.3)).encode() for s in (2, 3)
)
_VALUES = np.random.default_rng(0).normal(size=(61, 3)).round(3)
SERIES, OTHER_SERIES = (
    "\n".join(["a,b,c", *(",".join(map(str, row)) for row in rows)]).encode()
    for rows in (_VALUES[:60], _VALUES[1:])
)
TABLES = (("mine.csv", TABLE), ("other.csv", TABLE + b"1,0,1\n"), ("bad.csv", b"a,b\n0,1\n1\n"))
MODELS = (("mine.uai", MODEL), ("other.uai", OTHER_MODEL), ("bad.uai", b"MARKOV\n3\n2 2"))


class Page(NamedTuple):
    """Page with uploads: a quick view, its choice of data, and three files.

    The last file cannot be read.
    """

    query: dict[str, str]
    key: str
    files: tuple[tuple[str, bytes], ...]
    upload: str = "upload"


PAGES = {
    "grow": Page({"data": "karate", "learner": "chow-liu"}, "choose.data", TABLES),
    "race": Page({"data": "karate", "r1": "chow-liu"}, "race.data", TABLES),
    "prune": Page({"exchanges": "1"}, "prune.data", TABLES),
    "budget": Page({"data": "survey", "bound": "1"}, "budget.data", TABLES),
    "regions": Page({"side": "4"}, "region.data", MODELS),
    "dynamics": Page(
        {"size": "8", "rows": "60"},
        "dynamics.data",
        (("mine.csv", SERIES), ("other.csv", OTHER_SERIES), ("bad.csv", b"time,a\n0,1\n1,x\n2,3")),
    ),
    "inspect": Page({"model": "true", "data": "grid-8x8"}, "inspect.first.kind", MODELS, "file"),
}
every_page = pytest.mark.parametrize("page", PAGES)


def settled(app: AppTest) -> AppTest:
    """Run the page until nothing is being computed."""
    waits = ("Computing marginals", "Learning this model")
    texts = (*app.caption, *app.markdown)
    return run_while(
        app, lambda: is_compiling(app) or any(w in t.value for w in waits for t in texts)
    )


def opened(page: str, **query: str) -> AppTest:
    return settled(open_page("" if page == "grow" else page, **query))


def choose_upload(app: AppTest, page: str) -> AppTest:
    """Choose an uploaded file as the data."""
    _, key, _, upload = PAGES[page]
    controls = app.segmented_control if page == "inspect" else app.selectbox
    controls(key=key).set_value(upload)
    return settled(app)


def add(app: AppTest, page: str, place: int = 0, more: bytes = b"") -> AppTest:
    """Upload one of the files of a page."""
    name, content = PAGES[page].files[place]
    if PAGES[page].files is MODELS:  # added to the others: a model may have several files
        key = "inspect.first.files" if page == "inspect" else "region.files"
        add_files(app, key, (name, content + more))
    else:
        app.file_uploader[0].upload(name, content + more)
    return settled(app)


def is_faded(app: AppTest) -> bool:
    return any("opacity" in html.value for html in app.get("html"))


def is_own(app: AppTest) -> bool:
    """Return whether the address names an uploaded file by its fingerprint."""
    query = query_of(app)
    return len(query.get("fingerprint", query.get("model", ""))) == 16


def panel_is_open(app: AppTest) -> bool:
    """Return whether the page has a panel with uploaders that is unfolded."""
    panels = [panel for panel in app.main.expander if panel.get("file_uploader")]
    return any(bool(panel.proto.expanded) for panel in panels)


@every_page
def test_results_fade_until_upload_and_second_upload_replaces_first(page: str) -> None:
    app = opened(page, **PAGES[page].query)
    assert not app.info
    choose_upload(app, page)
    assert "Still showing the previous" in app.info[0].value
    assert is_faded(app)
    assert panel_is_open(app) == (page != "inspect")
    add(app, page)
    assert (sentences(app), list(app.info), is_faded(app), panel_is_open(app)) == ("", [], False, 0)
    assert is_own(app)
    app.session_state[f"{page}.link"] = True
    app.run()
    assert any("It asks for the uploaded file." in text.value for text in app.caption)
    before = query_of(app)
    add(app, page, 1)
    assert sentences(app) == ""
    assert is_own(app)
    assert query_of(app) != before


@every_page
def test_unreadable_file_is_refused_in_one_sentence(page: str) -> None:
    app = choose_upload(opened(page, **PAGES[page].query), page)
    add(app, page, 2)
    assert len(app.error) == 1
    name = PAGES[page].files[2][0]
    assert name in sentences(app)
    notes = "".join(info.value for info in app.info)
    assert "Still showing the previous" in sentences(app) + notes
    assert not is_own(app)
    add(app, page)
    assert sentences(app) == ""
    assert is_own(app)


@every_page
def test_link_to_upload_requires_same_file(page: str) -> None:
    first = choose_upload(opened(page, **PAGES[page].query), page)
    query = query_of(add(first, page))
    fingerprint = query.get("fingerprint", query.get("model", ""))
    app = opened(page, **query)
    assert fingerprint in app.info[0].value
    add(app, page, 1)
    assert f"not {fingerprint}" in sentences(app)
    assert query_of(app) == query
    add(app, page)
    assert sentences(app) == ""
    assert query_of(app) == query
    other = add(opened(page, **query), page, 1)
    next(box for box in other.checkbox if "different" in box.label).check()
    settled(other)
    assert sentences(other) == ""
    assert query_of(other) != query


@pytest.mark.parametrize(
    ("page", "key", "row", "option"),
    [
        ("grow", "upload", b",0,1\n", "missing=drop"),
        ("race", "upload", b",0,1\n", "missing=state"),
        ("prune", "upload", b"".join(b"0,1,%d.5\n" % k for k in range(200)), "continuous=bin"),
        ("budget", "upload", b",0,1\n", "missing=drop"),
        ("dynamics", "dynamics", b"\n1,,2\n1,1,1\n", "missing=interpolate"),
    ],
)
def test_advised_import_option_is_set_by_one_click(
    page: str, key: str, row: bytes, option: str
) -> None:
    app = add(opened(page, data="upload"), page, more=row)
    assert sentences(app)
    app.button(key=f"{key}.advised.{option.replace('=', '.')}").click().run()
    assert sentences(app) == ""
    chosen, value = option.split("=")
    assert query_of(app)[chosen] == value
    assert not panel_is_open(app)


PARTY_CODES = {"D": "100", "R": "200", "Indep": "328"}
ROLL_CALLS = 60
CHANGE = 40  # roll call at which one of New Jersey's senators is succeeded
PEOPLE = (  # surname, party, state; the president is first, as in the published files
    ("BUSH", "R", "USA"),
    ("SHELBY", "R", "AL"),
    ("LOTT", "R", "MS"),
    ("CORZINE", "D", "NJ"),
    ("LAUTENBERG", "D", "NJ"),
    ("MENENDEZ", "D", "NJ"),
    ("JEFFORDS", "Indep", "VT"),
    ("NEVER", "D", "VT"),
)
NAMES = (
    "SHELBY (R AL)",
    "LOTT (R MS)",
    "CORZINE/MENENDEZ (D NJ)",
    "LAUTENBERG (D NJ)",
    "JEFFORDS (Indep VT)",
)
Rows = Sequence[Sequence[object]]


def roll_calls(seed: int = 0) -> np.ndarray:
    """Return codes, shape (roll calls, people), in which parties vote alike."""
    rng = np.random.default_rng(seed)
    mood = rng.random(ROLL_CALLS) < 0.5
    in_favour = np.array([[m == (p == "R") for _, p, _ in PEOPLE] for m in mood])
    in_favour ^= rng.random(in_favour.shape) < 0.1
    yea, nay = rng.integers(1, 4, in_favour.shape), rng.integers(4, 7, in_favour.shape)
    codes = np.where(in_favour, yea, nay)
    codes[rng.random(codes.shape) < 0.1] = 9
    codes[CHANGE:, 3] = codes[:CHANGE, 5] = codes[:, 7] = 0
    return codes


def csv_bytes(rows: Rows) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def table_rows(codes: np.ndarray) -> list[list[object]]:
    """Return the table as R writes it: people in the rows."""
    labels = [f"{name} ({party} {state})" for name, party, state in PEOPLE]
    header: list[object] = ["", *(f"1-{k}" for k in range(1, len(codes) + 1))]
    return [header, *([label, *row] for label, row in zip(labels, codes.T.tolist(), strict=True))]


def voteview(codes: np.ndarray) -> dict[str, bytes]:
    """Return the two files of Voteview, without rows of members who are not in office."""
    members: list[list[object]] = [
        ["congress", "chamber", "icpsr", "state_abbrev", "party_code", "bioname", "born"]
    ]
    votes: list[list[object]] = [
        ["congress", "chamber", "rollnumber", "icpsr", "cast_code", "prob"]
    ]
    for i, (name, party, state) in enumerate(PEOPLE):
        chamber = "President" if state == "USA" else "Senate"
        full = f"{name}, First Name"
        members.append([109, chamber, 900 + i, state, PARTY_CODES[party], full, ""])
        for k, code in enumerate(codes[:, i].tolist(), start=1):
            if code:
                votes.append([109, "Senate", k, 900 + i, code, 99.5])
    return {"S109_votes.csv": csv_bytes(votes), "S109_members.csv": csv_bytes(members)}


def expected_states(codes: np.ndarray) -> np.ndarray:
    """Return states of the seats (nay 0, yea 1, absent 2), one cell at a time."""
    seats = [[1], [2], [3, 5], [4], [6]]
    table = np.empty((len(codes), len(seats)), dtype=int)
    for k, row in enumerate(codes.tolist()):
        for j, seat in enumerate(seats):
            code = max(row[i] for i in seat)
            table[k, j] = 1 if code in (1, 2, 3) else 0 if code in (4, 5, 6) else 2
    return table


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def refused(folder: Path, files: dict[str, bytes]) -> str:
    with pytest.raises(InputError) as refusal:
        gv.read_public("senate", written(folder, files))
    message = str(refusal.value)
    assert message.endswith(".")
    return message


# ---------------------------------------------------------------------------------------- reading


def test_seats_are_variables_and_roll_calls_are_rows_in_every_form(tmp_path: Path) -> None:
    codes = roll_calls()
    wanted = expected_states(codes)
    rows = table_rows(codes)
    forms = {
        "r": {"s109.csv": csv_bytes(rows)},
        "turned": {"s109.csv": csv_bytes(list(zip(*rows, strict=True)))},
        "voteview": voteview(codes),
    }
    for form, files in forms.items():
        (tmp_path / form).mkdir()
        data = gv.read_public("senate", written(tmp_path / form, files), minority=0)
        assert data.table.names == NAMES, form  # without the president and members without votes
        assert set(data.table.labels) == {("nay", "yea", "absent")}
        assert np.array_equal(data.table.codes.T, wanted), form
    packed = tmp_path / "votes.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in voteview(codes).items():
            archive.writestr(f"folder/{name}", content)
    assert np.array_equal(gv.read_public("senate", packed, minority=0).table.codes.T, wanted)


def test_roll_calls_with_small_minority_are_left_out(tmp_path: Path) -> None:
    codes = roll_calls()
    states = expected_states(codes)
    folder = written(tmp_path, voteview(codes))
    for fewest in (1, 2):
        wanted = [row for row in states.tolist() if min(row.count(0), row.count(1)) >= fewest]
        assert 0 < len(wanted) < ROLL_CALLS
        found = gv.read_public("senate", folder, minority=fewest).table
        assert found.codes.T.tolist() == wanted
    with pytest.raises(InputError, match="None of the 60 roll calls has 3 votes on each side"):
        gv.read_public("senate", folder, minority=3)


def test_files_that_are_not_roll_calls_of_one_senate_are_refused(tmp_path: Path) -> None:
    codes = roll_calls()
    files, rows = voteview(codes), table_rows(codes)
    votes, members = files["S109_votes.csv"], files["S109_members.csv"]
    damaged = [[*rows[0]], *([*row] for row in rows[1:])]
    damaged[3][4] = "x"
    house = {name: content.replace(b"Senate", b"House") for name, content in files.items()}
    cases: list[tuple[dict[str, bytes], str]] = [
        ({"v.csv": votes}, "neither rows nor columns are senators"),
        ({"m.csv": members}, "neither rows nor columns are senators"),
        ({"v.csv": votes, "w.csv": votes, "m.csv": members}, "too many values"),
        ({"v.csv": votes, "w.csv": votes}, "missing: "),
        ({"v.csv": votes, "m.csv": members.replace(b"109,", b"108,")}, "not of one Senate"),
        (house, "not of one Senate"),
        ({"t.csv": csv_bytes(damaged)}, "t.csv is not votes and members of one Senate"),
        ({"t.csv": csv_bytes([*rows, ["X (D NY)", 1]])}, "(see row 2)"),
        ({"t.csv": csv_bytes([*rows, ["X (D NY)", *range(99)]])}, "in line 10"),
        ({"t.csv": b"a,b\n0,1\n"}, "neither rows nor columns are senators"),
        ({"t.csv": csv_bytes(rows[:3])}, "fewer than two senators"),
        ({"v.csv": votes.replace(b"icpsr", b"number"), "m.csv": members}, "missing: "),
    ]
    for k, (content, sentence) in enumerate(cases):
        (tmp_path / str(k)).mkdir()
        assert sentence in refused(tmp_path / str(k), content)


def test_command_of_page_reads_published_files() -> None:
    command = learn_command("senate", ChowLiu(), 0, {"minority": 2})
    assert "learn senate:PATH" in command
    assert "--read minority=2" in command


# -------------------------------------------------------------------------------------- the app


def plants_file(rows: int = 80) -> bytes:
    rng = np.random.default_rng(1)
    present = rng.random((rows, len(REGIONS))) < 0.3
    present[:, 0] = True
    codes = np.array(list(REGIONS))
    lines = [",".join([f"plant {k}", *codes[row]]) for k, row in enumerate(present)]
    return "\n".join(lines).encode()


def packed(name: str, content: bytes) -> tuple[str, bytes]:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, content)
    return name.replace(".data", ".zip"), stream.getvalue()


UPLOADS = {
    "senate": list(voteview(roll_calls()).items()),
    "plants": [packed("plants.data", plants_file())],
}
SIZES = {"senate": "5 variables", "plants": "69 variables, 80 rows"}


def upload(app: AppTest, files: Sequence[tuple[str, bytes]]) -> AppTest:
    app.file_uploader[0].set_value([(name, content, "text/csv") for name, content in files])
    return run_while(app, lambda: False)


@pytest.mark.parametrize("name", CLASS_DATA)
def test_entry_has_steps_upload_and_three_questions(name: str) -> None:
    app = open_page("", data="karate", learner="chow-liu")
    app.selectbox(key="choose.data").set_value(name).run()
    about = class_data(name)
    assert any(about.steps[0] in caption.value for caption in app.caption)
    if name == "senate":
        app.session_state["grow"].choose("minority", 1)
    upload(app, [(UPLOADS[name][0][0], b"no such file")])
    assert len(app.error) == 1
    upload(app, UPLOADS[name])
    assert sentences(app) == ""
    state = app.session_state["grow"]
    assert state.material.title.startswith(f"{about.title} · {SIZES[name]}")
    assert state.run is not None
    shown = "\n".join(text.value for text in app.markdown)
    assert len(about.questions) == 3
    assert all(question in shown for question in about.questions)
    query = query_of(app)
    assert query["data"] == name
    assert len(query["fingerprint"]) == 16
    assert (state.material.positions is not None) == (name == "plants")


def test_questions_are_on_grow_page_only() -> None:
    app = open_page("prune", data="plants", exchanges="1")
    upload(app, UPLOADS["plants"])
    assert app.session_state["prune"].uploaded is not None
    shown = "\n".join(text.value for text in app.markdown)
    assert not any(question in shown for question in class_data("plants").questions)


def test_uploads_of_two_data_sets_do_not_replace_each_other() -> None:
    app = open_page("", data="plants", learner="chow-liu")
    upload(app, UPLOADS["plants"])
    state = app.session_state["grow"]
    first = state.uploaded
    app.selectbox(key="choose.data").set_value("senate").run()
    assert state.awaits_file
    assert state.values["fingerprint"] == ""
    app.selectbox(key="choose.data").set_value("plants").run()
    assert state.uploaded is first
    assert state.values["fingerprint"] == first.fingerprint
