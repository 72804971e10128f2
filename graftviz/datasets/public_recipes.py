"""Kaggle's "What's Cooking" data set: ingredients of 39,774 recipes."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass

import numpy as np

from graftviz.datasets.dataset import DataSet
from graftviz.datasets.public_base import PublicReader, other_size
from graftviz.datasets.public_files import decoded, find_file
from graftviz.errors import InputError
from graftviz.options import option
from graftviz.table import DiscreteTable

RECIPES = 39_774
LABELS = ("without", "with")


@dataclass(frozen=True)
class Recipes(PublicReader):
    """Reader of a table with one row per recipe and one column per common ingredient.

    Columns are sorted by frequency, the most common ingredient first.
    """

    name = "recipes"
    files = (
        "train.json of Kaggle's What's Cooking: the file, or a zip archive or folder that "
        "contains it"
    )
    source = (
        "Ingredients of recipes from Yummly. Kaggle, What's Cooking?, 2015, "
        "https://www.kaggle.com/c/whats-cooking."
    )

    min_recipes: int = option(
        150,
        "minimum number of recipes with an ingredient; 489 ingredients occur in at least 150",
        minimum=1,
    )
    # The thesis reports 153 ingredients and 36,450 parameters, the number for 135 binary variables
    # (4 · 135 · 134 / 2 + 2 · 135), and does not specify how they were selected.
    ingredients: int | None = option(
        None,
        "maximum number of ingredients, the most common ones: 153 as stated in the thesis, or 135 "
        "according to its number of parameters",
        minimum=1,
        none_means="all of them",
    )
    rows: int | None = option(
        10_000,
        "number of recipes drawn at random after the selection of ingredients, as in the paper",
        minimum=1,
        none_means="all recipes",
    )
    seed: int = option(0, "seed of the random draw", minimum=0, maximum=2**32 - 1)

    def read(self, path: str | os.PathLike[str]) -> DataSet:
        """Read the recipes; see :class:`PublicReader`."""
        file = find_file(path, r"train\.json", "train.json")
        recipes = _recipes(decoded(file.load(), file.title), file.title)
        names = self._common(recipes, file.title)
        warnings = other_size("recipes", len(recipes), RECIPES)
        if self.rows is not None and self.rows < len(recipes):
            drawn = np.random.default_rng(self.seed).choice(len(recipes), self.rows, replace=False)
            recipes = [recipes[k] for k in np.sort(drawn)]
        column = {name: i for i, name in enumerate(names)}
        codes = np.zeros((len(recipes), len(names)), dtype=np.uint8)
        for codes_of_one, recipe in zip(codes, recipes, strict=True):
            codes_of_one[[column[name] for name in recipe if name in column]] = 1
        table = DiscreteTable.from_codes(codes, names=names, labels=[LABELS] * len(names))
        return self.data_set(path, table, warnings=warnings)

    def _common(self, recipes: list[frozenset[str]], title: str) -> list[str]:
        """Return the ingredients that become columns."""
        counts = Counter(name for recipe in recipes for name in recipe)
        ranked = sorted(counts, key=lambda name: (-counts[name], name))
        names = [name for name in ranked if counts[name] >= self.min_recipes]
        if not names:
            raise InputError(
                f"No ingredient of {title} occurs in {self.min_recipes:,} of its {len(recipes):,} "
                f"recipes, the most common, {ranked[0]!r}, in {counts[ranked[0]]:,}; use a smaller "
                "min_recipes."
            )
        return names[: self.ingredients]


def _recipes(text: str, title: str) -> list[frozenset[str]]:
    """Return the set of ingredients of every recipe."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InputError(
            f"{title} is not a complete JSON file ({problem}); it should be train.json of What's "
            "Cooking, download it again."
        ) from None
    if not isinstance(content, list) or not content:
        raise InputError(
            f"{title} should hold a list of recipes with their ingredients, but "
            f"{'it is empty' if content == [] else 'holds other content'}; use train.json of "
            "What's Cooking."
        )
    recipes = []
    for row, recipe in enumerate(content, start=1):
        listed = recipe.get("ingredients") if isinstance(recipe, dict) else None
        if not isinstance(listed, list) or not listed:
            raise InputError(
                f"Recipe {row} of {title} has no list of ingredients; use the published train.json "
                "of What's Cooking."
            )
        for place, name in enumerate(listed, start=1):
            if not isinstance(name, str) or not name.strip():
                raise InputError(
                    f"Recipe {row} of {title} has {name!r} as ingredient {place}, which is not a "
                    "name."
                )
        recipes.append(frozenset(name.strip() for name in listed))
    return recipes
