"""Kinds of inputs: generator and targets of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

from tests.fuzz.archives import zip_case
from tests.fuzz.cases import Case
from tests.fuzz.links import link_case
from tests.fuzz.models import evidence_case, graphml_case, json_case, uai_case
from tests.fuzz.parquet_files import parquet_case
from tests.fuzz.requests import request_case
from tests.fuzz.tables import pairs_case, series_case, table_case
from tests.fuzz.targets import TARGETS


class Kind(NamedTuple):
    """A kind of inputs.

    Attributes
    ----------
    make : callable
        Returns an input made from a random generator.
    targets : mapping
        Name → function that takes the input.
    needs_server : bool
        Whether a served app has to run.
    """

    make: Callable[[Random], Case]
    targets: Mapping[str, Callable[[Case], Any]] = TARGETS
    needs_server: bool = False


KINDS: Mapping[str, Kind] = {
    "table": Kind(table_case),
    "parquet": Kind(parquet_case),
    "series": Kind(series_case),
    "pairs": Kind(pairs_case),
    "uai": Kind(uai_case),
    "evidence": Kind(evidence_case),
    "graphml": Kind(graphml_case),
    "json": Kind(json_case),
    "zip": Kind(zip_case),
    "link": Kind(link_case),
    "request": Kind(request_case, needs_server=True),
}
