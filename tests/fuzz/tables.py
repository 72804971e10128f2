"""Delimited text: tables, series, pairs and places, mutated by cell, row, quote and line end."""

from __future__ import annotations

from random import Random

from tests.fuzz.cases import Case, encoded, hostile_name, hostile_text, mutated_bytes, mutated_list

_DELIMITERS = (",", ",", ",", ";", "\t")
_LINE_ENDS = ("\n", "\n", "\n", "\r\n", "\r")
_OTHER_ENDS = ("\r", "\n\n", "\r\n", "\n\r", "\x85", "\u2028", "\x0b", "", "\0")
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7")
NAMES = ("a", "b", "c", "d", "e", "f")
_POOLS = (
    *(("0", "1"), ("x", "y", "z"), ("true", "false"), ("1.5", "2.5", "3.25"), ("", "a", "b")),
    *(("2020-01-01", "2020-01-02"), tuple(map(str, range(50))), ("ä", "ß"), ("1", "x")),
    tuple(f"{k / 7:.4f}" for k in range(60)),
)
Lines = list[list[str]]


def table_case(rng: Random) -> Case:
    """Return a table of labels, read whole or in chunks."""
    lines = _table(rng)
    suffix = rng.choice((".csv", ".csv", ".tsv", ".txt", ".data"))
    files = ((hostile_name(rng, suffix), mutated_lines(rng, lines)),)
    return Case(rng.choice(("table", "table", "chunked")), files, table_options(rng))


def table_options(rng: Random) -> dict[str, object]:
    """Return ways to read a table; now and then one that is refused."""
    options: dict[str, object] = {}
    if rng.random() < 0.7:
        options["missing"] = rng.choice(("reject", "drop", "state"))
        options["continuous"] = rng.choice(("reject", "bin"))
        options["header"] = rng.choice(("auto", True, False))
        options["max_states"] = rng.choice((2, 3, 32, 65534))
        options["bins"] = rng.choice((2, 4, 256))
    if rng.random() < 0.05:
        name = rng.choice(("missing", "continuous", "header", "max_states", "bins"))
        options[name] = rng.choice((hostile_text(rng), -1, 10**30, None, 2.5, float("nan")))
    return options


def series_case(rng: Random) -> Case:
    """Return wide or long time series."""
    lines = _wide(rng) if rng.random() < 0.5 else _long(rng)
    files = ((hostile_name(rng, rng.choice((".csv", ".csv", ".tsv"))), mutated_lines(rng, lines)),)
    return Case("series", files, series_options(rng))


def series_options(rng: Random) -> dict[str, object]:
    """Return ways to read series."""
    options: dict[str, object] = {
        "missing": rng.choice(("reject", "interpolate")),
        "constant": rng.choice(("reject", "drop", "keep")),
        "layout": rng.choice(("auto", "auto", "wide", "long")),
    }
    if rng.random() < 0.2:
        options["time"] = rng.choice(("none", "time", "a", hostile_text(rng)))
    if rng.random() < 0.2:
        options["longest_gap"] = rng.choice((-1, 0, 1, 3, 1000, 10**9, 10**20))
    return options


def pairs_case(rng: Random) -> Case:
    """Return true edges, places or parents of the variables a to f."""
    target = rng.choice(("truth", "positions", "parents"))
    n = len(NAMES)
    if target == "positions":
        columns = rng.choice((["name", "x", "y"], ["name", "lon", "lat"], ["y", "x", "id"]))
        lines = [columns] + [
            [name, f"{rng.uniform(-90, 90):.3f}", f"{k}"] for k, name in enumerate(NAMES)
        ]
    elif target == "parents" and rng.random() < 0.4:
        lines = [list(NAMES)] + [[rng.choice(("0", "1", "-.5")) for _ in NAMES] for _ in NAMES]
    else:
        is_named = rng.random() < 0.6
        lines = [["source", "target"]] if rng.random() < 0.7 else []
        for _ in range(rng.randint(1, 8)):
            i, j = rng.sample(range(n), 2)
            lines.append([NAMES[i], NAMES[j]] if is_named else [str(i), str(j)])
    return Case(target, ((hostile_name(rng, ".csv"), mutated_lines(rng, lines)),), {})


