"""Registries without lists: all modules of a folder are imported, and the subclasses in them are found."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def subclasses(base: type, package: str) -> Iterator[Any]:
    """All subclasses of a class, direct or not, once every module of a package is imported."""
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")
    yield from _below(base)


def _below(cls: type) -> Iterator[type]:
    each: type
    for each in cls.__subclasses__():
        yield each
        yield from _below(each)
