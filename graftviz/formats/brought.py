"""Models that arrive as files in memory: one file, several that belong together, or an archive."""

from __future__ import annotations

import io
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from graftviz.errors import InputError
from graftviz.formats.model_records import ModelFile
from graftviz.formats.models import NAMES_SUFFIX, read_model_file

_WANTED = (".uai", ".graphml", ".xml", ".json")
_MOST_FILES = 10_000
# Text of models packs to a tenth, or a fiftieth; what packs better than that is no model, and only
# little of it is looked at.
MOST_UNPACKED = 100_000_000
_HARMLESS = 20_000_000
_BEST_PACKING = 100
_PIECE = 1_000_000


def read_brought(files: Mapping[str, bytes]) -> ModelFile:
    """Read the model that some files hold together.

    Parameters
    ----------
    files : mapping
        Name → content: a model file, a UAI file with its names, all files of a result folder, or
        one ZIP archive of these. Files that hold no model are passed over.

    Raises
    ------
    InputError
        As :func:`graftviz.formats.models.read_model`, and for archives that cannot be read.
    """
    unpacked: dict[str, bytes] = {}
    for name, content in files.items():
        parts = _archive(name, content) if name.lower().endswith(".zip") else {name: content}
        for inner, data in parts.items():
            _put(unpacked, _base(inner), data)
    wanted = {name: data for name, data in unpacked.items() if name.lower().endswith(_WANTED)}
    if not wanted:
        named = ", ".join(list(unpacked)[:4]) or "nothing"
        raise InputError(
            f"There is no model in {named}; bring .uai, .graphml, node-link .json, or the files "
            "of a result folder."
        )
    with tempfile.TemporaryDirectory(prefix="graftviz-") as folder:
        for name, data in _matched_names(wanted).items():
            (Path(folder) / name).write_bytes(data)
        models = [name for name in wanted if not name.lower().endswith(NAMES_SUFFIX)]
        path = Path(folder)
        found = read_model_file(path / models[0] if len(models) == 1 else path)
    has_names = len(models) < len(wanted)
    if len(models) == 1 and models[0].lower().endswith(".uai") and not has_names:
        names = str(Path(models[0]).with_suffix(NAMES_SUFFIX))
        note = f"{models[0]} has no names; bring {names} along to see them instead of numbers."
        return ModelFile(found.model, (*found.notes, note))
    return found


def _base(name: str) -> str:
    """Return the last part of a path, which is all that is taken over: it may be no way out."""
    return PurePosixPath(name.replace("\\", "/")).name or "file"


def _put(found: dict[str, bytes], name: str, data: bytes) -> None:
    if found.setdefault(name, data) != data:
        raise InputError(f"There are two different files {name}; bring one model at a time.")


def _matched_names(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files with the names of the only UAI file under the name it looks for."""
    models = [name for name in files if name.lower().endswith(".uai")]
    names = [name for name in files if name.lower().endswith(NAMES_SUFFIX)]
    if len(models) != 1 or len(names) != 1:
        return dict(files)
    wanted = str(Path(models[0]).with_suffix(NAMES_SUFFIX))
    return {wanted if name == names[0] else name: data for name, data in files.items()}


def _may_hold_a_model(entry: zipfile.ZipInfo) -> bool:
    name = _base(entry.filename)
    is_file = not entry.filename.endswith("/")  # `is_dir` raises for one without a name
    return is_file and not name.startswith(".") and name.lower().endswith(_WANTED)


def _unpacked(file: IO[bytes], room: int) -> bytes:
    """Return the content of a file, or a little more than `room` of it.

    Piece by piece, because what an archive says about sizes may be wrong, and as much as is asked
    for is unpacked before anybody compares.
    """
    data = bytearray()
    while len(data) <= room and (piece := file.read(_PIECE)):
        data += piece
    return bytes(data)


def _archive(title: str, content: bytes) -> dict[str, bytes]:
    """Return the files of an archive that may belong to a model."""
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > _MOST_FILES:
                raise InputError(f"{title} holds {len(entries):,} files; that is no result folder.")
            room = min(MOST_UNPACKED, max(_HARMLESS, _BEST_PACKING * len(content)))
            wanted = [entry for entry in entries if _may_hold_a_model(entry)]
            too_much = InputError(
                f"{title} unpacks to more than {room // 1_000_000} MB; bring the file of the "
                "model alone."
            )
            if sum(entry.file_size for entry in wanted) > room:
                raise too_much
            for entry in wanted:
                with archive.open(entry) as file:
                    data = _unpacked(file, room)
                room -= len(data)
                if room < 0:
                    raise too_much
                _put(found, _base(entry.filename), data)
    except InputError:  # which is a ValueError too
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError):
        raise InputError(f"{title} is no ZIP archive that can be read.") from None
    except (RuntimeError, NotImplementedError):  # encrypted, or packed in a way of its own
        raise InputError(f"{title} is encrypted or packed in an unusual way.") from None
    if not found:
        raise InputError(f"{title} holds no model: no .uai, .graphml or .json file.")
    return found
