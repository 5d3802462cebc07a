"""In the tests, the types and shapes in every signature of treetext and the studies are checked at run time."""

import ast
from collections.abc import Callable
from typing import Any, Self

from beartype import beartype
from jaxtyping import _import_hook, install_import_hook

COMPILED = ("kernel", "njit", "numba.", "intrinsic", "overload")
is_no_type_check = _import_hook._is_no_type_check


def is_unchecked(decorator: ast.AST) -> bool:
    """Leave alone what numba compiles: it cannot compile the checks."""
    return is_no_type_check(decorator) or ast.unparse(decorator).startswith(COMPILED)


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check a call once it has returned, so that a function refuses wrong arguments in its own words."""
    hints = function.__annotations__
    if hints["return"] is Any:  # what jaxtyping calls with the arguments first
        return function
    function.__annotations__ = {name: hint for name, hint in hints.items() if hint is not Self}
    return beartype(function)


_import_hook._is_no_type_check = is_unchecked
install_import_hook(["treetext", "studies"], "beartype.beartype")
_import_hook.Typechecker.lookup = dict.fromkeys(_import_hook.Typechecker.lookup, check)
