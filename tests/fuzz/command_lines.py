"""Command lines of every command, with tiny data and without anything that takes long.

Options that only make a command take long (sweeps, exchanges, passes, processes) have small or
unusable numbers; ``reproduce`` and ``bench`` get no valid experiment; nothing is downloaded.
"""

from __future__ import annotations

from random import Random

from tests.fuzz.cases import NUMBERS, Case, hostile_text
from tests.fuzz.models import model_files
from tests.fuzz.parquet_files import all_bases
from tests.fuzz.tables import valid_table

_SMALL = ("0", "1", "2", "3", "5", "-1", "0.5", "-0.5", "nan", "inf", "x", "", "1e-9", "1e309")
# Small, or so large that they can only be refused.
_FAST = (*_SMALL, "9" * 25, "9" * 400, "9" * 5000, "-" + "9" * 30, "1_0", "٣", "1.5", "0x10")
_SIZES = ("1G", "4G", "1", "0", "-1", "1K", "1.5M", "x", "1e400", "9" * 400, "9" * 400 + "G", "G")
_PATHS = (
    *("missing.csv", "table.csv", "model.uai", "folder", "empty.csv", "x" * 300, "x" * 5000),
    *("/dev/null", ".", "a\0b", "\ud800", "ä.csv", "x.exe", "-", "--", "model.uai/x", "{", ""),
)
_TABLES = ("table.csv", "table.csv", "table.parquet", "survey.csv", "series.csv", "model.uai")
_MODELS = ("model.uai", "model.uai", "graph.json", "graph.graphml", "folder", "table.csv")
_LEARNERS = (
    "chow-liu",
    "chow-liu",
    "best-choice",
    "nodewise-l1",
    "bounded-inference",
    "forced-pruning",
)
_DYNAMIC = ("scalable", "dense", "inducing", "enforcing")
# Command → option → values; None stands for no value.
_OPTIONS: dict[str, dict[str, tuple[str | None, ...]]] = {
    "generate": {
        "--graph": ("scale-free", "grid", "random", "karate", "les-miserables", "x"),
        "--nodes": (*_FAST, "4", "9", "16"),
        "--shape": ("2x2", "3x", "x", "0x5", "-1x2", "1x1", "9" * 30 + "x2", "2x2x2", "٣x٣"),
        "--edges": (*_FAST, "4"),
        "--probability": (*_FAST, "0.5", "1.5"),
        "--states": _FAST,
        "--rows": (*_FAST, "30"),
        "--seed": NUMBERS,
        "--node-sigma": (*_FAST, "1e300"),
        "--edge-sigma": (*_FAST, "1e300"),
        "--chains": _FAST,
        "--burn-in": _SMALL,
        "--thin": _SMALL,
    },
    "learn": {
        "--learner": (*_LEARNERS, "x", "feature-grafting", "first-hit"),
        "--max-edges": _FAST,
        "--seed": NUMBERS,
        "--test-fraction": _FAST,
        "--test": ("table.csv", *_PATHS),
        "--truth": ("truth.csv", *_PATHS),
        "--positions": ("places.csv", *_PATHS),
        "--choose-lam": ("nlpl", "ebic", "x"),
        "--lam-values": _SMALL,
        "--folds": _SMALL,
        "--stability": _SMALL,
        "--stability-method": ("complementary-pairs", "stars", "x"),
        "--max-memory": _SIZES,
        "--max-seconds": _FAST,
        "--chunked": (None,),
        "--missing": ("reject", "drop", "state", "x"),
        "--continuous": ("reject", "bin", "x"),
        "--bins": _FAST,
        "--max-states": _FAST,
        "--header": ("auto", "yes", "no", "x"),
        "--read": ("x=1", "rows=5", "=", "x"),
        "--set": (),
    },
    "infer": {
        "--method": ("bp", "exact", "trbp", "mean-field", "x"),
        "--evidence": ("file.evid", *_PATHS),
        "--max-memory": _SIZES,
        "--damping": ("auto", *_FAST),
        "--tolerance": _FAST,
        "--max-sweeps": _FAST,
    },
    "local": {
        "--query": ("x0", "0", "1", "2", *_FAST, "name with spaces"),
        "--cut": ("drop", "mean-field", "x"),
        "--expansion": ("greedy", "random", "norm", "x"),
        "--max-size": _FAST,
        "--tolerance": _FAST,
        "--threshold": _FAST,
        "--evidence": ("file.evid", *_PATHS),
        "--seed": NUMBERS,
        "--max-memory": _SIZES,
    },
    "dynamics": {
        "--learner": (*_DYNAMIC, "x"),
        "--parents": ("truth.csv", *_PATHS),
        "--seed": NUMBERS,
        "--jobs": ("1", "0", "-2", "x", "9" * 30),
        "--test-fraction": _FAST,
        "--test": ("series.csv", *_PATHS),
        "--layout": ("auto", "wide", "long", "x"),
        "--time": ("time", "none", "a", "x"),
        "--missing": ("reject", "interpolate", "x"),
        "--longest-gap": _FAST,
        "--constant": ("reject", "drop", "keep", "x"),
        "--set": (),
    },
    "arena": {
        "--data": ("x=table.csv", "x=missing.csv", "=", "x", "x=x=x", "=table.csv", "x=model.uai"),
        "--learners": ("x", "chow-liu,x", ",", "", "chow-liu,chow-liu"),
        "--max-edges": _FAST,
        "--test-fraction": _FAST,
        "--seed": NUMBERS,
    },
    "reproduce": {
        "--scale": ("x", "", "rehearsals"),
        "--data": _PATHS,
        "--seed": NUMBERS,
        "--fresh": (None,),
    },
    "bench": {"--only": ("no such measurement",), "--nltcs": _PATHS},
}
_SETTINGS = (
    *("lam", "alpha", "score", "objective", "max_edges", "preset", "significance", "bound", "path"),
    *("edges", "exchange", "clusters", "parents", "seeds", "step", "decay", "centre", "reservoir"),
    *("pseudo_count", "min_norm", "complexity", "inference", "tolerance", "seed_choice", "x", ""),
)
_WORDS = (
    "none",
    "belief",
    "bethe",
    "best",
    "paper",
    "true",
    "false",
    "treewidth",
    "size",
    "spread",
)


