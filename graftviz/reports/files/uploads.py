"""Reader of uploaded models: a file, several related files, or a ZIP archive.

All content is read in memory. Names of files and of archive entries are used in messages and to
match related files, never as paths.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import IO

import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.graphml import parse_graphml
from graftviz.model.readwrite.reading import (
    GRAPHML,
    NAMES_SUFFIX,
    choose_model,
    parse_model,
    title_of,
)
from graftviz.model.readwrite.records import ModelFile
from graftviz.model.readwrite.uai import NamesFile
from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

_SUFFIXES = (".uai", ".graphml", ".xml", ".json")
_MOST_FILES = 10_000
# Texts of models compress to between a tenth and a fiftieth. Archives with a higher ratio are not
# models, and only a limited amount of them is unpacked.
MOST_UNPACKED = 100_000_000
_ALWAYS_UNPACKED = 20_000_000
_BEST_COMPRESSION = 100
_BLOCK = 1_000_000
# Raised by zipfile and its libraries for a damaged archive, such as one with an offset of 64 bits.
_DAMAGE = (
    EOFError,
    OSError,
    OverflowError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    zlib.error,
)
MOST_CHARACTERS = 1000  # maximum length of a name or label, as in uploaded tables


def read_uploaded_model(files: Mapping[str, bytes]) -> ModelFile:
    """Read the model in uploaded files.

    Parameters
    ----------
    files : mapping
        Contents by name: a model file, a UAI file with its names, all files of a result folder, or
        one ZIP archive of these. Files of other kinds are ignored.

    Raises
    ------
    InputError
        As :func:`graftviz.read_model`; for archives that cannot be read;
        and for names and labels of more than 1,000 characters or with lone surrogates.
    """
    unpacked: dict[str, bytes] = {}
    for name, content in files.items():
        is_archive = name.lower().endswith(".zip")
        own = _unpack(title_of(_base(name)), content) if is_archive else {_base(name): content}
        _add(unpacked, own)
    usable = {name: data for name, data in unpacked.items() if name.lower().endswith(_SUFFIXES)}
    if not usable:
        named = ", ".join(title_of(name) for name in list(unpacked)[:4]) or "nothing"
        raise InputError(
            f"No model in {named}. Upload .uai, .graphml, node-link .json, or the files of a "
            "result folder."
        )
    found = _parse(usable)
    _check_texts(found.model)
    return found


def _parse(files: Mapping[str, bytes]) -> ModelFile:
    """Return the model in files of model formats, with the names of its variables."""
    models = [name for name in files if not name.lower().endswith(NAMES_SUFFIX)]
    chosen = models[0] if len(models) == 1 else choose_model(list(files))
    found = parse_model(chosen, files[chosen], _names_of(chosen, files))
    # Of the files of a result only this one has the steps of the edges.
    if chosen != GRAPHML.file and GRAPHML.file in files:
        found = _with_steps(found, files[GRAPHML.file])
    if len(files) == 1 and chosen.lower().endswith(".uai"):
        note = (
            f"No variable names. Upload {title_of(_names_name(chosen))} with "
            f"{title_of(chosen)} to show names."
        )
        return ModelFile(found.model, (*found.notes, note))
    return found


def _with_steps(found: ModelFile, graph: bytes) -> ModelFile:
    """Return a model with the steps of a graph, if that has the same edges."""
    try:
        other = parse_graphml(GRAPHML.file, graph)
    except InputError:  # the model itself was read
        return found
    same = np.array_equal(other.model.edges, found.model.edges)
    return replace(found, steps=other.steps) if same else found


def _names_of(model: str, files: Mapping[str, bytes]) -> NamesFile | None:
    """Return the names of a UAI file: the only file of names, or the one with the same stem."""
    found = [name for name in files if name.lower().endswith(NAMES_SUFFIX)]
    if len(found) != 1 or sum(name.lower().endswith(".uai") for name in files) != 1:
        found = [name for name in found if name == _names_name(model)]
    return NamesFile(title_of(found[0]), files[found[0]]) if found else None


def _names_name(model: str) -> str:
    return f"{PurePosixPath(model).stem}{NAMES_SUFFIX}"


def _base(name: str) -> str:
    """Return the last part of a path."""
    return PurePosixPath(name.replace("\\", "/")).name or "file"


def _add(found: dict[str, bytes], files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        if found.setdefault(name, data) != data:
            raise InputError(
                f"Two different files are named {title_of(name)}. Upload one model at a time."
            )


def _check_texts(model: PairwiseModel) -> None:
    """Raise :class:`InputError` for names and labels that pages cannot show."""
    for what, texts in (("name", (model.names,)), ("label", model.labels)):
        for text in (text for group in texts for text in group):
            if len(text) > MOST_CHARACTERS:
                raise InputError(
                    f"The {what} {quoted(text)} has {len(text):,} characters; the maximum is "
                    f"{MOST_CHARACTERS:,}."
                )
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise InputError(
                    f"The {what} {quoted(text)} holds a lone surrogate, which is not a character; "
                    "correct it."
                )


def _may_hold_model(entry: zipfile.ZipInfo) -> bool:
    name = _base(entry.filename)
    is_file = not entry.filename.endswith("/")  # `is_dir` raises for an entry without a name
    return is_file and not name.startswith(".") and name.lower().endswith(_SUFFIXES)


def _read_block_by_block(file: IO[bytes], room: int) -> bytes:
    """Return the content of a file, truncated to slightly more than `room` bytes.

    The sizes in an archive's directory may be wrong, and `read` without a size unpacks the whole
    entry before its size can be checked.
    """
    data = bytearray()
    while len(data) <= room and (block := file.read(_BLOCK)):
        data += block
    return bytes(data)


def _unpack(title: str, content: bytes) -> dict[str, bytes]:
    """Return the files of an archive that may belong to a model, by name."""
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > _MOST_FILES:
                raise InputError(
                    f"{title} holds {len(entries):,} files; it is not a result folder."
                )
            room = min(MOST_UNPACKED, max(_ALWAYS_UNPACKED, _BEST_COMPRESSION * len(content)))
            usable = [entry for entry in entries if _may_hold_model(entry)]
            too_large = InputError(
                f"{title} unpacks to more than {room // 1_000_000} MB; upload only the model file."
            )
            if sum(entry.file_size for entry in usable) > room:
                raise too_large
            for entry in usable:
                with archive.open(entry) as file:
                    data = _read_block_by_block(file, room)
                room -= len(data)
                if room < 0:
                    raise too_large
                _add(found, {_base(entry.filename): data})
    except InputError:  # a subclass of ValueError, handled below
        raise
    except (zipfile.BadZipFile, *_DAMAGE):
        raise InputError(f"{title} is not a readable ZIP archive; create it again.") from None
    except (RuntimeError, NotImplementedError):  # encryption or an unsupported compression
        raise InputError(
            f"{title} is encrypted or compressed by an unsupported method; create it again without."
        ) from None
    if not found:
        raise InputError(f"{title} holds no model: no .uai, .graphml or .json file.")
    return found
