"""Rules by which a region grows, and the four that are compared."""

from __future__ import annotations

from typing import Any

from graftviz.ui.regions.options import RegionOptions

_NAMES = {
    ("greedy", "drop"): "greedy",
    ("greedy", "mean-field"): "greedy, mean field",
    ("random", "drop"): "random",
    ("random", "mean-field"): "random, mean field",
    ("norm", "drop"): "strongest edge",
    ("norm", "mean-field"): "strongest edge, mean field",
}


def rule_choices(options: RegionOptions) -> tuple[tuple[str, str], ...]:
    """Return expansion and cut of the four rules, which include the chosen one."""
    cut = options.cut if options.expansion != "greedy" else "drop"
    return (("greedy", "drop"), ("greedy", "mean-field"), ("random", cut), ("norm", cut))


def named_rules(options: RegionOptions) -> dict[tuple[str, str], dict[str, Any]]:
    """Return key, name and number of the same rules, by expansion and cut."""
    return {
        choice: {"key": ":".join(choice), "name": _NAMES[choice], "index": index}
        for index, choice in enumerate(rule_choices(options))
    }
