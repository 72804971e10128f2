"""``python -m tests.golden``: compare with the recorded files, or write them anew."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatch

from tests.golden.recording import computed, mismatches, path_of, record, recorded_names, recordings


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or record; return 1 when something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the files")
    parser.add_argument("names", nargs="*", default=["*"], help="such as 'learners/best-choice*'")
    given = parser.parse_args(arguments)
    chosen = [name for name in recordings() if any(fnmatch(name, text) for text in given.names)]
    if not chosen:
        parser.error(f"no recording has the name {' or '.join(given.names)}")
    failures = 0
    for name in chosen:
        started = time.process_time()
        found = computed(name)
        messages = [] if given.record else mismatches(name, found)
        if given.record:
            record(name, found)
        failures += bool(messages)
        print(f"{name} ({time.process_time() - started:.2f} s)", *messages, sep="\n  ", flush=True)
    if given.record and given.names == ["*"]:
        for name in recorded_names().difference(chosen):
            path_of(name).unlink()
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
