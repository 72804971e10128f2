"""ZIP archives of result folders, written field by field so that every field can be mutated."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from random import Random

from tests.fuzz.cases import HOSTILE_TEXTS, Case, encoded, hostile_name, mutated_bytes
from tests.fuzz.models import model_files, mutated_json, mutated_tokens

_SHORT = (0, 1, 2, 8, 9, 12, 14, 20, 45, 63, 93, 95, 98, 99, 255, 256, 0x7FFF, 0x8000, 0xFFFF)
_LONG = (0, 1, 22, 100, 1000, 2**16, 2**20, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)
_STEMS = (
    *("model", "x" * 300, "x" * 10_000, "ä" * 200, "a\0b", "\ud800", "..", "../x", "../../../x"),
    *("/etc/x", "C:\\x", "a/b/c", "a\\b", "", ".", ".hidden", "con", "a:b", " ", "a\nb", "\x1b[1m"),
)
_SUFFIXES = (".uai", ".uai", ".names.json", ".json", ".graphml", ".xml", ".zip", ".txt", "", "/")
_SHORT_FIELDS = ("made_by", "needs", "flags", "method", "time", "date", "disk", "internal")
_LONG_FIELDS = ("crc", "packed", "size", "external", "offset")


@dataclass
class Entry:
    """File of an archive, with values that override fields of its headers.

    Attributes
    ----------
    name, data : bytes
    method, flags : int
        Of both headers, unless overridden by `central`.
    central, local : dict
        Field → value that is written instead of the correct one.
    """

    name: bytes
    data: bytes
    method: int = 8
    flags: int = 0
    extra: bytes = b""
    comment: bytes = b""
    central: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)


def zip_of(entries: list[Entry], end: dict[str, int] | None = None, tail: bytes = b"") -> bytes:
    """Return an archive; `end` overrides fields of the end record, `tail` is its comment."""
    body, directory = bytearray(), bytearray()
    for entry in entries:
        packed = _deflated(entry.data) if entry.method == 8 else entry.data
        right = {
            "made_by": 20,
            "needs": 20,
            "flags": entry.flags,
            "method": entry.method,
            "time": 0,
            "date": 0x21,
            "crc": zlib.crc32(entry.data),
            "packed": len(packed),
            "size": len(entry.data),
            "name": len(entry.name),
            "extra": len(entry.extra),
            "comment": len(entry.comment),
            "disk": 0,
            "internal": 0,
            "external": 0,
            "offset": len(body),
        }
        local, central = {**right, **entry.local}, {**right, **entry.central}
        names = ("needs", "flags", "method", "time", "date", "crc", "packed", "size", "name")
        body += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", *(local[n] for n in names), 0)
        body += entry.name + packed
        directory += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", *central.values())
        directory += entry.name + entry.extra + entry.comment
    right = {"disk": 0, "start": 0, "here": len(entries), "all": len(entries)}
    right |= {"length": len(directory), "offset": len(body), "comment": len(tail)}
    last = struct.pack("<4sHHHHIIH", b"PK\5\6", *{**right, **(end or {})}.values())
    return bytes(body + directory) + last + tail


def zip_case(rng: Random) -> Case:
    """Return a damaged archive of a result folder."""
    content = _archive(rng)
    name = hostile_name(rng, ".zip")
    files = [(name, content)]
    if rng.random() < 0.05:
        files.append((f"{rng.choice(_STEMS)}.uai", model_files()["model.uai"]))
    return Case("model", tuple(files), {})


def _archive(rng: Random) -> bytes:
    files = model_files()
    names = rng.choice((["model.uai", "model.names.json"], ["graph.json"], ["graph.graphml"]))
    entries = [Entry(name.encode(), files[name]) for name in names]
    entries.append(Entry(b"result.json", b'{"seed": 0}'))
    entries.append(Entry(b"edges.csv", b"source,target\n0,1\n"))
    if rng.random() < 0.3:
        entries[0].data = mutated_tokens(rng, files["model.uai"].decode())
    if rng.random() < 0.2 and len(names) == 2:
        entries[1].data = mutated_json(rng, files["model.names.json"])
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        _mutate_entry(rng, rng.choice(entries[:2]), entries)
    end: dict[str, int] = {}
    if rng.random() < 0.1:
        key = rng.choice(("disk", "start", "here", "all", "comment"))
        end[key] = rng.choice(_SHORT)
    if rng.random() < 0.1:
        end[rng.choice(("length", "offset"))] = rng.choice(_LONG)
    content = zip_of(entries, end, b"x" * rng.choice((0, 0, 0, 5, 65_535)))
    if rng.random() < 0.05:
        content = rng.choice((b"", b"MZ" * 50, b"PK\3\4", b"PK\5\6")) + content
    return mutated_bytes(rng, content) if rng.random() < 0.25 else content


def _mutate_entry(rng: Random, entry: Entry, entries: list[Entry]) -> None:
    match rng.randrange(10):
        case 0 | 1 | 2:
            stem = rng.choice((*_STEMS, rng.choice(HOSTILE_TEXTS)))
            entry.name = encoded(stem + rng.choice(_SUFFIXES))[:60_000]
            entry.flags = rng.choice((0, 0x800, 0x800))
        case 3:
            fields = rng.choice((entry.central, entry.local))
            fields[rng.choice(_SHORT_FIELDS)] = rng.choice(_SHORT)
        case 4:
            fields = rng.choice((entry.central, entry.local))
            fields[rng.choice(_LONG_FIELDS)] = rng.choice(_LONG)
        case 5:
            entry.flags = rng.choice((1, 2, 8, 0x20, 0x40, 0x800, 0x2000, 0xFFFF))
        case 6:
            entry.method = rng.choice((0, 1, 6, 9, 12, 14, 93, 95, 97, 98, 99, 0xFFFF))
        case 7:
            size = rng.choice((0, 3, 8, 200))
            entry.extra = struct.pack("<HH", rng.choice((1, 0x7075, 0x9901)), size) + (
                rng.randbytes(rng.choice((0, 8, size)))
            )
        case 8:
            entries.append(Entry(entry.name, rng.choice((entry.data, b"", b"{}"))))
        case _:
            inner = zip_of([Entry(b"model.uai", entry.data)])
            entries.append(Entry(b"inner.zip", inner))


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()
