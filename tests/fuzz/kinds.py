"""Kinds of inputs: generator of each, and the targets, functions that read a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from graftviz import open_table, read_table
from graftviz.datasets import read_positions, read_truth
from graftviz.dynamics import read_parents
from graftviz.dynamics.reading import read_series
from graftviz.formats.uai import read_evidence
from graftviz.formats.uploads import read_uploaded_model
from graftviz.sandbox.readers import UploadedFile, read_public_upload
from tests.fuzz.archives import zip_case
from tests.fuzz.cases import Case
from tests.fuzz.links import follow_everywhere, link_case
from tests.fuzz.models import evidence_case, graphml_case, json_case, small_model, uai_case
from tests.fuzz.parquet_files import parquet_case
from tests.fuzz.public import public_case
from tests.fuzz.requests import request_case, send_request
from tests.fuzz.tables import NAMES, pairs_case, series_case, table_case
from tests.table_cases import upload


class Complaints(tuple[str, ...]):
    """Sentences for users that are no exception; they are held to the same rules."""


def _table(case: Case) -> object:
    return read_table(upload(*case.files[0]), **case.options)


def _chunked(case: Case) -> object:
    options = {k: v for k, v in case.options.items() if k not in ("continuous", "bins")}
    table = open_table(_written(case, 0), chunk_rows=512, **options)
    return [part.n_rows for part in table.chunks()]


def _series(case: Case) -> object:
    return read_series(upload(*case.files[0]), **case.options)


def _truth(case: Case) -> object:
    return read_truth(upload(*case.files[0]), NAMES)


def _positions(case: Case) -> object:
    return read_positions(upload(*case.files[0]), NAMES)


def _parents(case: Case) -> object:
    return read_parents(upload(*case.files[0]), NAMES)


def _model(case: Case) -> object:
    return read_uploaded_model(dict(case.files))


def _public(case: Case) -> object:
    options = dict(case.options)
    role = options.pop("role")
    return read_public_upload([UploadedFile(role, *file) for file in case.files], options)


def _evidence(case: Case) -> object:
    return read_evidence(_written(case, 0), small_model())


def _written(case: Case, k: int) -> Path:
    """Write a file under a plain name with its suffix, in the current folder."""
    name, content = case.files[k]
    suffix = Path(name).suffix if len(name) < 100 and name.isprintable() else Path("x.csv").suffix
    path = Path(f"input{suffix}")
    path.write_bytes(content)
    return path


def _link(case: Case) -> object:
    return Complaints(follow_everywhere(case.options["query"]))


TARGETS: Mapping[str, Callable[[Case], Any]] = {
    "table": _table,
    "chunked": _chunked,
    "series": _series,
    "truth": _truth,
    "positions": _positions,
    "parents": _parents,
    "model": _model,
    "public": _public,
    "evidence": _evidence,
    "link": _link,
    "request": send_request,
}


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
    "public": Kind(public_case),
    "link": Kind(link_case),
    "request": Kind(request_case, needs_server=True),
}
