"""Sentences of stop reasons and notes: their templates, and the kinds that learners make."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import graftviz
from graftviz.learning.trace import Remark
from graftviz.reports.texts import catalogue
from graftviz.reports.words.outcomes import remark_words

PACKAGE = Path(graftviz.__file__).parent


def kinds_made() -> Iterator[str]:
    """Iterate over the texts "part.key" of all modules that make remarks."""
    for path in PACKAGE.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        if not any(isinstance(node, ast.Call) and is_remark(node.func) for node in nodes):
            continue
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r"^[a-z]+\.[a-z_]+$", node.value)


def is_remark(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "Remark"


def test_every_kind_has_a_template_and_every_template_is_used() -> None:
    templates = {f"{part}.{key}" for part, texts in catalogue("ends").items() for key in texts}
    assert set(kinds_made()) == templates


EDGE = Remark("parts.edge", {"source": "a {b}", "target": "c"})
ABOVE = Remark("parts.above", {"lam": 0.0005})


@pytest.mark.parametrize(
    ("remark", "sentence"),
    [
        (Remark("reasons.budget", {"budget": 1200}), "The edge budget of 1,200 edges is used up."),
        (
            Remark("notes.removed", {"count": 1}),
            "One edge was removed that would not pass the test again.",
        ),
        (
            Remark("notes.removed", {"count": 2000}),
            "2,000 edges were removed that would not pass the test again.",
        ),
        (
            Remark("tree.joined", {"scored": 1045, "gain": -0.021714, "edge": EDGE}),
            "The tree joins all variables; no exchange improves it (best of 1,045: -0.0217 "
            "(a {b} – c)).",
        ),
        (
            Remark(
                "reasons.no_edges",
                {
                    "kind": Remark("parts.pair", {}),
                    "verdict": ABOVE,
                    "scored": 3,
                    "edge": EDGE,
                    "reached": Remark("parts.score", {"score": 0.00049997, "lam": 0.0005}),
                    "limits": "λ",
                },
            ),
            "No pair scores above λ = 0.0005 (best of 3: a {b} – c, 0.00049997), so there are no "
            "edges. Lower λ to get edges.",
        ),
        (Remark("parts.share", {"share": 99.96}), "99.96 % of the threshold"),
        (Remark("parts.share", {"share": 2.0}), "2 % of the threshold"),
        (
            Remark(
                "exchange.result",
                {"ended": Remark("exchange.limit", {"count": 1}), "loss": 9.00965896},
            ),
            "Reached the limit of 1 exchange. Result: the best model, with a training PLL of "
            "−9.00966 nats per row.",
        ),
    ],
)
def test_sentence_has_the_values_of_its_remark(remark: Remark, sentence: str) -> None:
    assert remark_words(remark) == sentence
