"""Models in directories: weights as safetensors, settings as JSON, the vocabulary as text, a card. No pickle."""

import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from treetext import __version__
from treetext.models._card import card
from treetext.models._classifier import Classifier
from treetext.models._documents import DocumentClassifier
from treetext.models._pairs import PairClassifier
from treetext.models._settings import AnySettings, Settings
from treetext.text import BadInput, Tokenizer, Vocabulary

M = TypeVar("M", bound=Classifier)
FORMAT = 1
CONFIG, WEIGHTS, VOCABULARY, CARD = "config.json", "model.safetensors", "vocabulary.txt", "README.md"
SHIPPED = Path(__file__).parent / "shipped"


class Config(Settings):
    """What config.json says."""

    format: int
    treetext: str
    settings: AnySettings
    labels: list[str]
    prior: list[float]
    language: str
    lowercase: bool
    tokenized: bool
    about: dict[str, Any]
    sha256: dict[str, str]


def save(model: Classifier, directory: Path, replace: bool, half: bool = False) -> None:
    """Write everything aside first, then move it into place: whatever goes wrong, a model that is there survives."""
    check_free(directory, replace)
    is_new = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".saving-", dir=directory))
    try:
        weights = _halved(model.state_dict()) if half else model.state_dict()
        save_file({name: values.contiguous() for name, values in weights.items()}, aside / WEIGHTS)
        model.vocabulary.save(aside / VOCABULARY)
        config = Config(
            format=FORMAT,
            treetext=__version__,
            settings=model.settings,
            labels=model.labels,
            prior=model.prior,
            language=model.tokenizer.language,
            lowercase=model.tokenizer.lowercase,
            tokenized=model.tokenizer.tokenized,
            about=model.about,
            sha256={name: _digest(aside / name) for name in (WEIGHTS, VOCABULARY)},
        )
        (aside / CARD).write_text(card(model), encoding="utf-8")
        (aside / CONFIG).write_text(config.model_dump_json(indent=2) + "\n", encoding="utf-8")
        for name in (WEIGHTS, VOCABULARY, CARD, CONFIG):
            os.replace(aside / name, directory / name)
    except (OSError, SafetensorError) as error:  # such as a full disk
        problem = getattr(error, "strerror", None) or error
        raise OSError(f"{directory}: not saved: {problem}; what was there is as it was") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        if is_new and not any(directory.iterdir()):
            directory.rmdir()


def check_free(directory: Path, replace: bool) -> None:
    """Refuse to write over a model, unless told to, or into something else."""
    if directory.exists() and not directory.is_dir():
        raise BadInput(f"{directory}: a file; expected a directory, or a name for a new one")
    if (directory / CONFIG).exists() and not replace:
        raise BadInput(f"{directory}: already holds a model; expected another directory, or --replace (replace=True)")


def load_model(name: str | Path) -> Classifier:
    """The model of a directory, of those that ship (`shipped_models`) or on the hub, of whatever class it is.

    A name is looked for in this order.
    """
    directory = _local(name)
    config = _config(directory)
    return _load(DocumentClassifier if config.settings.task == "documents" else PairClassifier, directory, config)


def load(cls: type[M], name: str | Path) -> M:
    """The same, of a certain class."""
    directory = _local(name)
    return _load(cls, directory, _config(directory))


def shipped_models() -> list[str]:
    """The names of the models that come with treetext."""
    return sorted(config.parent.name for config in SHIPPED.glob(f"*/{CONFIG}"))


def push(model: Classifier, name: str, options: dict[str, Any]) -> str:
    """Upload to the hub, and say where it is."""
    from huggingface_hub import HfApi

    api = HfApi(token=options.pop("token", None))
    api.create_repo(name, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder), replace=False)
        return str(api.upload_folder(repo_id=name, folder_path=folder, **options))


def _load(cls: type[M], directory: Path, config: Config) -> M:
    if not isinstance(config.settings, cls.Settings):
        raise BadInput(f"{directory}: a model of {config.settings.task}; {cls.__name__} expects another task")
    for name in (WEIGHTS, VOCABULARY):
        if not (directory / name).exists():
            raise BadInput(f"{directory / name}: missing; expected a whole model")
        if _digest(directory / name) != config.sha256.get(name):
            raise BadInput(f"{directory / name}: truncated or changed since it was saved; expected a whole model")
    vocabulary = Vocabulary.load(directory / VOCABULARY)
    try:
        tokenizer = Tokenizer(config.language, config.lowercase, config.tokenized)
        model = cls(config.settings, vocabulary, config.labels, tokenizer, prior=config.prior, about=config.about)
    except ValueError as error:
        raise BadInput(f"{directory / CONFIG}: {error}") from None
    try:
        weights = load_file(directory / WEIGHTS)
        dtype = weights["embedding.weight"].dtype
        # Half precision is for disks: not every machine can compute with it.
        model.to(torch.float32 if dtype == torch.float16 else dtype).load_state_dict(weights)
    except (SafetensorError, RuntimeError, KeyError) as error:
        problem = " ".join(str(error).split())
        raise BadInput(f"{directory / WEIGHTS}: does not go with {CONFIG}: {problem}") from None
    return model.eval()


def _halved(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    halved = {name: values.half() if values.is_floating_point() else values for name, values in weights.items()}
    for name, values in halved.items():
        if not values.isfinite().all():
            raise ValueError(f"half: {name} has numbers that half precision has not; expected at most 65504")
    return halved


def _local(name: str | Path) -> Path:
    """The directory of a model; what is no directory, does not ship and looks like it comes from the hub."""
    path = Path(name)
    if path.is_dir():
        return path
    shipped = shipped_models()
    if str(name) in shipped:
        return SHIPPED / name
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", str(name)) or path.parent.is_dir():
        expected = f"one with a model, a name of those that ship ({', '.join(shipped)}) or one on the hub (owner/name)"
        raise BadInput(f"{name}: no such directory; expected {expected}")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        return Path(snapshot_download(str(name), allow_patterns=[WEIGHTS, VOCABULARY, CARD, CONFIG]))
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        problem = str(error).strip().splitlines()[0]
        raise BadInput(f"{name}: neither a directory nor to be had from the hub: {problem}") from None


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
    found = values.get("format") if isinstance(values, dict) else None
    if isinstance(found, int) and found > FORMAT:
        version = values.get("treetext", "a newer version")
        raise BadInput(f"{path}: saved by treetext {version} in format {found}, expected {FORMAT} or less: upgrade")
    try:
        return TypeAdapter(Config).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "all of it"
        raise BadInput(f"{path}: {where}: {first['msg']}; expected the settings of a model") from None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
