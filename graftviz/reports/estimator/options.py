"""Options of all learners as parameters of one estimator.

The options are read from the registered learners, so new learners and options are available to
``GridSearchCV`` without changes here.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from graftviz.learning.registry import learner_class, learner_names
from graftviz.utils.options import OptionSpec, format_value, option_specs

UNSET = "default"  # value of an option that is not set: the learner's default applies

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


def options_of_all_learners() -> dict[str, dict[str, OptionSpec]]:
    """Return the options of all learners by option name, then by learner name."""
    found: dict[str, dict[str, OptionSpec]] = {}
    for learner in learner_names():
        for spec in option_specs(learner_class(learner)):
            found.setdefault(spec.name, {})[learner] = spec
    return found


OPTIONS = options_of_all_learners()


def add_options_to_signature(init: Function) -> Function:
    """Replace ``**options`` in the signature of `init` by all options, for scikit-learn."""
    signature = inspect.signature(init)
    fixed = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=UNSET, annotation=Any)
        for name in OPTIONS
    ]
    init.__signature__ = signature.replace(parameters=[*fixed, *options])  # type: ignore[attr-defined]
    return init


class _MethodAndOption:
    """Descriptor for a method and an option of one name: reads give the method, writes the option.

    ``estimator.score(X)`` must score, and ``score="belief"`` must set the learner's score. The
    option is stored in the estimator's ``__dict__``, where ``get_params`` and the estimator read
    it.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.function if instance is None else self.function.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value


def allow_options_named_like_methods(cls: Class) -> Class:
    """Allow options of `cls` to have the names of its methods."""
    for name in OPTIONS:
        if hasattr(cls, name):
            setattr(cls, name, _MethodAndOption(name, getattr(cls, name)))
    return cls


def add_options_to_docstring(cls: Class) -> Class:
    """Replace ``{options}`` in the docstring of `cls` by the help of all options."""
    entries = []
    for name, by_learner in OPTIONS.items():
        spec = next(iter(by_learner.values()))
        about = f"{spec.help}. Of {', '.join(by_learner)}; automatic: {_defaults(by_learner)}."
        lines = textwrap.fill(about, 91, break_on_hyphens=False)
        entries.append(f"{name} : {spec.kind}\n{textwrap.indent(lines, '    ')}")
    if cls.__doc__ is not None:  # python -OO strips docstrings
        listed = textwrap.indent("\n".join(entries), "    ").lstrip()
        cls.__doc__ = cls.__doc__.replace("{options}", listed)
    return cls


def _defaults(by_learner: dict[str, OptionSpec]) -> str:
    words = [
        spec.none_means if spec.default is None else format_value(spec.default)
        for spec in by_learner.values()
    ]
    return " or ".join(dict.fromkeys(words))


def is_unset(value: Any) -> bool:
    """Whether an option is not set, so that the learner's default applies."""
    return isinstance(value, str) and value == UNSET


def unknown_option_message(name: str, owner: str, names: Iterable[str]) -> str:
    """Return the message that `owner` has no option `name`, listing its options."""
    return f"{name!r} is no option of {owner}; the options are {', '.join(names)}."
