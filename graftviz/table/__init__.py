"""Tables of discrete data: read, checked, coded, split.

=============  ===========================================================
file           what it does
=============  ===========================================================
reading.py     ``read_table``, the one door for all sources
files.py       paths and uploads, their size and kind; parquet
delimited.py   CSV and its relatives; in which line something is wrong
header.py      whether the first line holds names
raw.py         columns as they come; data frames and arrays
labels.py      what a value is called, what is missing, order of states
quantiles.py   bins for continuous columns
coding.py      raw columns to codes, also like another table
discrete.py    ``DiscreteTable``
batches.py     files a piece at a time
lookup.py      codes of values met before
survey.py      the first look at a table that is read in pieces
chunked.py     ``ChunkedTable`` and ``open_table``, for tables larger than memory
=============  ===========================================================
"""

from graftviz.table.batches import Extent, file_extent
from graftviz.table.chunked import ChunkedTable, open_table
from graftviz.table.discrete import MAX_CARDINALITY, DiscreteTable, default_names
from graftviz.table.labels import MISSING_STATES, MISSING_TOKENS
from graftviz.table.reading import BINS, MAX_BYTES, MAX_STATES, read_table

__all__ = [
    "BINS",
    "MAX_BYTES",
    "MAX_CARDINALITY",
    "MAX_STATES",
    "MISSING_STATES",
    "MISSING_TOKENS",
    "ChunkedTable",
    "DiscreteTable",
    "Extent",
    "default_names",
    "file_extent",
    "open_table",
    "read_table",
]
