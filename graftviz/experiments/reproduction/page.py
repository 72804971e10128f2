"""HTML page of a reproduction: the figure, and the statements with their verdicts."""

from __future__ import annotations

import html

import plotly.graph_objects as go

from graftviz.experiments.reproduction.experiment import Held, Reproduction
from graftviz.experiments.reproduction.report import describe_held

# Signs and words carry the verdict; colour is redundant.
_SIGNS: dict[Held | None, tuple[str, str]] = {
    True: ("✓", "held"),
    "partly": ("≈", "partly"),
    False: ("✗", "not"),
    None: ("?", "open"),
}
_STYLE = """
body { margin: 0 auto; max-width: 1400px; padding: 12px clamp(8px, 2vw, 28px) 40px;
  font: 17px/1.5 system-ui, sans-serif; color: #1d2430; background: #fff; }
h2 { margin: 28px 0 8px; font-size: 22px; }
li { margin: 0 0 14px; }
ul.statements { list-style: none; padding: 0; }
ul.statements li { border-left: 5px solid #7f7f7f; padding: 2px 14px; }
ul.statements li.held { border-color: #009e73; }
ul.statements li.partly { border-color: #e69f00; }
ul.statements li.not { border-color: #d55e00; }
p { margin: 2px 0; }
footer, .measured { color: #55606e; }
code { overflow-wrap: anywhere; }
"""


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
    statements = "".join(
        _statement(claim.words, None, why)
        if verdict is None
        else _statement(claim.words, verdict.held, verdict.sentence)
        for claim, verdict, why in reproduction.verdicts()
    )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in experiment.notes)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(experiment.title)}</title><style>{_STYLE}</style></head><body>"
        f"{drawn}"
        '<h2>Statements of the paper and measurements</h2><ul class="statements">'
        f"{statements}</ul>"
        + (f"<h2>Differences and settings</h2><ul>{notes}</ul>" if notes else "")
        + f"<footer><p>{html.escape(experiment.place)}; <code>{html.escape(command)}</code></p>"
        "</footer></body></html>\n"
    )


def _statement(words: str, held: Held | None, measured: str) -> str:
    sign, kind = _SIGNS[held]
    return (
        f'<li class="{kind}"><p><strong>{sign} {html.escape(describe_held(held).capitalize())}:'
        f"</strong> {html.escape(words)}</p>"
        f'<p class="measured">{html.escape(measured)}</p></li>'
    )
