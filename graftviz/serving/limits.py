"""Limits of the server, per client and in total, with one optional file.

``.streamlit/limits.toml``, beside Streamlit's own settings, or the file that the environment
variable ``GRAFTVIZ_LIMITS`` names. Every entry is optional; one that is wrong is refused in a
sentence before anything runs. The origins that may embed the app are in the same file.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from graftviz.errors import InputError
from graftviz.options import check_options, option
from graftviz.wording import quoted

FILE = Path(".streamlit") / "limits.toml"
VARIABLE = "GRAFTVIZ_LIMITS"
MOST_ORIGINS = 20  # all are in a header of every response
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ORIGIN = re.compile(
    rf"https?://(?:\*\.{_LABEL}\.)?{_LABEL}(?:\.{_LABEL}){{0,30}}(?::([0-9]{{1,5}}))?"
)


def _limit(default: float, unit: str, help: str, minimum: float, maximum: float) -> Any:
    """Declare a limit as an option; its label is the unit."""
    return option(default, help, label=unit, minimum=minimum, maximum=maximum)


@dataclass(frozen=True)
class Limits:
    """Limits of time, memory and numbers; 1 MB is 10⁶ bytes.

    All fields are options except `embed_origins`: the origins that may embed the app, such as
    ``https://learn.example.org``, by default none.
    """

    ask_seconds: float = _limit(
        20.0, "s", "engine time above which a run requires confirmation", 0.0, 1e6
    )
    ask_memory: float = _limit(
        2000.0, "MB", "memory above which a run requires confirmation", 0.0, 1e6
    )
    run_seconds: float = _limit(7200.0, "s", "engine time above which a run is refused", 0.0, 1e9)
    run_memory: float = _limit(8000.0, "MB", "memory above which a run is refused", 0.0, 1e6)
    kept_runs: int = _limit(
        3, "runs", "runs the Grow page keeps for a client, including the shown one", 2, 100
    )
    kept_racers: int = _limit(
        12, "runs", "runs the Race page, and the Prune page, keeps for a client", 6, 100
    )
    kept_memory: float = _limit(
        60.0, "MB", "records a page keeps of a client's runs, besides those of shown runs", 0.0, 1e6
    )
    upload_memory: int = _limit(100, "MB", "largest file a client may upload", 1, 100)
    session_uploads: int = _limit(
        200, "MB", "uploaded files of one session, stored and in transfer", 1, 1_000_000
    )
    server_uploads: int = _limit(
        1000, "MB", "uploaded files of all sessions, stored and in transfer", 1, 1_000_000
    )
    readers: int = _limit(
        0, "processes", "uploads read at the same time; 0: one per two usable cores", 0, 16
    )
    read_memory: int = _limit(
        1000, "MB", "memory for reading one upload; a file that needs more is refused", 50, 100_000
    )
    read_seconds: float = _limit(
        30.0,
        "s",
        "processor time for reading an upload; a file that needs more is refused",
        1,
        3600,
    )
    gone_seconds: float = _limit(
        60.0,
        "s",
        "how long runs of disconnected clients, and uploaded files that no page refers to, are "
        "stored; later, runs are computed again for a client that reconnects",
        0.0,
        1e6,
    )
    clients: int = _limit(100, "clients", "largest number of pages open at once", 1, 10_000)
    total_memory: float = _limit(
        0.0,
        "MB",
        "memory of the server's process near which new runs are refused; 0: the memory of the "
        "machine",
        0.0,
        1e7,
    )
    engine_threads: int = _limit(
        0, "threads", "threads that learn; 0: one per core the process may use", 0, 1024
    )
    slice_seconds: float = _limit(0.02, "s", "length of a time slice of one client", 0.001, 1.0)
    embed_origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "embed_origins", _checked_origins(self.embed_origins))


def _checked_origins(origins: Any) -> tuple[str, ...]:
    """Return the origins as a tuple.

    They become part of a header, so anything but scheme, name and port is refused.
    """
    if not isinstance(origins, list | tuple) or len(origins) > MOST_ORIGINS:
        raise InputError(
            f"embed_origins must be a list of at most {MOST_ORIGINS} origins, such as "
            f'["https://learn.example.org"], not {quoted(origins)}.'
        )
    for origin in origins:
        found = _ORIGIN.fullmatch(origin) if isinstance(origin, str) else None
        if found is None or not 0 < int(found[1] or 1) < 65536:
            raise InputError(
                f"embed_origins: {quoted(origin)} is not an origin; write http or https, a name in "
                "lower case and a port if needed, such as 'https://learn.example.org'."
            )
    return tuple(origins)


def read_limits(path: Path) -> Limits:
    """Return the limits in a file.

    Raises
    ------
    InputError
        If the file cannot be read or contains anything but limits within their bounds.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The limits in {path} cannot be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"The limits in {path} are not valid TOML: {error}.") from error
    names = [field.name for field in fields(Limits)]
    for name in entries:
        if name not in names:
            raise InputError(f"{path}: there is no limit {name!r}; there are {', '.join(names)}.")
    try:
        return Limits(**entries)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


@lru_cache(maxsize=1)
def limits() -> Limits:
    """Return the limits of this server, read once.

    Raises
    ------
    InputError
        If the file contains an invalid limit, or the environment names a file that does not exist.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return read_limits(Path(named))
    return read_limits(FILE) if FILE.exists() else Limits()
