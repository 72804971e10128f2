"""The container file, read: what it copies, runs and starts."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CONTAINERFILE = ROOT / "docs" / "serving" / "Containerfile"
KNOWN = {"FROM", "WORKDIR", "ENV", "COPY", "RUN", "USER", "EXPOSE", "HEALTHCHECK", "CMD"}


class Recipe(NamedTuple):
    """Its instructions, in order."""

    steps: list[tuple[str, str]]

    def all_of(self, kind: str) -> list[str]:
        """Return what stands behind every instruction of one kind."""
        return [text for name, text in self.steps if name == kind]

    @property
    def command(self) -> str:
        """The shell command that starts the server."""
        shell, option, command = json.loads(self.all_of("CMD")[0])
        assert (shell, option) == ("sh", "-c")
        return str(command)

    @property
    def server_options(self) -> list[str]:
        """Options of the server's command, without its port."""
        words = shlex.split(self.command.split(" run app.py ")[1])
        k = words.index("--server.port")
        return words[:k] + words[k + 2 :]

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables set by the ENV instructions."""
        return dict(word.split("=", 1) for text in self.all_of("ENV") for word in text.split())

    def copy_to(self, folder: Path) -> None:
        """Do what its COPY instructions do, with `folder` for the work directory."""
        for text in self.all_of("COPY"):
            source, target = text.split()
            if (ROOT / source).is_dir():
                ours = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, folder / target, ignore=ours)
            else:
                (folder / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / source, folder / target)


def read_recipe() -> Recipe:
    """Read the container file."""
    text = re.sub(r"\\\n", " ", CONTAINERFILE.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    steps = [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]
    assert {name for name, _ in steps} <= KNOWN
    return Recipe(steps)
