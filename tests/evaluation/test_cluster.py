"""Parallel work on a Dask cluster of two worker processes, reached by TCP on the loopback."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from learner_cases import scale_free_table
from parallel_cases import Counted, look, no_sevens
from sklearn.model_selection import GridSearchCV

import graftviz as gv
from graftviz import InputError, edge_stability, tuning_grid
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.utils.parallel import parallel_map

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install graftviz[dask]"
)
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as connected,
        joblib.parallel_config(backend="dask"),
    ):
        yield connected


@pytest.fixture
def sent(client, monkeypatch) -> list[int]:
    """Sizes of the arrays that this process has sent to the cluster."""
    sizes: list[int] = []
    scatter = client.scatter

    def recording_scatter(data: Any, *args: Any, **kwargs: Any) -> Any:
        sizes.append(len(pickle.dumps(data)))
        return scatter(data, *args, **kwargs)

    monkeypatch.setattr(client, "scatter", recording_scatter)
    return sizes


def workers(client: Any) -> set[int]:
    return set(client.run(os.getpid).values())


def received_from_workers(dask_worker: Any) -> int:
    return sum(transfer["total"] for transfer in dask_worker.transfer_incoming_log)


def test_table_is_sent_once_and_unpacked_once_per_worker(client, sent):
    table = scale_free_table(40, 5, 4000)
    items = range(40)
    before = client.run(received_from_workers)
    seen = parallel_map(look, items, shared=Counted(table))
    assert [s.total for s in seen] == [int(table.codes[k].sum()) for k in items]
    size = table.codes.nbytes
    assert size <= sum(sent) <= 1.05 * size
    # Workers receive it from each other, and not for each of the forty items; on a busy machine
    # dask may ask two of them for the same part.
    for worker, received in client.run(received_from_workers).items():
        assert received - before[worker] <= 3 * size
    processes = {s.process for s in seen}
    assert processes <= workers(client)
    assert len({(s.process, s.unpacked) for s in seen}) == len(processes)


def test_error_of_worker_is_raised_unchanged(client):
    with pytest.raises(InputError, match=r"^Column 'age', row 8 holds a seven; leave it out\.$"):
        parallel_map(no_sevens, range(12))


# Results of one process come first, so that workers need not compile kernels.


def test_tuning_grid_matches_one_process(client, sent):
    train, test = scale_free_table(20, 5, 1500).split(0.2, seed=1)
    learner = gv.BestChoice(preset="paper")
    grid = {"lam": [0.002, 0.004, 0.01], "lam2": [0.01, 0.5], "alpha": [0.0, 0.5, 1.0]}
    facts = {"test": test, "truth": scale_free_graph(20, 1).edges, "seed": 3}
    serial = tuning_grid(train, learner, grid, **facts, jobs=1)
    assert sent == []
    progress: list[tuple[int, int]] = []
    spread = tuning_grid(
        train, learner, grid, **facts, callback=lambda *counts: progress.append(counts)
    )
    assert progress == [(k, 18) for k in range(1, 19)]
    codes = train.codes.nbytes + test.codes.nbytes
    assert codes <= sum(sent) < 2 * codes
    assert [p._replace(seconds=0.0) for p in spread.points] == [
        p._replace(seconds=0.0) for p in serial.points
    ]
    assert len({(p.n_edges, p.nlpl_test) for p in serial.points}) > 10


def test_edge_stability_matches_one_process(client, sent):
    table = scale_free_table(15, 3, 1000)
    learner = gv.EdgeGrafting(lam=0.005)
    serial = edge_stability(table, learner, subsamples=10, seed=2, jobs=1)
    assert sent == []
    spread = edge_stability(table, learner, subsamples=10, seed=2, jobs=-1)
    np.testing.assert_array_equal(spread.edges, serial.edges)
    np.testing.assert_array_equal(spread.counts, serial.counts)
    assert len(spread.edges) > 0
    assert table.codes.nbytes <= sum(sent) < 2 * table.codes.nbytes


def test_grid_search_matches_one_process(client):
    frame = scale_free_table(15, 3, 1000).to_frame()
    search = GridSearchCV(
        gv.MarkovNetwork(), {"learner__lam": [0.003, 0.01], "learner__alpha": [0.0, 1.0]}, cv=3
    )
    with joblib.parallel_config(backend="sequential"):
        serial = search.fit(frame).cv_results_["mean_test_score"]
    spread = search.fit(frame).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(spread, serial)


def test_examples_of_documentation_run_and_agree(client, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    read = gv.read_table
    # A tenth of the rows, because the search is slow.
    monkeypatch.setattr(gv, "read_table", lambda path: read(path).split(0.9, seed=0)[0])
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    section = page.split("## With scikit-learn")[1]
    local, spread = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[:2]
    assert all(len(example.replace("\n\n", "\n").splitlines()) <= 5 for example in (local, spread))
    assert '"scheduler:8786"' in spread
    names: dict[str, Any] = {"gv": gv}
    with joblib.parallel_config(backend="sequential"):
        exec(compile(local, "<local>", "exec"), names)  # the project's own text
    local_output = capsys.readouterr().out
    address = client.scheduler.address
    exec(compile(spread.replace("scheduler:8786", address), "<spread>", "exec"), names)
    assert "significance" in local_output
    assert capsys.readouterr().out == local_output
