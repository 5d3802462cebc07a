"""Prints the dependencies between the packages of treetext. `tests/test_architecture.py` checks these numbers.

Usage: python tools/architecture.py
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
SOURCE = REPOSITORY / "src" / "treetext"
ORDER = ("trees", "data", "nn", "models", "evaluation", "training", "show", "serve", "cli")
"""A package imports only from packages before it."""
TUPLES = {"_asdict", "_fields", "_make", "_replace"}  # public methods of named tuples
TASKS = {"documents", "pairs"}
TABLE = {"embedding", "vocabulary"}
SHARED = {"__init__", "base", "card", "files", "registry", "results", "settings"}  # modules for all models


class Place(NamedTuple):
    """A place in the source."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


class Import(NamedTuple):
    """An import of one package by another."""

    importer: str
    imported: str
    place: Place
    private: bool


def imports(source: Path = SOURCE) -> list[Import]:
    """All imports between packages, including those within functions and for type checking."""
    listed = []
    for file, tree in _modules(source):
        importer = file.parts[0] if len(file.parts) > 1 else "(root)"
        for node in ast.walk(tree):
            for module, name in _imported(node):
                parts = module.split(".")[1:]
                imported = parts[0] if parts and (source / parts[0]).is_dir() else "(root)"
                if imported != importer:
                    private = any(_is_private(part) for part in [*parts, name]) or "kernels" in parts
                    listed.append(Import(importer, imported, _place(file, node), private))
    return listed


def edges(source: Path = SOURCE) -> list[tuple[str, str]]:
    """The pairs of a package and a package that it imports. The root package, which has the version, does not count."""
    return sorted({(i.importer, i.imported) for i in imports(source) if "(root)" not in (i.importer, i.imported)})


def against_the_order(source: Path = SOURCE) -> list[Place]:
    """Imports of a package that comes later in the order."""
    between = [i for i in imports(source) if {i.importer, i.imported} <= set(ORDER)]
    return [i.place for i in between if ORDER.index(i.imported) > ORDER.index(i.importer)]


def private_imports(source: Path = SOURCE) -> list[Place]:
    """Imports of another package's private modules or names."""
    return [i.place for i in imports(source) if i.private]


def private_attributes(source: Path = SOURCE) -> list[Place]:
    """Uses of private attributes of objects other than `self`, outside of the module that defines them."""
    places = []
    for file, tree in _modules(source):
        defined = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_own(node)}
        defined |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        for node in ast.walk(tree):
            other = isinstance(node, ast.Attribute) and _is_private(node.attr) and not _is_own(node)
            if other and node.attr not in TUPLES | defined and not _is_torch(node):
                places.append(_place(file, node))
    return places


def task_branches(source: Path = SOURCE) -> list[Place]:
    """Comparisons with a task, outside of data/tasks.py."""
    places = []
    for file, tree in _modules(source):
        if file == Path("data/tasks.py"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
                named = any(
                    isinstance(part, ast.Name) and part.id.lower() in TASKS and part.id.isupper() for part in parts
                )
                spelt = any(isinstance(part, ast.Constant) and part.value in TASKS for part in parts)
                if named or spelt:
                    places.append(_place(file, node))
            elif isinstance(node, ast.match_case) and _spells_a_task(node.pattern):
                places.append(Place(str(file), node.pattern.lineno, ast.unparse(node.pattern)))
    return places


def word_tables(source: Path = SOURCE) -> list[Place]:
    """Mentions of a word table, except in single models, which may have one, and in data, which makes vocabularies."""
    places = []
    for file, tree in _modules(source):
        if file.parts[0] == "data" or (file.parts[0] == "models" and file.stem not in SHARED):
            continue
        for node in ast.walk(tree):
            attribute = isinstance(node, ast.Attribute) and node.attr in TABLE
            spelt = (
                isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("embedding.")
            )
            if attribute or spelt:
                places.append(_place(file, node))
    return places


def dependencies() -> list[str]:
    """The required dependencies of treetext."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed: list[str] = project["dependencies"]
    return listed


def _modules(source: Path) -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted(source.rglob("*.py")):
        yield file.relative_to(source), ast.parse(file.read_text(encoding="utf-8"))


def _imported(node: ast.AST) -> list[tuple[str, str]]:
    """The modules of treetext that a statement imports, and the names from them."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "treetext":
        if node.module == "treetext":
            return [(f"treetext.{alias.name}", "") for alias in node.names]
        return [(str(node.module), alias.name) for alias in node.names]
    if isinstance(node, ast.Import):
        return [(alias.name, "") for alias in node.names if alias.name.startswith("treetext.")]
    return []


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _spells_a_task(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and part.value in TASKS for part in ast.walk(node))


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def _is_torch(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "torch"


def _place(file: Path, node: ast.AST) -> Place:
    return Place(str(file), getattr(node, "lineno", 0), ast.unparse(node).splitlines()[0][:100])


def main() -> None:
    """Print all numbers, and the places of what should not exist."""
    listed = edges()
    print(f"{len(listed)} edges between packages")
    for package in ORDER:
        print(f"  {package}: {', '.join(to for importer, to in listed if importer == package) or '-'}")
    print(f"{len(dependencies())} required dependencies: {', '.join(dependencies())}")
    for title, places in {
        "imports against the order": against_the_order(),
        "private names imported across packages": private_imports(),
        "private attributes of others": private_attributes(),
        "branches on the task outside data/tasks": task_branches(),
        "mentions of a word table outside the models that have one": word_tables(),
    }.items():
        print(f"{len(places)} {title}")
        for place in places:
            print(f"  {place}")


if __name__ == "__main__":
    main()
