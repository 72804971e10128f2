"""Self-contained HTML page with the player and a finished run, usable offline."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from graftviz.reports.replay.bundle import replay_parts
from graftviz.reports.replay.plain import rounded
from graftviz.reports.texts import catalogue
from graftviz.utils.version import __version__

# Above this many characters, the run is stored compressed instead of as readable JSON.
_PLAIN_LIMIT = 1_000_000
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
    """Return an HTML page with the player and all data of a run.

    Parameters
    ----------
    header, records, outcome : mapping, sequence of mappings, mapping or None
        As described in docs/player.md. Numbers are rounded to six significant digits.

    Returns
    -------
    str
        The page. Its content security policy allows only the page's script and style, by their
        hashes, so that no text of the data is executed and nothing is fetched.
    """
    template, script, style = replay_parts()
    texts = catalogue("player")["replay"]
    if outcome is None:
        outcome = _interrupted_outcome(header, records)
    run = rounded({"header": header, "records": records, "outcome": outcome})
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
        **{f"{{{name}}}": html.escape(text) for name, text in texts.items()},
        "{provenance}": html.escape(_provenance(header)),
        "{data_type}": data_type,
        "{data}": data,
        "{script}": script,
    }
    # The template is split at each key in turn, so that inserted text is never searched for keys.
    page: list[str] = []
    rest = template
    for key, value in parts.items():
        before, rest = rest.split(key, 1)
        page += [before, value]
    return "".join([*page, rest])


def _provenance(header: Mapping[str, Any]) -> str:
    """Return a sentence with version and numbers of rows; without a date, to be reproducible."""
    rows = header["rows"]
    held_out = f", {rows['test']:,} held out" if rows["test"] else ""
    return (
        f"Learned by graftviz {__version__} from {rows['train']:,} rows{held_out}. "
        "This page needs no network."
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _interrupted_outcome(
    header: Mapping[str, Any], records: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the outcome of an interrupted run, which ends its timeline."""
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
