"""Progress bars of the commands, shown on terminals only."""

from __future__ import annotations

import shutil
import sys

from tqdm import tqdm


class ProgressBar(tqdm):
    """Progress bar that takes the total work done so far, and clears its line on exit."""

    def show(self, done: int) -> None:
        """Set the units done so far."""
        self.update(done - self.n)


def progress(total: int | None, label: str) -> ProgressBar:
    """Return a progress bar: ``with progress(total, label) as bar: bar.show(done)``.

    Parameters
    ----------
    total : int or None
        Units of work in all; if ``None``, no remaining time is shown.
    label : str
        Name of the work, e.g. ``"learning"``.
    """
    size = shutil.get_terminal_size()  # 80 × 24 for terminals without a size
    return ProgressBar(
        total=total,
        desc=label,
        file=sys.stderr,
        disable=None,  # unless it is a terminal
        leave=False,
        unit="",
        miniters=1,  # units may take ever longer
        ncols=size.columns - 1,
        nrows=size.lines,
    )
