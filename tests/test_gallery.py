"""Gallery: an index and one replay per built-in sample and per lesson on Grow."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from graftviz.__main__ import main
from graftviz.commands import gallery
from graftviz.datasets import dataset_keys
from graftviz.formats.result_folder import MANIFEST, check_results
from graftviz.narrative.lessons import LESSONS
from graftviz.player.recording import recording

LINK = re.compile(r'<li><a href="([^"]*)">([^<]*)</a><p>([^<]*)</p></li>')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a gallery of one sample and all lessons, which use the same run."""
    out = tmp_path_factory.mktemp("gallery") / "new" / "out"
    opening = [each for each in gallery.sample_entries() if each.file == "scale-free-40.html"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "sample_entries", lambda: opening)
        assert main(["gallery", str(out)]) == 0
    return out


def run_of(page: Path) -> dict:
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'type="application/json" id="run">([^<]*)<', text)[1])


def test_every_sample_and_every_lesson_on_grow_has_an_entry() -> None:
    samples, lessons = gallery.sample_entries(), gallery.lesson_entries()
    assert [entry.settings["data"] for entry in samples] == list(dataset_keys())
    on_grow = [each.title for each in LESSONS if each.address.startswith("?")]
    assert [entry.title for entry in lessons] == on_grow
    entries = [*samples, *lessons]
    assert len({entry.file for entry in entries}) == len(entries)
    assert all(entry.title and entry.description for entry in entries)


def test_index_links_to_written_pages(folder: Path) -> None:
    index = (folder / "index.html").read_text(encoding="utf-8")
    links = LINK.findall(index)
    files = {urlsplit(link).path for link, *_ in links}
    assert files == {path.name for path in folder.iterdir()} - {"index.html", MANIFEST}
    assert not re.search(r"(?:src|href)=\"(?:/|\w+:)", index)
    assert len(links) == index.count("<li>")
    check_results(folder)


def test_pages_have_the_first_run_of_the_app(folder: Path) -> None:
    opening = recording()
    for page in folder.glob("*.html"):
        if page.name != "index.html":
            run = run_of(page)
            steps = [record["activated"] for record in run["records"]]
            pairs = [[edge[:2] for edge in step] for step in steps]
            assert pairs == [[edge[:2] for edge in r["activated"]] for r in opening.records]


def test_links_open_lessons_at_their_step(folder: Path) -> None:
    links = LINK.findall((folder / "index.html").read_text(encoding="utf-8"))
    steps = {
        urlsplit(link).path: urlsplit(link).fragment
        for link, *_ in links
        if link.startswith("lesson-")
    }
    for entry in gallery.lesson_entries():
        assert steps[entry.file] == f"step={entry.step}"
        assert entry.step <= len(run_of(folder / entry.file)["records"])


def test_texts_of_entries_are_escaped() -> None:
    entry = gallery.Replay("a.html", "<b>", "</p><script>", 0, {})
    assert "<b>" not in gallery.index_page([entry], [])
    assert "<script>" not in gallery.index_page([entry], [])


def test_file_in_place_of_folder_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("")
    assert main(["gallery", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "is a file, not a folder" in message
    assert message.count("\n") == 1
