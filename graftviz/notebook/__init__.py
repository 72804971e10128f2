"""The player in a notebook; needs the extra ``graftviz[notebook]``."""

from graftviz.notebook.player import Player

__all__ = ["Player"]
