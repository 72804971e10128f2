"""Files of a reproduction: measured.json, the data of the figure, and the HTML page."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from datetime import UTC, datetime

import plotly.graph_objects as go

from graftviz.evaluation.benchmarks.sweep_files import html_page, machine
from graftviz.reports.reproduction.claims import Claim, Held, Row, Verdict
from graftviz.reports.reproduction.experiment import Reproduction
from graftviz.utils.files import csv_text, json_text
from graftviz.utils.options import attributes

# Sign, name of the style, and words of each verdict; signs and words carry it, colour is redundant.
_VERDICTS: dict[Held, tuple[str, str, str]] = {
    True: ("✓", "held", "held"),
    "partly": ("≈", "partly", "held in part"),
    False: ("✗", "not", "did not hold"),
    None: ("?", "open", "not judged"),
}
_STYLE = """
h2 { margin: 28px 0 8px; font-size: 22px; }
li { margin: 0 0 14px; }
ul.statements { list-style: none; padding: 0; }
ul.statements li { border-left: 5px solid #7f7f7f; padding: 2px 14px; }
ul.statements li.held { border-color: #009e73; }
ul.statements li.partly { border-color: #e69f00; }
ul.statements li.not { border-color: #d55e00; }
p { margin: 2px 0; }
"""


def describe_verdict(verdict: Verdict) -> str:
    """Return "held", "did not hold", "held in part" or "not judged", with the number of cases."""
    words = _VERDICTS[verdict.held][2]
    return f"{words} (met {verdict.met} of {verdict.judged})" if verdict.judged else words


def measured_json(
    reproduction: Reproduction,
    *,
    command: str,
    missing: str,
    interrupted: bool,
    files: Sequence[str],
) -> str:
    """Return all measurements and verdicts as JSON.

    Parameters
    ----------
    command : str
        Command line that was run.
    missing : str
        Sentence on missing data sets and where to get them.
    interrupted : bool
    files : sequence of str
        Names of all files of the reproduction.
    """
    experiment = reproduction.experiment
    names = {"Python": "python", "processor": "machine"}
    facts = machine(numpy="numpy", numba="numba", plotly="plotly")
    versions = {names.get(key, key): value for key, value in facts.items()}
    content = {
        "experiment": experiment.name,
        **attributes(experiment, "title", "place"),
        "scale": reproduction.scale,
        "status": "interrupted" if interrupted else reproduction.status,
        "claim": " ".join(claim.words for claim in experiment.claims),
        "held": reproduction.held(),
        "sentence": _sentence(reproduction, missing),
        "claims": [_judged(*pair) for pair in reproduction.verdicts()],
        "measured": experiment.summarised(reproduction.rows),
        **attributes(experiment, "settings", "notes"),
        "missing": missing,
        "seed": reproduction.seed,
        "parts": len(reproduction.parts),
        "parts_measured": len(reproduction.measured),
        "parts_kept_from_earlier": len(reproduction.reused),
        "versions": {**versions, "cores": os.cpu_count()},
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": list(files),
    }
    return json_text(content)


def _judged(claim: Claim, verdict: Verdict) -> Row:
    measured = {"claim": claim.words, "measured": verdict.sentence}
    return measured | attributes(verdict, "held", "numbers", "met", "judged")


def data_csv(reproduction: Reproduction) -> str:
    """Return the data of the figure as CSV."""
    rows = reproduction.experiment.tabulated(reproduction.rows)
    return csv_text([list(rows[0]), *(row.values() for row in rows)] if rows else [])


def _sentence(reproduction: Reproduction, missing: str) -> str:
    """Return a summary of the verdicts in one or more sentences."""
    if not reproduction.measured:
        return f"Not run. {missing}".strip()
    verdicts = reproduction.verdicts()
    good = sum(verdict.held is True for _, verdict in verdicts)
    sentences = [f"{good} of {len(verdicts)} statements held.", reproduction.caution]
    for claim, verdict in verdicts:
        if verdict.held is not True:
            measured = "" if verdict.held is None else "Measured: "
            word = describe_verdict(verdict).capitalize()
            sentences.append(f"{word}: {claim.words} {measured}{verdict.sentence}")
    return " ".join(filter(None, [*sentences, missing]))


def report_page(reproduction: Reproduction, figure: go.Figure, *, command: str) -> str:
    """Return a self-contained HTML page that includes Plotly.

    Parameters
    ----------
    figure : plotly figure
        Figure of the results.
    command : str
        Command line that was run.
    """
    experiment = reproduction.experiment
    drawn = figure.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    statements = "".join(_statement(*judged) for judged in reproduction.verdicts())
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in experiment.notes)
    body = (
        f"{drawn}<h2>Statements of the paper and measurements</h2>"
        + (f"<p>{reproduction.caution}</p>" if reproduction.caution else "")
        + f'<ul class="statements">{statements}</ul>'
        + (f"<h2>Differences and settings</h2><ul>{notes}</ul>" if notes else "")
    )
    footer = f"<p>{html.escape(experiment.place)}; <code>{html.escape(command)}</code></p>"
    return html_page(experiment.title, body, footer, width=1400, style=_STYLE)


def _statement(claim: Claim, verdict: Verdict) -> str:
    sign, kind, _ = _VERDICTS[verdict.held]
    return (
        f'<li class="{kind}"><p><strong>{sign} {describe_verdict(verdict).capitalize()}:'
        f"</strong> {html.escape(claim.words)}</p>"
        f'<p class="measured">{html.escape(verdict.sentence)}</p></li>'
    )
