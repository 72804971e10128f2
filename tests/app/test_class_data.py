"""Data sets for classes: roll calls of a Senate, and the entries of the app for them and plants."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from app_pages import open_page, query_of, run_while, sentences
from streamlit.testing.v1 import AppTest

import graftviz as gv
from graftviz import InputError
from graftviz.app.url import CLASS_DATA, class_data
from graftviz.data.sets.public import REGIONS
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.reports.words.code import learn_command

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
