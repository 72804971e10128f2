"""Tables read in chunks equal those of read_table."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from graftviz import (
    BestChoice,
    ChunkedTable,
    DiscreteTable,
    EdgeGrafting,
    FirstHit,
    InputError,
    PairCounts,
    Result,
    learn,
    open_table,
    read_table,
)
from graftviz.counts import counting_plan
from graftviz.learners.base import Learner
from graftviz.table import batches, file_extent

ROWS = 1500


def mixed_frame(seed: int = 0, rows: int = ROWS) -> pd.DataFrame:
    """Return columns of every kind; one label of some of them appears late."""
    rng = np.random.default_rng(seed)
    late = np.arange(rows) > 0.9 * rows
    frame = pd.DataFrame(
        {
            "whole": rng.integers(-2, 3, rows) + 7 * late,
            "share": rng.integers(0, 4, rows) / 4,
            "text": rng.choice(["b", "a", " c "], rows),
            "flag": rng.random(rows) < 0.5,
            "single": np.float32(0.1) * rng.integers(0, 3, rows).astype(np.float32),
            "constant": "same",
        }
    )
    frame.loc[late, "text"] = "zz"
    return frame


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.astype({"flag": object, "whole": "Int64"})
    rows = np.random.default_rng(9).permutation(len(frame))
    for k, column in enumerate(frame.columns[:4]):
        frame.loc[rows[40 * k : 40 * k + 60], column] = None
    return frame


def written(frame: pd.DataFrame, folder, kind: str):
    path = folder / f"table.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=400)
    return path


def use_small_batches(monkeypatch, cells: int = 700, text: int = 2000) -> None:
    """Set batches and blocks so small that a test has many of them."""
    monkeypatch.setattr(batches, "_BATCH_CELLS", cells)
    monkeypatch.setattr(batches, "_LEAST_ROWS", 1)
    monkeypatch.setattr(batches, "_BLOCK_BYTES", text)


def assert_same_table(chunked: ChunkedTable, whole) -> None:
    assert (chunked.names, chunked.labels) == (whole.names, whole.labels)
    assert (chunked.n_rows, chunked.n_variables) == (whole.n_rows, whole.n_variables)
    np.testing.assert_array_equal(chunked.cardinalities, whole.cardinalities)
    pieces = [chunk.codes for chunk in chunked.chunks()]
    assert all(piece.shape[1] == chunked.chunk_rows for piece in pieces[:-1])
    np.testing.assert_array_equal(np.concatenate(pieces, axis=1), whole.codes)
    assert chunked.fingerprint == whole.fingerprint
    assert chunked.load().fingerprint == whole.fingerprint
    assert chunked.warnings == whole.warnings


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("missing", ["reject", "drop", "state"])
def test_table_in_chunks_equals_table_in_memory(tmp_path, monkeypatch, kind, missing):
    use_small_batches(monkeypatch)
    frame = mixed_frame() if missing == "reject" else with_gaps(mixed_frame())
    path = written(frame, tmp_path, kind)
    whole = read_table(path, missing=missing)
    chunked = open_table(path, missing=missing, chunk_rows=1)
    assert chunked.chunk_rows == 512
    assert_same_table(chunked, whole)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_split_equals_split_of_table_in_memory(tmp_path, monkeypatch, kind):
    use_small_batches(monkeypatch)
    path = written(mixed_frame(), tmp_path, kind)
    whole, chunked = read_table(path), open_table(path, chunk_rows=512)
    for ours, theirs in zip(chunked.split(0.3, 4), whole.split(0.3, 4), strict=True):
        assert_same_table(ours, theirs)
    ours = chunked.split(0.3, 4)[0].split(0.5, 1)[1]
    assert_same_table(ours, whole.split(0.3, 4)[0].split(0.5, 1)[1])
    assert_same_table(chunked.split(0.3, 4)[0].sample(7, 1), whole.split(0.3, 4)[0].sample(7, 1))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_like_uses_coding_of_another_table(tmp_path, monkeypatch, kind):
    use_small_batches(monkeypatch)
    train = read_table(mixed_frame(1))
    turned = mixed_frame(2)[mixed_frame(2).columns[::-1]]
    path = written(turned, tmp_path, kind)
    assert_same_table(open_table(path, like=train), read_table(path, like=train))
    late = pd.concat([turned, turned.iloc[:1].assign(text="quite new")])
    path = written(late, tmp_path, kind)
    with pytest.raises(InputError, match=r"(line 1502|row 1501), column 'text' holds the label 'q"):
        open_table(path, like=train)


def test_like_uses_bins_of_another_table(tmp_path):
    values = np.random.default_rng(0).normal(size=(900, 3)).round(3)
    frame = pd.DataFrame(values, columns=list("abc"))
    train = read_table(frame[:300], continuous="bin")
    path = written(frame, tmp_path, "parquet")
    assert_same_table(open_table(path, like=train), read_table(path, like=train))


@given(
    size=st.integers(1, 60),
    cells=st.lists(
        st.tuples(st.sampled_from(["x", '"y"', '"a\nb"', "0", '"""q"""']), st.integers(0, 3)),
        min_size=2,
        max_size=40,
    ),
)
def test_any_block_size_gives_the_same_table(tmp_path_factory, size, cells):
    path = tmp_path_factory.mktemp("blocks") / "table.csv"
    path.write_text("name,size\n" + "".join(f"{a},{b}\n" for a, b in cells))
    with pytest.MonkeyPatch.context() as patch:
        use_small_batches(patch, text=size)
        assert_same_table(open_table(path), read_table(path))


def infinite(frame):
    frame["share"] = frame["share"].astype(float)
    frame.loc[1203, "share"] = np.inf
    return frame


def gaps(frame):
    frame.loc[[1203, 1300], ["text", "share"]] = None
    return frame


def one_column(frame):
    return frame[frame.columns[:1]]


def no_rows(frame):
    return frame[:0]


def identifiers(frame):
    return frame.assign(text=[f"k{k}" for k in range(len(frame))])


def measurements(frame):
    return frame.assign(share=np.arange(len(frame)) % 40 / 8)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("spoil", [infinite, gaps, one_column, no_rows])
def test_refusal_has_same_message_as_in_memory(tmp_path, monkeypatch, kind, spoil):
    use_small_batches(monkeypatch)
    path = written(spoil(mixed_frame()), tmp_path, kind)
    with pytest.raises(InputError) as theirs:
        read_table(path)
    with pytest.raises(InputError) as ours:
        open_table(path)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (identifiers, "column 'text' has more than 128 different values"),
        (measurements, "column 'share' has 40 different values, more than max_states = 32"),
    ],
)
def test_columns_that_would_need_bins_are_refused(tmp_path, monkeypatch, spoil, sentence):
    use_small_batches(monkeypatch)
    path = written(spoil(mixed_frame()), tmp_path, "parquet")
    with pytest.raises(InputError, match=sentence):
        open_table(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n" + "0,1\n" * 200 + "0\n" + "1,0\n" * 200, "line 202 has 1 field, but line 1 has 2"),
        ("a,b\n" + "0,1\n" * 200 + "0,\n", "line 202, column 'b'"),
        ("a,b\n" + "0,1\n" * 200 + '"0,1\n' + "0,1\n" * 9, "line 202"),
        ("a,b\n" + "0,1\n" * 200 + "\xff,1\n", "line 202"),
        ("", "empty"),
    ],
)
def test_bad_line_is_named_by_its_number(tmp_path, monkeypatch, text, sentence):
    use_small_batches(monkeypatch, text=100)
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=sentence):
        open_table(path)


def test_damaged_and_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="no file"):
        open_table(tmp_path / "nowhere.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        open_table(tmp_path / "bad.parquet")
    (tmp_path / "empty.parquet").write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        open_table(tmp_path / "empty.parquet")
    (tmp_path / "table.xls").write_text("a,b\n")
    with pytest.raises(InputError, match="unsupported file type"):
        open_table(tmp_path / "table.xls")


def test_access_to_rows_is_refused(tmp_path):
    chunked = open_table(written(mixed_frame(), tmp_path, "parquet"))
    assert not chunked.has_rows
    assert read_table(mixed_frame()).has_rows
    for access in (lambda: chunked.codes, chunked.to_frame, lambda: chunked.rows([0])):
        with pytest.raises(InputError, match=r"table\.parquet is read in chunks"):
            access()


def test_pickle_has_no_rows(tmp_path):
    chunked = open_table(written(mixed_frame(), tmp_path, "parquet"), chunk_rows=512)
    sent = pickle.dumps(chunked.split(0.2)[0])
    assert len(sent) < 20_000
    assert_same_table(pickle.loads(sent), read_table(tmp_path / "table.parquet").split(0.2)[0])


def test_changed_file_is_refused(tmp_path):
    path = written(mixed_frame(), tmp_path, "parquet")
    chunked = open_table(path)
    for frame in (mixed_frame(rows=ROWS - 1), pd.concat([mixed_frame()] * 2)):
        written(frame, tmp_path, "parquet")
        with pytest.raises(InputError, match="has changed since it was opened"):
            list(chunked.chunks())


def test_extent_of_file(tmp_path):
    path = written(mixed_frame(), tmp_path, "parquet")
    extent = file_extent(path)
    assert (extent.rows, extent.columns) == (ROWS, 6)
    assert extent.row_bytes >= 6 * 6
    extent = file_extent(written(mixed_frame(), tmp_path, "csv"))
    assert (extent.rows, extent.row_bytes) == (None, 0)
    assert extent.bytes >= 2 * 6 * ROWS


def learned(table: DiscreteTable, learner: Learner, test: DiscreteTable) -> Result:
    return learn(table, learner, seed=3, test=test)


def in_chunks(path, max_memory: int) -> tuple[DiscreteTable, DiscreteTable]:
    return open_table(path, chunk_rows=512, max_memory=max_memory).split(0.3, 1)


# Values of the defaults for a table in chunks.
BY_COUNTS: Any = {"score": "linear-response", "objective": "bethe", "refit": False}

# Bytes for planes (10 variables, 1,400 rows: one block each), and for the pair counts only.
PLANES, PAIRS = 20_000, 6_000


@pytest.fixture
def chain(tmp_path):
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, 3, 2000)]
    for _ in range(9):
        keep = rng.random(2000) < 0.6
        columns.append(np.where(keep, columns[-1], rng.integers(0, 3, 2000)))
    path = tmp_path / "chain.parquet"
    pd.DataFrame(dict(zip("abcdefghij", columns, strict=True))).to_parquet(path, row_group_size=300)
    return path


@pytest.mark.parametrize("max_memory", [PLANES, PAIRS])
@pytest.mark.parametrize(
    "learner",
    [
        BestChoice(t_max=6, preset="paper"),
        EdgeGrafting(preset="paper"),
        FirstHit(preset="paper"),
        BestChoice(t_max=6, **BY_COUNTS),
    ],
)
def test_learned_model_is_bitwise_equal_in_chunks_and_in_memory(chain, learner, max_memory):
    train, held_out = in_chunks(chain, max_memory)
    assert counting_plan(train).by_planes == (max_memory == PLANES)
    ours = learned(train, learner, held_out)
    theirs = learned(*((parts := read_table(chain).split(0.3, 1))[0], learner, parts[1]))
    np.testing.assert_array_equal(ours.model.edges, theirs.model.edges)
    np.testing.assert_array_equal(ours.model.weights, theirs.model.weights)
    for fact in ("objective", "kkt_residual", "nlpl_train", "nlpl_test", "tests", "fingerprint"):
        assert getattr(ours, fact) == getattr(theirs, fact), fact
    assert ours.certificate == theirs.certificate
    for step, other in zip(ours.trace, theirs.trace, strict=True):
        assert (step.activated, step.objective) == (other.activated, other.objective)
    if max_memory == PLANES:
        assert ours.tables_counted == theirs.tables_counted
    else:
        assert ours.tables_counted == ours.tables_possible


def test_held_out_rows_in_file_are_read_once_at_the_end(chain):
    train, held_out = in_chunks(chain, PLANES)
    result = learned(train, BestChoice(max_edges=4), held_out)
    assert result.trace.outcome.certificate.score == BY_COUNTS["score"]
    assert {metrics.nlpl_test for metrics in (result.start, *result.metrics)} == {None}
    again = learned(train.load(), BestChoice(max_edges=4, **BY_COUNTS), held_out.load())
    assert result.nlpl_test == again.nlpl_test


def test_counting_beyond_memory_is_refused_with_required_sizes(chain):
    table = open_table(chain, max_memory=1_000)
    with pytest.raises(
        InputError, match=r"needs 10\.2 kB .* or 3\.2 kB .* only 1\.0 kB are allowed"
    ):
        PairCounts(table)


def test_too_many_rows_for_counts_are_refused(chain):
    table = open_table(chain)
    object.__setattr__(table, "_parts", table._parts._replace(file_rows=2**31))
    with pytest.raises(InputError, match="2,147,483,648 rows, more than the 2,147,483,647"):
        counting_plan(table)


def test_learner_that_needs_rows_refuses_table_in_chunks(chain):
    for options in ({"objective": "pseudo-likelihood"}, {"score": "pseudo-likelihood"}):
        with pytest.raises(InputError, match="stay in their file"):
            learn(open_table(chain), BestChoice(**options))
