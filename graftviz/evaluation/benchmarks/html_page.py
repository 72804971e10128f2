"""Frame of the self-contained HTML pages of experiments, and the versions they were made with."""

from __future__ import annotations

import html
import os
import platform
from importlib.metadata import version

from graftviz.utils.version import __version__

_STYLE = """
body { margin: 0 auto; padding: 12px clamp(8px, 2vw, 28px) 40px;
  font: 17px/1.5 system-ui, sans-serif; color: #1d2430; background: #fff; }
footer, .notes, .measured { color: #55606e; }
code { overflow-wrap: anywhere; }
"""


def html_page(title: str, body: str, footer: str, *, width: int, style: str) -> str:
    """Return a page with a title, a body and a footer of at most some pixels' width."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title>"
        f"<style>{_STYLE}body {{ max-width: {width}px; }}{style}</style></head>"
        f"<body>{body}<footer>{footer}</footer></body></html>\n"
    )


def machine(**packages: str) -> dict[str, str]:
    """Return processor and versions, without paths or host names.

    Parameters
    ----------
    packages : str
        Names of installed packages by their titles.
    """
    facts = {"graftviz": __version__, "cores": str(os.cpu_count())}
    facts |= {"processor": platform.machine(), "system": platform.system()}
    facts |= {"Python": platform.python_version()}
    return facts | {name: version(package) for name, package in packages.items()}
