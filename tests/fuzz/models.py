"""Files of models: UAI, names, evidence, GraphML and JSON, with structural mutations."""

from __future__ import annotations

import functools
import json
import re
from random import Random
from typing import Any

import numpy as np

from graftviz import PairwiseMRF
from graftviz.formats.graphml import model_graphml
from graftviz.formats.node_link import node_link_json
from graftviz.formats.uai import names_text, uai_text
from tests.fuzz.cases import (
    NUMBERS,
    Case,
    encoded,
    hostile_name,
    hostile_text,
    mutated_bytes,
    mutated_list,
)

_COUNTS = (*NUMBERS, "4", "5", "6", "10", "16", "100", "1000", "60000", "MARKOV", "BAYES", "MAR")
_MARKUP = re.compile(r"<[^>]*>")
_FOREIGN_GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="w" for="edge" attr.name="weight" attr.type="double"><default>1.0</default></key>
<graph id="G" edgedefault="undirected"><node id="n0"/><node id="n1"/><node id="n2"/>
<edge source="n0" target="n1"><data key="w">0.5</data></edge>
<edge source="n1" target="n2"/></graph></graphml>
"""
_DOCTYPES = (
    "<!DOCTYPE graphml>",
    '<!DOCTYPE x [<!ENTITY e "ha">]>',
    '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE x [<!ENTITY % e SYSTEM "http://127.0.0.1:9/">%e;]>',
)
_MARKUPS = (
    *("<node/>", "<edge/>", "<graph>", "</graph>", "<hyperedge/>", "<data/>", "<port name='a'/>"),
    *("<!--", "-->", "<![CDATA[", "]]>", "<?x y?>", "<?xml?>", "&e;", "&#0;", "&#xd800;", "&lt;"),
    *("&", "<", "<a:b/>", "<a xmlns:a=''/>", "<default>1</default>", *_DOCTYPES),
)


@functools.cache
def small_model() -> PairwiseMRF:
    """Return three variables of two and three states on a path."""
    return PairwiseMRF.from_tables(
        [np.array([0.1, -0.2]), np.array([0.0, 0.3, -1.0]), np.zeros(2)],
        {(0, 1): np.arange(6.0).reshape(2, 3), (1, 2): -np.arange(6.0).reshape(3, 2)},
    )


@functools.cache
def model_files() -> dict[str, bytes]:
    """Return the small model in every format."""
    model = small_model()
    return {
        "model.uai": uai_text(model).encode(),
        "model.names.json": names_text(model).encode(),
        "graph.json": node_link_json(model).encode(),
        "graph.graphml": model_graphml(model),
    }


def uai_case(rng: Random) -> Case:
    """Return a damaged UAI file, sometimes with names."""
    text = model_files()["model.uai"].decode()
    files = [(hostile_name(rng, ".uai"), mutated_tokens(rng, text))]
    if rng.random() < 0.2:
        files.append(("file.names.json", model_files()["model.names.json"]))
    return Case("model", tuple(files), {})


def evidence_case(rng: Random) -> Case:
    """Return damaged evidence."""
    text = rng.choice(("2 0 1 2 0", "0", "1\n1 0 1", "3 0 0 1 2 2 1", "2 1 0 1 1 2 0"))
    return Case("evidence", (("file.evid", mutated_tokens(rng, text)),), {})


def mutated_tokens(rng: Random, text: str) -> bytes:
    """Return text whose words, mostly numbers, were exchanged, repeated or taken out."""
    words = text.split()
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        mutated_list(
            rng, words, lambda: rng.choice(_COUNTS if rng.random() < 0.8 else (hostile_text(rng),))
        )
    content = encoded(rng.choice((" ", " ", "\n", "\t", "\r\n", "\0", "\x0b")).join(words))
    return mutated_bytes(rng, content) if rng.random() < 0.25 else content


# ----------------------------------------------------------------------------------------- JSON


def json_case(rng: Random) -> Case:
    """Return a damaged node-link file or names beside an intact model."""
    files = model_files()
    if rng.random() < 0.3:
        content = mutated_json(rng, files["model.names.json"])
        return Case("model", (("m.names.json", content), ("m.uai", files["model.uai"])), {})
    content = files["graph.json"]
    if rng.random() < 0.3:
        nodes = [{"id": k} for k in range(3)]
        edges = [{"source": 0, "target": 1, "weight": 0.5}, {"source": 1, "target": 2}]
        content = json.dumps({"nodes": nodes, rng.choice(("edges", "links")): edges}).encode()
    return Case("model", ((hostile_name(rng, ".json"), mutated_json(rng, content)),), {})


def mutated_json(rng: Random, content: bytes) -> bytes:
    """Return JSON with parts of the tree exchanged, and sometimes damaged text."""
    tree: Any = json.loads(content)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        tree = _mutated_tree(rng, tree)
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
    match rng.randrange(12):
        case 0:  # a key twice
            places = [found.end() for found in re.finditer("{", text)] or [0]
            at = rng.choice(places)
            keys = re.findall(r'"([\w.]{1,20})":', text) or ["a"]
            value = rng.choice(("null", "[]", "{}", "1", '"x"', "NaN"))
            text = f'{text[:at]}"{rng.choice(keys)}": {value}, {text[at:]}'
        case 1:
            depth, bracket = rng.choice((10, 900, 5000, 100_000)), rng.choice(("[", '{"a":'))
            text = text.replace(rng.choice(("0", "[]", "null", "{")), bracket * depth, 1)
        case 2:
            found = rng.choice([*re.finditer(r"-?\d[\d.e+-]*", text)] or [None])
            if found:
                text = text[: found.start()] + rng.choice(NUMBERS) + text[found.end() :]
    content = encoded(text)
    return mutated_bytes(rng, content) if rng.random() < 0.15 else content


def _hostile_value(rng: Random) -> Any:
    simple: tuple[Any, ...] = (
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        2**63,
        10**30,
        -(10**400),
        1e308,
        0.5,
        [],
        {},
        "",
    )
    if rng.random() < 0.5:
        return rng.choice((*simple, float("nan"), float("inf"), [[]], {"": {}}, [None] * 3))
    return hostile_text(rng)


def _mutated_tree(rng: Random, tree: Any) -> Any:
    """Return the tree with a change at a random place, reached from the root."""
    if isinstance(tree, (dict, list)) and tree and rng.random() < 0.8:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = rng.choice(keys)
        if rng.random() < 0.75:
            tree[key] = _mutated_tree(rng, tree[key])
        elif isinstance(tree, list):
            mutated_list(rng, tree, lambda: _hostile_value(rng))
        else:
            value = tree.pop(key)
            if rng.random() < 0.6:
                tree[rng.choice((hostile_text(rng), *map(str, keys)))] = value
        return tree
    match rng.randrange(4):
        case 0:
            return [tree]
        case 1:
            return {"id": tree}
        case 2 if isinstance(tree, (int, float)):
            return str(tree)
        case _:
            return _hostile_value(rng)


# -------------------------------------------------------------------------------------- GraphML


def graphml_case(rng: Random) -> Case:
    """Return a damaged GraphML file."""
    own = model_files()["graph.graphml"].decode()
    text = own if rng.random() < 0.6 else _FOREIGN_GRAPH
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        text = _mutated_markup(rng, text)
    is_foreign = rng.random() < 0.03
    content = text.encode("utf-16", "replace") if is_foreign else encoded(text)
    if rng.random() < 0.15:
        content = mutated_bytes(rng, content)
    return Case("model", ((hostile_name(rng, rng.choice((".graphml", ".xml"))), content),), {})


def _mutated_markup(rng: Random, text: str) -> str:
    tags = [found.span() for found in _MARKUP.finditer(text)] or [(0, len(text))]
    start, end = rng.choice(tags)
    match rng.randrange(9):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text[:end] + text[start:end] * rng.choice((1, 3, 2000)) + text[end:]
        case 2:
            return text[:start] + rng.choice(_MARKUPS) + text[start:]
        case 3:
            other, stop = rng.choice(tags)
            return text[:start] + text[other:stop] + text[end:]
        case 4 | 5:
            return _with_attribute(rng, text)
        case 6:
            texts = [found.span(1) for found in re.finditer(r">([^<>]+)<", text)]
            a, b = rng.choice(texts or [(0, 0)])
            return text[:a] + _escaped(rng, hostile_text(rng)) + text[b:]
        case 7:
            names = [found.span(1) for found in re.finditer(r"</?([\w.:]+)", text)]
            a, b = rng.choice(names or [(0, 0)])
            return (
                text[:a] + rng.choice(("node", "edge", "key", "graph", "a", "graphml")) + text[b:]
            )
        case _:
            name = rng.choice(("utf-16", "utf-7", "latin-1", "ascii", "x", "", "cp1047", "idna"))
            return text.replace("UTF-8", name).replace("utf-8", name)


def _with_attribute(rng: Random, text: str) -> str:
    values = [found.span(1) for found in re.finditer(r"""=['"]([^'"]*)['"]""", text)]
    a, b = rng.choice(values or [(0, 0)])
    others = [text[c:d] for c, d in values[:20]]
    new = rng.choice((hostile_text(rng), rng.choice(NUMBERS), *others))
    return text[:a] + _escaped(rng, new) + text[b:]


def _escaped(rng: Random, text: str) -> str:
    if rng.random() < 0.1:
        return text
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
