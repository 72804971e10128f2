"""One self-contained HTML page that plays a finished run by double click, without any network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from graftviz._version import __version__
from graftviz.player.assets import replay_parts

# Above this many characters the run is stored compressed; below, it can be read in the page source.
_PLAIN_LIMIT = 1_000_000
_DIGITS = 6
_ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


def replay_page(
    header: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    outcome: Mapping[str, Any] | None,
) -> str:
    """Return an HTML page with the player and a whole run inside.

    Parameters
    ----------
    header, records, outcome : mapping, sequence of mappings, mapping or None
        As docs/player.md describes them. Numbers are rounded to six significant digits.

    Returns
    -------
    str
        The page. Its content security policy names the page's own script and style by their
        hashes and forbids everything else, so no text in the data can run and nothing is fetched.
    """
    template, script, style = replay_parts()
    if outcome is None:
        outcome = _interrupted(header, records)
    run = _rounded({"header": header, "records": records, "outcome": outcome})
    text = json.dumps(run, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text) <= _PLAIN_LIMIT:
        data_type, data = "application/json", text.translate(_ESCAPES)
    else:
        packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
        data_type, data = "application/gzip", base64.b64encode(packed).decode("ascii")
    parts = {
        "{script_hashes}": _hash(script),
        "{style_hash}": _hash(style),
        "{title}": html.escape(str(header["title"])),
        "{style}": style,
        "{provenance}": html.escape(_provenance(header)),
        "{data_type}": data_type,
        "{data}": data,
        "{script}": script,
    }
    # Piece by piece from the template alone: what is inserted must never be searched again.
    page: list[str] = []
    rest = template
    for key, value in parts.items():
        before, rest = rest.split(key, 1)
        page += [before, value]
    return "".join([*page, rest])


def _provenance(header: Mapping[str, Any]) -> str:
    """Say where a run comes from, and of which graftviz; no date, so that it is reproducible."""
    rows = header["rows"]
    held_out = f", {rows['test']:,} held out" if rows["test"] else ""
    return (
        f"Learned by graftviz {__version__} from {rows['train']:,} rows{held_out}. "
        "This page needs no network."
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _rounded(value: Any) -> Any:
    """Return a copy of nested plain data with shorter floats; what is not finite becomes null."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        short = float(f"{value:.{_DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(entry) for entry in value]
    return value


def _interrupted(header: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an outcome for a run that was cut short, so that its timeline has an end."""
    last: Mapping[str, Any] = records[-1] if records else {}
    inactive = int(header["possible"]) - int(last.get("edges", 0))
    return {
        "steps": len(records),
        "stop_reason": "The run was interrupted here.",
        "converged": False,
        "objective": last.get("objective", header["start"]["objective"]),
        "kkt": last.get("kkt"),
        "seconds": last.get("seconds", 0),
        "certificate": {
            "scored": 0,
            "possible": inactive,
            "worst_score": None,
            "threshold": header["lam"],
        },
        "edges": last.get("edges", 0),
        "recall": last.get("recall"),
        "precision": last.get("precision"),
        "nlpl": last.get("nlpl"),
        "bp_restart_gap": None,
    }
