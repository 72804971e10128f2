from .accepted import (
    Tabular as Tabular,
    as_table as as_table,
    table_inside as table_inside,
)
from .available import AvailableTable as AvailableTable
from .batches import (
    Extent as Extent,
    file_extent as file_extent,
)
from .chunked import (
    ChunkedTable as ChunkedTable,
    open_table as open_table,
)
from .coding import (
    BINS as BINS,
    MAX_STATES as MAX_STATES,
    TableOptions as TableOptions,
)
from .discrete import (
    MAX_CARDINALITY as MAX_CARDINALITY,
    DiscreteTable as DiscreteTable,
    default_names as default_names,
)
from .labels import (
    MISSING_STATES as MISSING_STATES,
    MISSING_TOKENS as MISSING_TOKENS,
)
from .raw import has_gaps as has_gaps
from .reading import (
    MAX_BYTES as MAX_BYTES,
    read_table as read_table,
    warn_of as warn_of,
)
