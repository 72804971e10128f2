"""The player in JupyterLab: playing, changing α, finishing, and other cells.

A second notebook learns from a survey and predicts, with the package installed from the wheel.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from installed_wheel import unpacked_wheel
from nbformat import v4
from served_app import free_port
from waiting import wait_until

pytestmark = pytest.mark.browser
CELLS = (
    "import graftviz as gv\n"
    "from graftviz.notebook import Player\n"
    "learner = gv.BestChoice(preset='paper', alpha=0.75, lam=0.001, max_edges=45)\n"
    "player = Player(gv.load_dataset('scale-free-40'), learner)\n"
    "player",
    "import time\ntime.sleep(600)",
    "same = gv.learn(player.run.table, player.learner)\n"
    "print('same weights:', (same.model.weights == player.result.model.weights).all())",
)
# A survey with missing values, case weights and a column of numbers.
SURVEY_CELLS = (
    "import graftviz as gv, numpy as np\n"
    "random = np.random.default_rng(0)\n"
    "answers = gv.load_dataset('survey').table.to_frame()\n"
    "answers = answers.mask(random.random(answers.shape) < 0.02)\n"
    "answers['weight'] = random.integers(1, 4, len(answers))\n"
    "answers.to_csv('answers.csv', index=False)",
    "import pandas as pd\n"
    "rows = pd.read_csv('answers.csv')\n"
    "survey = gv.read_table(rows, missing='drop', weights='weight')\n"
    "result = gv.learn(survey, gv.ChowLiu(forbidden=[('pet', 'work')]))\n"
    "result",
    "result.plot()",
    "predicted = result.predict(rows.head(50), target='commute')\n"
    "sample = result.sample(20, seed=1)\n"
    "folder = result.save('survey')\n"
    "same = gv.read_result('survey').predict(rows.head(50), target='commute')\n"
    "print('predicted:', len(predicted), 'sampled:', sample.n_rows, (same == predicted).all())\n"
    "print('from:', gv.__file__)",
)
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
STATE = """() => {
  const { view } = document.querySelector(".gv-notebook .gv-grow");
  return view.log && { run: view.log.header.run, alpha: view.log.header.learner.options.alpha,
    shown: view.shown, edges: view.log.edgesAt(view.shown), finished: view.log.finished };
}"""
IDLE = "| Idle"


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[str]:
    """Address of a notebook with `CELLS` in a JupyterLab on this machine."""
    with jupyterlab(tmp_path, CELLS) as url:
        yield url


@contextlib.contextmanager
def jupyterlab(tmp_path: Path, cells: Sequence[str], **environment: str) -> Iterator[str]:
    """Run a JupyterLab and yield the address of a notebook with these cells."""
    work = tmp_path / "work"
    work.mkdir()
    content = v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    content.cells = [v4.new_code_cell(text) for text in cells]
    nbformat.write(content, work / "player.ipynb")
    for name, settings in SETTINGS.items():
        path = tmp_path / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(settings))
    homes = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    paths = {name: str(tmp_path / name.lower()) for name in homes}
    paths["JUPYTERLAB_SETTINGS_DIR"] = str(tmp_path / "settings")
    paths = os.environ | paths | environment
    port = free_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    command += [f"--ServerApp.root_dir={work}", "--IdentityProvider.token=test"]
    with (
        (tmp_path / "lab.log").open("w") as log,
        subprocess.Popen(
            command, env=os.environ | paths | environment, stdout=log, stderr=log
        ) as server,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: _serves(f"{url}/api?token=test"), pause=lambda: time.sleep(0.1))
            yield f"{url}/lab/tree/player.ipynb?token=test&reset"
        finally:
            server.terminate()


def _serves(url: str) -> bool:
    try:
        with urllib.request.urlopen(url):
            return True
    except OSError:
        return False


@pytest.mark.slow
def test_run_is_played_changed_and_finished(notebook: str, open_page: Any, until: Any) -> None:
    page = open_page()
    page.goto(notebook)
    page.get_by_text(IDLE).wait_for()
    cells = page.locator(".jp-CodeCell")
    cells.nth(0).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    play = page.get_by_role("button", name="Play", exact=True)
    play.wait_for()
    until(page, f"({STATE})()?.edges === 0")

    play.click()
    until(page, f"({STATE})().edges > 3")

    # The player continues while another cell runs, and after it is interrupted.
    cells.nth(1).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    cells.nth(1).get_by_text("[*]").wait_for()
    edges = page.evaluate(STATE)["edges"]
    until(page, f"({STATE})().edges > {edges} + 5")
    cells.nth(1).locator(".cm-content").click()
    for key in ("Escape", "i", "i"):
        page.keyboard.press(key)
    cells.nth(1).locator(".jp-OutputArea").get_by_text("KeyboardInterrupt").first.wait_for()

    page.get_by_label("α", exact=True).focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    until(page, f"({STATE})().alpha === 0.6")
    page.get_by_role("button", name="To the end").click()
    until(page, f"({STATE})().finished")

    # Keys that delete and add cells, pressed in the picture.
    page.locator(".gv-notebook canvas").first.focus()
    for key in ("d", "d", "a", "x"):
        page.keyboard.press(key)
    assert cells.count() == len(CELLS)

    cells.nth(2).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    cells.nth(2).get_by_text("same weights: True").wait_for()
    page.get_by_role("button", name="Return to the first run").click()
    until(page, f"({STATE})().run === 'run-1' && ({STATE})().shown === 0")


@pytest.mark.slow
def test_survey_is_learned_drawn_and_saved(tmp_path: Path, open_page: Any) -> None:
    installed = unpacked_wheel(tmp_path)
    with jupyterlab(tmp_path, SURVEY_CELLS, PYTHONPATH=str(installed)) as url:
        page = open_page()
        page.goto(url)
        page.get_by_text(IDLE).wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).click()
        cells = page.locator(".jp-CodeCell")
        replay = cells.nth(1).locator(".jp-OutputArea iframe").content_frame
        replay.locator("canvas").first.wait_for()
        cells.nth(2).locator(".js-plotly-plot .main-svg").first.wait_for()
        assert cells.nth(2).get_by_text("sleeps well").count()
        shown = cells.nth(3).locator(".jp-OutputArea")
        shown.get_by_text("predicted: 50 sampled: 20 True").wait_for()
        assert f"from: {installed}" in shown.inner_text()
