"""Tables of discrete data: reading, checking, coding, splitting.

================  ===========================================================
file              contents
================  ===========================================================
accepted.py       ``as_table``, for arguments that are tables, frames or arrays
reading.py        ``read_table``, which reads every kind of source
files.py          paths and uploads: size, kind, dispatch to the right reader
delimited.py      CSV and similar text; line numbers of errors
parquet_files.py  parquet files: checks of the metadata, batches of rows, parts in a folder
arrow_tables.py   Arrow tables in memory, of pyarrow, Polars and others
header.py         detection of a line of names
raw.py            uncoded columns; data frames and arrays
labels.py         labels of values, missing values, order of states
quantiles.py      bins for continuous columns
coding.py         raw columns to codes, optionally with the labels of another table
discrete.py       ``DiscreteTable``
available.py      ``AvailableTable``: missing values, counted pair by pair
batches.py        files read in pieces
lookup.py         codes of values seen in earlier batches
survey.py         first pass over a table that is read in pieces
chunked.py        ``ChunkedTable`` and ``open_table``, for tables larger than memory
csv_text.py       rows to CSV text
================  ===========================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
