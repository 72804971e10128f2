"""Pair counts of a table from bit-packed columns, computed on demand within a memory limit."""

from graftviz.counts.packed import (
    MAX_ROWS,
    CountingPlan,
    PackedTable,
    count_pair,
    counting_plan,
    pack_table,
    pairs_bytes,
    planes_bytes,
)
from graftviz.counts.pair_counts import (
    DEFAULT_CACHE_BYTES,
    NEVER_COUNTED,
    NOT_CACHED,
    PairCounts,
    TableStore,
    add_pair,
    cache_limit,
    count_slot,
    table_cells,
)

__all__ = [
    "DEFAULT_CACHE_BYTES",
    "MAX_ROWS",
    "NEVER_COUNTED",
    "NOT_CACHED",
    "CountingPlan",
    "PackedTable",
    "PairCounts",
    "TableStore",
    "add_pair",
    "cache_limit",
    "count_pair",
    "count_slot",
    "counting_plan",
    "pack_table",
    "pairs_bytes",
    "planes_bytes",
    "table_cells",
]
