"""``python -m docs.making.results FOLDER …``: sections of reproduction.md from measured.json."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graftviz.reports.reproduction.claims import OWN
from graftviz.reports.words.phrases import plural

PAGE = Path(__file__).resolve().parents[1] / "reproduction.md"
_COUNTED = re.compile(r"(<!-- counted -->\n)(.*?)(<!-- end -->)", re.DOTALL)
# Verdict → beginning of the second column, and the word for it in the count.
_VERDICTS: dict[bool | str | None, tuple[str, str]] = {
    True: ("held", "held"),
    "partly": ("**in part**", "held in part"),
    False: ("**did not hold**", "did not hold"),
    None: ("not judged", "not judged"),
}


def with_results(page: str, runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the page with the section of an experiment replaced.

    Parameters
    ----------
    page : str
    runs : sequence of mapping
        Results of the experiment; several if it was run on several data sets.
    """
    name = re.escape(runs[0]["experiment"])
    section = re.compile(rf"^### `{name}`.*?(?=^##|\Z)", re.DOTALL | re.MULTILINE)
    written = _section(runs)
    if not section.search(page):
        return f"{page.rstrip()}\n\n{written}"
    return section.sub(lambda _: written, page)


def _section(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the Markdown of an experiment."""
    head = f"### `{runs[0]['experiment']}`: {runs[0]['title']}\n\n{runs[0]['place']}."
    between = " " if len(runs) == 1 else "\n\n"
    seen: set[tuple[str, str]] = set()
    return head + "".join(f"{between}{_results(run, seen)}" for run in runs) + "\n\n"


def _results(run: Mapping[str, Any], seen: set[tuple[str, str]]) -> str:
    """Return the command of a run, and the table of its statements.

    Statements with the same measurement as in an earlier run, which are in `seen`, are left out.
    """
    # Files of data are on the machine of the measurement.
    command = re.sub(r"(\w+)=\S*/\S*", r"\1=FILE", run["command"])
    lines = [
        f"`{command}`, {run['date'][:10]}",
        "",
        "| the paper states | here | measured |",
        "| --- | --- | --- |",
    ]
    for claim in run["claims"]:
        if (row := (claim["claim"], claim["measured"])) in seen:
            continue
        seen.add(row)
        verdict, _ = _VERDICTS[claim["held"]]
        if claim["judged"]:
            verdict += f", met {claim['met']} of {claim['judged']}"
        lines.append(" | ".join(["", claim["claim"], verdict, claim["measured"], ""]).strip())
    return "\n".join(line.replace("|R|", r"\|R\|") for line in lines)


def with_counts(page: str) -> str:
    """Return the text of the page with the number of statements by verdict at its mark."""
    rows = re.findall(r"^\| (.*?) (?<!\\)\| (.*?) (?<!\\)\| ", page, re.MULTILINE)
    judged = [
        (statement.startswith(OWN), word)
        for statement, cell in rows
        for start, word in _VERDICTS.values()
        if cell.startswith(start)
    ]
    papers = Counter(word for is_own, word in judged if not is_own)
    own = Counter(word for is_own, word in judged if is_own)
    sentence = (
        f"{plural(papers.total(), 'verdict')} on statements of the papers "
        "(some on several data or settings): "
        f"{_listed(papers)}. "
        f"{plural(own.total(), 'further statement')}, marked “{OWN}paper” or “{OWN}thesis”: "
        f"{_listed(own)}.\n"
    )
    return _COUNTED.sub(lambda found: f"{found[1]}{sentence}{found[3]}", page)


def _listed(counts: Mapping[str, int]) -> str:
    """Return "held: 3; held in part: 1; did not hold: 0; not judged: 0"."""
    return "; ".join(f"{word}: {counts[word]}" for _, word in _VERDICTS.values())


def main() -> None:
    """Renew the sections of the experiments in the given folders, and the counts.

    Folders of one experiment become one section, with a table for each.
    """
    page = PAGE.read_text(encoding="utf-8")
    experiments: dict[str, list[dict[str, Any]]] = {}
    for folder in sys.argv[1:]:
        run = json.loads((Path(folder) / "measured.json").read_text(encoding="utf-8"))
        experiments.setdefault(run["experiment"], []).append(run)
    for runs in experiments.values():
        page = with_results(page, runs)
    PAGE.write_text(with_counts(page), encoding="utf-8")


if __name__ == "__main__":
    main()
