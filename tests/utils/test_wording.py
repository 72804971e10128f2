"""Wording of messages: names of options, quoted values and escaped text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from graftviz import InputError
from graftviz.__main__ import main
from graftviz.utils.errors import MOST_CHARACTERS
from graftviz.utils.wording import LONGEST, plain, quoted, reworded, shortened


def test_only_arguments_in_a_sentence_are_reworded():
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
def test_command_line_advises_its_own_flags(tmp_path, capsys, text, flag):
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert main(["learn", str(path), "--out", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr().err
    assert flag in shown
    assert '="' not in shown
    # The advised flag is accepted; any remaining error is another one.
    main(["learn", str(path), *flag.split(), "--out", str(tmp_path / "out")])
    assert flag not in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "a", "x" * 80, "x" * 81, "a b " * 2000, "\0" * 500, "ä" * 999], ids=len
)
def test_text_is_shortened_from_the_middle(text):
    short = shortened(text)
    assert len(short) == min(len(text), LONGEST)
    beginning, _, end = short.partition("…") if len(text) > LONGEST else (text, "", "")
    assert text.startswith(beginning)
    assert text.endswith(end)


@pytest.mark.parametrize(
    "value", ["a\nb", "\ud800", "\0\x1b[31m", "\u202e", 10**5000, [1] * 999, None], ids=type
)
def test_any_value_is_quoted_on_one_short_line(value):
    text = quoted(value)
    assert len(text) < 4 * LONGEST
    assert text.isprintable()


@pytest.mark.parametrize(
    "value", ["x" * 5000, "a b " * 1250, "/" * 5000, "a/b" * 1500, '"' * 5000], ids=lambda v: v[:4]
)
def test_messages_do_not_repeat_long_values(value):
    for sentence in (f"There is no file {value}.", f"The option must be 1, not {value!r}; see it."):
        assert len(str(InputError(sentence))) <= MOST_CHARACTERS
        assert str(InputError(sentence)).startswith("The")
        assert str(InputError(sentence)).endswith(sentence[-1])
    assert len(str(InputError(f"The option must be 1, not {'a b ' * 1250!r}; see it."))) < 200


def test_messages_of_ordinary_length_are_unchanged():
    sentence = (
        "There is no file 'it is here', which isn't so; the user's own may be \"that\" one. " * 5
    )
    assert str(InputError(sentence)) == sentence
    assert str(InputError("a\nb\ud800\u2028")) == "a\\nb\\ud800\\u2028"


# Text of users


@given(st.text())
def test_every_special_character_is_escaped_and_nothing_is_lost(text: str) -> None:
    shown = plain(text)
    assert re.sub(r"\\(.)", r"\1", shown) == " ".join(re.split(r"\s+", text)).strip()
    assert not re.search(r"(?<!\\)(?:\\\\)*[\[\]()<>*_`$!~#|]", shown)
    assert "\n" not in shown
