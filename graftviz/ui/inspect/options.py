"""Settings of the Inspect page, and its address.

A learned model is written as on the Grow page (data, learner, options, seed, step), so that a link
of that page opens the same model here. ``model=true`` is the model a sample was drawn from,
``model=<fingerprint>`` an uploaded file. Further keys: ``node``, ``edge=3-7``,
``evidence=2:1,5:0`` (variable:state), ``method``, and ``with``, the model to compare with, written
like the first with semicolons: ``with=learner=chow-liu;seed=3``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from graftviz.inference import METHODS as INFERENCE
from graftviz.ui.grow.options import GrowOptions
from graftviz.ui.model_source import FILE, LEARNED, TRUE, SourceSettings
from graftviz.ui.url_state import (
    UPLOAD,
    LinkReader,
    one_of,
    parse_options_of,
    whole_number,
    write_options_of,
)
from graftviz.wording import quoted

AUTOMATIC = "automatic"
METHODS = (AUTOMATIC, *sorted(INFERENCE, key=lambda name: name != "exact"))
OWN_KEYS = ("model", "node", "edge", "evidence", "method", "with")
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_LONGEST = 2_000
_LARGEST = 9_999_999
_NUMBER = r"(\d{1,7})"


@dataclass(frozen=True)
class InspectSettings:
    """Everything that decides what the page shows.

    Attributes
    ----------
    first : SourceSettings
    second : SourceSettings or None
        The model to compare with.
    selection : tuple of int
        Empty, a node, or both ends of an edge.
    evidence : mapping
        State by variable.
    method : str
        One of `METHODS`.
    """

    first: SourceSettings
    second: SourceSettings | None = None
    selection: tuple[int, ...] = ()
    evidence: Mapping[int, int] = field(default_factory=dict)
    method: str = AUTOMATIC


def write_inspection(settings: InspectSettings) -> dict[str, str]:
    """Return the query parameters of `settings`; :func:`parse_inspection` reads them back."""
    own = {
        "edge" if len(settings.selection) == 2 else "node": "-".join(map(str, settings.selection)),
        "evidence": ",".join(f"{i}:{k}" for i, k in settings.evidence.items()),
        "method": "" if settings.method == AUTOMATIC else settings.method,
    }
    if settings.second is not None:
        parts = _write_source(settings.second)
        # The default data and learner would leave nothing to write.
        parts.setdefault("data", settings.second.learned.data)
        own["with"] = ";".join(f"{name}={text}" for name, text in parts.items())
    written = {name: text for name, text in own.items() if text}
    return _write_source(settings.first) | written


def parse_inspection(query: Mapping[str, str]) -> tuple[InspectSettings, tuple[str, ...]]:
    """Return the settings of a link, with one sentence per part that is ignored."""
    rest = {name: value for name, value in query.items() if name not in OWN_KEYS}
    own = {name: query[name] for name in OWN_KEYS if name in query}
    link = LinkReader(own, dict.fromkeys(own, _LONGEST))
    first, second = _source(link, rest), _second(link)
    rule = "A node is given by its number, not by {}; ignored."
    node = link.take("node", None, whole_number(0, _LARGEST), rule)
    edge = link.take("edge", None, _edge, "An edge is written as 3-7, not {}; ignored.")
    if node is not None and edge is not None:
        link.complaints.append("A link selects a node or an edge; the edge is ignored.")
    selection = (edge or ()) if node is None else (node,)
    evidence = _evidence(link)
    rule = f"The method must be one of {', '.join(METHODS)}, not {{}}; using {AUTOMATIC}."
    method = link.take("method", AUTOMATIC, one_of(METHODS), rule)
    settings = InspectSettings(first, second, selection, evidence, method)
    return settings, tuple(link.complaints)


def _write_source(source: SourceSettings) -> dict[str, str]:
    if source.kind == FILE:
        return {"model": source.fingerprint}
    if source.kind == TRUE:
        return {"model": TRUE, **write_options_of(GrowOptions, {"data": source.learned.data})}
    return write_options_of(GrowOptions, vars(source.learned))


def _source(link: LinkReader, rest: Mapping[str, str]) -> SourceSettings:
    values, complaints = parse_options_of(GrowOptions, rest)
    link.complaints += complaints
    learned = GrowOptions(**values)

    def read(text: str) -> SourceSettings | None:
        if text.lower() == TRUE and learned.data != UPLOAD:
            return SourceSettings(TRUE, learned)
        is_print = _FINGERPRINT.fullmatch(text.lower())
        return SourceSettings(FILE, learned, text.lower()) if is_print else None

    rule = (
        f"The model must be {TRUE} (the model the data were sampled from) or the fingerprint of a "
        "file, not {}; showing a learned model."
    )
    return link.take("model", SourceSettings(LEARNED, learned), read, rule)


def _second(link: LinkReader) -> SourceSettings | None:
    text = link.left.pop("with", "").strip()
    if not text:
        return None
    parts = [part.partition("=") for part in text.split(";") if part]
    rest = {name.strip(): value for name, _, value in parts}
    own = LinkReader({"model": rest.pop("model", "")}, {"model": _LONGEST})
    source = _source(own, rest)
    link.complaints += [f"Model to compare with: {sentence}" for sentence in own.complaints]
    return source


def _edge(text: str) -> tuple[int, int] | None:
    found = re.fullmatch(f"{_NUMBER}-{_NUMBER}", text, re.ASCII)
    i, j = sorted(map(int, found.groups())) if found else (0, 0)
    return (i, j) if i != j else None


def _evidence(link: LinkReader) -> dict[int, int]:
    evidence: dict[int, int] = {}
    for part in filter(None, link.left.pop("evidence", "").split(",")):
        found = re.fullmatch(f"{_NUMBER}:{_NUMBER}", part.strip(), re.ASCII)
        if not found:
            link.complaints.append(
                f"Evidence is written as variable:state, both as numbers, not {quoted(part)}; "
                "ignored."
            )
        elif evidence.setdefault(int(found[1]), int(found[2])) != int(found[2]):
            link.complaints.append(
                f"The evidence gives variable {found[1]} two different states; using the first."
            )
    return evidence
