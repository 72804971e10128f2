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

from graftviz.ui import url_state
from graftviz.ui.inspect.work import AUTOMATIC, METHODS
from graftviz.ui.url_state import UPLOAD, Settings, Vocabulary
from graftviz.wording import quoted

LEARNED, TRUE, FILE = "learned", "true", "file"
OWN_KEYS = ("model", "node", "edge", "evidence", "method", "with")
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_LONGEST = 2_000
_NUMBER = r"\d{1,7}"


@dataclass(frozen=True)
class SourceSettings:
    """Which model.

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


@dataclass(frozen=True)
class ParsedInspection:
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
    complaints: list[str] = []
    own = {name: _single(name, query[name], complaints) for name in OWN_KEYS if name in query}
    rest = {name: value for name, value in query.items() if name not in OWN_KEYS}
    settings = InspectSettings(
        first=_source(own.get("model", ""), rest, vocabulary, complaints),
        second=_second(own.get("with", ""), vocabulary, complaints),
        node=_node(own.get("node", ""), complaints),
        edge=_edge(own.get("edge", ""), complaints),
        evidence=_evidence(own.get("evidence", ""), complaints),
        method=_method(own.get("method", ""), complaints),
    )
    return ParsedInspection(settings, tuple(complaints))


def _write_source(source: SourceSettings, vocabulary: Vocabulary) -> dict[str, str]:
    if source.kind == FILE:
        return {"model": source.fingerprint}
    if source.kind == TRUE:
        only_data = Settings(source.learned.data, vocabulary.default_learner)
        return {"model": TRUE, **url_state.write(only_data, vocabulary)}
    return url_state.write(source.learned, vocabulary)


def _source(
    model: str,
    rest: Mapping[str, str | Sequence[str]],
    vocabulary: Vocabulary,
    complaints: list[str],
) -> SourceSettings:
    parsed = url_state.parse(rest, vocabulary)
    complaints += parsed.complaints
    learned = parsed.settings
    text = model.strip().lower()
    if not text:
        return SourceSettings(LEARNED, learned)
    if text == TRUE and learned.data != UPLOAD:
        return SourceSettings(TRUE, learned)
    if _FINGERPRINT.fullmatch(text):
        return SourceSettings(FILE, learned, text)
    complaints.append(
        f"The model must be {TRUE} (the model the data were sampled from) or the fingerprint of a "
        f"file, not {quoted(model)}; showing a learned model."
    )
    return SourceSettings(LEARNED, learned)


def _second(text: str, vocabulary: Vocabulary, complaints: list[str]) -> SourceSettings | None:
    if not text:
        return None
    parts = dict(part.partition("=")[::2] for part in text.split(";") if part)
    model = parts.pop("model", "")
    own: list[str] = []
    source = _source(model, {k.strip(): v for k, v in parts.items()}, vocabulary, own)
    complaints += [f"Model to compare with: {sentence}" for sentence in own]
    return source


def _node(text: str, complaints: list[str]) -> int | None:
    if not text:
        return None
    if re.fullmatch(_NUMBER, text, re.ASCII):
        return int(text)
    complaints.append(f"A node is given by its number, not by {quoted(text)}; ignored.")
    return None


def _edge(text: str, complaints: list[str]) -> tuple[int, int] | None:
    if not text:
        return None
    found = re.fullmatch(rf"({_NUMBER})-({_NUMBER})", text, re.ASCII)
    i, j = (int(found[1]), int(found[2])) if found else (0, 0)
    if i != j:
        return min(i, j), max(i, j)
    complaints.append(f"An edge is written as 3-7, not {quoted(text)}; ignored.")
    return None


def _evidence(text: str, complaints: list[str]) -> dict[int, int]:
    evidence: dict[int, int] = {}
    for part in filter(None, text.split(",")):
        found = re.fullmatch(rf"({_NUMBER}):({_NUMBER})", part.strip(), re.ASCII)
        if found and evidence.setdefault(int(found[1]), int(found[2])) != int(found[2]):
            complaints.append(
                f"The evidence gives variable {found[1]} two different states; using the first."
            )
        elif not found:
            complaints.append(
                f"Evidence is written as variable:state, both as numbers, not {quoted(part)}; "
                "ignored."
            )
    return evidence


def _method(text: str, complaints: list[str]) -> str:
    if not text or text in METHODS:
        return text or AUTOMATIC
    complaints.append(
        f"The method must be one of {', '.join(METHODS)}, not {quoted(text)}; using {AUTOMATIC}."
    )
    return AUTOMATIC


def _single(name: str, value: str | Sequence[str], complaints: list[str]) -> str:
    values = [value] if isinstance(value, str) else list(value)
    if len(values) > 1:
        complaints.append(f"{quoted(name)} occurs twice in the link; using the last value.")
    text = values[-1].strip() if values else ""
    if len(text) > _LONGEST:
        complaints.append(f"The value of {quoted(name)} is too long; ignored.")
        return ""
    return text
