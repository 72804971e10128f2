"""Any upload, text or link is accepted or refused in one sentence, without other errors."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hostile_files import BAD_NAMES
from hypothesis import HealthCheck, example, given, settings, strategies as st
from table_cases import upload

import graftviz as gv
from graftviz import DiscreteTable, InputError, PairwiseMRF, Run, read_table
from graftviz.learning.registry import learner_class, learner_names
from graftviz.model.readwrite.reading import GRAPHML, NODE_LINK, parse_model
from graftviz.model.readwrite.uai import NamesFile, names_text, uai_text
from graftviz.reports.files.run_folder import replay_page, result_json
from graftviz.reports.files.table_csv import table_csv
from graftviz.reports.files.tables import (
    edges_csv,
    marginals_csv,
    model_edges_csv,
    result_model,
    trace_csv,
)
from graftviz.reports.files.uploads import read_uploaded_model
from graftviz.reports.picture import graph_picture, graph_svg
from graftviz.reports.replay.records import recorded_run
from graftviz.utils.options import option_specs

# Any text that a UTF-8 file can hold, with a share of known problem cases.
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(BAD_NAMES)
ODD = st.sampled_from(
    ["", "0", "-1", "1e999", "nan", "9" * 25, "9" * 5000, "1_0", "٣", "0x10", "a" * 5000, "\ud800"]
)


def at_most(examples: int) -> settings:
    """Return settings for a slow test: few examples, except in the profile that explores."""
    profile = settings.get_profile(settings.get_current_profile_name())
    return settings(
        max_examples=max(examples, profile.max_examples)
        if profile.max_examples > 100
        else examples,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


@contextlib.contextmanager
def taken_or_refused() -> Iterator[None]:
    """Suppress an InputError whose message is one short sentence."""
    sentences = None
    try:
        yield
    except InputError as refusal:
        sentences = str(refusal)
    assert sentences is None or (0 < len(sentences) < 1000 and "\n" not in sentences)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """Return a line of names and lines of labels, a few different ones in every column."""
    n = draw(st.integers(2, 5))
    names = draw(st.lists(TEXTS, min_size=n, max_size=n))
    labels = [draw(st.lists(TEXTS | ODD, min_size=1, max_size=3)) for _ in range(n)]
    rows = draw(st.integers(2, 12))
    return [names] + [
        [labels[i][(k * (i + 1)) % len(labels[i])] for i in range(n)] for k in range(rows)
    ]


def written(lines: list[list[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(lines)
    return text.getvalue().encode("utf-8", "replace")


@at_most(25)
@given(tables())
@example([["0", "0\r0"], ["", ""], ["", ""]])
@example([["0", "a;b"], ["c;d", ""], ["c;d", ""]])
def test_a_table_of_any_text_is_learned_and_written_and_read_back(lines: list[list[str]]) -> None:
    table = None
    with taken_or_refused():
        table = read_table(upload("t.csv", written(lines)), missing="state", header=True)
    if table is None:
        return
    again = read_table(upload("t.csv", table_csv(table)), missing="state", header=True, like=table)
    np.testing.assert_array_equal(again.codes, table.codes)
    run = Run(table, gv.ChowLiu(), seed=0)
    while run.advance():
        pass
    result = run.result()
    model = result.model
    names = NamesFile("m.names.json", names_text(model).encode())
    for found in (
        parse_model("m.uai", uai_text(model).encode(), names).model,
        parse_model("m.json", result_model(NODE_LINK, result).encode()).model,
        parse_model("m.graphml", result_model(GRAPHML, result)).model,
    ):
        assert (found.names, found.labels) == (model.names, model.labels)
    beliefs = gv.infer(model)
    for text in (edges_csv(result), marginals_csv(model, beliefs), model_edges_csv(model, beliefs)):
        text.encode("utf-8")
    trace_csv(result)
    json.loads(result_json(result))
    ElementTree.fromstring(graph_svg(graph_picture(model), model.names, lines[0][0]))
    page = replay_page(*recorded_run(run, title=lines[0][0]))
    assert page.count("<script") == 2, "the run and the player; no text became another"
    assert page.count("</script>") == 2


SMALL = DiscreteTable.from_codes([[k & 1, (k >> 1) & 1, (k & 1) ^ (k % 5 == 0)] for k in range(40)])


def random_options(draw: st.DrawFn, cls: type) -> dict[str, Any]:
    """Draw values that each option of `cls` by itself would take."""
    chosen: dict[str, Any] = {}
    for spec in draw(st.lists(st.sampled_from(option_specs(cls)), max_size=4)):
        if spec.kind == "bool":
            value: Any = draw(st.booleans())
        elif spec.kind == "choice":
            value = draw(st.sampled_from(spec.choices))
        elif spec.kind == "int":
            value = draw(st.sampled_from([0, 1, 2, 3, 7, 10**6, 2**40]))
        else:
            value = draw(st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 0.5, 1.0, 3.0, 1e6, 1e300]))
        chosen[spec.name] = None if spec.optional and draw(st.booleans()) else value
    return chosen


@st.composite
def learners(draw: st.DrawFn) -> tuple[type, dict[str, Any]]:
    cls = learner_class(draw(st.sampled_from(learner_names())))
    return cls, random_options(draw, cls)


@pytest.mark.slow
@at_most(40)
@given(learners())
@example((gv.BoundedInference, {"complexity": "treewidth", "bound": 1e300}))
@example((gv.BoundedInference, {"lam2": 1e-300}))
def test_any_options_learn_or_are_refused(chosen: tuple[type, dict[str, Any]]) -> None:
    cls, options = chosen
    with taken_or_refused():
        run = Run(SMALL, cls(**options), seed=0)
        for _ in range(4):
            if not run.advance():
                break


MODEL = PairwiseMRF.from_tables(
    [np.array([0.1, -0.2]), np.array([0.0, 0.3, -1.0]), np.zeros(2)],
    {(0, 1): np.arange(6.0).reshape(2, 3), (1, 2): -np.arange(6.0).reshape(3, 2)},
)


def archive(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return content.getvalue()


RESULT = {"model.uai": uai_text(MODEL).encode(), "model.names.json": names_text(MODEL).encode()}


def test_archive_member_without_name_is_ignored() -> None:
    damaged = archive({**RESULT, "x.txt": b"", "folder.uai/": b""}).replace(b"x.txt", b"\0.txt")
    assert read_uploaded_model({"m.zip": damaged}).model.names == MODEL.names
