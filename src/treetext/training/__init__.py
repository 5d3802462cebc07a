"""Recipes, objectives and fitting."""

from treetext.training.machine import machine
from treetext.training.objectives import OBJECTIVES, Objective
from treetext.training.recipe import Recipe, Training, load_recipe, needs_data, parse_overrides, recipe_names, recipe_values
from treetext.training.toml import load_template, to_toml, to_values
from treetext.training.train import Interrupted, new_model, train

__all__ = [
    "OBJECTIVES",
    "Interrupted",
    "Objective",
    "Recipe",
    "Training",
    "load_recipe",
    "load_template",
    "machine",
    "needs_data",
    "new_model",
    "parse_overrides",
    "recipe_names",
    "recipe_values",
    "to_toml",
    "to_values",
    "train",
]
