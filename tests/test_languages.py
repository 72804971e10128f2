"""Translations have the structure, numbers and symbols of the English texts."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from app_pages import open_page, query_of

from graftviz import BestChoice, Run, texts
from graftviz.datasets import Generated
from graftviz.formats.replay import replay_page
from graftviz.learners.registry import learner_class, learner_names
from graftviz.narrative.lessons import GUIDES, TOUR, guide_record, guides
from graftviz.narrative.steps import step_words
from graftviz.narrative.teacher_sheet import sheet_html
from graftviz.options import OptionSpec, option_specs
from graftviz.player import assets
from graftviz.player.records import answer, outcome_record, run_header
from graftviz.sampling import random_model, sample_gibbs, scale_free_graph
from graftviz.texts import LANGUAGE, LANGUAGES, catalogue, page_text, translations
from graftviz.ui.dynamics.options import DynamicsOptions
from graftviz.ui.grow.options import GrowOptions
from graftviz.ui.inspect.options import InspectOptions

FOLDER = Path(texts.__file__).parent
ASSETS = Path(assets.__file__).parent / "assets"
SHARED = (
    "lessons",
    "labels",
    "views",
    "player",
    "steps",
    "answers",
    "ends",
    "grow",
    "inspect",
    "class_data",
    "learners",
)
CATALOGUES = sorted(path.stem for path in (FOLDER / LANGUAGE).glob("*.toml"))
NUMBER = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*")
SYMBOL = re.compile(r"[α-ωΑ-Ω][₁₂]?|T₂|\|R\||x\d+ – x\d+|\{\w+\}")
every_translation = pytest.mark.parametrize("language", [x for x in LANGUAGES if x != LANGUAGE])


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the text of every leaf."""
    if isinstance(value, str):
        yield path, value
    else:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from leaves(item, f"{path}/{key}")


def own(name: str, language: str) -> dict[str, str]:
    """Return the texts in the file of a catalogue, without fallbacks to English."""
    return dict(leaves(texts._entries(name, language)))


def test_every_folder_is_a_language() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert folders == set(LANGUAGES)


@every_translation
@pytest.mark.parametrize("name", SHARED)
def test_catalogue_is_complete(name: str, language: str) -> None:
    assert (FOLDER / language / f"{name}.toml").exists()
    assert own(name, language).keys() == own(name, LANGUAGE).keys()


@every_translation
@pytest.mark.parametrize("name", CATALOGUES)
def test_translation_has_numbers_and_symbols_of_its_text(name: str, language: str) -> None:
    english = own(name, LANGUAGE)
    for place, text in own(name, language).items():
        if "/forms/" in place:
            continue
        assert place in english, f"no such text: {place}"
        for pattern in (NUMBER, SYMBOL):
            found, expected = (Counter(pattern.findall(x)) for x in (text, english[place]))
            assert found == expected, place


@every_translation
def test_translated_page_has_paragraphs_and_numbers_of_its_text(language: str) -> None:
    for path in (FOLDER / language).rglob("*.md"):
        english = (FOLDER / LANGUAGE / path.relative_to(FOLDER / language)).read_text("utf-8")
        text = path.read_text("utf-8")
        assert text.count("\n\n") == english.count("\n\n"), path
        assert text.count("{keys}") == english.count("{keys}")
        assert Counter(NUMBER.findall(text)) == Counter(NUMBER.findall(english)), path


@every_translation
def test_translated_lesson_differs_in_texts_only(language: str) -> None:
    for key, lesson in guides(language).items():
        english = GUIDES[key]
        assert (lesson.minutes, lesson.address) == (english.minutes, english.address)
        for stop, own_stop in zip(english.stops, lesson.stops, strict=True):
            assert len(own_stop.choices) == len(stop.choices)
            assert own_stop.text != stop.text
            assert (own_stop.lit, own_stop.opens) == (stop.lit, stop.opens)
            assert (own_stop.condition, own_stop.right) == (stop.condition, stop.right)
            if stop.condition and stop.condition.kind == "contains":
                assert re.fullmatch(r"x\d+", stop.condition.value)  # the same in every language
        if key != TOUR:
            assert lesson.title in sheet_html(lesson, language)
        assert guide_record(lesson, language)["labels"] == catalogue("labels", language)["guide"]


