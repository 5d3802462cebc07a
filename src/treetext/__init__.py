"""Text representations with latent dependency trees inside: classifiers that show the trees they induce."""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from treetext.models import load_model, push_to_hub, save_model
    from treetext.training import train

__all__ = ["__version__", "load_model", "push_to_hub", "save_model", "train"]


def __getattr__(name: str) -> Any:
    """Import what is slow to import when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "train":
        from treetext import training

        return training.train
    from treetext import models

    return getattr(models, name)


def __dir__() -> list[str]:
    return __all__