def command_case(rng: Random) -> Case:
    """Return a command line; ``options["full"]`` says whether standard output has no room."""
    command = rng.choice((*_OPTIONS, "learn", "learn", "infer", "dynamics", "local"))
    words = [*_positional(rng, command), *_limited(rng, command)]
    if command == "local":
        words += ["--query", rng.choice(("x0", "0", "1", hostile_text(rng)))]
    elif rng.random() < 0.97:
        words += ["--out", _folder(rng)]
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        option = rng.choice(list(_OPTIONS[command]))
        value = _value(rng, option, _OPTIONS[command][option])
        words += [option] if value is None else [option, value]
    if rng.random() < 0.1:
        words.insert(rng.randint(0, len(words)), _harmless(rng))
    if rng.random() < 0.03:
        command = rng.choice(("", "x", "--help", "--version", _harmless(rng)))
    files = _files(rng)
    return Case("command", files, {"arguments": [command, *words], "full": rng.random() < 0.05})


def _limited(rng: Random, command: str) -> list[str]:
    """Return options that make a command quick; what follows may contradict them."""
    match command:
        case "learn":
            quick = ["--max-edges", "3", "--max-seconds", "5", "--learner", rng.choice(_LEARNERS)]
            return [*quick, "--yes"] if rng.random() < 0.5 else quick
        case "generate":
            sizes = ["--nodes", "4", "--rows", "20", "--states", "2"]
            return [*sizes, "--burn-in", "1", "--thin", "1", "--chains", "2"]
        case "arena":
            quick = ["--learners", "chow-liu", "--repeats", "1", "--limit", "1"]
            return [*quick, "--max-edges", "2", "--data", "x=table.csv"]
        case "bench":
            return ["--only", "no such measurement"]
        case _:
            return []


def _positional(rng: Random, command: str) -> list[str]:
    if rng.random() < 0.02:
        return []
    is_odd = rng.random() < 0.2
    match command:
        case "learn":
            return [rng.choice(_PATHS if is_odd else (*_TABLES, "plants:missing", "jester:"))]
        case "infer" | "local":
            return [rng.choice(_PATHS if is_odd else _MODELS)]
        case "dynamics":
            return [rng.choice(_PATHS if is_odd else ("series.csv", "series.csv", *_TABLES))]
        case "generate":
            return [rng.choice(("mrf", "mrf", "mrf", "x", ""))]
        case "reproduce":
            return [rng.choice(("list", "x", "", hostile_text(rng)))]
        case _:
            return []


def _value(rng: Random, option: str, values: tuple[str | None, ...]) -> str | None:
    if option == "--set":
        value = rng.choice((*_WORDS, *_SMALL))
        return rng.choice((f"{rng.choice(_SETTINGS)}={value}", _harmless(rng), "=", "lam"))
    if option != "--only" and option != "--learners" and rng.random() < 0.15:
        return _harmless(rng)
    return rng.choice(values)


def _harmless(rng: Random) -> str:
    """Return a hostile word that is no option, no path out of the folder and no experiment."""
    text = hostile_text(rng)
    return f"./{text}" if text.startswith("/") or ".." in text.split("/") else text


def _folder(rng: Random) -> str:
    """Return a folder for results below the current one."""
    if rng.random() < 0.75:
        return "out"
    name = rng.choice(
        (hostile_text(rng), "table.csv", "table.csv/x", "a/b/c", "x" * 300, "x" * 5000)
    )
    name = rng.choice((name, "o" + name))
    return "out" if name.startswith("/") or ".." in name.split("/") else name


def _files(rng: Random) -> tuple[tuple[str, bytes], ...]:
    models = model_files()
    folder = [(f"folder/{name}", content) for name, content in models.items()]
    parquet = all_bases()[-8].content
    long = b"".join(b"%d,%d,%d\n" % (k, k * k % 7, k * k * k % 5) for k in range(30))
    return (
        ("table.csv", valid_table(rng)),
        ("survey.csv", b"p,q,r\n" + b"".join(b"%d,%d,u\n" % (k % 2, k % 3) for k in range(30))),
        ("table.parquet", parquet),
        ("series.csv", b"time,a,b\n" + long),
        ("truth.csv", b"source,target\na,b\n"),
        ("places.csv", b"name,x,y\na,1,2\nb,3,4\n"),
        ("file.evid", rng.choice((b"1 0 1", b"0", b"2 0 1 2 0", b"x"))),
        ("empty.csv", b""),
        ("model.uai", models["model.uai"]),
        ("graph.json", models["graph.json"]),
        ("graph.graphml", models["graph.graphml"]),
        *folder[:1],
    )
