"""Models as files: round trips of every format, and refusals in one sentence."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import zipfile
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from fakes import random_pairs, random_table
from hypothesis import assume, given, strategies as st

from graftviz import InputError, PairwiseMRF, infer, learn, read_model
from graftviz.__main__ import main
from graftviz.inference.inspection import compare_models
from graftviz.model.readwrite.graphml import model_graphml, parse_graphml
from graftviz.model.readwrite.reading import (
    GRAPHML,
    node_link_json,
    parse_node_link,
    read_model_file,
)
from graftviz.model.readwrite.uai import write_uai
from graftviz.reports.files.table_csv import shown_cell
from graftviz.reports.files.tables import marginals_csv, model_edges_csv, result_model
from graftviz.reports.files.uploads import read_uploaded_model
from graftviz.reports.picture import difference_picture, graph_picture, graph_svg, viridis

TEXTS = st.text(max_size=6)


@st.composite
def models(draw: st.DrawFn, finite: bool = False) -> PairwiseMRF:
    """Any model of a few variables: any names and labels, weights of any size, zero potentials."""
    n = draw(st.integers(1, 5))
    sizes = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    pairs = draw(st.permutations([(i, j) for j in range(n) for i in range(j)]))
    pairs = pairs[: draw(st.integers(0, len(pairs)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([0.0, 1.0, 1e-300, 1e200]))

    def table(*shape: int) -> np.ndarray:
        weights = scale * rng.normal(size=shape)
        return weights if finite else np.where(rng.random(shape) < 0.1, -np.inf, weights)

    return PairwiseMRF.from_tables(
        [table(s) for s in sizes],
        {(i, j): table(sizes[i], sizes[j]) for i, j in pairs},
        names=tuple(draw(st.lists(TEXTS, min_size=n, max_size=n, unique=True))),
        labels=tuple(tuple(draw(TEXTS) for _ in range(s)) for s in sizes),
    )


def assert_same(again: PairwiseMRF, model: PairwiseMRF) -> None:
    assert again.cardinalities.tolist() == model.cardinalities.tolist()
    assert again.edges.tolist() == model.edges.tolist()
    assert (again.names, again.labels) == (model.names, model.labels)
    assert again.weights.tobytes() == model.weights.tobytes()


def small(weight: float = 0.5) -> PairwiseMRF:
    return PairwiseMRF.from_tables(
        [np.zeros(2), np.array([0.1, -0.2, 0.0]), np.zeros(2)],
        {(0, 1): weight * np.arange(6.0).reshape(2, 3), (1, 2): np.ones((3, 2))},
        names=("rain", "wind", "snow"),
        labels=(("no", "yes"), ("calm", "breeze", "storm"), ("no", "yes")),
    )


# Round trips


@given(models())
def test_graphml_round_trip_is_exact(model):
    found = parse_graphml("m.graphml", model_graphml(model))
    assert_same(found.model, model)
    assert found.notes == ()


@given(models())
def test_node_link_json_round_trip_is_exact(model):
    text = node_link_json(model)
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert_same(parse_node_link("m.json", text.encode("ascii")).model, model)


def test_graphml_of_a_result_contains_its_model_and_steps():
    result = learn(random_table(6, 7, 80), random_pairs(), seed=1)
    content = result_model(GRAPHML, result)
    found = parse_graphml("g.graphml", content)
    assert_same(found.model, result.model)
    graph = nx.read_graphml(io.BytesIO(content), node_type=int)
    steps = [graph.edges[edge]["step"] for edge in result.model.edges.tolist()]
    assert set(steps) == {step.index for step in result.trace}
    assert (
        found.steps
        == tuple(steps)
        == parse_node_link("g.json", node_link_json(result.model, steps).encode()).steps
    )


@pytest.mark.parametrize("step", [0, -1, 1.5, "x", None, 1e300])
def test_steps_are_positive_whole_numbers_of_all_edges(step):
    graph = json.loads(node_link_json(small(), steps=[3, 4]))
    assert parse_node_link("g.json", json.dumps(graph).encode()).steps == (3, 4)
    graph["edges"][1]["step"] = step
    assert parse_node_link("g.json", json.dumps(graph).encode()).steps is None


@given(models())
def test_every_reader_of_paths_finds_the_same_model(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("models")
    (folder / "a.graphml").write_bytes(model_graphml(model))
    (folder / "b.json").write_text(node_link_json(model))
    assert_same(read_model(folder / "a.graphml"), model)
    assert_same(read_model(folder / "b.json"), model)
    assert_same(read_uploaded_model({"a.graphml": model_graphml(model)}).model, model)


# GraphML of other programs

FOREIGN = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="weight" attr.type="double"><default>0.5</default></key>
  <key id="d1" for="node" attr.name="field" attr.type="double"/>
  <key id="d2" for="node" attr.name="label" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="n0"><data key="d2">a</data><data key="d1">0.25</data></node>
    <node id="n1"><data key="d2">b</data></node>
    <node id="n2"><data key="d2">c</data></node>
    <edge source="n1" target="n0"><data key="d0">-1.5</data></edge>
    <edge source="n1" target="n2"/>
  </graph>
</graphml>"""


