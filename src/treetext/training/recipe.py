"""Recipes: all settings of data, model and training, as TOML files that are validated before anything runs."""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, SerializeAsAny, ValidationError, field_validator, model_validator

from treetext.data import BadInput, Reader, Settings, corpus_formats, find_reader, formats_with
from treetext.models import ModelSettings, find_model
from treetext.training.objectives import OBJECTIVES
from treetext.training.ranges import Choice, Range, flat_ranges, read_ranges, some_values

RECIPES = files("treetext.training") / "recipes"
OPTIONS = ("text", "second", "label", "delimiter", "quoting", "subset", "hidden_trees")
"""The options that the data of earlier recipes had, whatever the format."""

WHOLE = {
    "path", "train", "dev", "test", "classes", "language", "lowercase", "tokenized", "split", "dev_share", "folds",
    "fold", "seed",
}  # fmt: skip
"""The settings of the data that all earlier recipes of models and results have, whatever the format."""


class Training(Settings):
    """The settings of training."""

    optimizer: Literal["adagrad", "adam", "adamw", "sgd"] = Field("adagrad", description="optimiser")
    learning_rate: float = Field(0.05, gt=0, lt=1e38, description="highest learning rate of the schedule")  # a float32
    schedule: Literal["constant", "linear"] = Field("constant", description="linear: the rate falls linearly to 0")
    warmup: float = Field(0.0, ge=0, lt=1, description="share of all steps in which the rate rises linearly from 0")
    vectors_rate: float = Field(
        1.0, ge=0, description="learning rate of word vectors, as a share of learning_rate; 0: they do not change"
    )
    l2: float = Field(1e-4, ge=0, description="weight decay, except for biases, word vectors and root vectors")
    objectives: dict[str, float] = Field({"cross_entropy": 1.0}, description="objectives and their weights")
    class_weights: Literal["balanced"] | None = Field(
        None,
        description="balanced: weigh the log loss of a text inversely to the frequency of its class, also for n-grams",
    )
    label_smoothing: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of the target that is spread evenly over all classes, in training by gradients",
    )
    clip: float | None = Field(None, gt=0, description="largest norm of the gradient")
    batch_size: int = Field(32, ge=1, description="number of texts in a batch")
    accumulate: int = Field(1, ge=1, description="number of batches whose gradients are averaged into one step")
    epochs: int = Field(50, ge=1, description="largest number of epochs")
    keep: Literal["best", "last"] = Field(
        "best", description="best: keep the epoch with the best dev accuracy; last: keep the last epoch"
    )
    patience: int = Field(10, ge=1, description="number of epochs without a better dev accuracy before stopping")
    baselines: bool = Field(True, description="score the most frequent class and a bag of words on the same texts")

    @field_validator("objectives")
    @classmethod
    def _check_objectives(cls, objectives: dict[str, float]) -> dict[str, float]:
        for name, weight in objectives.items():
            if name not in OBJECTIVES:
                raise ValueError(f"expected some of {', '.join(OBJECTIVES)}, got {name!r}")
            if weight < 0:
                raise ValueError(f"expected weights of 0 or more, got {weight} for {name}")
        weights = {"cross_entropy": 1.0, **objectives}
        if not any(weights.values()):
            raise ValueError("expected at least one weight above 0")
        return weights


class Recipe(Settings):
    """A recipe: the settings of data, model and training."""

    name: str = Field("unnamed", description="name of the recipe")
    about: str = Field("", description="what it is for")
    seed: int = Field(1, ge=0, lt=2**32, description="seed of weights, dropout and the order of batches")
    auto: list[str] = Field([], description="keys whose values the size and shape of the training data choose")
    data: SerializeAsAny[Reader] = Field(description="texts and labels")
    model: SerializeAsAny[ModelSettings] = Field(description="the system, and its sizes")
    training: Training = Field(Training(), description="how the model is trained, if it is trained by gradients")
    search: dict[str, list[Choice] | Range] = Field({}, description="ranges of the settings that --trials searches")

    @field_validator("search", mode="before")
    @classmethod
    def _read_ranges(cls, section: Any) -> dict[str, list[Choice] | Range]:
        return read_ranges(section)

    @model_validator(mode="after")
    def _check_task(self) -> Self:
        system = find_model({"kind": self.model.kind})
        wants = system.task
        if not self.data.fits(wants):
            raise ValueError(f"model.kind: the data are {self.data.task}, got a model of {wants}")
        for name in ("class_weights", "label_smoothing"):
            if getattr(self.training, name) and not system.by_gradients:
                problem = f"{self.model.kind} is not trained by gradients"
                raise ValueError(f"training.{name}: {problem}; expected a model that is, or no such setting")
        for name, weight in self.training.objectives.items():
            if weight and OBJECTIVES[name].needs_trees and not self.model.has_trees:
                raise ValueError(
                    f"training.objectives.{name}: the model has no trees; expected 0, or attention over trees"
                )
        return self


