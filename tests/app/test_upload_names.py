"""Names of uploaded files, archive entries, variables and states are never used as file names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hostile_files import deflated

from graftviz import InputError, PairwiseMRF, read_model
from graftviz.model.readwrite.graphml import model_graphml
from graftviz.model.readwrite.reading import node_link_json
from graftviz.model.readwrite.uai import names_text, uai_text
from graftviz.reports.files.uploads import read_uploaded_model

STEMS = {
    "300 characters": "x" * 300,
    "300 characters in words": "a word " * 43,
    "10 kB": "y" * 10_000,
    "NUL": "a\0b",
    "lone surrogate": "a\udc80b\ud800",
    "direction marks": "a\u202eb\u2066",
    "line breaks": "a\nb\r\u2028c",
    "a way out": "../../../../etc/passwd",
    "a drive": "C:\\windows\\m",
    "device": "/dev/full",
    "dots": "..",
    "blank": " ",
}


def model(name: str = "a", label: str = "yes") -> PairwiseMRF:
    return PairwiseMRF.from_tables(
        [np.array([0.0, 0.5]), np.array([0.2, 0.0, 0.1])],
        {(0, 1): np.arange(6.0).reshape(2, 3)},
        names=(name, "second"),
        labels=(("no", label), ("x", "y", "z")),
    )


CONTENTS: Mapping[str, Callable[[PairwiseMRF], bytes]] = {
    ".uai": lambda model: uai_text(model).encode(),
    ".graphml": model_graphml,
    ".json": lambda model: node_link_json(model).encode(),
}


def check_sentence(refused: pytest.ExceptionInfo[InputError]) -> None:
    sentence = str(refused.value)
    assert len(sentence) < 400
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    sentence.encode("utf-8")


@pytest.mark.parametrize("suffix", CONTENTS)
@pytest.mark.parametrize("stem", STEMS.values(), ids=STEMS)
@pytest.mark.parametrize("packed", [False, True], ids=["file", "archive"])
def test_file_of_any_name_is_read_with_short_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stem: str, suffix: str, packed: bool
) -> None:
    monkeypatch.chdir(tmp_path)

    def upload(content: bytes) -> Mapping[str, bytes]:
        name = stem + suffix
        if not packed:
            return {name: content}
        entry = name.encode("utf-8", "replace").decode()  # as an archive can store it
        return {f"{stem}.zip": deflated({entry: content})}

    if packed and stem in ("a\0b", ".."):  # zipfile cuts names at NUL; hidden files are ignored
        with pytest.raises(InputError, match="holds no model"):
            read_uploaded_model(upload(CONTENTS[suffix](model())))
        return
    found = read_uploaded_model(upload(CONTENTS[suffix](model())))
    assert found.model.n_edges == 1
    for note in found.notes:
        assert len(note) < 300
        note.encode("utf-8")
    for content in (b"", b"not a model", b"\xff\0"):
        with pytest.raises(InputError) as refused:
            read_uploaded_model(upload(content))
        check_sentence(refused)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["name", "label"])
@pytest.mark.parametrize("suffix", CONTENTS)
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x" * 10_000, "has 10,000 characters"),
        ("a word " * 1430, "has 10,010 characters"),
        ("a\ud800b", "holds a lone surrogate"),
    ],
)
def test_texts_that_cannot_be_shown_are_refused(
    what: str, suffix: str, text: str, complaint: str
) -> None:
    hostile = model(**{what: text})
    files = {f"m{suffix}": CONTENTS[suffix](hostile)}
    if suffix == ".uai":
        files["m.names.json"] = names_text(hostile).encode()
    with pytest.raises(InputError, match=complaint) as refused:
        read_uploaded_model(files)
    check_sentence(refused)


def test_model_with_names_invalid_as_file_names_is_read(tmp_path: Path) -> None:
    path = tmp_path / f"{'x' * 250}.uai"  # with .names.json, longer than file names can be
    path.write_bytes(uai_text(model()).encode())
    assert read_model(path).names == ("x0", "x1")
