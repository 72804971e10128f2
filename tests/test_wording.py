"""Options are called what people meet them as."""

from __future__ import annotations

import pytest

from graftviz.__main__ import main
from graftviz.wording import reworded


def test_arguments_in_a_sentence_are_reworded_and_nothing_else():
    sentence = 'fill it in, or drop rows (missing="drop"), or choose header=False; a="b" stays.'
    assert reworded(sentence, "--{} {}".format) == (
        'fill it in, or drop rows (--missing drop), or choose --header no; a="b" stays.'
    )
    assert reworded("x", "--{} {}".format) == "x"


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("a,b\n1,\n2,3\n1,2\n", "--missing drop"),
        ("a,b\n" + "".join(f"{k / 7},1\n" for k in range(90)), "--continuous bin"),
        ("1,2\n3,4\n1,2\n", "--header no"),
    ],
)
def test_the_command_line_advises_its_own_flags(tmp_path, capsys, text, flag):
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert main(["learn", str(path), "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert flag in told
    assert '="' not in told
    # What is advised is understood, so that something else is the matter now, if anything is.
    main(["learn", str(path), *flag.split(), "--out", str(tmp_path / "out")])
    assert flag not in capsys.readouterr().err
