"""How well a model predicts, in a sentence."""

from __future__ import annotations

from graftviz.learning.observer import Quality
from graftviz.reports.texts import catalogue


def quality_words(quality: Quality) -> str:
    """Return how well rows are predicted, and whether shrunk weights are the reason."""
    texts = catalogue("answers")["quality"]
    shown = {
        "rows": f"{quality.n_rows:,.0f}",
        "nlpl": f"{quality.nlpl:.4g}",
        "independent": f"{quality.independent:.4g}",
    }
    words = [texts[quality.rows.replace(" ", "_")].format(**shown)]
    if quality.is_shrunk:
        words.append(texts["shrunk"].format(refitted=f"{quality.refitted:.4g}"))
    return " ".join(words)
