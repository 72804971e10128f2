from .bits import (
    PLANES_AT_ONCE as PLANES_AT_ONCE,
    SHORT_BLOCK_WORDS as SHORT_BLOCK_WORDS,
    WORD_BITS as WORD_BITS,
    and_counts as and_counts,
    new_planes as new_planes,
)
from .packed import (
    MAX_ROWS as MAX_ROWS,
    CountingPlan as CountingPlan,
    PackedTable as PackedTable,
    count_pair as count_pair,
    counting_plan as counting_plan,
    pack_table as pack_table,
    pairs_bytes as pairs_bytes,
    planes_bytes as planes_bytes,
)
from .pair_counts import (
    DEFAULT_CACHE_BYTES as DEFAULT_CACHE_BYTES,
    NEVER_COUNTED as NEVER_COUNTED,
    NOT_CACHED as NOT_CACHED,
    PairCounts as PairCounts,
    TableStore as TableStore,
    add_pair as add_pair,
    cache_limit as cache_limit,
    count_slot as count_slot,
    table_cells as table_cells,
)