@pytest.mark.parametrize("view", [path.name for path in ASSETS.iterdir()])
def test_texts_used_by_scripts_are_in_catalogues(view: str) -> None:
    names = ("views", "player") if view in ("player", "notebook") else ("views",)
    known = {key: entry for name in names for key, entry in catalogue(name).items()}
    assert len(known) == sum(len(catalogue(name)) for name in names)
    for path in (ASSETS / view).glob("*.js"):
        for section, key in re.findall(r"\bTEXT\.(\w+)(?:\.(\w+))?", path.read_text("utf-8")):
            assert key in known[section] or not key, (path.name, section, key)


@pytest.mark.parametrize("language", LANGUAGES)
def test_replay_is_in_language_of_its_header(language: str) -> None:
    records, outcome = [{"edges": 0}], {"bp_restart_gap": None}
    header = {"title": "t", "rows": {"train": 1, "test": 0}, "language": language}
    page = replay_page(header, records, outcome)
    assert f'<html lang="{language}">' in page
    assert catalogue("player", language)["replay"]["theme"] in page
    assert json.dumps(catalogue("player", language)["words"], ensure_ascii=False) in page


def specs_of_grow() -> dict[str, list[OptionSpec]]:
    """Return the options of the page Grow and of all learners by name."""
    found: dict[str, list[OptionSpec]] = {}
    for cls in (
        GrowOptions,
        InspectOptions,
        DynamicsOptions,
        Generated,
        *map(learner_class, learner_names()),
    ):
        for spec in option_specs(cls):
            found.setdefault(spec.name, []).append(spec)
    return found


@every_translation
def test_options_are_translated_by_their_names(language: str) -> None:
    specs, translated = specs_of_grow(), translations("options", language)
    for name, entry in translated.items():
        assert entry.keys() <= {"label", "help", "none_means", "choices"}
        known = set().union(*(spec.choices for spec in specs[name]))
        assert entry.get("choices", {}).keys() <= known
        if "none_means" in entry:
            assert any(spec.optional for spec in specs[name]), name
    main = learner_class("best-choice")
    classes = (GrowOptions, Generated, main)
    shown = [s for cls in classes for s in option_specs(cls) if not s.advanced]
    missing = {s.name for s in shown if s.help} - translated.keys()
    assert missing <= {"step"}, missing


@pytest.fixture(scope="module")
def learned() -> Run:
    """Run on rows of a random model, with some false and some missing edges."""
    edges = scale_free_graph(12, 1).edges
    table = sample_gibbs(random_model(edges, [3] * 12, seed=1), 400, seed=1).table
    run = Run(table, BestChoice(preset="paper", lam=0.01), truth=edges)
    while run.advance():
        pass
    return run


@every_translation
def test_translated_answers_have_numbers_of_english_ones(learned: Run, language: str) -> None:
    last = len(learned.steps)
    active = set(map(tuple, learned.steps[-1].active_edges().tolist()))
    new = {edge[:2] for edge in learned.steps[-1].activated}
    questions: list[dict[str, Any]] = [
        {"kind": "edge" if pair in active else "pair", "i": pair[0], "j": pair[1], "t": last}
        | ({"effect": True} if pair in new else {})
        for pair in combinations(range(12), 2)
    ]
    questions += [{"kind": "node", "i": i, "t": last, "region": {}} for i in range(12)]
    for question in questions:
        english = dict(leaves(texts_of(answer(learned, question))))
        translated = dict(leaves(texts_of(answer(learned, question, language))))
        assert translated.keys() == english.keys()
        sentences = {key for key, text in english.items() if text.endswith(".")}
        assert sentences or question["kind"] == "node"
        for key in sentences:
            assert translated[key] != english[key], key
            found, expected = (Counter(NUMBER.findall(x[key])) for x in (translated, english))
            assert found == expected, key


def texts_of(value: Any) -> Any:
    """Return an answer with everything but its texts removed."""
    if isinstance(value, dict):
        return {key: texts_of(part) for key, part in value.items()}
    if isinstance(value, list):
        return [texts_of(part) for part in value]
    return value if isinstance(value, str) else ""


@every_translation
@pytest.mark.parametrize("name", learner_names())
def test_sentences_of_every_learner_are_translated(learned: Run, name: str, language: str) -> None:
    run = Run(learned.table, learner_class(name)(), truth=learned.truth)
    while run.advance():
        pass
    learner, names = run.learner, run.table.names
    for step in run.steps:
        english, translated = (step_words(step, learner, names, x) for x in (LANGUAGE, language))
        assert translated != english
        assert Counter(NUMBER.findall(translated)) == Counter(NUMBER.findall(english))
    active = set(map(tuple, run.steps[-1].active_edges().tolist()))
    for pair in [pair for pair in combinations(range(12), 2) if pair not in active][:20]:
        for t in (0, len(run.steps)):
            question = {"kind": "pair", "i": pair[0], "j": pair[1], "t": t}
            english, translated = (answer(run, question, x)["words"] for x in (LANGUAGE, language))
            assert translated != english
            assert Counter(NUMBER.findall(translated)) == Counter(NUMBER.findall(english))


