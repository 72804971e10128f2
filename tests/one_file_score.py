"""Script of test_add_a_score.py: use a score in a file outside the package.

Arguments: the name of the score, and the command line of its page.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import graftviz as gv
from graftviz.__main__ import main
from graftviz.narrative.when_to_use import WHEN_TO_USE
from graftviz.options import option_specs
from graftviz.scores.registry import all_scores

CONTRACT = Path(__file__).resolve().parent / "test_scores.py"


def run(name: str, words: list[str]) -> int:
    """Learn by the command, look for the choice and its words, and check the contract."""
    score = all_scores()[name]
    assert type(score).__module__ == f"graftviz.scores.{name}"
    (option,) = [spec for spec in option_specs(gv.BestChoice) if spec.name == "score"]
    assert name in option.choices
    assert score.help in option.help
    assert WHEN_TO_USE["score"][name] == score.when_to_use
    assert main(words) == 0
    table = gv.load_dataset("survey").table
    for options in ({"preset": "paper"}, {"significance": 3.0, "objective": "bethe"}):
        learned = gv.learn(table, gv.BestChoice(score=name, **options))
        assert learned.converged, learned.stop_reason
        assert learned.certificate is not None
        assert learned.certificate.score == name
    assert gv.MarkovNetwork(score=name).fit(table).model_.n_edges > 5
    sys.stdout.write("the contract follows\n")
    sys.stdout.flush()
    return pytest.main(["-q", "-p", "no:cacheprovider", str(CONTRACT), "-k", name])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
