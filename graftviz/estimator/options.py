"""The options of all learners as parameters of one estimator.

Nothing is listed here: what the learners declare is found, so that a new learner, or a new option
of an old one, is there for ``GridSearchCV`` as soon as it is in its own file.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from graftviz.learners.registry import learner_class, learner_names
from graftviz.options import OptionSpec, format_value, option_specs

LEFT_OPEN = "default"  # what an option that was not given is set to: the learner decides

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


def options_of_all_learners() -> dict[str, dict[str, OptionSpec]]:
    """Return every option any learner has: by its name, then by the names of those learners."""
    found: dict[str, dict[str, OptionSpec]] = {}
    for learner in learner_names():
        for spec in option_specs(learner_class(learner)):
            found.setdefault(spec.name, {})[learner] = spec
    return found


OPTIONS = options_of_all_learners()


def options_in_signature(init: Function) -> Function:
    """Show all options where `init` has ``**options``; scikit-learn reads parameters from there."""
    signature = inspect.signature(init)
    fixed = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=LEFT_OPEN, annotation=Any)
        for name in OPTIONS
    ]
    init.__signature__ = signature.replace(parameters=[*fixed, *options])  # type: ignore[attr-defined]
    return init


class _MethodBesideOption:
    """A method whose name is an option's too: called, it is the method; set, it is the option.

    ``estimator.score(X)`` has to score and ``score="belief"`` has to choose the learner's score.
    The option lies in the estimator's ``__dict__`` like any other, where only ``get_params`` and
    the estimator itself look for it.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.function if instance is None else self.function.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value


def options_beside_methods(cls: Class) -> Class:
    """Let methods of `cls` and options share names."""
    for name in OPTIONS:
        if hasattr(cls, name):
            setattr(cls, name, _MethodBesideOption(name, getattr(cls, name)))
    return cls


def options_in_docstring(cls: Class) -> Class:
    """Put the help of all options where the docstring of `cls` says ``{options}``."""
    entries = []
    for name, by_learner in OPTIONS.items():
        spec = next(iter(by_learner.values()))
        about = f"{spec.help}. Of {', '.join(by_learner)}; left open: {_defaults(by_learner)}."
        lines = textwrap.fill(about, 91, break_on_hyphens=False)
        entries.append(f"{name} : {spec.kind}\n{textwrap.indent(lines, '    ')}")
    if cls.__doc__ is not None:  # python -OO leaves none
        listed = textwrap.indent("\n".join(entries), "    ").lstrip()
        cls.__doc__ = cls.__doc__.replace("{options}", listed)
    return cls


def _defaults(by_learner: dict[str, OptionSpec]) -> str:
    words = [
        spec.none_means if spec.default is None else format_value(spec.default)
        for spec in by_learner.values()
    ]
    return " or ".join(dict.fromkeys(words))


def is_open(value: Any) -> bool:
    """Whether the learner decides."""
    return isinstance(value, str) and value == LEFT_OPEN


def no_option(name: str, owner: str, known: Iterable[str]) -> str:
    """Say that `owner` has no such option, and which it has."""
    return f"{name!r} is no option of {owner}; the options are {', '.join(known)}."
