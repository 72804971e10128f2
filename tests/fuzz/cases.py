"""Inputs of the fuzzer, and mutations of text and bytes common to all kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple, TypeVar

from tests.hostile_files import BAD_NAMES

T = TypeVar("T")
NUMBERS = (
    *("0", "-0", "-1", "1", "2", "3", "255", "256", "65535", "65536", "2147483647", "2147483648"),
    *("4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "1e15", "1e30"),
    *(
        "-9223372036854775809",
        "9" * 25,
        "9" * 400,
        "9" * 5000,
        "1e308",
        "1e309",
        "-1e309",
        "1e-400",
    ),
    *(
        "nan",
        "NaN",
        "-nan",
        "inf",
        "-inf",
        "Infinity",
        "0x10",
        "0b1",
        "1_0",
        "٣",
        "½",
        "1,5",
        "1.5",
    ),
    *(".5", "5.", "+1", "--1", "1e", "1e+", "1 2", "0.1e-3", "00", "07", "1.0", "1E0", "−1"),
)
ODD_TEXTS = (
    *("", " ", "\t", "\n", "\r", "\r\n", "\0", "\x1b[31m", "\x7f", "\x85", "\u2028", "\ufeff"),
    *('"', "'", '""', '"a', "a;b", "a,b", "a\tb", "a\nb", "\\", "/", "..", "../../x", "C:\\x"),
    *("\ud800", "a" * 300, "a" * 5000, "ä" * 300, "\U0001f469" * 200, "true", "null", "None"),
    *("2020-02-30", "2020-01-01", "99999-01-01", "2020-01-01T25:00", "NA", "N/A", "missing"),
    *("__proto__", "source", "target", "time", "series", "value", "x", "y", "name", "id"),
)
HOSTILE_TEXTS = (*BAD_NAMES, *NUMBERS, *ODD_TEXTS)
_HOSTILE_BYTES = (
    *(b"\0", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\xaf"),
    *(b'"', b"\r", b"\n", b"\r\n", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0"),
)


class Case(NamedTuple):
    """One input.

    Attributes
    ----------
    target : str
        Name of the function in :mod:`tests.fuzz.targets` that takes it.
    files : tuple of (str, bytes)
        Name and content. The first is the one that is made smaller when a finding is minimised.
    options : mapping
        Keyword arguments, or what else the target needs.
    """

    target: str
    files: tuple[tuple[str, bytes], ...]
    options: dict[str, Any]


def random_for(kind: str, seed: int, number: int) -> Random:
    """Return the generator from which an input is made; the same in every process."""
    return Random(f"{kind}:{seed}:{number}")


def encoded(text: str) -> bytes:
    """Return text as UTF-8, lone surrogates as the three bytes that no decoder accepts."""
    return text.encode("utf-8", "surrogatepass")


def hostile_text(rng: Random) -> str:
    """Return a text that means trouble somewhere, or a short random one."""
    if rng.random() < 0.8:
        return rng.choice(HOSTILE_TEXTS)
    characters = (rng.randrange(0x20, 0x7F) if rng.random() < 0.7 else rng.randrange(0x3000)
                  for _ in range(rng.randrange(12)))  # fmt: skip
    return "".join(map(chr, characters))


def hostile_name(rng: Random, suffix: str) -> str:
    """Return a file name that ends with `suffix`: mostly plain, sometimes hostile or long."""
    if rng.random() < 0.85:
        return f"file{suffix}"
    stem = rng.choice((*HOSTILE_TEXTS, "x" * 300, "x" * 10_000, "ä" * 200, "a/b", "../a", "/a"))
    return f"{stem}{rng.choice((suffix, suffix.upper(), suffix + ' ', suffix))}"


def mutated_bytes(rng: Random, content: bytes, most: int = 3) -> bytes:
    """Return `content` with one to `most` local changes that know nothing of its structure."""
    for _ in range(rng.randint(1, most)):
        content = rng.choice(_BYTE_MUTATIONS)(rng, content)
    return content


def _flipped(rng: Random, content: bytes) -> bytes:
    if not content:
        return content
    data = bytearray(content)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _random_byte(rng: Random, content: bytes) -> bytes:
    if not content:
        return content
    data = bytearray(content)
    data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _truncated(rng: Random, content: bytes) -> bytes:
    cut = rng.randint(0, len(content))
    return content[:cut] if rng.random() < 0.7 else content[cut:]


def _without(rng: Random, content: bytes) -> bytes:
    start = rng.randint(0, len(content))
    return content[:start] + content[start + rng.choice((1, 1, 2, 4, 8, 64)) :]


def _repeated(rng: Random, content: bytes) -> bytes:
    start = rng.randint(0, len(content))
    end = min(len(content), start + rng.choice((1, 2, 8, 64, 512)))
    return content[:end] + content[start:end] * rng.choice((1, 1, 2, 30)) + content[end:]


def _inserted(rng: Random, content: bytes) -> bytes:
    at = rng.randint(0, len(content))
    piece = rng.choice(_HOSTILE_BYTES)
    if rng.random() < 0.4:
        piece = encoded(hostile_text(rng))
    gone = rng.choice((0, 0, 1, len(piece)))
    return content[:at] + piece + content[at + gone :]


def _exchanged(rng: Random, content: bytes) -> bytes:
    a, b = sorted(rng.randint(0, len(content)) for _ in range(2))
    length = rng.choice((1, 4, 16, 100))
    first, second = content[a : a + length], content[b : b + length]
    if a + length > b:
        return content
    return content[:a] + second + content[a + length : b] + first + content[b + length :]


_BYTE_MUTATIONS: Sequence[Callable[[Random, bytes], bytes]] = (
    *(_flipped, _flipped, _random_byte, _truncated, _without, _repeated, _inserted, _inserted),
    _exchanged,
)


def mutated_list(rng: Random, items: list[T], make: Callable[[], T]) -> None:
    """Change a list in place: an item is replaced, taken out, put in, repeated or moved."""
    at = rng.randint(0, len(items))
    is_item = at < len(items)
    match rng.randrange(5):
        case 0 if is_item:
            items[at] = make()
        case 1 if is_item:
            del items[at]
        case 2 if is_item:
            items[at:at] = [items[at]] * rng.choice((1, 1, 5, 50))
        case 3 if is_item:
            items.insert(rng.randint(0, len(items) - 1), items.pop(at))
        case _:
            items.insert(at, make())
