"""Script of test_add_a_score.py: use a score in a file outside the package.

Arguments: the folder with the file, the name of the score, and the command line of its page.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from numba.core.caching import Cache

import graftviz as gv
from graftviz import scores
from graftviz.__main__ import main
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
    # Imported here: the choices are those of the registry at the first import of the options.
    lines = importlib.import_module("graftviz.narrative.when_to_use").WHEN_TO_USE
    assert lines["score"][name] == score.when_to_use
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
    scores.__path__.append(sys.argv[1])
    # Other processes do not find the file, and could not read the kernels compiled for its score.
    Cache.save_overload = lambda *_: None
    sys.exit(run(sys.argv[2], sys.argv[3:]))
