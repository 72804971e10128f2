"""``graftviz infer``: marginals and log Z of a model."""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graftviz.cli.arguments import (
    add_model_argument,
    checked_path,
    create_folder,
    evidence_argument,
    integer,
    number,
    path,
    read_model_argument,
)
from graftviz.cli.progress import progress
from graftviz.inference.beliefs import Beliefs
from graftviz.inference.evidence import checked_evidence
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.structure import EliminationPlan
from graftviz.inference.methods import METHODS, infer
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.uai import mar_text, pr_text, read_evidence
from graftviz.reports.words.phrases import plural
from graftviz.utils.errors import InputError
from graftviz.utils.files import json_text, write_results
from graftviz.utils.memory import parse_size, resident_bytes, size_text
from graftviz.utils.wording import quoted

MARGINALS, PARTITION = "marginals.MAR", "partition.PR"
_KERNELS = 60_000_000  # bytes added by loading the compiled kernels
_ITERATIVE = ("damping", "tolerance", "max_sweeps")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``infer`` to `parser`."""
    add_model_argument(parser)
    parser.add_argument(
        "--out",
        type=path,
        metavar="DIR",
        help="folder for results (default: print them as JSON)",
    )
    parser.add_argument(
        "--method",
        choices=tuple(METHODS),
        default="bp",
        help="exact: junction tree; bp: belief propagation; trbp: tree-reweighted, its log Z an "
        "upper bound; mean-field: its log Z a lower bound (default: bp)",
    )
    parser.add_argument(
        "--evidence",
        action="append",
        default=[],
        metavar="FILE.evid|VARIABLE=STATE",
        help="observed variables: a file in UAI format, or a state by name; may be repeated",
    )
    parser.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="memory limit of this process, for example 4G; exact inference that needs more is "
        "refused before it begins (default: 80 %% of the free memory)",
    )
    group = parser.add_argument_group("bp, trbp and mean-field")
    group.add_argument(
        "--damping",
        metavar="D",
        help="weight of the old message in each update, or auto (default: auto)",
    )
    group.add_argument(
        "--tolerance",
        type=number,
        metavar="T",
        help="largest change at convergence (default: 1e-9)",
    )
    group.add_argument(
        "--max-sweeps",
        type=integer,
        metavar="N",
        help="limit on the number of sweeps (default: 500)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Infer, write and summarise; return the exit code."""
    settings = _settings(arguments)
    memory = _memory(arguments)
    model = read_model_argument(arguments.model)
    evidence = _evidence(arguments, model)
    if arguments.out is None:
        beliefs, _ = _inferred(arguments, model, evidence, settings, memory)
        print(json_text(_record(model, beliefs)), end="")
        return 0
    with _folder(arguments.out) as folder:
        started = time.perf_counter()
        beliefs, plan = _inferred(arguments, model, evidence, settings, memory)
        seconds = time.perf_counter() - started
        write_results(
            folder, {MARGINALS: mar_text(beliefs.node), PARTITION: pr_text(beliefs.log_partition)}
        )
    print(_summary(model, evidence, beliefs, plan, seconds))
    print(f"files     {MARGINALS}, {PARTITION} in {folder}")
    return 0


def _evidence(arguments: argparse.Namespace, model: PairwiseModel) -> dict[int, int]:
    """Return the observed states, from a file or from pairs of a variable and a state."""
    files = [text for text in arguments.evidence if "=" not in text or _is_file(text)]
    if not files:
        return checked_evidence(model, evidence_argument(arguments))
    if len(arguments.evidence) > 1:
        raise InputError("--evidence is one file, or any number of pairs VARIABLE=STATE.")
    if not _is_file(files[0]) and "." not in files[0]:
        raise InputError(
            f"--evidence takes VARIABLE=STATE or a file .evid; {quoted(files[0])} is neither."
        )
    return read_evidence(checked_path(files[0]), model)


