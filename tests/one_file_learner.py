"""Script of test_add_in_one_file.py: use a learner in a file outside the package.

Arguments: the learner's name, and the command line that its page shows.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import graftviz as gv
from graftviz.__main__ import main
from graftviz.learners.registry import learner_class
from graftviz.narrative.steps import step_words
from graftviz.options import option_specs
from graftviz.ui.grow.options import GrowOptions

CONTRACT = Path(__file__).resolve().parent / "test_learners.py"


def controls() -> None:
    """A page with the controls of one learner, as AppTest runs it."""
    import sys  # noqa: PLC0415

    from graftviz.learners.registry import learner_class  # noqa: PLC0415
    from graftviz.options import option_specs  # noqa: PLC0415
    from graftviz.ui.controls import show_options  # noqa: PLC0415

    specs = option_specs(learner_class(sys.argv[1]))
    show_options(specs, {spec.name: spec.default for spec in specs}, print, prefix="page")


def promised(name: str) -> None:
    """Check the statements of the tutorial about the learner's results."""
    table, cls = gv.load_dataset("survey").table, learner_class(name)
    paper = {"preset": "paper", "lam": 0.009}
    everyone = gv.learn(table, cls(players=55, **paper))
    greedy = gv.learn(table, gv.EdgeGrafting(**paper))
    picks = [
        [edge[:2] for step in run.trace for edge in step.activated] for run in (everyone, greedy)
    ]
    assert picks[0] == picks[1]
    assert len(picks[0]) > 5
    sentence = step_words(everyone.trace[0], everyone.learner, table.names)
    assert re.fullmatch(r"[\w ]+ – [\w ]+ \([\d.]+\) was activated\.", sentence), sentence
    assumed = "The cost of Tournament grafting is unknown; it is assumed to count all pairs."
    assert assumed in gv.forecast(table, cls()).assumptions
    assert gv.MarkovNetwork(learner=name, players=4).fit(table).model_.n_edges > 5


def run(name: str, words: list[str]) -> int:
    """Learn by the command, look for the flags and the controls, and hold to the contract."""
    assert learner_class(name).__module__ == f"graftviz.learners.{name}"
    (choice,) = [spec for spec in option_specs(GrowOptions) if spec.name == "learner"]
    assert name in choice.choices
    promised(name)
    assert main(words) == 0
    with pytest.raises(SystemExit):
        main(["learn", "--help"])
    app = AppTest.from_function(controls).run(timeout=60)
    assert not app.exception
    keys = {element.key for kind in (app.slider, app.number_input, app.toggle) for element in kind}
    own = [spec.name for spec in option_specs(learner_class(name))][-1]
    assert any(key and own in key for key in keys), keys
    sys.stdout.write("the contract follows\n")
    sys.stdout.flush()
    return pytest.main(["-q", "-p", "no:cacheprovider", str(CONTRACT), "-k", name])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
