"""The registry of models. A new system is one new module in this package."""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from treetext.data import BadInput
from treetext.data.registry import subclasses
from treetext.models.base import Model

_registered: dict[str, type[Model]] = {}
M = TypeVar("M", bound=type[Model])


def models() -> dict[str, type[Model]]:
    """The model classes by the names of their kinds."""
    return dict(sorted({**_packaged(), **_registered}.items()))


def register_model(cls: M) -> M:
    """Register a model that is not in this package. This is a decorator of its class."""
    kind = _kind(cls)
    known = models().get(kind)
    # A class may be defined again, as in a notebook; other classes are not replaced.
    if known and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"kind: {kind!r} is the name of {known.__name__}; expected another name")
    _registered[kind] = cls
    return cls


def find_model(values: Mapping[str, Any]) -> type[Model]:
    """The model class for some settings, by their `kind`."""
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in models():
        problem = "missing" if kind is None else f"got {kind!r}"
        raise BadInput(f"kind: expected one of {', '.join(models())}, {problem}")
    return models()[kind]


@cache
def _packaged() -> dict[str, type[Model]]:
    # A class without its own settings is a base class.
    return {_kind(cls): cls for cls in subclasses(Model, "treetext.models") if "Settings" in vars(cls)}


def _kind(cls: type[Model]) -> str:
    return str(cls.Settings.model_fields["kind"].default)
