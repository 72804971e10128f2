"""``graftviz gallery``: write replays of the built-in samples and lessons, with an index."""

from __future__ import annotations

import argparse
import html
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from graftviz._version import __version__
from graftviz.commands.arguments import create_folder, path
from graftviz.commands.progress import progress
from graftviz.datasets import dataset_keys, load_dataset
from graftviz.experiments.html_page import html_page
from graftviz.formats.replay import replay_page
from graftviz.formats.result_folder import write_results
from graftviz.learners.best_choice import BestChoice
from graftviz.material import PAGE_DATA, prepare
from graftviz.narrative.lessons import LESSONS
from graftviz.options import parse_options
from graftviz.player.recording import page_run
from graftviz.player.records import recorded_run

NAME = "gallery"
_Recorded = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any] | None]
_STYLE = "li { margin: 0 0 14px; } li p { margin: 0; max-width: 75ch; }"
_INTRODUCTION = (
    "Every link opens a finished run in the player. These pages need no server and no network."
)


class Replay(NamedTuple):
    """Replay in the index.

    Attributes
    ----------
    file, title, description : str
    step : int
        Step with which it opens.
    settings : mapping
        Parameters of an address of the Grow page, without the step.
    """

    file: str
    title: str
    description: str
    step: int
    settings: Mapping[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the gallery to `parser`."""
    parser.add_argument("out", type=path, metavar="OUT", help="folder for index.html and replays")


def run(arguments: argparse.Namespace) -> int:
    """Learn all runs and write the pages; return the exit code."""
    folder = create_folder(arguments.out)
    samples, lessons = sample_entries(), lesson_entries()
    files = {"index.html": index_page(samples, lessons)}
    entries = [*samples, *lessons]
    recorded: dict[str, _Recorded] = {}  # lessons share runs
    with progress(len(entries), "learning runs") as bar:
        for done, entry in enumerate(entries, start=1):
            settings = urlencode(sorted(entry.settings.items()))
            if settings not in recorded:
                recorded[settings] = _recorded(entry.settings)
            header, records, outcome = recorded[settings]
            files[entry.file] = replay_page({**header, "title": entry.title}, records, outcome)
            bar.show(done)
    write_results(folder, NAME, files)
    size = sum(len(page.encode()) for page in files.values()) / 1e6
    print(
        f"{len(samples)} samples and {len(lessons)} lessons, {size:.1f} MB. Open "
        f"{folder / 'index.html'} in a browser."
    )
    return 0


def sample_entries() -> list[Replay]:
    """Return an entry for every built-in data set."""
    return [
        Replay(f"{key}.html", data.title, data.description, 0, {"data": key})
        for key, data in ((key, load_dataset(key)) for key in dataset_keys())
    ]


def lesson_entries() -> list[Replay]:
    """Return an entry for every lesson that begins on the Grow page."""
    entries = []
    for lesson in LESSONS:
        page, _, query = lesson.address.partition("?")
        if not page:
            settings = {"data": PAGE_DATA, **dict(parse_qsl(query))}
            step = int(settings.pop("step", "0"))
            file = f"lesson-{lesson.key}.html"
            entries.append(Replay(file, lesson.title, lesson.aim, step, settings))
    return entries


def _recorded(settings: Mapping[str, str]) -> _Recorded:
    """Return header, records and outcome of the run that the Grow page shows for `settings`."""
    options = dict(settings)
    material = prepare(load_dataset(options.pop("data")), seed=0)
    learning = page_run(material, **parse_options(BestChoice, options))
    while learning.advance():
        pass
    note = " ".join(material.warnings)
    return recorded_run(learning, title=material.title, positions=material.positions, note=note)


def index_page(samples: list[Replay], lessons: list[Replay]) -> str:
    """Return the page that links to all replays."""
    body = f"<h1>Gallery of graftviz</h1><p>{_INTRODUCTION}</p>"
    for title, entries in (("Samples", samples), ("Lessons", lessons)):
        body += f"<h2>{title}</h2><ul>{''.join(map(_item, entries))}</ul>"
    footer = f"Written by graftviz {__version__}."
    return html_page("Gallery of graftviz", body, footer, width=900, style=_STYLE)


def _item(entry: Replay) -> str:
    address = f"{entry.file}#step={entry.step}" if entry.step else entry.file
    title, description = html.escape(entry.title), html.escape(entry.description)
    return f'<li><a href="{html.escape(address)}">{title}</a><p>{description}</p></li>'
