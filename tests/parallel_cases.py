"""Work for other processes: they import what they are to do, so it lives in a module of its own."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.utils.errors import InputError


class Seen(NamedTuple):
    """Process of a task, number of tables unpacked there so far, and result."""

    process: int
    unpacked: int
    total: int


class Counted:
    """A table that counts, in each process, how often one of its kind is unpacked."""

    unpacked = 0

    def __init__(self, table: DiscreteTable) -> None:
        self.table = table

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).unpacked += 1
        self.__dict__.update(state)


def look(shared: Counted, item: int) -> Seen:
    codes = shared.table.codes
    assert not codes.flags.writeable
    return Seen(os.getpid(), Counted.unpacked, int(codes[item].sum()))


def process(shared: Any, item: int) -> int:
    return os.getpid()


def no_sevens(shared: Any, item: int) -> int:
    if item == 7:
        raise InputError("Column 'age', row 8 holds a seven; leave it out.")
    return item


def in_mapped_file(shared: DiscreteTable, item: int) -> bool:
    """Follow the codes down the views they are to the memory they lie in."""
    memory: Any = shared.codes
    while memory is not None and not isinstance(memory, np.memmap):
        memory = memory.obj if isinstance(memory, memoryview) else getattr(memory, "base", None)
    return isinstance(memory, np.memmap)
