"""Data with options of their own: tables and published files to upload, and generated data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from graftviz.datasets import GENERATED, Generated, public_reader
from graftviz.material import UPLOAD
from graftviz.table import TableOptions


class ClassData(NamedTuple):
    """Entry for a public data set whose files the user downloads.

    Attributes
    ----------
    title : str
    steps : tuple of str
        Where to find the files, in Markdown.
    label : str
        Of the uploader.
    kinds : list of str
        Endings of the file names.
    questions : tuple of str
        Questions that the page Grow answers, in Markdown.
    """

    title: str
    steps: tuple[str, ...]
    label: str
    kinds: list[str]
    questions: tuple[str, ...]


CLASS_DATA: Mapping[str, ClassData] = {
    "senate": ClassData(
        title="US Senate roll calls",
        steps=(
            "1\\. Open [voteview.com/data](https://voteview.com/data); choose “Senate Only” and "
            "one Congress, such as the 109th.",
            "2\\. Download “Members' Votes” and “Member Ideology” as CSV: S109_votes.csv and "
            "S109_members.csv.",
            "3\\. Upload both files together. Senators are the variables, roll calls the rows.",
            'Or, in R: library(pscl); data(s109); write.csv(s109$votes, "s109.csv").',
        ),
        label="The two CSV files (or one from R)",
        kinds=["csv", "zip"],
        questions=(
            "**Are there two communities?** Choose the preset *best* and an edge budget of 150. "
            "Names end with the party, which no column holds: how many edges join two parties?",
            "**Who bridges the parties?** Click senators with neighbours in the other party. Does "
            "the edge show that the two agree, or that they vote against each other?",
            "**What do α and λ change?** With the preset *paper*, compare α = 0 with α = 0.75: how "
            "many edges join two parties, and which party has most edges? Raise λ: which remain?",
        ),
    ),
    "plants": ClassData(
        title="USDA plants",
        steps=(
            "1\\. Open [archive.ics.uci.edu/dataset/180/plants]"
            "(https://archive.ics.uci.edu/dataset/180/plants) and press “Download”.",
            "2\\. Upload the zip archive, or the file plants.data in it.",
            "Regions (states and provinces) are the variables, plants the rows.",
        ),
        label="The zip archive, or plants.data",
        kinds=["zip", "data", "csv", "txt"],
        questions=(
            "**Does the graph know the map?** Positions are not used for learning. Set the edge "
            "budget to 20 and choose the preset *best*: how many edges join neighbouring regions?",
            "**Which regions have no edge?** Look at the opening run (preset *paper*): where are "
            "the regions without an edge, and does a larger edge budget or the preset *best* join "
            "them?",
            "**What do α and λ change?** Compare α = 0 with α = 0.75: how many long edges are "
            "there? Which edges does a larger λ leave out?",
        ),
    ),
}


def is_upload(data: str) -> bool:
    """Return whether a choice of data is an upload."""
    return data == UPLOAD or data in CLASS_DATA


def import_options(data: str) -> type:
    """Return the dataclass of the import options of an upload, or of generated data."""
    if data == GENERATED:
        return Generated
    return public_reader(data) if data in CLASS_DATA else TableOptions
