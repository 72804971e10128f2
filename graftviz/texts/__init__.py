"""Texts that users read, one folder per language.

==================  ================================================================
file                contents
==================  ================================================================
pages/PAGE.md       first paragraph: headline of a page; the rest: its explanation
keys.md             keys of the player; replaces ``{keys}`` in a page's file
glossary.toml       terms, by key
lessons.toml        lessons and the tour, by key
labels.toml         short texts of controls, by part
views.toml          short texts that the views in the browser share, by part
player.toml         those of the player
steps.toml          templates of the sentences about steps
answers.toml        those of answers about an edge or a pair
learners.toml       those of steps and missing edges of learners with a search of their own
ends.toml           those of the learners: reasons why they end, and notes
grow.toml           texts of the page Grow
inspect.toml        texts of the page Inspect
class_data.toml     steps and questions on data sets that users download
options.toml        labels and help of options, by name; in English those of their declarations
methods.toml        ideas and pseudo-code of learners, by name; in English those of their classes
==================  ================================================================

A translation is another folder with the same files and keys. A file or key that it lacks is taken
from the English folder.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

LANGUAGE = "en"
LANGUAGES = {LANGUAGE: "English", "de": "Deutsch", "es": "Español"}
_FOLDER = Path(__file__).parent
_KEYS = "{keys}"  # stands for the content of keys.md
_LINE_BREAKS = re.compile(r"[ \n]*\n[ \n]*")


class PageText(NamedTuple):
    """Headline and explanation of a page, in Markdown."""

    headline: str
    explanation: str


class Sentence(str):
    """English sentence of a catalogue, which can be written in another language.

    Parameters
    ----------
    place : str
        Catalogue, part and key, joined by periods.
    **values : str or Sentence
        Values of the template.
    """

    __slots__ = ("_place", "_values")
    _place: str
    _values: dict[str, str]

    def __new__(cls, place: str, **values: str) -> Self:
        """Fill the English template."""
        written = super().__new__(cls, _template(place, LANGUAGE).format(**values))
        written._place, written._values = place, values
        return written

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, str]]:
        return (self._place,), self._values

    def written(self, language: str) -> str:
        """Return the sentence in a language."""
        values = {name: written_in(value, language) for name, value in self._values.items()}
        return _template(self._place, language).format(**values)


def written_in(text: str, language: str) -> str:
    """Return a :class:`Sentence` in a language, and any other text as it is."""
    return text.written(language) if isinstance(text, Sentence) else text


def _template(place: str, language: str) -> str:
    name, part, key = place.split(".")
    return str(catalogue(name, language)[part][key])


@cache
def catalogue(name: str, language: str = LANGUAGE) -> dict[str, dict[str, Any]]:
    """Return the entries of ``NAME.toml`` by key, each text as one line.

    Callers share the result and must not change it.
    """
    entries: dict[str, dict[str, Any]] = _entries(name, LANGUAGE)
    return entries if language == LANGUAGE else _translated(entries, _entries(name, language))


@cache
def page_text(page: str, language: str = LANGUAGE) -> PageText:
    """Return the text of a page."""
    text = _file(f"pages/{page}.md", language).read_text(encoding="utf-8")
    headline, _, explanation = text.partition("\n\n")
    if _KEYS in explanation:
        explanation = explanation.replace(
            _KEYS, _file("keys.md", language).read_text(encoding="utf-8")
        )
    return PageText(" ".join(headline.split()), explanation)


@cache
def translations(name: str, language: str) -> dict[str, dict[str, Any]]:
    """Return the entries of ``NAME.toml`` whose English texts are in the code; none in English.

    Callers share the result and must not change it.
    """
    path = _FOLDER / language / f"{name}.toml"
    content = path.read_text(encoding="utf-8") if path.exists() else ""
    texts: dict[str, dict[str, Any]] = _unwrapped(tomllib.loads(content))
    return texts


def _file(name: str, language: str) -> Path:
    """Return the path of a file in a language, or in English if there is no translation."""
    path = _FOLDER / language / name
    return path if path.exists() else _FOLDER / LANGUAGE / name


def _entries(name: str, language: str) -> Any:
    content = _file(f"{name}.toml", language).read_text(encoding="utf-8")
    return _unwrapped(tomllib.loads(content))


def _translated(value: Any, translation: Any) -> Any:
    """Return a value of the English catalogue with those texts replaced that are translated."""
    if isinstance(value, dict):
        return {
            key: _translated(item, translation[key]) if key in translation else item
            for key, item in value.items()
        }
    if isinstance(value, list) and value and isinstance(value[0], dict):
        pairs = zip(value, translation, strict=False)
        return [_translated(*pair) for pair in pairs] + value[len(translation) :]
    return translation


def _unwrapped(value: Any) -> Any:
    """Return a value of a TOML file whose texts have no line breaks."""
    if isinstance(value, str):
        return _LINE_BREAKS.sub(" ", value.strip())
    if isinstance(value, list):
        return [_unwrapped(item) for item in value]
    return {key: _unwrapped(item) for key, item in value.items()}
