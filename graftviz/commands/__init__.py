"""The commands of ``python -m graftviz``, one module each.

A module ``graftviz.commands.<name>`` has ``NAME``, ``add_arguments(parser)`` and
``run(arguments) -> int``, which returns the exit code and raises InputError for what people can
put right.
"""

# Name and one-line help; the module itself is loaded only when its command is called, because
# help should not wait for the engine.
COMMANDS = {
    "generate": "make a random Markov network and sample a table from it",
    "learn": "learn a Markov network from a table",
    "infer": "compute marginals and log Z of a model, given evidence or none",
    "local": "answer for one variable from a small region around it, with a proven error bound",
    "dynamics": "learn which of many time series drives which, as a linear dynamical system",
    "arena": "put all learners on the same data, and compare what they predict and cost",
    "reproduce": "measure the figures and tables of the papers again, beside what they state",
    "bench": "measure this package beside plain NumPy, pandas and scikit-learn",
}