def _is_file(text: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return Path(text).is_file()
    return False


def _inferred(
    arguments: argparse.Namespace,
    model: PairwiseModel,
    evidence: dict[int, int],
    settings: dict[str, Any],
    memory: int | None,
) -> tuple[Beliefs, EliminationPlan | None]:
    """Return the beliefs, and the plan of exact inference."""
    if arguments.method != "exact":
        beliefs = infer(model, arguments.method, evidence=evidence, **settings)
        _check_possible(beliefs.log_partition, evidence)
        return beliefs, None
    with progress(100, "exact inference") as bar:
        tree = JunctionTree(
            model, evidence, memory, progress=lambda done, total: bar.show(100 * done // total)
        )
        _check_possible(tree.log_partition, evidence)
        return tree.beliefs(), tree.plan


def _record(model: PairwiseModel, beliefs: Beliefs) -> dict[str, Any]:
    """Return beliefs as plain values: of each variable the probability of each state."""
    return {
        "method": beliefs.method,
        "converged": beliefs.converged,
        "log_z": beliefs.log_partition,
        "log_z_is": beliefs.log_partition_is,
        "marginals": {
            name: dict(zip(labels, own.tolist(), strict=True))
            for name, labels, own in zip(model.names, model.labels, beliefs.node, strict=True)
        },
        "notes": beliefs.notes,
    }


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the method that the user set.

    Raises
    ------
    InputError
        If the damping is not a number, or the method does not have an option.
    """
    settings: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in _ITERATIVE
        if getattr(arguments, name) is not None
    }
    if settings and arguments.method == "exact":
        flag = next(iter(settings)).replace("_", "-")
        raise InputError(f"--{flag} applies to iterative methods, not to --method exact.")
    if settings.get("damping", "auto") != "auto":
        try:
            settings["damping"] = float(settings["damping"])
        except ValueError:
            raise InputError(
                f"--damping must be a number or auto, not {settings['damping']!r}."
            ) from None
    return settings


def _memory(arguments: argparse.Namespace) -> int | None:
    """Return the memory for tables in bytes; None means most of the free memory."""
    if arguments.max_memory is None:
        return None
    allowed = parse_size(arguments.max_memory, "--max-memory")
    program = resident_bytes() + _KERNELS
    if allowed <= program:
        raise InputError(
            f"--max-memory allows {size_text(allowed)}, but the program alone takes "
            f"{size_text(program)}."
        )
    return allowed - program


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """Create the folder for results, and remove it again if the command fails."""
    was_there = path.exists()
    folder = create_folder(path)
    try:
        yield folder
    except BaseException:
        if not was_there:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _check_possible(log_partition: float, evidence: dict[int, int]) -> None:
    if log_partition > -math.inf:
        return
    if evidence:
        raise InputError(
            "The evidence contradicts the model: together its observations have probability zero."
        )
    raise InputError("Every joint state of this model has probability zero.")


def _summary(
    model: PairwiseModel,
    evidence: dict[int, int],
    beliefs: Beliefs,
    plan: EliminationPlan | None,
    seconds: float,
) -> str:
    observed = f", {len(evidence):,} of them observed" if evidence else ""
    lines = [
        f"{beliefs.method}: {plural(model.n_variables, 'variable')}{observed}, "
        f"{plural(model.n_edges, 'edge')}, {seconds:.2f} s."
    ]
    if plan is not None:
        lines.append(
            f"width     {plan.width}; largest clique {plan.largest_clique:,} joint states, tables "
            f"{size_text(plan.bytes)}"
        )
    else:
        ended = "converged" if beliefs.converged else "did not converge"
        lines.append(
            f"sweeps    {beliefs.sweeps:,}; {ended}, largest change {beliefs.residual:.2g}"
        )
    in_tens = beliefs.log_partition / math.log(10)
    lines.append(f"log10 Z   {in_tens:.10g} ({beliefs.log_partition_is})")
    lines += [f"note      {note}" for note in beliefs.notes]
    return "\n".join(lines)
