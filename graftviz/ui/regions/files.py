"""Files of the Regions page."""

from __future__ import annotations

from functools import partial

from graftviz.errors import InputError
from graftviz.formats.region_csv import region_csv
from graftviz.ui.frame.header import PageFile
from graftviz.ui.regions import work as region_work
from graftviz.ui.regions.jobs import Question, question_of
from graftviz.ui.regions.models import ShownModel
from graftviz.ui.regions.state import RegionState

PATIENCE = 60.0  # seconds a download waits for the region


def region_files(state: RegionState) -> list[PageFile]:
    """Return the files of the region on show; none before there is one."""
    if state.shown is None:
        return []
    question = question_of(state.options, state.query)
    build = partial(build_region, state.shown, question)
    return [PageFile("region.csv", "Region, one row per variable (CSV)", "text/csv", build)]


def build_region(shown: ShownModel, question: Question) -> str:
    """Return region.csv.

    Raises
    ------
    InputError
        When the region has no variable yet.
    """
    work = region_work.region(shown, question)
    work.wait_for_end(PATIENCE)
    grown = work.latest
    if grown is None:
        raise InputError(work.failure or "The region has not begun to grow; try again.")
    labels = shown.model.labels[question.query]
    rows = [(one.step, one.marginal) for one in grown.steps]
    return region_csv(shown.model.names, labels, rows)
