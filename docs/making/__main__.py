"""``python -m docs.making``: write pictures, sample series, generated pages and option tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docs.making import (
    dynamics_pictures,
    grafting_pictures,
    inference_pictures,
    prediction_picture,
    series,
    structure_pictures,
)
from docs.making.command_line import command_line_page
from docs.making.glossary import glossary_page
from docs.making.lessons import lessons_page
from docs.making.tables import with_tables

DOCS = Path(__file__).resolve().parents[1]

PICTURES: dict[str, Callable[[], str]] = {
    "prediction.svg": prediction_picture.prediction,
    "methods/pictures/best-choice.svg": grafting_pictures.best_choice,
    "methods/pictures/edge-grafting.svg": grafting_pictures.edge_grafting,
    "methods/pictures/first-hit.svg": grafting_pictures.first_hit,
    "methods/pictures/feature-grafting.svg": grafting_pictures.feature_grafting,
    "methods/pictures/grafting-light.svg": grafting_pictures.grafting_light,
    "methods/pictures/nodewise-l1.svg": structure_pictures.nodewise_l1,
    "methods/pictures/chow-liu.svg": structure_pictures.chow_liu,
    "methods/pictures/forced-pruning.svg": structure_pictures.forced_pruning,
    "methods/pictures/bounded-inference.svg": structure_pictures.bounded_inference,
    "methods/pictures/exact.svg": inference_pictures.exact,
    "methods/pictures/bp.svg": inference_pictures.bp,
    "methods/pictures/trbp.svg": inference_pictures.trbp,
    "methods/pictures/mean-field.svg": inference_pictures.mean_field,
    "methods/pictures/localized.svg": inference_pictures.localized,
    "methods/pictures/dynamics-dense.svg": dynamics_pictures.dense,
    "methods/pictures/dynamics-enforcing.svg": dynamics_pictures.enforcing,
    "methods/pictures/dynamics-inducing.svg": dynamics_pictures.inducing,
    "methods/pictures/dynamics-scalable.svg": dynamics_pictures.scalable,
}
TEXTS: dict[str, Callable[[], str]] = {
    "glossary.md": glossary_page,
    "lessons.md": lessons_page,
    "reference/command_line.md": command_line_page,
}
DATA: dict[str, Callable[[], str]] = {
    "methods/data/series.csv": series.series_csv,
    "methods/data/parents.csv": series.parents_csv,
}


def main() -> None:
    """Write everything that is made."""
    for name, make in (PICTURES | DATA | TEXTS).items():
        path = DOCS / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(make(), encoding="utf-8")
    for page in sorted(DOCS.glob("**/*.md")):
        text = page.read_text(encoding="utf-8")
        page.write_text(with_tables(text), encoding="utf-8")


if __name__ == "__main__":
    main()
