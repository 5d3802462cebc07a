"""In the tests, the types and shapes in every signature of treetext are checked at run time."""

import ast

from jaxtyping import _import_hook, install_import_hook

COMPILED = ("njit", "numba.", "intrinsic", "overload")
is_no_type_check = _import_hook._is_no_type_check


def is_unchecked(decorator: ast.AST) -> bool:
    """Leave alone what numba compiles: it cannot compile the checks."""
    return is_no_type_check(decorator) or ast.unparse(decorator).startswith(COMPILED)


_import_hook._is_no_type_check = is_unchecked
install_import_hook("treetext", "beartype.beartype")
