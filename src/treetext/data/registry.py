"""Registries that need no list: import all modules of a package and collect the subclasses in them."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def subclasses(base: type, package: str) -> Iterator[Any]:
    """The direct and indirect subclasses of a class that the modules of a package define, each once.

    Subclasses from elsewhere are ignored, so the result does not depend on other imports.
    """
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")
    yield from dict.fromkeys(cls for cls in _below(base) if cls.__module__.startswith(f"{package}."))


def _below(cls: type) -> Iterator[type]:
    each: type
    for each in cls.__subclasses__():
        yield each
        yield from _below(each)
