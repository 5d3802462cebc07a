"""Registries without lists: all modules of a folder are imported, and the subclasses in them are found."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def subclasses(base: type, package: str) -> Iterator[Any]:
    """The subclasses of a class, direct or not, that the modules of a package define; each once.

    Other subclasses do not count: what is found must not depend on what else has been imported.
    """
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")
    yield from dict.fromkeys(cls for cls in _below(base) if cls.__module__.startswith(f"{package}."))


def _below(cls: type) -> Iterator[type]:
    each: type
    for each in cls.__subclasses__():
        yield each
        yield from _below(each)
