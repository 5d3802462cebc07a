"""Recipes as TOML."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treetext.training.recipe import Recipe, load_recipe, needs_data

PLACE = "PATH"


def to_toml(recipe: Recipe) -> str:
    """A recipe as TOML that `load_recipe` reads. A template (see `load_template`) has no ``data.path``."""
    return "\n".join(_lines(to_values(recipe))) + "\n"


def to_values(recipe: Recipe) -> dict[str, Any]:
    """All values of a recipe. A template (see `load_template`) has no ``data.path``."""
    values = recipe.model_dump(mode="json")
    if recipe.data.path == PLACE:
        del values["data"]["path"]
    return values


def load_template(
    source: str | Path | Recipe | Mapping[str, Any], overrides: Mapping[str, Any] | None = None
) -> Recipe:
    """Load a recipe like `load_recipe`, but it may lack the path of its data: for display, not for training."""
    place = {"data.path": PLACE} if needs_data(source, overrides) else {}
    return load_recipe(source, {**place, **(overrides or {})})


def _lines(values: dict[str, Any], section: str = "") -> list[str]:
    """Lines of TOML: the values of a section first, then its subsections. None is left out."""
    sections = {key: value for key, value in values.items() if isinstance(value, dict)}
    own = [
        f"{_key(key)} = {_value(value)}" for key, value in values.items() if key not in sections and value is not None
    ]
    lines = ["", f"[{section}]", *own] if section else own
    for key, value in sections.items():
        lines += _lines(value, f"{section}.{_key(key)}" if section else _key(key))
    return lines


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else _value(key)


def _value(value: Any) -> str:
    """A value in TOML. Except for one control character, JSON has the same syntax for strings, numbers and lists."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
