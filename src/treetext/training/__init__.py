"""Recipes, objectives and fitting."""

from treetext.training.machine import machine
from treetext.training.objectives import OBJECTIVES, Objective
from treetext.training.recipe import Recipe, Training, load_recipe, parse_overrides, recipe_names, recipe_values
from treetext.training.train import Interrupted, new_model, train

__all__ = [
    "OBJECTIVES",
    "Interrupted",
    "Objective",
    "Recipe",
    "Training",
    "load_recipe",
    "machine",
    "new_model",
    "parse_overrides",
    "recipe_names",
    "recipe_values",
    "train",
]