def _table(rng: Random) -> Lines:
    columns = [[name] for name in rng.sample(NAMES, rng.randint(2, len(NAMES)))]
    rows = rng.choice((2, 5, 12, 40, 40, 120))
    for column in columns:
        pool = rng.choice(_POOLS)
        column += [rng.choice(pool) for _ in range(rows)]
    return [list(line) for line in zip(*columns, strict=True)]


def _times(rng: Random, rows: int) -> list[str]:
    match rng.randrange(4):
        case 0:
            return [str(k) for k in range(rows)]
        case 1:
            return [f"{k * 0.25:g}" for k in range(rows)]
        case 2:
            return [f"2020-01-{k + 1:02d}" for k in range(rows)]
        case _:
            return [f"2020-01-01T{k:02d}:00:00" for k in range(rows)]


def _value(rng: Random) -> str:
    return f"{rng.gauss(0, 1):.3f}"


def _wide(rng: Random) -> Lines:
    names = rng.sample(NAMES, rng.randint(1, 5))
    rows = rng.choice((2, 6, 20))
    lines = [names] + [[_value(rng) for _ in names] for _ in range(rows)]
    if rng.random() < 0.7:
        first = [rng.choice(("time", "t", "date", "Timestamp")), *_times(rng, rows)]
        lines = [[text, *line] for text, line in zip(first, lines, strict=True)]
    return lines


def _long(rng: Random) -> Lines:
    names = rng.sample(NAMES, rng.randint(1, 4))
    rows = [[t, name, _value(rng)] for t in _times(rng, rng.choice((2, 6, 15))) for name in names]
    rng.shuffle(rows)
    return [["time", "series", "value"], *rows]


def mutated_lines(rng: Random, lines: Lines) -> bytes:
    """Return lines as bytes after changes of cells, rows and columns, and then of the text."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        _mutate_lines(rng, lines)
    text = _text(lines, rng.choice(_DELIMITERS), rng.choice(_LINE_ENDS))
    if rng.random() < 0.15:
        old, new = rng.choice("\n,;\"'a1 "), rng.choice((*_OTHER_ENDS, '"', '""', ";", ",", "\t"))
        parts = text.split(old)
        at = rng.randint(1, len(parts))
        text = old.join(parts[:at]) + (new + old.join(parts[at:]) if at < len(parts) else "")
    if rng.random() < 0.06:
        encoding = rng.choice(_ENCODINGS)
        content = text.encode(encoding, "replace")
    else:
        content = encoded(text)
    return mutated_bytes(rng, content) if rng.random() < 0.35 else content


def _mutate_lines(rng: Random, lines: Lines) -> None:
    if not lines:
        lines.append([hostile_text(rng)])
    line = rng.choice(lines)
    match rng.randrange(10):
        case 0 | 1 | 2 if line:
            line[rng.randrange(len(line))] = hostile_text(rng)
        case 3 if lines[0]:
            lines[0][rng.randrange(len(lines[0]))] = rng.choice((hostile_text(rng), lines[0][0]))
        case 4:
            mutated_list(rng, line, lambda: hostile_text(rng))
        case 5 | 6:
            mutated_list(rng, lines, lambda: [hostile_text(rng) for _ in lines[0]])
        case 7:
            _mutate_columns(rng, lines)
        case 8:
            line[:] = [hostile_text(rng) for _ in line]
        case _:
            at, text = rng.randrange(max(map(len, lines)) or 1), hostile_text(rng)
            for other in lines[rng.randint(0, 1) :]:
                if at < len(other):
                    other[at] = text


def _mutate_columns(rng: Random, lines: Lines) -> None:
    at = rng.randint(0, len(lines[0]))
    match rng.randrange(3):
        case 0:
            for line in lines:
                del line[at : at + 1]
        case 1:
            times = rng.choice((1, 1, 3, 100))
            for line in lines:
                line[at:at] = line[at : at + 1] * times
        case _:
            for line in lines:
                line.insert(at, rng.choice(("", "0", "x")))


def _text(lines: Lines, delimiter: str, end: str) -> str:
    special = (delimiter, '"', "\n", "\r")

    def field(text: str) -> str:
        if any(character in text for character in special):
            return '"' + text.replace('"', '""') + '"'
        return text

    return "".join(delimiter.join(map(field, line)) + end for line in lines)
