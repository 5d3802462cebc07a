"""Models on disk: a directory with weights (safetensors), settings (JSON), a card and the model's own files."""

import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final, Literal

import torch
from pydantic import Field, ValidationError
from safetensors import SafetensorError
from safetensors import numpy as arrays
from safetensors.torch import load_file, save_file
from torch import Tensor

from treetext import __version__
from treetext.data import BadInput, Settings, Tokenizer, needs
from treetext.data.tokens import Limits
from treetext.models.base import Model
from treetext.models.card import card
from treetext.models.registry import find_model

FORMAT: Final = 2
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
SPLITS = "splits.safetensors"
"""The hashes of the texts of each split, if they are known: what the model has seen, without the texts."""
SHIPPED = Path(__file__).parent / "shipped"


class Config(Settings):
    """The contents of config.json."""

    format: Literal[2]
    treetext: str
    settings: dict[str, Any]
    labels: list[str]
    prior: list[float]
    temperature: float = Field(1.0, gt=0)
    language: str
    lowercase: bool
    tokenized: bool
    limits: Limits = Limits()
    about: dict[str, Any]
    sha256: dict[str, str]


def save_model(model: Model, directory: str | Path, *, replace: bool = False, half: bool = False) -> None:
    """Save a model to a directory. `replace` allows to replace a model that is already there.

    With `half`, the weights are rounded to half precision, which takes half the space; they load as float32. All files
    are written to a temporary directory first and then moved, so an error does not damage a model that is there.
    """
    directory = Path(directory)
    check_free(directory, replace)
    is_new, before = not directory.exists(), _files_of(directory)
    directory.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".saving-", dir=directory))
    try:
        weights = _halved(model.state_dict()) if half else model.state_dict()
        save_file({name: values.contiguous() for name, values in weights.items()}, aside / WEIGHTS)
        model.write_files(aside)
        files = [WEIGHTS, *model.saved_files]
        if model.splits is not None:
            arrays.save_file(model.splits, aside / SPLITS)
            files.append(SPLITS)
        config = Config(
            format=FORMAT,
            treetext=__version__,
            settings=model.settings.model_dump(mode="json"),
            labels=model.labels,
            prior=model.prior,
            temperature=model.temperature,
            language=model.tokenizer.language,
            lowercase=model.tokenizer.lowercase,
            tokenized=model.tokenizer.tokenized,
            limits=model.tokenizer.limits,
            about=model.about,
            sha256={name: _digest(aside / name) for name in files},
        )
        (aside / CARD).write_text(card(model), encoding="utf-8")
        (aside / CONFIG).write_text(config.model_dump_json(indent=2, exclude_defaults=True) + "\n", encoding="utf-8")
        for name in (*files, CARD, CONFIG):
            shutil.copymode(aside / CONFIG, aside / name)  # safetensors lets only the owner read, whatever the umask
            os.replace(aside / name, directory / name)
        for name in before.difference(files):
            (directory / name).unlink(missing_ok=True)
    except (OSError, SafetensorError) as error:  # such as a full disk
        problem = getattr(error, "strerror", None) or error
        raise OSError(f"{directory}: not saved: {problem}; what was there is as it was") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        if is_new and not any(directory.iterdir()):
            directory.rmdir()


def check_free(directory: Path, replace: bool) -> None:
    """Raise `BadInput` if a directory holds a model and `replace` is false, or if it is a file."""
    if directory.exists() and not directory.is_dir():
        raise BadInput(f"{directory}: a file; expected a directory, or a name for a new one")
    if (directory / CONFIG).exists() and not replace:
        raise BadInput(f"{directory}: already holds a model; expected another directory, or --replace (replace=True)")


def load_model(name: str | Path) -> Model:
    """Load a model from a directory, from those that ship (`shipped_models`), or from the hub.

    A name is looked up in this order.
    """
    directory = _local(name)
    config = _config(directory)
    try:
        cls = find_model(config.settings)
        settings = cls.Settings.model_validate(config.settings)
    except ValidationError as error:
        raise BadInput(f"{directory / CONFIG}: settings.{_problem(error)}") from None
    except BadInput as error:
        raise BadInput(f"{directory / CONFIG}: settings.{error}") from None
    for file in dict.fromkeys((WEIGHTS, *cls.files, *config.sha256)):
        if not (directory / file).exists():
            raise BadInput(f"{directory / file}: missing; expected a whole model")
        if _digest(directory / file) != config.sha256.get(file):
            raise BadInput(f"{directory / file}: truncated or changed since it was saved; expected a whole model")
    parts = cls.read_files(directory)
    try:
        tokenizer = Tokenizer(config.language, config.lowercase, config.tokenized, config.limits)
        model = cls(settings, config.labels, tokenizer, prior=config.prior, about=config.about, **parts)
    except ValueError as error:
        raise BadInput(f"{directory / CONFIG}: {error}") from None
    try:
        _fill(model, load_file(directory / WEIGHTS))
    except (SafetensorError, RuntimeError, KeyError) as error:
        problem = " ".join(str(error).split())
        raise BadInput(f"{directory / WEIGHTS}: does not go with {CONFIG}: {problem}") from None
    model.temperature = config.temperature
    if SPLITS in config.sha256:
        model.splits = arrays.load_file(directory / SPLITS)
    return model.eval()


