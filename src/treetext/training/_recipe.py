"""Recipes: everything that decides how a model comes out, as TOML files that are checked before anything runs."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from treetext.corpora import Data
from treetext.models import AnySettings, Settings
from treetext.text import BadInput

RECIPES = files("treetext.training") / "recipes"
TASKS = ("documents", "pairs")


class Vocabulary(Settings):
    """Which words a model knows, and where their vectors start."""

    min_count: int = Field(6, ge=1, description="how often a word must occur in the training data")
    vectors: str = Field(
        "word2vec", min_length=1, description="word2vec (trained on train and dev), random, or a file of vectors"
    )
    deviation: float | None = Field(None, gt=0, description="to scale vectors to, or to draw random ones with")
    skip_gram: bool = Field(False, description="for word2vec, instead of CBOW")
    window: int = Field(5, ge=1, description="for word2vec")
    epochs: int = Field(5, ge=1, description="for word2vec")


class Training(Settings):
    """How the model is fitted."""

    optimizer: Literal["adagrad", "adam", "adamw", "sgd"] = "adagrad"
    learning_rate: float = Field(0.05, gt=0)
    schedule: Literal["constant", "linear"] = Field("constant", description="linear: the rate falls to 0 at the end")
    l2: float = Field(1e-4, ge=0, description="on weights, not on biases, word vectors and root vectors")
    entropy: float = Field(0.0, ge=0, description="how much flat trees are rewarded at first, and sharp ones at last")
    clip: float | None = Field(None, gt=0, description="largest norm of a gradient")
    batch_size: int = Field(32, ge=1)
    epochs: int = Field(50, ge=1, description="at most")
    patience: int = Field(10, ge=1, description="stop after so many epochs without a better dev accuracy")


class Recipe(Settings):
    """A whole recipe."""

    name: str = "unnamed"
    about: str = ""
    seed: int = Field(1, ge=0, lt=2**32, description="of weights, dropout and the order of batches")
    data: Data
    vocabulary: Vocabulary = Vocabulary()
    model: AnySettings
    training: Training = Training()

    @model_validator(mode="after")
    def _check_task(self) -> Self:
        if self.data.pairs != (self.model.task == "pairs"):
            has, wants = ("pairs", "documents") if self.data.pairs else ("documents", "pairs")
            raise ValueError(f"model.task: the data are {has}, got a model of {wants}")
        levels = (getattr(self.model, name, None) for name in ("words", "sentences"))
        if self.training.entropy and not any(level and level.attention.endswith("projective") for level in levels):
            raise ValueError("training.entropy: the model has no trees; expected 0, or attention over trees")
        return self


def load_recipe(
    source: "str | Path | Recipe | Mapping[str, Any]", overrides: Mapping[str, Any] | None = None
) -> Recipe:
    """A recipe of the package by its name, from a TOML (or JSON) file, of values, or as it is; some values replaced.

    `overrides` maps dotted keys to values: ``{"model.hidden": 125}``.
    """
    if isinstance(source, Recipe):
        where, values = source.name, source.model_dump(mode="json", exclude_unset=True)
    elif isinstance(source, Mapping):
        where, values = str(source.get("name", "recipe")), deepcopy(dict(source))
    else:
        where, values = str(source), _read(str(source))
    for key, value in (overrides or {}).items():
        _set(values, key, value)
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise BadInput(f"{where}: {_explained(error)}") from None


def parse_overrides(settings: Sequence[str]) -> dict[str, Any]:
    """From ``key=value`` strings, where a value is written as in TOML; what is no TOML is taken for a string."""
    found = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise BadInput(f"--set {setting}: expected key=value, as in model.hidden=125")
        try:
            found[key.strip()] = tomllib.loads(f"x = {text}")["x"]
        except tomllib.TOMLDecodeError:
            found[key.strip()] = text
    return found


def recipe_names() -> list[str]:
    """The recipes of the package."""
    return sorted(_names(RECIPES, ""))


def _names(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _names(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".toml") and not entry.name.startswith("_"):
            yield prefix + entry.name.removesuffix(".toml")


def _read(source: str) -> dict[str, Any]:
    """The values of a recipe, on top of those that it is based on."""
    if source in recipe_names():
        return {"name": source, **_based(source)}
    path = Path(source)
    if path.suffix not in (".toml", ".json") and not path.exists():
        near = get_close_matches(source, recipe_names(), n=1)
        hint = f"; did you mean {near[0]}?" if near else "; `treetext recipes` lists those of the package"
        raise BadInput(f"{source}: no such recipe{hint}")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{source}: {error.strerror}; expected a recipe in TOML") from None
    except UnicodeDecodeError:
        raise BadInput(f"{source}: not UTF-8; expected a recipe in TOML") from None
    return {"name": path.stem, **_merged(_parsed(text, source), source)}


def _based(name: str) -> dict[str, Any]:
    return _merged(_parsed((RECIPES / f"{name}.toml").read_text(encoding="utf-8"), name), name)


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        values = json.loads(text) if where.endswith(".json") else tomllib.loads(text)
    except ValueError as error:
        raise BadInput(f"{where}: {error}; expected a recipe in TOML") from None
    if not isinstance(values, dict):
        raise BadInput(f"{where}: expected a recipe, got {type(values).__name__}")
    return values


def _merged(values: dict[str, Any], where: str) -> dict[str, Any]:
    """``base = [...]`` names recipes of the package whose values hold where this one has none, the last one first."""
    bases = values.pop("base", [])
    found: dict[str, Any] = {}
    for base in bases if isinstance(bases, list) else [bases]:
        if not (RECIPES / f"{base}.toml").is_file():
            raise BadInput(f"{where}: base: no recipe {base!r}; `treetext recipes` lists those of the package")
        _update(found, _based(base))
    _update(found, values)
    return found


def _update(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            _update(values[key], value)
        else:
            values[key] = value


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise BadInput(f"{key}: {section} is a value, not a section; expected a key like model.hidden")
    values[last] = value


def _explained(error: ValidationError) -> str:
    """The first problem, and for an unknown key the nearest known one."""
    errors = error.errors()
    first = next((problem for problem in errors if problem["type"] == "extra_forbidden"), errors[0])
    loc = [str(part) for part in first["loc"]]
    where = ".".join(part for part in loc if part not in TASKS) or "recipe"
    if first["type"] == "extra_forbidden":
        known = _keys(loc[:-1])
        near = get_close_matches(loc[-1], known, n=1, cutoff=0.5)
        return f"{where}: unknown; " + (f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}")
    if first["type"] == "missing":
        return f"{where}: missing; expected a value in the recipe or by --set {where}=…"
    message = first["msg"].removeprefix("Value error, ")
    return (
        f"{where}: {message}; got {first['input']!r:.60}" if first["type"] != "value_error" else f"{where}: {message}"
    )


def _keys(sections: Sequence[str]) -> list[str]:
    """The keys that a section may have."""
    schema = TypeAdapter(Recipe).json_schema()
    found = [schema]
    for section in sections:
        if section in TASKS:  # the settings of this task, among those of both
            found = [node for node in found if node["properties"]["task"]["const"] == section]
            continue
        found = [part for node in found for part in _resolved(schema, node.get("properties", {}).get(section, {}))]
    return sorted({key for node in found for key in node.get("properties", {})})


def _resolved(schema: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in node:
        return _resolved(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[1]])
    options = [*node.get("oneOf", []), *node.get("anyOf", [])]
    return [part for option in options for part in _resolved(schema, option)] if options else [node]
