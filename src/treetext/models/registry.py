"""The registry of models. A new system is one new file in this folder."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from treetext.data import BadInput
from treetext.data.registry import subclasses
from treetext.models.base import Model


@cache
def models() -> dict[str, type[Model]]:
    """The class of each kind of model, by its name."""
    # A class without settings of its own is a base of others.
    kinds = {
        str(cls.Settings.model_fields["kind"].default): cls
        for cls in subclasses(Model, "treetext.models")
        if "Settings" in vars(cls)
    }
    return dict(sorted(kinds.items()))


def find_model(values: Mapping[str, Any]) -> type[Model]:
    """The class of the model that some settings describe."""
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in models():
        problem = "missing" if kind is None else f"got {kind!r}"
        raise BadInput(f"kind: expected one of {', '.join(models())}, {problem}")
    return models()[kind]
