"""Help lines of options."""

from __future__ import annotations

from graftviz.options import OptionSpec, format_value


def option_line(spec: OptionSpec) -> str:
    """Return ``name=default``, the help of an option, its choices and the meaning of auto."""
    automatic = f" [auto: {spec.none_means}]" if spec.none_means else ""
    choices = f" [{', '.join(spec.choices)}]" if spec.choices else ""
    default = "auto" if spec.default is None else format_value(spec.default)
    return f"  {spec.name}={default}  {spec.help}{choices}{automatic}"
