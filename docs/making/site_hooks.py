"""Hooks of ``mkdocs build``: pages from outside of ``docs``, formulas as MathML, and no requests.

- ``README.md`` is the start page, and ``CHANGELOG.md`` is a page.
- A file of the project that a page links to, such as the code of a learner, becomes a page.
- Formulas are written as MathML, which browsers show without scripts and fonts.
- The build fails for a page that would load a script, style, font or picture from a server.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\]\(((?:\.\./)+[\w./-]+)\)")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
# Columns that site.css makes wide, by their titles; attributes without a description; types of
# which one of several is meant.
_SENTENCES = r"<th>(what (?:it does|it is|is read)|when to use it)</th>"
_NAMES = r"<th>(work|the paper states)</th>"
_TIDIED = (
    (_SENTENCES, r'<th class="sentences">\1</th>'),
    (_NAMES, r'<th class="names">\1</th>'),
    (r'\s*–\s*<div class="doc-md-description">\s*</div>', ""),
    (r"\(<code>\(((?:(?!</code>).)*)\)</code>", r"(<code>\1</code>"),
)
_LOADED = re.compile(r'<(?:script|img|iframe|source)[^>]*\ssrc="?(?:https?:)?//[^>]*')
_STYLE = re.compile(r'<link[^>]*rel="?(?:stylesheet|preconnect|icon)[^>]*href="?(?:https?:)?//.*')
# What latex2mathml does not know, written so that it does.
_REWRITTEN = (
    (r"(\\[bB]ig[lr])\\[lr]Vert", r"\1‖"),
    (r"\\arg\b", r"\\operatorname{arg}"),
    (r"\\setminus\b", "∖"),
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are outside of ``docs``."""
    added = {
        name: (ROOT / file).read_text(encoding="utf-8").replace("](docs/", "](")
        for name, file in (("index.md", "README.md"), ("CHANGELOG.md", "CHANGELOG.md"))
    }
    added["index.md"] = added["index.md"].replace("](LICENSE)", "](source/LICENSE.md)")
    linked = {ROOT / "LICENSE"}
    for page in files.documentation_pages():
        folder = Path(str(page.abs_src_path)).parent
        for target in _LINK.findall(page.content_string):
            if path := _outside(folder, target):
                linked.add(path)
    for path in linked - {ROOT / "CHANGELOG.md"}:
        added[f"source/{path.relative_to(ROOT)}.md"] = _source_page(path)
    for name, text in added.items():
        place = InclusionLevel.NOT_IN_NAV if "/" in name else InclusionLevel.INCLUDED
        files.append(File.generated(config, name, content=text, inclusion=place))
    icon = ROOT / "graftviz" / "app" / "assets" / "icon.svg"
    files.append(File.generated(config, "images/icon.svg", abs_src_path=str(icon)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Let links to files of the project lead to their pages."""
    if page.file.abs_src_path is None:
        return markdown
    folder = Path(page.file.abs_src_path).parent

    def link(found: re.Match[str]) -> str:
        path = _outside(folder, found[1])
        if path is None:
            return found[0]
        up = "../" * page.file.src_uri.count("/")
        if path == ROOT / "CHANGELOG.md":
            return f"]({up}CHANGELOG.md)"
        return f"]({up}source/{path.relative_to(ROOT)}.md)"

    return _LINK.sub(link, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Replace the formulas of a page by MathML, and tidy tables and lists of the reference."""
    for pattern, replacement in _TIDIED:
        html = re.sub(pattern, replacement, html)
    return _FORMULA.sub(_mathml, html)


def on_post_page(output: str, *, page: Page, **_: Any) -> str:
    """Refuse a page that loads something from another server."""
    if found := _LOADED.search(output) or _STYLE.search(output):
        raise PluginError(f"{page.file.src_uri} would load {found[0]!r} from another server.")
    return output


def _outside(folder: Path, target: str) -> Path | None:
    """Return the file of a link from a page in `folder`, or None if it is in ``docs``."""
    path = (folder / target).resolve()
    outside = path.is_file() and not path.is_relative_to(ROOT / "docs")
    return path if outside else None


def _source_page(path: Path) -> str:
    """Return the page of a file of the project."""
    kind = path.suffix.lstrip(".") or "text"
    text = path.read_text(encoding="utf-8")
    title = path.relative_to(ROOT)
    return f"---\nsearch:\n  exclude: true\n---\n# `{title}`\n\n````{kind}\n{text}````\n"


def _mathml(found: re.Match[str]) -> str:
    formula = unescape(found[3]).strip()
    for command, replacement in _REWRITTEN:
        formula = re.sub(command, replacement, formula)
    written: str = convert(formula, display="block" if found[2] == "[" else "inline")
    if "\\" in written:
        raise PluginError(f"latex2mathml does not know all commands of {formula!r}.")
    return f'<div class="formula">{written}</div>' if found[2] == "[" else written
