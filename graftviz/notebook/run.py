"""Run that the kernel of a notebook learns while a player shows it."""

from __future__ import annotations

from collections.abc import Callable

from graftviz.cold_start import announced
from graftviz.player.recorders import Recorder
from graftviz.serving.scheduler import Share
from graftviz.serving.session_run import SessionRun


class NotebookRun(SessionRun):
    """Run that reports its progress.

    Parameters
    ----------
    recorder : Recorder
    token : str
    share : Share
    changed : callable
        Called with the run after new steps, at its end and after an error, in any thread.
    compiling : callable
        Called with a sentence before the first kernel is compiled.

    Attributes
    ----------
    error : Exception or None
        The unexpected error that stopped the run.
    """

    def __init__(
        self,
        recorder: Recorder,
        token: str,
        share: Share,
        changed: Callable[[NotebookRun], None],
        compiling: Callable[[str], None],
    ) -> None:
        super().__init__(recorder, token, share)
        self.error: Exception | None = None
        self._changed = changed
        self._compiling = compiling

    def work(self, until: float) -> bool:
        """Compute records until about `until`; return whether there is credit for more."""
        try:
            with announced(self.recorder.run.learner.compilation(), self._compiling):
                return super().work(until)
        except Exception as error:  # noqa: BLE001 (finish raises it again)
            self.error = error
            self.failure = (
                f"The run stopped with an unexpected error ({type(error).__name__}); "
                "finish() of the player shows where."
            )
            self._notify()
            return False

    def _notify(self) -> None:
        super()._notify()
        self._changed(self)