def test_weighted_foreign_graphml_is_read_as_ising_model_with_note():
    found = parse_graphml("g.graphml", FOREIGN.encode())
    model = found.model
    assert model.names == ("a", "b", "c")
    assert model.labels == (("-1", "+1"),) * 3
    assert model.edges.tolist() == [[0, 1], [1, 2]]
    for codes in np.ndindex(2, 2, 2):
        x = 2 * np.array(codes) - 1
        energy = -1.5 * x[0] * x[1] + 0.5 * x[1] * x[2] + 0.25 * x[0]
        assert model.log_scores(np.array(codes)[:, None])[0] == pytest.approx(energy, abs=1e-12)
    assert "read as an Ising model" in found.notes[0]
    assert "field" in found.notes[0]
    directed = FOREIGN.replace('"undirected"', '"directed"')
    assert "directions" in parse_graphml("g.graphml", directed.encode()).notes[1]


@given(st.integers(0, 1000))
def test_a_graph_of_networkx_with_weights_is_read(seed):
    graph = nx.gnm_random_graph(8, 12, seed=seed)
    rng = np.random.default_rng(seed)
    for i, j in graph.edges:
        graph.edges[i, j]["weight"] = float(rng.normal())
    content = io.BytesIO()
    nx.write_graphml_xml(graph, content)
    model = parse_graphml("g.graphml", content.getvalue()).model
    assert model.names == tuple("01234567")
    for e, (i, j) in enumerate(model.edges.tolist()):
        weight = graph.edges[i, j]["weight"]
        assert model.edge_weights(e).tolist() == [[weight, -weight], [-weight, weight]]


OWN = model_graphml(small()).decode()
BAD_GRAPHML = {
    "empty": ("", "not well-formed XML"),
    "cut short": (FOREIGN[:-20], "not well-formed XML"),
    "other XML": ("<svg/>", "not GraphML: it begins with <svg>"),
    "no graph": ("<graphml/>", "must hold one graph; it has 0"),
    "no nodes": ("<graphml><graph/></graphml>", "has no nodes"),
    "document type": ("<!DOCTYPE graphml [<!ENTITY a 'b'>]>" + FOREIGN[39:], "DOCTYPE"),
    "no id": (FOREIGN.replace('node id="n0"', "node"), "node number 1 has no id"),
    "id twice": (FOREIGN.replace('node id="n1"', 'node id="n0"'), "two nodes have the id 'n0'"),
    "unknown end": (
        FOREIGN.replace('target="n2"', 'target="n9"'),
        "target 'n9', which is not a node",
    ),
    "loop": (FOREIGN.replace('target="n2"', 'target="n1"'), "joins 'b' to itself"),
    "edge twice": (
        FOREIGN.replace('source="n1" target="n2"', 'source="n0" target="n1"'),
        "two edges join 'a' and 'b'",
    ),
    "no number": (
        FOREIGN.replace("-1.5", "strong"),
        "'b' – 'a' is 'strong', which is not a finite",
    ),
    "infinite": (FOREIGN.replace("-1.5", "INF"), "is 'INF', which is not a finite number"),
    "bad field": (FOREIGN.replace("0.25", "nan"), "field of 'a' is 'nan'"),
    "unknown key": (FOREIGN.replace('<data key="d1"', '<data key="d7"'), "key 'd7' without"),
    "no weights": (FOREIGN.replace('"weight"', '"width"'), "holds a graph but no model"),
    "some weights": (
        FOREIGN.replace("<default>0.5</default>", ""),
        "the edge 'b' – 'c' has no weight, but others",
    ),
    "hyperedge": (FOREIGN.replace("</graph>", "<hyperedge/></graph>"), "hyperedge"),
    "word in weights": (OWN.replace("0.1 -0.2", "0.1 high"), "weights of 'wind' hold 'high'"),
    "too few": (OWN.replace("0.1 -0.2 0.0", "0.1 -0.2"), "3 labels but weights for 2 states"),
    "wrong shape": (OWN.replace(" 2.5<", "<"), "'rain' – 'wind' are 5 numbers, .* 2 × 3 states"),
    "labels": (OWN.replace('["calm", ', '["calm" '), "labels of 'wind' are not a list of texts"),
}