@every_translation
def test_stop_reason_and_pseudocode_of_run_are_translated(learned: Run, language: str) -> None:
    english, translated = (outcome_record(learned, chosen) for chosen in (LANGUAGE, language))
    assert english is not None
    assert translated is not None
    assert translated["stop_reason"] != english["stop_reason"]
    assert english["stop_reason"] == learned.outcome.stop_reason
    assert (
        pickle.loads(pickle.dumps(learned.outcome.stop_reason)).written(language)
        == (translated["stop_reason"])
    )
    header = run_header(learned, title="t", language=language)
    code = translations("methods", language)["best-choice"]["code"]
    assert [line["text"] for line in header["learner"]["pseudocode"] if line["key"] != "score"] == [
        text for key, text in code.items() if key != "score"
    ]


@every_translation
@pytest.mark.parametrize("name", learner_names())
def test_ideas_and_pseudocode_have_lines_and_symbols_of_their_class(
    name: str, language: str
) -> None:
    cls, entry = learner_class(name), translations("methods", language)[name]
    assert entry["idea"] != cls.idea
    assert entry["code"].keys() == {line.key for line in cls.pseudocode}
    for line in cls.pseudocode:
        found, expected = (Counter(SYMBOL.findall(x)) for x in (entry["code"][line.key], line.text))
        assert found == expected, line


def test_missing_translations_are_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FOLDER / LANGUAGE, tmp_path / LANGUAGE)
    (tmp_path / "xx").mkdir()
    (tmp_path / "xx" / "lessons.toml").write_text('[step]\nstops = [{title = "first"}]\n')
    monkeypatch.setattr(texts, "_FOLDER", tmp_path)
    catalogue.cache_clear()
    page_text.cache_clear()
    try:
        lessons, english = catalogue("lessons", "xx"), catalogue("lessons")
        first, *others = lessons["step"]["stops"]
        assert first == {**english["step"]["stops"][0], "title": "first"}
        assert others == english["step"]["stops"][1:]
        assert lessons["red"] == english["red"]
        assert catalogue("labels", "xx") == catalogue("labels")
        assert page_text("grow", "xx") == page_text("grow")
    finally:
        catalogue.cache_clear()
        page_text.cache_clear()


def test_language_of_lessons_page_is_changed() -> None:
    app = open_page("lessons", lang="de")
    german = [x.title for key, x in guides("de").items() if key != TOUR]
    glossary = catalogue("labels", "de")["lessons"]["glossary"]
    assert [header.value for header in app.header] == [*german, glossary]
    assert query_of(app) == {"lang": "de"}
    assert all("lang=de" in link.proto.url for link in app.get("link_button"))
    app.button_group(key="lessons.language").set_value("en").run()
    assert not app.exception
    assert app.header[0].value == GUIDES["step"].title
    assert query_of(app) == {}


@pytest.mark.parametrize("language", ["xx", "", "DE", "'" * 5000])
def test_unknown_language_is_reported_and_page_is_english(language: str) -> None:
    app = open_page("lessons", lang=language)
    assert "There is no language" in app.warning[0].value
    assert len(app.warning[0].value) < 300
    assert app.header[0].value == GUIDES["step"].title
    assert query_of(app) == {}


def test_grow_page_in_german_has_translated_options_help_and_lesson() -> None:
    app = open_page("", lang="de", lesson="alpha.2", data="karate")
    assert not app.exception
    assert not app.warning
    parts = [part.proto for part in app.get("bidi_component")]
    (guide,) = (part for part in parts if part.component_name.endswith("graftviz_guide"))
    record = json.loads(guide.json)
    assert record["language"] == "de"
    assert record["stops"][1]["title"] == guides("de")["alpha"].stops[1].title
    assert query_of(app)["lang"] == "de"
    texts_of = translations("options", "de")
    assert app.slider(key="option.alpha").help.startswith(texts_of["alpha"]["help"])
    assert app.select_slider(key="choose.rows").label == texts_of["rows"]["label"]
    labels = catalogue("labels", "de")
    assert set(app.menu_button(key="grow.tools").options) <= set(labels["tools"].values())
    assert labels["data"]["generated"] in app.selectbox(key="choose.data").options
    app.button(key="grow.help").click().run()
    assert page_text("grow", "de").explanation.strip() in [x.value for x in app.markdown]
