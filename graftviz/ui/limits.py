"""Limits of the server, per visitor and in total, with one optional file.

``.streamlit/limits.toml``, beside Streamlit's own settings, or the file that the environment
variable ``GRAFTVIZ_LIMITS`` names. Every entry is optional; one that is wrong is refused in a
sentence before anything runs.
"""

from __future__ import annotations

import dataclasses
import math
import os
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from graftviz.errors import InputError

FILE = Path(".streamlit") / "limits.toml"
VARIABLE = "GRAFTVIZ_LIMITS"
_DATA = "graftviz.limit"


class LimitSpec(NamedTuple):
    """Name, unit, default and bounds of one limit.

    Attributes
    ----------
    name, unit, help : str
    default : float or int
    least, most : float
        Inclusive bounds, in the unit.
    """

    name: str
    default: float
    unit: str
    help: str
    least: float
    most: float


def _limit(default: float, unit: str, help: str, least: float, most: float) -> Any:
    return dataclasses.field(
        default=default, metadata={_DATA: (unit, help, least, most)}, kw_only=True
    )


@dataclasses.dataclass(frozen=True)
class Limits:
    """Budgets of time and memory. Memory is counted in units of 10⁶ bytes."""

    ask_seconds: float = _limit(
        20.0, "s", "engine time of a run beyond which a client is asked first", 0.0, 1e6
    )
    ask_memory: float = _limit(
        2000.0, "MB", "memory of a run beyond which a client is asked first", 0.0, 1e6
    )
    run_seconds: float = _limit(
        7200.0, "s", "engine time beyond which a run is refused: it belongs elsewhere", 0.0, 1e9
    )
    run_memory: float = _limit(
        8000.0, "MB", "memory beyond which a run is refused: it belongs elsewhere", 0.0, 1e6
    )
    kept_runs: int = _limit(
        3, "runs", "runs the Grow page keeps for a client, the one on show included", 2, 100
    )
    kept_racers: int = _limit(
        12, "runs", "runs the Race page, and the Prune page, keeps for a client", 6, 100
    )
    kept_memory: float = _limit(
        60.0,
        "MB",
        "records a page keeps of a client's runs; beyond it only those on show are kept",
        0.0,
        1e6,
    )
    upload_memory: int = _limit(100, "MB", "largest file a client may upload", 1, 100)
    session_uploads: int = _limit(
        200, "MB", "uploaded files of one session, stored and under way", 1, 1_000_000
    )
    server_uploads: int = _limit(
        1000, "MB", "uploaded files of all sessions, stored and under way", 1, 1_000_000
    )
    readers: int = _limit(
        0,
        "processes",
        "uploads that are read at the same time; 0: one per two cores the process may use",
        0,
        16,
    )
    read_memory: int = _limit(
        1000, "MB", "memory for reading one upload; a file that needs more is refused", 50, 100_000
    )
    read_seconds: float = _limit(
        30.0,
        "s",
        "processor time for reading one upload; a file that needs more is refused",
        1,
        3600,
    )
    gone_seconds: float = _limit(
        60.0,
        "s",
        "how long runs of a client who has gone, and uploaded files that no page refers to, are "
        "kept; runs are computed again for a client who is back later",
        0.0,
        1e6,
    )
    clients: int = _limit(
        100,
        "clients",
        "open pages at once; a further one asks the visitor to come back later",
        1,
        10_000,
    )
    total_memory: float = _limit(
        0.0,
        "MB",
        "memory of the server's process, near which new runs are refused while the others go on; "
        "0: what the machine has",
        0.0,
        1e7,
    )
    engine_threads: int = _limit(
        0, "threads", "threads that learn; 0: one per core the process may use", 0, 1024
    )
    slice_seconds: float = _limit(
        0.02, "s", "how long one client is served before it is another one's turn", 0.001, 1.0
    )


def limit_specs() -> list[LimitSpec]:
    """Return what there is to know about every limit, in order."""
    return [
        LimitSpec(field.name, field.default, *field.metadata[_DATA])  # type: ignore[arg-type]
        for field in dataclasses.fields(Limits)
    ]


def read_limits(path: Path) -> Limits:
    """Read limits from a file; what it leaves out has its default.

    Raises
    ------
    InputError
        When it cannot be read, or says something that is no limit.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The limits in {path} cannot be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"The limits in {path} are not valid TOML: {error}.") from error
    return limits_of(entries, str(path))


def limits_of(entries: Mapping[str, Any], where: str) -> Limits:
    """Check limits that were given by name.

    Raises
    ------
    InputError
        For a name that is none, or a value out of bounds; `where` says where it stands.
    """
    specs = {spec.name: spec for spec in limit_specs()}
    for name, value in entries.items():
        if name not in specs:
            raise InputError(f"{where}: there is no limit {name!r}; there are {', '.join(specs)}.")
        _check(specs[name], value, where)
    return Limits(**entries)


def _check(spec: LimitSpec, value: object, where: str) -> None:
    is_whole = isinstance(spec.default, int)
    kinds: tuple[type, ...] = (int,) if is_whole else (int, float)
    # To Python, true is a number.
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not spec.least <= value <= spec.most:  # type: ignore[operator, arg-type]
        kind = "a whole number" if is_whole else "a number"
        raise InputError(
            f"{where}: {spec.name} must be {kind} from {spec.least:g} to {spec.most:,.12g} "
            f"({spec.unit}), not {value!r}."
        )


@lru_cache(maxsize=1)
def limits() -> Limits:
    """Return the limits of this server, read once.

    Raises
    ------
    InputError
        When the file says something that is no limit; or when the environment names a file that
        is not there.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return read_limits(Path(named))
    return read_limits(FILE) if FILE.exists() else Limits()
