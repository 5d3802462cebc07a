"""Recipes, objectives and training."""

from treetext.training.fit import Interrupted, new_model, train
from treetext.training.machine import machine
from treetext.training.objectives import OBJECTIVES, Objective
from treetext.training.ranges import Range
from treetext.training.recipe import (
    Recipe,
    Training,
    load_reader,
    load_recipe,
    needs_data,
    parse_overrides,
    recipe_names,
    recipe_values,
)
from treetext.training.toml import load_template, to_toml, to_values
from treetext.training.trials import search

__all__ = [
    "OBJECTIVES",
    "Interrupted",
    "Objective",
    "Range",
    "Recipe",
    "Training",
    "load_reader",
    "load_recipe",
    "load_template",
    "machine",
    "needs_data",
    "new_model",
    "parse_overrides",
    "recipe_names",
    "recipe_values",
    "search",
    "to_toml",
    "to_values",
    "train",
]
