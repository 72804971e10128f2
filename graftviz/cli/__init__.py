"""The commands of ``python -m graftviz``, one module each.

A module ``graftviz.cli.<name>``, with underscores for hyphens, has ``add_arguments(parser)`` and
``run(arguments) -> int``, which returns the exit code and raises InputError for errors that the
user can correct.
"""

# Name and one-line help. Modules are imported only when their command is called, so that help does
# not load the engine.
COMMANDS = {
    "app": "Show the pages in a browser",
    "generate": "Generate a random Markov network and sample a table from it",
    "learn": "Learn a Markov network from a table",
    "infer": "Compute marginals and log Z of a model, optionally given evidence",
    "local": "Compute the marginal of one variable from a small region, with a proven error bound",
    "sample": "Draw rows from a model, given observed states or none",
    "convert": "Write a model in another format",
    "dynamics": "Learn a sparse linear dynamical system from many time series",
    "reproduce": "Reproduce the figures and tables of the papers and check their claims",
    "warm-up": "Compile the engine, so that later runs and servers start at once",
    "bench": "Benchmark this package against NumPy, pandas and scikit-learn",
}


def module_of(command: str) -> str:
    """Return the name of the module of a command."""
    return f"graftviz.cli.{command.replace('-', '_')}"