def load_recipe(
    source: "str | Path | Recipe | Mapping[str, Any]", overrides: Mapping[str, Any] | None = None
) -> Recipe:
    """Load a recipe: by its name in the package, from a TOML (or JSON) file, from values, or from another recipe.

    `overrides` replaces values; it maps dotted keys to values: ``{"model.hidden": 125}``. What it sets is not searched.
    """
    values = recipe_values(source, overrides)
    return _validated(
        values, str(values.get("name", "recipe")) if isinstance(source, Recipe | Mapping) else str(source)
    )


def load_reader(format: str, overrides: Mapping[str, Any] | None = None) -> Reader:  # noqa: A002
    """A reader of a format. `overrides` has its settings by their keys in a recipe: ``{"data.path": "file.csv"}``."""
    values: dict[str, Any] = {"data": {"format": format}}
    for key, value in (overrides or {}).items():
        if not key.startswith("data."):
            raise BadInput(f"{key}: no setting of data; expected a key like data.label")
        _set(values, key, value)
    places = (values["data"][name] for name in ("path", "train", "dev", "test") if values["data"].get(name))
    where = str(next(places, format))
    reader: Reader = _section(values, "data", "format", lambda given: find_reader(given.get("format")), where)
    return reader


def recipe_values(
    source: "str | Path | Recipe | Mapping[str, Any]", overrides: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The values of a recipe before validation, with today's names, and with `overrides`."""
    if isinstance(source, Recipe):
        values = source.model_dump(mode="json", exclude_unset=True)
        values["data"]["format"], values["model"]["kind"] = source.data.format, source.model.kind
    elif isinstance(source, Mapping):
        values = deepcopy(dict(source))
    else:
        values = _read(str(source))
    values = migrated(values)
    for key, value in (overrides or {}).items():
        given: dict[str, Any] = {}
        _set(given, key, value)
        _decide(values, given)
        _set(values, key, value)
        if isinstance(values.get("search"), dict):
            values["search"].pop(key, None)
        values = migrated(values)  # after each, so that the last override counts, with an old name or today's
    return values


def needs_data(source: "str | Path | Recipe | Mapping[str, Any]", overrides: Mapping[str, Any] | None = None) -> bool:
    """Whether a recipe reads data but has no path to them."""
    section = recipe_values(source, overrides).get("data")
    values = section if isinstance(section, dict) else {}
    reader = corpus_formats().get(str(values.get("format")))
    placed = any(values.get(place) for place in ("path", "train", "dev", "test"))
    return reader is not None and not reader.generated and not placed


def migrated(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a recipe, with names of earlier versions replaced by today's, and ranges by their dotted keys."""
    today: dict[str, Any] = deepcopy(dict(values))
    today.pop("paper", None)  # published scores are no longer part of recipes
    if isinstance(today.get("vocabulary"), dict):
        _update(today, {"model": {"vocabulary": today.pop("vocabulary")}})
    if isinstance(today.get("search"), dict):
        today["search"] = dict(flat_ranges(today["search"]))
    data, model, training = (today.get(name) for name in ("data", "model", "training"))
    if isinstance(model, dict) and "task" in model:
        model["kind"] = f"structured-{model.pop('task')}"
    if isinstance(training, dict) and "entropy" in training:
        weight = training.pop("entropy")
        if weight or "objectives" in training:
            _update(training, {"objectives": {"entropy": weight}})
    if isinstance(data, dict) and "hidden_trees" in data and "subset" in data:  # all formats had all options
        reader = corpus_formats().get(str(data.get("format")))
        foreign = set(OPTIONS).difference(reader.options()) if reader else ()
        for name in foreign:
            data.pop(name, None)
    if isinstance(data, dict) and data.keys() >= WHOLE:
        data.setdefault("stratify", False)  # earlier versions did not
    return today


def parse_overrides(settings: Sequence[str]) -> dict[str, Any]:
    """Parse ``key=value`` strings. A value is written as in TOML; if it is not valid TOML, it is a string."""
    overrides = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise BadInput(f"--set {setting}: expected key=value, as in model.hidden=125")
        try:
            overrides[key.strip()] = tomllib.loads(f"x = {text}")["x"]
        except tomllib.TOMLDecodeError:
            overrides[key.strip()] = text
    return overrides


def recipe_names() -> list[str]:
    """The names of the recipes of the package."""
    return sorted(_names(RECIPES, ""))


def _names(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _names(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".toml") and not entry.name.startswith("_"):
            yield prefix + entry.name.removesuffix(".toml")


def _read(source: str) -> dict[str, Any]:
    """The values of a recipe, including those of its bases."""
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
    """Add the values of the recipes in ``base = [...]``. Later bases override earlier ones; own values override all."""
    bases = values.pop("base", [])
    merged: dict[str, Any] = {}
    for base in bases if isinstance(bases, list) else [bases]:
        if not (RECIPES / f"{base}.toml").is_file():
            raise BadInput(f"{where}: base: no recipe {base!r}; `treetext recipes` lists those of the package")
        _decide(merged, more := _based(base))
        _update(merged, more)
    _decide(merged, values)
    _update(merged, values)
    return migrated(merged)


def _decide(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Take the keys that `more` has a value for out of ``auto``, unless it has an ``auto`` itself."""
    if isinstance(values.get("auto"), list) and "auto" not in more:
        values["auto"] = [key for key in values["auto"] if not _has(migrated(more), str(key).split("."))]


def _has(values: Any, keys: list[str]) -> bool:
    return not keys or (isinstance(values, dict) and keys[0] in values and _has(values[keys[0]], keys[1:]))


def _update(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict) and key != "search":  # it replaces the base's
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


def _validated(values: dict[str, Any], where: str) -> Recipe:
    """A validated recipe. The format of the data and the kind of the model decide the classes of their settings."""
    values["data"] = _section(values, "data", "format", lambda given: find_reader(given.get("format")), where)
    values["model"] = _section(values, "model", "kind", lambda given: find_model(given).Settings, where)
    try:
        recipe = Recipe.model_validate(values)
    except ValidationError as error:
        raise BadInput(f"{where}: {_explained(error, Recipe)}") from None
    plain = recipe.model_copy(update={"search": {}})
    for key, stated in recipe.search.items():
        for value in some_values(stated):
            _validated(recipe_values(plain, {key: value}), f"{where}: search")
    return recipe


def _section(
    values: Mapping[str, Any], name: str, key: str, find: Callable[[Mapping[str, Any]], type[BaseModel]], where: str
) -> Any:
    """A validated section of a recipe. One of its keys decides its class."""
    given = values.get(name)
    if not isinstance(given, dict):
        problem = "missing" if given is None else f"got {given!r:.60}"
        raise BadInput(f"{where}: {name}: {problem}; expected a section with a {key}")
    if key not in given and (near := get_close_matches(key, map(str, given), n=1, cutoff=0.7)):
        raise BadInput(f"{where}: {name}.{near[0]}: unknown; did you mean {key}?")
    try:
        cls = find(given)
    except BadInput as error:
        raise BadInput(f"{where}: {name}.{error}") from None
    try:
        return cls.model_validate(given)
    except ValidationError as error:
        raise BadInput(f"{where}: {_explained(error, cls, name)}") from None


def _explained(error: ValidationError, cls: type[BaseModel], section: str = "") -> str:
    """A message about the first problem; for an unknown key, with the nearest known one."""
    errors = error.errors()
    first = next((problem for problem in errors if problem["type"] == "extra_forbidden"), errors[0])
    loc = [str(part) for part in first["loc"]]
    where = ".".join([*([section] if section else []), *loc])
    if first["type"] == "extra_forbidden":
        return f"{where}: {_unknown(loc, cls, section)}"
    if first["type"] == "missing":
        return f"{where}: missing; expected a value in the recipe or by --set {where}=…"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] in ("model_type", "model_attributes_type"):
        message = f"expected a section with settings, as in {where}.KEY=VALUE, or none if it may be unset"
    if first["type"] != "value_error":
        message += f"; got {first['input']!r:.60}"
    return f"{where}: {message}" if where else message  # without a place, the message names the keys itself


def _unknown(loc: list[str], cls: type[BaseModel], section: str) -> str:
    """A message about a key that a section does not have."""
    formats = formats_with(loc[0]) if section == "data" and len(loc) == 1 else []
    if formats:
        return f"does not go with {cls.model_fields['format'].default}; expected it only for {', '.join(formats)}"
    for part in loc[:-1]:
        inner = cls.model_fields[part].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            break
        cls = inner
    known = sorted(cls.model_fields)
    near = get_close_matches(loc[-1], known, n=1, cutoff=0.5)
    return "unknown; " + (f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}")
