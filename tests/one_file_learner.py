"""Script of test_add_a_learner.py: check a learner in a file outside the package.

The registry looks at every module of the package graftviz.learners; here that package is given a
second folder before the registry is read. Arguments: that folder, the learner's name,
and the command line that its page shows.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import graftviz as gv
from graftviz import learners
from graftviz.__main__ import main
from graftviz.learners.registry import learner_class
from graftviz.narrative.steps import step_words
from graftviz.options import option_specs

CONTRACT = Path(__file__).resolve().parent / "test_learners.py"


def controls() -> None:
    """A page with the controls of one learner, as AppTest runs it."""
    import sys  # noqa: PLC0415

    from graftviz.learners.registry import learner_class  # noqa: PLC0415
    from graftviz.options import option_specs  # noqa: PLC0415
    from graftviz.ui.controls import show_options  # noqa: PLC0415

    specs = option_specs(learner_class(sys.argv[2]))
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
    # Imported here: the choices of the page are those of the registry at this moment.
    page = importlib.import_module("graftviz.ui.grow.options").GrowOptions
    (choice,) = [spec for spec in option_specs(page) if spec.name == "learner"]
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
    learners.__path__.append(sys.argv[1])
    sys.exit(run(sys.argv[2], sys.argv[3:]))
