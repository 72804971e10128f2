"""Run in a process of its own, by test_add_a_learner.py: a learner that lies in one file elsewhere.

The registry looks at every module of the package graftviz.learners; here that package is given a
second folder before anything has asked the registry. Arguments: that folder, the learner's name,
and the command line that its page shows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from graftviz import learners
from graftviz.__main__ import main
from graftviz.learners.registry import learner_class
from graftviz.options import option_specs
from graftviz.ui.services import vocabulary

CONTRACT = Path(__file__).resolve().parent / "test_learners.py"


def controls() -> None:
    """A page with the controls of one learner, as AppTest runs it."""
    import sys  # noqa: PLC0415

    from graftviz.learners.registry import learner_class  # noqa: PLC0415
    from graftviz.options import option_specs  # noqa: PLC0415
    from graftviz.ui.controls import show_options  # noqa: PLC0415

    specs = option_specs(learner_class(sys.argv[2]))
    show_options(specs, {spec.name: spec.default for spec in specs}, print, prefix="page")


def run(name: str, words: list[str]) -> int:
    """Learn by the command, look for the flags and the controls, and hold to the contract."""
    assert learner_class(name).__module__ == f"graftviz.learners.{name}"
    assert name in vocabulary().learners
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