@pytest.mark.parametrize(("content", "sentence"), BAD_GRAPHML.values(), ids=BAD_GRAPHML)
def test_malformed_graphml_is_refused_in_one_sentence(content, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        parse_graphml("g.graphml", content.encode())
    assert "g.graphml" in str(refused.value)
    assert "\n" not in str(refused.value)


BAD_JSON = {
    "cut": ("{", "not valid JSON"),
    "deep": ("[" * 100_000, "not valid JSON"),
    "list": ("[]", "not a graph"),
    "no edges": ('{"nodes": []}', "not a graph"),
    "numbers": ('{"nodes": [1], "edges": []}', "not a graph"),
    "empty": ('{"nodes": [], "edges": []}', "has no nodes"),
    "id": ('{"nodes": [{"id": [1]}], "edges": []}', "has no id"),
    "end": ('{"nodes": [{"id": 1}], "edges": [{"source": 1, "target": {}}]}', "is not a node"),
    "infinity": ('{"nodes": [{"id": 1, "weights": [1e999]}], "edges": []}', "inf.*not a number"),
    "true": ('{"nodes": [{"id": 1, "weights": [true]}], "edges": []}', "not a number"),
    "nothing": ('{"nodes": [{"id": 1, "weights": []}], "edges": []}', "are empty"),
    "result": ('{"learner": "best-choice"}', "not a graph"),
}


@pytest.mark.parametrize(("content", "sentence"), BAD_JSON.values(), ids=BAD_JSON)
def test_malformed_json_is_refused_in_one_sentence(content, sentence):
    with pytest.raises(InputError, match=sentence):
        parse_node_link("m.json", content.encode())


def test_key_links_is_accepted():
    text = '{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b", %s}]}'
    model = parse_node_link("d3.json", (text % '"weight": 2').encode()).model
    assert model.edge_weights(0).tolist() == [[2.0, -2.0], [-2.0, 2.0]]
    with pytest.raises(InputError, match="no model"):
        parse_node_link("d3.json", (text % '"value": 2').encode())


# Folders, several files, archives


def zipped(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


@pytest.fixture
def folder(tmp_path):
    write_uai(small(), tmp_path / "model.uai")
    (tmp_path / "graph.graphml").write_bytes(model_graphml(small()))
    (tmp_path / "result.json").write_text('{"learner": "best-choice"}')
    (tmp_path / "edges.csv").write_text("source,target\n")
    (tmp_path / "replay.html").write_text("<html></html>")
    return tmp_path


def test_result_folder_is_read_as_path_archive_or_files(folder):
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    inner = {f"learned/{name}": data for name, data in files.items()}
    for found in (
        read_model_file(folder),
        read_uploaded_model(files),
        read_uploaded_model({"learned.zip": zipped(files)}),
        read_uploaded_model({"learned.zip": zipped({**inner, "__MACOSX/._x.json": b"x"})}),
    ):
        assert found.model.names == ("rain", "wind", "snow")
        assert np.allclose(found.model.weights, small().weights, rtol=0, atol=1e-15)
        assert found.notes == ()
    (folder / "model.uai").unlink()
    assert_same(read_model(folder), small())


def test_steps_of_an_uploaded_folder_are_those_of_its_graph(folder):
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    steps = {"graph.graphml": model_graphml(small(), [4, 2])}
    assert read_uploaded_model(files).steps is None
    assert read_uploaded_model(files | steps).steps == (4, 2)
    assert read_uploaded_model(files | {"graph.graphml": b"damaged"}).steps is None
    other = PairwiseMRF.from_tables([np.zeros(2)] * 3, {(0, 2): np.eye(2), (1, 2): np.eye(2)})
    assert (
        read_uploaded_model(files | {"graph.graphml": model_graphml(other, [4, 2])}).steps is None
    )


def test_names_file_is_matched_to_model_of_another_name(folder):
    files = {
        "a.uai": (folder / "model.uai").read_bytes(),
        "b.names.json": (folder / "model.names.json").read_bytes(),
    }
    assert read_uploaded_model(files).model.labels == small().labels
    del files["b.names.json"]
    alone = read_uploaded_model(files)
    assert alone.model.names == ("x0", "x1", "x2")
    assert "a.names.json" in alone.notes[0]


def test_archive_entries_outside_of_archive_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = model_graphml(small())
    for name in ("../../evil.graphml", "/evil.graphml", "..\\evil.graphml"):
        assert_same(read_uploaded_model({"a.zip": zipped({name: content})}).model, small())
        assert_same(read_uploaded_model({name: content}).model, small())
    assert list(tmp_path.iterdir()) == []


BAD_UPLOADS = {
    "nothing": ({}, "No model in nothing"),
    "a picture": ({"a.png": b"x"}, "No model in a.png"),
    "no archive": ({"a.zip": b"PK\x03\x04 and then not"}, "a.zip is not a readable ZIP archive"),
    "cut archive": (
        {"a.zip": zipped({"m.uai": b"x" * 999})[:-30]},
        "a.zip is not a readable ZIP archive",
    ),
    "empty archive": ({"a.zip": zipped({"readme.txt": b"x"})}, "a.zip holds no model"),
    "two models": ({"a.uai": b"1", "b.uai": b"2"}, "Found 2 models: a.uai, b.uai"),
    "two of a name": ({"a.zip": zipped({"x/m.uai": b"1", "y/m.uai": b"2"})}, "Two different files"),
    "names alone": ({"m.names.json": b"{}"}, "There is no model among m.names.json"),
    "a bad model": ({"m.uai": b"NONSENSE"}, "m.uai starts with 'NONSENSE'"),
    "wrong names": ({"m.uai": b"MARKOV 1 2 0", "m.names.json": b"[]"}, "m.names.json must hold"),
}


@pytest.mark.parametrize(("files", "sentence"), BAD_UPLOADS.values(), ids=BAD_UPLOADS)
def test_files_without_a_model_are_refused_in_one_sentence(files, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        read_uploaded_model(files)
    assert "graftviz-" not in str(refused.value)  # path of the temporary folder


def test_archive_bomb_is_refused(monkeypatch):
    monkeypatch.setattr("graftviz.reports.files.uploads.MOST_UNPACKED", 1_000_000)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m.uai", b"0" * 2_000_000)
    assert len(bomb.getvalue()) < 10_000
    with pytest.raises(InputError, match="unpacks to more than 1 MB"):
        read_uploaded_model({"bomb.zip": bomb.getvalue()})


@pytest.mark.parametrize("name", ["no.uai", "no.graphml", "no.json", "no.txt"])
def test_missing_file_and_file_without_model_are_named(tmp_path, name):
    with pytest.raises(InputError, match=name):
        read_model(tmp_path / name)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no files"):
        read_model(tmp_path)


# Tables


@given(models(finite=True))
def test_tables_of_edges_and_marginals_round_trip(model):
    texts = "".join((*model.names, *(label for states in model.labels for label in states)))
    assume(np.abs(model.weights).max(initial=0.0) < 100)
    assume("\r" not in texts)  # which Python's csv does not quote
    beliefs = infer(model)
    edges = list(csv.DictReader(io.StringIO(model_edges_csv(model, beliefs), newline="")))
    assert [float(row["weight_norm"]) for row in edges] == model.edge_norms().tolist()
    assert [(row["source"], row["target"]) for row in edges] == [
        (model.names[i], model.names[j]) for i, j in model.edges.tolist()
    ]
    assert all(float(row["mutual_information"]) >= 0 for row in edges)
    rows = list(csv.DictReader(io.StringIO(marginals_csv(model, beliefs, beliefs), newline="")))
    flat = np.concatenate(beliefs.node).tolist()
    assert [float(row["probability"]) for row in rows] == flat
    assert [float(row["probability_given_evidence"]) for row in rows] == flat
    labels = [label for states in model.labels for label in states]
    assert [row["state"] for row in rows] == [shown_cell(label) for label in labels]
    assert "mutual" not in model_edges_csv(model)
    assert marginals_csv(model, beliefs).splitlines()[0] == "variable,state,probability"


# Pictures


@given(models(), st.text(max_size=20))
def test_svg_is_well_formed_and_has_one_line_per_edge(model, title):
    picture = graph_picture(model)
    text = graph_svg(picture, model.names, title)
    assert text == graph_svg(picture, model.names, title)
    root = ElementTree.fromstring(text)
    tags = [element.tag.rpartition("}")[2] for element in root]
    assert tags.count("line") == model.n_edges
    assert tags.count("circle") == model.n_variables
    for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 <= float(circle.get("cx")) <= 1000
        assert 0 < float(circle.get("r")) < 50
    shown = [element.text or "" for element in root if element.tag.endswith("}text")]
    assert (root[0].text or "") in shown
    assert "degree 0" in shown


def test_svg_distinguishes_kinds_of_edges_by_colour_and_dash():
    other = PairwiseMRF.from_tables(
        [np.zeros(2), np.zeros(3), np.zeros(2)],
        {(0, 2): np.ones((2, 2)), (1, 2): np.ones((3, 2))},
        names=("rain", "wind", "snow"),
    )
    difference = compare_models(small(), other)
    text = graph_svg(difference_picture(3, difference), small().names, "both")
    lines = [line for line in text.splitlines() if line.startswith("<line")]
    assert (
        len({line.split("stroke-width")[0].split("y2")[1].split(" ", 1)[1] for line in lines}) == 3
    )
    assert sum("dasharray" in line for line in lines) == 2
    for words in ("in both", "only in the first", "only in the second"):
        assert f">{words}</text>" in text


def test_viridis_runs_from_dark_to_light():
    colours = [viridis(share) for share in np.linspace(-0.2, 1.2, 30)]
    assert colours[0] == "rgb(68, 1, 84)"
    assert colours[-1] == "rgb(253, 231, 37)"
    parts = [[int(part) for part in re.findall(r"\d+", colour)] for colour in colours]
    light = [sum(part * w for part, w in zip(rgb, (2, 7, 1), strict=True)) for rgb in parts]
    assert light == sorted(light)
    assert math.isfinite(light[0])


# The command line


@pytest.mark.parametrize("name", ["m.graphml", "graph.json", "folder", "model.txt"])
def test_commands_accept_a_model_from_any_file(tmp_path, capsys, name):
    write_uai(small(), tmp_path / "model.uai")
    path = tmp_path / name
    contents = {
        "m.graphml": model_graphml(small()),
        "graph.json": node_link_json(small()).encode(),
        "model.txt": (tmp_path / "model.uai").read_bytes(),
    }
    if name == "folder":
        path.mkdir()
        write_uai(small(), path / "model.uai")
    else:
        path.write_bytes(contents[name])
    for source in (path, tmp_path / "model.uai"):
        assert main(["local", str(source), "--query", "1"]) == 0
    answers = [
        json.loads(part) for part in capsys.readouterr().out.replace("}\n{", "}\0{").split("\0")
    ]
    assert answers[0]["marginal"] == pytest.approx(answers[1]["marginal"], abs=1e-12)


def test_commands_print_note_about_foreign_graphml(tmp_path, capsys):
    (tmp_path / "g.graphml").write_text(FOREIGN)
    out = tmp_path / "out"
    assert main(["infer", str(tmp_path / "g.graphml"), "--method", "exact", "--out", str(out)]) == 0
    assert "read as an Ising model" in capsys.readouterr().err
    (tmp_path / "g.graphml").write_text("<graphml/>")
    assert main(["infer", str(tmp_path / "g.graphml"), "--out", str(tmp_path / "none")]) == 2
    assert "must hold one graph" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
