"""Tour of the Grow page: seven stops at controls, some with a task."""

from __future__ import annotations

from typing import Any, NamedTuple

# How the page detects that a task is done; see ui/assets/tour.js.
CHANGES, APPEARS, VALUE = "changes", "appears", "value"


class Task(NamedTuple):
    """Something to try at a stop.

    Attributes
    ----------
    wish, done : str
        Instruction, and the text shown when it is done.
    notice : str
        Condition: CHANGES, the text of `watched` changes; APPEARS, it exists; VALUE, its value is
        `value`.
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
        "The player shows a learning run. Each frame is one step, in which a few edges are added. "
        "Drag the knob to any step, or use space and the arrow keys.",
        ".gv-transport",
        task=Task(
            "Press play, or drag the knob.",
            "Pause at any step.",
            CHANGES,
            ".gv-position",
        ),
    ),
    Stop(
        "The graph",
        "Each circle is a variable; its size shows its degree, a ring marks a hub. The edges of "
        "this step are highlighted. If the true graph is known, true, false and missing edges are "
        "drawn differently.",
        ".gv-graph",
        task=Task(
            "Click a node.",
            "Details are shown beside it.",
            APPEARS,
            ".gv-inspector.gv-chosen",
        ),
    ),
    Stop(
        "The step in words",
        "A sentence and the numbers of every step, and the algorithm with the executed lines in "
        "bold. Underlined words open a definition.",
        ".gv-words",
        task=Task(
            "Step once, then click an underlined word.",
            "The whole glossary is on the Lessons page.",
            APPEARS,
            ".gv-term[aria-expanded=true]",
        ),
    ),
    Stop(
        "The reservoir",
        "The candidates that passed the test, best first, against their mean μ and the threshold "
        "τ. Edges above τ are added, unless they share a variable with a stronger one.",
        ".gv-reservoir",
    ),
    Stop(
        "The curves",
        "The objective, recall and precision of the edges, and the negative log "
        "pseudo-likelihood of held-out rows. Dashed: the previous run.",
        ".gv-curves",
    ),
    Stop(
        "α: how selective each step is",
        "α = 1 takes only the best edge of the reservoir, smaller values take several at once. "
        "Changing it learns the run again; the previous one stays visible as a ghost.",
        ".st-key-option-alpha",
        in_player=False,
        task=Task(
            "Drag α to 0.5.",
            "Compare with the dashed curves: fewer steps, but is the result worse?",
            VALUE,
            "input",
            "0.5",
        ),
    ),
    Stop(
        "Share and inspect",
        "The URL reproduces the view: data, options and step. This menu opens the model of the "
        "shown step in Inspect: set evidence, see marginals. Other pages and the lessons are at "
        "the top.",
        ".st-key-grow-tools",
        in_player=False,
    ),
)


def tour_records() -> list[dict[str, Any]]:
    """Return the stops as plain values, for the browser."""
    return [
        {**stop._asdict(), "task": stop.task._asdict() if stop.task else None} for stop in STOPS
    ]
