"""Recipes as TOML."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from treetext.training.recipe import Recipe, load_recipe, needs_data

PLACE = "PATH"


def to_toml(recipe: Recipe) -> str:
    """A recipe as TOML that `load_recipe` reads, with a comment for each setting. Unset ones are commented out.

    A template (see `load_template`) has no ``data.path``.
    """
    return "\n".join(_lines(recipe, to_values(recipe))) + "\n"


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


def _lines(settings: BaseModel, values: Mapping[str, Any], section: str = "", mark: str = "") -> Iterator[str]:
    """Lines of TOML: the values of a section first, then its subsections. `mark` is ``# `` in an unset section."""
    sections = []
    for name in type(settings).model_fields:
        value, about = values.get(name), _about(type(settings), name)
        inner = _inner(settings, name)
        if inner is not None or isinstance(value, dict):
            sections.append((f"{section}{_key(name)}", inner, value, about))
        elif value is None:
            yield f"{mark}# {_key(name)} = …{about}"
        else:
            yield f"{mark}{_key(name)} = {_value(value)}{about}"
    for name, inner, value, about in sections:
        unset = mark if value is not None else "# "
        yield from ("", f"{unset}[{name}]{about}")
        if inner is not None:
            yield from _lines(inner, inner.model_dump(mode="json") if value is None else value, f"{name}.", unset)
        elif value is not None:
            yield from (f"{_key(key)} = {_value(each)}" for key, each in value.items())


def _inner(settings: BaseModel, name: str) -> BaseModel | None:
    """The settings of a subsection or, if it is unset, their defaults; None if this is no subsection."""
    value, annotation = getattr(settings, name), type(settings).model_fields[name].annotation
    if isinstance(value, BaseModel):
        return value
    classes = [each for each in get_args(annotation) if isinstance(each, type) and issubclass(each, BaseModel)]
    return classes[0]() if value is None and classes else None


def _about(cls: type[BaseModel], name: str) -> str:
    """The description of a setting as a comment. It may be that of a base class, of which this one has only a value."""
    bases = (base.model_fields.get(name) for base in cls.__mro__ if issubclass(base, BaseModel))
    about = next((field.description for field in bases if field and field.description), "")
    choices = [each for each in get_args(cls.model_fields[name].annotation) if isinstance(each, str)]
    listed = f" ({', '.join(choices[:-1])} or {choices[-1]})" if len(choices) > 1 else ""
    return f"  # {about}{listed}" if about else ""


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else _value(key)


def _value(value: Any) -> str:
    """A value in TOML. Except for one control character, JSON has the same syntax for strings, numbers and lists."""
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items() if each is not None) + " }"
        )
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
