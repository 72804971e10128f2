"""Frames: messages over a pipe that consist of a JSON header and blocks of bytes.

Both ends treat frames as data: nothing is unpickled, and every length is checked against a limit
before memory is allocated.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

_BEGIN, _END = b"GVF1", b"GVE1"
_LENGTHS = struct.Struct("<4sQQ")  # mark, bytes of the header, bytes of all blocks
_DTYPES = ("|u1", "<u2", "<i8", "<f8")


class FrameError(Exception):
    """Error for a frame that is malformed, incomplete or larger than allowed."""


class Frame(NamedTuple):
    """Message over a pipe.

    Attributes
    ----------
    header : dict
        JSON object.
    blocks : tuple of bytes
    """

    header: dict[str, Any]
    blocks: tuple[bytes, ...] = ()


class Packed(NamedTuple):
    """Value divided into JSON data and arrays.

    Attributes
    ----------
    plain : dict
        JSON object.
    arrays : dict of array
    """

    plain: dict[str, Any]
    arrays: dict[str, np.ndarray]


Block = bytes | memoryview


def write_frame(stream: IO[bytes], header: Mapping[str, Any], blocks: Sequence[Block] = ()) -> None:
    """Write one frame and flush the stream."""
    stream.writelines(encode_frame(header, blocks))
    stream.flush()


def encode_frame(header: Mapping[str, Any], blocks: Sequence[Block] = ()) -> list[Block]:
    """Return the pieces of a frame, with its header as JSON.

    Raises
    ------
    TypeError, ValueError
        For a header that JSON cannot express.
    """
    sizes = [memoryview(block).nbytes for block in blocks]
    encoded = json.dumps({**header, "blocks": sizes}).encode("ascii")
    return [_LENGTHS.pack(_BEGIN, len(encoded), sum(sizes)), encoded, *blocks, _END]


def read_frame(stream: IO[bytes], most_bytes: int) -> Frame | None:
    """Read one frame; None at the end of the stream.

    Raises
    ------
    FrameError
        For a frame that is malformed, incomplete or larger than `most_bytes`.
    """
    start = stream.read(_LENGTHS.size)
    if not start:
        return None
    if len(start) < _LENGTHS.size:
        raise FrameError("the stream ended within a frame")
    mark, header_bytes, block_bytes = _LENGTHS.unpack(start)
    if mark != _BEGIN or header_bytes + block_bytes > most_bytes:
        raise FrameError("the stream does not hold a frame, or one that is too large")
    try:
        header = json.loads(_read(stream, header_bytes))
    except (ValueError, RecursionError) as error:
        raise FrameError("the header of a frame is not JSON") from error
    sizes = header.pop("blocks", None) if isinstance(header, dict) else None
    if not isinstance(sizes, list) or not all(type(size) is int and size >= 0 for size in sizes):
        raise FrameError("the header of a frame lists no blocks")
    if sum(sizes) != block_bytes:
        raise FrameError("the sizes of the blocks of a frame do not match its header")
    blocks = tuple(_read(stream, size) for size in sizes)
    if _read(stream, len(_END)) != _END:
        raise FrameError("a frame does not end where it should")
    return Frame(header, blocks)


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise FrameError("the stream ended within a frame")
    return data


def packed_frame(packed: Packed) -> tuple[dict[str, Any], list[memoryview]]:
    """Return the header and the blocks of the frame for a packed value."""
    described = [
        {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)}
        for name, array in packed.arrays.items()
    ]
    blocks = [
        np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        for array in packed.arrays.values()
    ]
    return {"plain": packed.plain, "arrays": described}, blocks


def unpacked_frame(frame: Frame) -> Packed:
    """Return the value in a frame; its arrays are read-only views of the blocks.

    Raises
    ------
    FrameError
        When the description of an array does not fit its block.
    """
    plain, described = frame.header.get("plain"), frame.header.get("arrays")
    if not isinstance(plain, dict) or not isinstance(described, list):
        raise FrameError("a frame holds no value")
    if len(described) != len(frame.blocks):
        raise FrameError("the number of arrays of a frame does not match its header")
    arrays = {}
    for entry, block in zip(described, frame.blocks, strict=True):
        match entry:
            case {"name": str(name), "dtype": str(dtype), "shape": list(shape)}:
                pass
            case _:
                raise FrameError("an array of a frame is not described")
        if dtype not in _DTYPES or not all(type(size) is int and size >= 0 for size in shape):
            raise FrameError(f"an array of a frame has the unusable type {dtype} or shape")
        try:
            arrays[name] = np.frombuffer(block, dtype=dtype).reshape(shape)
        except (ValueError, OverflowError) as error:
            raise FrameError("an array of a frame does not fit its description") from error
    return Packed(plain, arrays)
