"""The tour of the Grow page: seven stops at real controls, and what to try at some of them."""

from __future__ import annotations

from typing import Any, NamedTuple

# How the page notices that something was tried; see ui/assets/tour.js.
CHANGES, APPEARS, VALUE = "changes", "appears", "value"


class Task(NamedTuple):
    """Something to try at a stop.

    Attributes
    ----------
    wish, done : str
        What to do, and what is said once it was done.
    notice : str
        What is watched: CHANGES, the text of `watched`; APPEARS, that there is one; VALUE, that its
        value is `value`.
    watched : str
        CSS selector, looked for where the stop is.
    value : str
    """

    wish: str
    done: str
    notice: str
    watched: str
    value: str = ""


class Stop(NamedTuple):
    """One stop.

    Attributes
    ----------
    title, text : str
    lit : str
        CSS selector of what is lit.
    in_player : bool
        Whether that is a part of the player, or of the page around it.
    task : Task or None
    """

    title: str
    text: str
    lit: str
    in_player: bool = True
    task: Task | None = None


STOPS: tuple[Stop, ...] = (
    Stop(
        "Play, pause, step",
        "A run is a film of learning: each frame is one step, in which a few edges join the model. "
        "Drag the knob to any step; space and the arrow keys work too.",
        ".gv-transport",
        task=Task(
            "Press play, or drag the knob.",
            "There it goes. Pause whenever something deserves a word.",
            CHANGES,
            ".gv-position",
        ),
    ),
    Stop(
        "The graph",
        "Each circle is a variable; it grows with its degree, and hubs wear a ring. The edges of "
        "this step are lit. Where the truth is known, true, false and missing edges differ.",
        ".gv-graph",
        task=Task(
            "Click a node.",
            "Its probabilities stand beside it now, with a region that vouches for them.",
            APPEARS,
            ".gv-inspector.gv-chosen",
        ),
    ),
    Stop(
        "What happened, and why",
        "A sentence for every step, with its numbers, and the algorithm: the lines of it that ran "
        "are bold. Underlined words open their definition.",
        ".gv-words",
        task=Task(
            "Step once, then click an underlined word.",
            "That is the glossary; the Lessons page has all of it.",
            APPEARS,
            ".gv-term[aria-expanded=true]",
        ),
    ),
    Stop(
        "The reservoir",
        "The candidates that passed the test, best first, against their mean μ and the threshold "
        "τ. What stands above τ is taken, unless it touches a stronger edge.",
        ".gv-reservoir",
    ),
    Stop(
        "The curves",
        "What learning minimises, how many of the true edges were found, how many of the found "
        "ones are true, and how well held-out rows are predicted. Dashed is the run before.",
        ".gv-curves",
    ),
    Stop(
        "α, the choice of a step",
        "α = 1 takes only the best edge of the reservoir, smaller values take several at once. The "
        "whole run is learned again, and the one before stays as a ghost.",
        ".st-key-option-alpha",
        in_player=False,
        task=Task(
            "Drag α to 0.5.",
            "Learned again. Compare the dashed curves: fewer steps, and was it worse?",
            VALUE,
            "input",
            "0.5",
        ),
    ),
    Stop(
        "Take it along",
        "The address in the browser is this very view: data, options and step; send it on. "
        "This button questions the model of the shown step, observation by observation. The other "
        "pages, and the lessons, are at the top.",
        ".st-key-inspect_this",
        in_player=False,
    ),
)


def tour_records() -> list[dict[str, Any]]:
    """Return the stops as plain values, for the browser."""
    return [
        {**stop._asdict(), "task": stop.task._asdict() if stop.task else None} for stop in STOPS
    ]
