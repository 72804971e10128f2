"""The tutorials of the documentation: the files and the command that a page shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {  # where a page says that its file belongs
    "add_a_learner": "graftviz/learners",
    "add_a_format": "graftviz/formats",
    "add_an_experiment": "graftviz/experiments/reproduction/papers",
    "add_a_page": ".",
}
_BLOCK = r"<!-- {}: (\S+) -->\n```\w+\n(.*?)```\n<!-- end -->"
_COMMAND = re.compile(r"<!-- command -->\n```sh\n(.*?)\n```\n<!-- end -->", re.DOTALL)


class Tutorial(NamedTuple):
    """A page of the documentation that adds something in few files.

    Attributes
    ----------
    text : str
    files : dict
        Name → content of every file.
    lines : dict
        File → the line that it gets.
    command : list of str
        Arguments of the command of its result, behind the name of the program.
    """

    text: str
    files: dict[str, str]
    lines: dict[str, str]
    command: list[str]

    @property
    def module(self) -> str:
        """The name of the module of its first file."""
        return Path(next(iter(self.files))).stem

    def write(self, folder: Path) -> None:
        """Write its files below a folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def tutorial(page: str) -> Tutorial:
    """Read a page of the folder docs."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    files, lines = (
        dict(re.findall(_BLOCK.format(kind), text, re.DOTALL)) for kind in ("file", "line")
    )
    assert files
    command = _COMMAND.search(text)
    words = shlex.split(command[1]) if command else []
    assert words[:3] in ([], [".venv/bin/python", "-m", "graftviz"])
    return Tutorial(text, files, lines, words[3:])


def style_errors(place: str, text: str) -> str:
    """Return what the linter and the formatter say of a file at this place."""
    runs = [
        subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--stdin-filename", place, "-"],
            cwd=ROOT,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        for words in (["check"], ["format", "--check"])
    ]
    return "".join(run.stdout + run.stderr for run in runs if run.returncode)
