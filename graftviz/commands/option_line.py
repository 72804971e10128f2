"""How an option is told of at the end of a help text."""

from __future__ import annotations

from graftviz.options import OptionSpec, format_value


def option_line(spec: OptionSpec) -> str:
    """Return ``name=default``, what the option is for, its choices, and what none stands for."""
    none = f" [none: {spec.none_means}]" if spec.none_means else ""
    choices = f" [{', '.join(spec.choices)}]" if spec.choices else ""
    return f"  {spec.name}={format_value(spec.default)}  {spec.help}{choices}{none}"
