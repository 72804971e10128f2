"""Address of the Inspect page: model, selection, evidence, and comparison.

A learned model is written as on the Grow page (data, learner, options, seed, step), so that a link
of that page opens the same model here. ``model=true`` is the model a sample was drawn from,
``model=<fingerprint>`` an uploaded file. Further keys: ``node``, ``edge=3-7``,
``evidence=2:1,5:0`` (variable:state), ``method``, and ``with``, the model to compare with, written
like the first with semicolons: ``with=learner=chow-liu;seed=3``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from graftviz.ui import url_state
from graftviz.ui.inspect.work import AUTOMATIC, METHODS
from graftviz.ui.url_state import UPLOAD, LinkReader, Settings, Vocabulary, one_of, whole_number
from graftviz.wording import quoted

LEARNED, TRUE, FILE = "learned", "true", "file"
OWN_KEYS = ("model", "node", "edge", "evidence", "method", "with")
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_LONGEST = 2_000
_LARGEST = 9_999_999
_NUMBER = r"\d{1,7}"


@dataclass(frozen=True)
class SourceSettings:
    """Choice of the model.

    Attributes
    ----------
    kind : str
        "learned", "true" or "file".
    learned : Settings
        How it is learned; of a true model, whose it is.
    fingerprint : str
        Of a file's model.
    """

    kind: str
    learned: Settings
    fingerprint: str = ""


@dataclass(frozen=True)
class InspectSettings:
    """Everything that decides what the page shows.

    Attributes
    ----------
    first : SourceSettings
    second : SourceSettings or None
        What it is compared with.
    node : int or None
    edge : (int, int) or None
    evidence : mapping
        State by variable.
    method : str
        One of :data:`graftviz.ui.inspect.work.METHODS`.
    """

    first: SourceSettings
    second: SourceSettings | None = None
    node: int | None = None
    edge: tuple[int, int] | None = None
    evidence: Mapping[int, int] = field(default_factory=dict)
    method: str = AUTOMATIC


class ParsedInspection(NamedTuple):
    """Settings of a link, with one sentence per part that could not be used."""

    settings: InspectSettings
    complaints: tuple[str, ...]


def write_inspection(settings: InspectSettings, vocabulary: Vocabulary) -> dict[str, str]:
    """Return the query parameters of `settings`; :func:`parse_inspection` reads them back."""
    query = _write_source(settings.first, vocabulary)
    if settings.node is not None:
        query["node"] = str(settings.node)
    if settings.edge is not None:
        query["edge"] = f"{settings.edge[0]}-{settings.edge[1]}"
    if settings.evidence:
        query["evidence"] = ",".join(f"{i}:{k}" for i, k in settings.evidence.items())
    if settings.method != AUTOMATIC:
        query["method"] = settings.method
    if settings.second is not None:
        parts = _write_source(settings.second, vocabulary)
        # The default data and learner would leave nothing to write.
        parts.setdefault("data", settings.second.learned.data)
        query["with"] = ";".join(f"{name}={text}" for name, text in parts.items())
    return query


def parse_inspection(
    query: Mapping[str, str | Sequence[str]], vocabulary: Vocabulary
) -> ParsedInspection:
    """Parse query parameters; invalid ones are ignored and reported as complaints."""
    rest = {name: value for name, value in query.items() if name not in OWN_KEYS}
    own = {name: query[name] for name in OWN_KEYS if name in query}
    link = LinkReader(own, dict.fromkeys(own, _LONGEST))
    settings = InspectSettings(
        first=_source(link, rest, vocabulary),
        second=_second(link, vocabulary),
        node=link.take(
            "node",
            None,
            whole_number(0, _LARGEST),
            "A node is given by its number, not by {}; ignored.",
        ),
        edge=link.take("edge", None, _edge, "An edge is written as 3-7, not {}; ignored."),
        evidence=_evidence(link),
        method=link.take(
            "method",
            AUTOMATIC,
            one_of(METHODS),
            f"The method must be one of {', '.join(METHODS)}, not {{}}; using {AUTOMATIC}.",
        ),
    )
    return ParsedInspection(settings, tuple(link.complaints))


def _write_source(source: SourceSettings, vocabulary: Vocabulary) -> dict[str, str]:
    if source.kind == FILE:
        return {"model": source.fingerprint}
    if source.kind == TRUE:
        only_data = Settings(source.learned.data, vocabulary.default_learner)
        return {"model": TRUE, **url_state.write(only_data, vocabulary)}
    return url_state.write(source.learned, vocabulary)


def _source(
    link: LinkReader, rest: Mapping[str, str | Sequence[str]], vocabulary: Vocabulary
) -> SourceSettings:
    parsed = url_state.parse(rest, vocabulary)
    link.complaints += parsed.complaints
    learned = parsed.settings

    def read(text: str) -> SourceSettings | None:
        if text.lower() == TRUE and learned.data != UPLOAD:
            return SourceSettings(TRUE, learned)
        if _FINGERPRINT.fullmatch(text.lower()):
            return SourceSettings(FILE, learned, text.lower())
        return None

    return link.take(
        "model",
        SourceSettings(LEARNED, learned),
        read,
        f"The model must be {TRUE} (the model the data were sampled from) or the fingerprint of a "
        "file, not {}; showing a learned model.",
    )


def _second(link: LinkReader, vocabulary: Vocabulary) -> SourceSettings | None:
    text = link.left.pop("with", "").strip()
    if not text:
        return None
    parts = [part.partition("=")[::2] for part in text.split(";") if part]
    rest = {name.strip(): value for name, value in parts}
    own = LinkReader({"model": rest.pop("model", "")}, {"model": _LONGEST})
    source = _source(own, rest, vocabulary)
    link.complaints += [f"Model to compare with: {sentence}" for sentence in own.complaints]
    return source


def _edge(text: str) -> tuple[int, int] | None:
    found = re.fullmatch(rf"({_NUMBER})-({_NUMBER})", text, re.ASCII)
    i, j = (int(found[1]), int(found[2])) if found else (0, 0)
    return (min(i, j), max(i, j)) if i != j else None


def _evidence(link: LinkReader) -> dict[int, int]:
    evidence: dict[int, int] = {}
    for part in filter(None, link.left.pop("evidence", "").split(",")):
        found = re.fullmatch(rf"({_NUMBER}):({_NUMBER})", part.strip(), re.ASCII)
        if found and evidence.setdefault(int(found[1]), int(found[2])) != int(found[2]):
            link.complaints.append(
                f"The evidence gives variable {found[1]} two different states; using the first."
            )
        elif not found:
            link.complaints.append(
                f"Evidence is written as variable:state, both as numbers, not {quoted(part)}; "
                "ignored."
            )
    return evidence