def shipped_models() -> list[str]:
    """The names of the models that come with treetext."""
    return sorted(config.parent.name for config in SHIPPED.glob(f"*/{CONFIG}"))


def push_to_hub(model: Model, name: str, **options: Any) -> str:
    """Upload a model to the Hugging Face hub. Returns its address.

    `options` are those of ``huggingface_hub.upload_folder``.
    """
    with needs("hub"):
        from huggingface_hub import HfApi

    api = HfApi(token=options.pop("token", None))
    api.create_repo(name, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, folder)
        return str(api.upload_folder(repo_id=name, folder_path=folder, **options))


def _fill(model: Model, weights: dict[str, Tensor]) -> None:
    """Load weights in their own precision, except half precision, which becomes float32: not all machines have it."""
    for values in weights.values():
        if values.is_floating_point():
            model.to(torch.float32 if values.dtype == torch.float16 else values.dtype)
            break
    model.load_state_dict(weights)


def _halved(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    halved = {name: values.half() if values.is_floating_point() else values for name, values in weights.items()}
    for name, values in halved.items():
        if not values.isfinite().all():
            raise BadInput(f"half: {name} has numbers beyond half precision; expected at most 65504")
    return halved


def _local(name: str | Path) -> Path:
    """The directory of a model. Other names than directories and shipped models are downloaded from the hub."""
    path = Path(name)
    if path.is_dir():
        return path
    shipped = shipped_models()
    if str(name) in shipped:
        return SHIPPED / name
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", str(name)) or path.parent.is_dir():
        expected = f"one with a model, a name of those that ship ({', '.join(shipped)}) or one on the hub (owner/name)"
        raise BadInput(f"{name}: no such directory; expected {expected}")
    with needs("hub"):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        return Path(snapshot_download(str(name), allow_patterns=["*.json", "*.safetensors", "*.txt", CARD]))
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        problem = str(error).strip().splitlines()[0]
        raise BadInput(f"{name}: neither a directory nor available on the hub: {problem}") from None


def _config(directory: Path) -> Config:
    path = directory / CONFIG
    try:
        values = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise BadInput(f"{path}: missing; expected a directory that holds a model") from None
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; expected the settings of a model") from None
    except ValueError as error:
        raise BadInput(f"{path}: not JSON ({error}); expected the settings of a model") from None
    written = values.get("format") if isinstance(values, dict) else None
    if isinstance(written, int) and written > FORMAT:
        version = values.get("treetext", "a newer version")
        raise BadInput(f"{path}: saved by treetext {version} in format {written}, expected {FORMAT} or less: upgrade")
    if written == 1:
        values = _migrated(values)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise BadInput(f"{path}: {_problem(error)}") from None


def _files_of(directory: Path) -> set[str]:
    """The files of a model that is in a directory, as far as its settings can be read."""
    try:
        files = _part(json.loads((directory / CONFIG).read_bytes()), "sha256")
    except (OSError, ValueError):
        return set()
    return {name for name in files if Path(name).name == name} if isinstance(files, dict) else set()


def _migrated(values: dict[str, Any]) -> dict[str, Any]:
    """Convert format 1, which had a task instead of a kind, and the vocabulary's settings only in the recipe."""
    settings, recipe = values.get("settings"), _part(values.get("about"), "recipe")
    if not isinstance(settings, dict):
        return values  # validation reports this
    settings = dict(settings)
    if "task" in settings:
        settings["kind"] = f"structured-{settings.pop('task')}"
    if vocabulary := _part(recipe, "vocabulary"):
        settings["vocabulary"] = vocabulary
    return {**values, "format": FORMAT, "settings": settings}


def _part(values: Any, name: str) -> Any:
    """A value of a dictionary; None if it is missing, or if `values`, in a damaged file, is not a dictionary."""
    return values.get(name) if isinstance(values, dict) else None


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "all of it"
    return f"{where}: {first['msg']}; expected the settings of a model"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
