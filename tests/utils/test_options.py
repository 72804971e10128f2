"""Options are checked, written as text, and read back without loss."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from graftviz import InputError
from graftviz.inference.exact.junction_tree import lazy_property
from graftviz.learning.registry import learner_class, learner_names
from graftviz.utils.options import check_options, format_value, option, option_specs, parse_options


@dataclass(frozen=True)
class Sample:
    """One option of every kind, with and without None."""

    share: float = option(0.5, "A share.", minimum=0.0, maximum=1.0)
    rate: float = option(1e-3, "A rate.", label="ρ", above=0.0, scale="log", advanced=True)
    limit: float | None = option(None, "A limit.", minimum=-2.5, none_means="no limit")
    count: int = option(3, "A count.", minimum=1, maximum=1_000_000)
    budget: int | None = option(None, "A budget.", none_means="all")
    quick: bool = option(True, "Whether to hurry.")
    careful: bool | None = option(None, "Whether to care.", none_means="as it comes")
    mood: str = option("calm", "A mood.", choices=("calm", "wild"))
    taste: str | None = option(None, "A taste.", choices=("sweet",), none_means="any")
    unrelated: int = 7


SPECS = {spec.name: spec for spec in option_specs(Sample)}


def values_of(spec) -> st.SearchStrategy[Any]:
    """Return a strategy for the legal values of an option."""
    if spec.kind == "choice":
        values = st.sampled_from(spec.choices)
    elif spec.kind == "text":
        values = st.sampled_from(["x0", "x0+x1|x2=1; x3", "#3|#2=#1"])
    elif spec.kind == "bool":
        values = st.booleans()
    elif spec.kind == "int":
        values = st.integers(spec.minimum, spec.maximum)
    else:
        low = spec.minimum if spec.above is None else spec.above
        values = st.floats(
            low,
            spec.maximum,
            allow_nan=False,
            allow_infinity=False,
            exclude_min=spec.above is not None,
        )
    return st.one_of(st.none(), values) if spec.optional else values


every_spec = st.sampled_from(
    [(Sample, spec) for spec in SPECS.values()]
    + [
        (learner_class(name), spec)
        for name in learner_names()
        for spec in option_specs(learner_class(name))
    ]
)


@given(st.data(), every_spec)
def test_text_round_trip_of_values_is_exact(data, owner_and_spec):
    owner, spec = owner_and_spec
    value = data.draw(values_of(spec))
    read = parse_options(owner, {spec.name: format_value(value)})
    assert read == {spec.name: value}
    assert type(read[spec.name]) is type(value)


def test_kinds_labels_and_order_come_from_the_fields():
    assert {name: spec.kind for name, spec in SPECS.items()} == {
        "share": "float",
        "rate": "float",
        "limit": "float",
        "count": "int",
        "budget": "int",
        "quick": "bool",
        "careful": "bool",
        "mood": "choice",
        "taste": "choice",
    }
    assert SPECS["rate"].label == "ρ"
    assert SPECS["count"].label == "count"
    assert [spec.name for spec in SPECS.values() if spec.optional] == (
        ["limit", "budget", "careful", "taste"]
    )
    assert option_specs(Sample()) == option_specs(Sample)


def test_a_field_of_another_type_cannot_be_an_option():
    @dataclass
    class Wrong:
        place: complex = option(0j, "Nowhere.")

    with pytest.raises(TypeError, match="complex"):
        option_specs(Wrong)


@pytest.mark.parametrize("name", sorted(SPECS))
@pytest.mark.parametrize("text", ["", "none", "None", " auto "])
def test_none_is_read_only_for_optional_values(name, text):
    if SPECS[name].optional:
        assert parse_options(Sample, {name: text}) == {name: None}
    else:
        with pytest.raises(InputError, match=f"Option {name} "):
            parse_options(Sample, {name: text})


BAD_TEXTS = {
    "share": ["much", "0,5", "nan", "inf", "-0.001", "1.0000000001", "1e400", "0x1", "1" * 5000],
    "rate": ["0", "-1", "-inf"],
    "limit": ["-2.51"],
    "count": ["5.0", "0", "1000001", "1e3", "x", "1" + "0" * 400, "9" * 5000, "true"],
    "budget": ["2.5", "many"],
    "quick": ["maybe", "2", "tru"],
    "mood": ["CALM", "angry", "calm,wild"],
    "taste": ["sour"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, ts in BAD_TEXTS.items() for t in ts])
def test_bad_text_is_refused_in_one_sentence_that_names_the_option(name, text):
    with pytest.raises(InputError) as refusal:
        parse_options(Sample, {name: text})
    sentence = str(refusal.value)
    assert sentence.startswith(f"Option {name} must be ")
    assert sentence.endswith(".")
    assert len(sentence) < 160


BAD_VALUES = {
    "share": [
        *(
            None,
            True,
            "0.5",
            b"1",
            1j,
            np.complex128(1),
            [0.5],
            math.nan,
            -math.inf,
            np.float64("nan"),
        ),
        *(np.array(0.5), np.array([0.5]), np.array([0.1, 0.2]), np.bool_(True), 10**400, 1.1),
        *(np.float32(-0.5), object()),
    ],
    "count": [
        *(None, True, "3", 3.0, np.float64(3), np.array(3), np.array([3]), np.bool_(True)),
        *(0, -1, 10**400, -(10**400), np.int64(0), 1_000_001),
    ],
    "limit": ["none", Fraction(-100)],
    "budget": [2.5, "all"],
    "quick": [None, 0, 1, "true", np.array(True), np.array([True, False])],
    "careful": [0],
    "mood": [None, 3, True, ["calm"], np.array("calm"), np.array(["calm", "wild"]), "Calm"],
    "taste": ["any"],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD_VALUES.items() for v in vs])
def test_bad_values_are_refused_in_one_sentence_that_names_the_option(name, value):
    with pytest.raises(InputError, match=rf"^Option {name} .*\.$") as refusal:
        check_options(replace(Sample(), **{name: value}))
    assert len(str(refusal.value)) < 160


def test_refusal_shows_enough_digits_to_distinguish_value_from_bound():
    with pytest.raises(InputError, match="at most 1,000,000; got 1,000,001"):
        check_options(Sample(count=1_000_001))
    with pytest.raises(InputError, match=r"at most 1; got 1\.0000000001"):
        check_options(Sample(share=1.0000000001))
    with pytest.raises(InputError, match="greater than 0; got 0"):
        check_options(Sample(rate=0))
    with pytest.raises(InputError, match="one of calm, wild, not 'angry'"):
        check_options(Sample(mood="angry"))


def test_refusal_of_unknown_option_lists_known_options():
    with pytest.raises(InputError) as refusal:
        parse_options(Sample, {"shares": "0.5"})
    assert "'shares'" in str(refusal.value)
    assert all(name in str(refusal.value) for name in SPECS)


@pytest.mark.parametrize("name", learner_names())
def test_every_default_of_every_learner_is_legal_and_explained(name):
    for spec in option_specs(learner_class(name)):
        assert parse_options(learner_class(name), {spec.name: format_value(spec.default)}) == {
            spec.name: spec.default
        }
        assert spec.help
        assert spec.label
    check_options(learner_class(name)())


def test_learner_stores_python_numbers():
    learner = learner_class("best-choice")(
        alpha=np.float64(0.5), reservoir=np.int64(8), hubs=np.bool_(False)
    )
    assert [type(v) for v in (learner.alpha, learner.reservoir, learner.hubs)] == [float, int, bool]
    assert learner == learner_class("best-choice")(alpha=0.5, reservoir=8, hubs=False)


# Lazy properties are computed once per instance.


class Tree:
    """Class with a lazy value that counts computations and may wait for an event."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.gate = gate
        self.began = threading.Event()
        self.times = 0
        self._lock = threading.RLock()

    @lazy_property
    def value(self) -> int:
        """Return the answer."""
        self.times += 1
        self.began.set()
        if self.gate is not None:
            assert self.gate.wait(60)
        return 42


def test_lazy_property_is_computed_once_until_deleted() -> None:
    tree = Tree()
    assert (tree.value, tree.value, tree.times) == (42, 42, 1)
    del tree.__dict__["value"]
    assert (tree.value, tree.times) == (42, 2)
    assert Tree.value.__doc__ == "Return the answer."


def test_lazy_properties_of_instances_are_independent() -> None:
    gate = threading.Event()
    large = Tree(gate)
    thread = threading.Thread(target=lambda: large.value)
    thread.start()
    assert large.began.wait(60)
    small: list[int] = []
    other = threading.Thread(target=lambda: small.append(Tree().value))
    other.start()
    other.join(60)
    assert small == [42]
    assert thread.is_alive()
    gate.set()
    thread.join(60)


def test_two_threads_compute_lazy_property_once() -> None:
    gate = threading.Event()
    tree = Tree(gate)
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(tree.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert tree.began.wait(60)
    gate.set()
    for thread in threads:
        thread.join(60)
    assert (seen, tree.times) == ([42, 42], 1)
