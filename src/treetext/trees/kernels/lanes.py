"""SIMD lanes: eight float64 numbers as one value inside kernels, which then do eight problems at once.

`load` and `splat` make such values, and `store` writes them. `+ - * /`, `larger` and `if_at_least` work on them lane by
lane (the last two on plain floats as well). The vectors are explicit because numba must assume that rows of one
workspace overlap, and so does not vectorise these loops by itself. All lanes run the same instructions, so the result
in a lane does not depend on the other lanes.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from treetext.trees.kernels.compile import overload

LANES = 8

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INTEGERS = ir.VectorType(ir.IntType(64), LANES)
_INT32 = ir.IntType(32)
_ARRAY = types.Array(types.float64, 1, "C")


class _Lanes(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name=f"float64x{LANES}")


_lanes = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _VECTOR)


def _pointer(context: Any, builder: Any, array: Any, index: Any) -> Any:
    data = context.make_array(_ARRAY)(context, builder, value=array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


@intrinsic
def load(_: Any, array: Any, index: Any) -> Any:
    """The eight numbers of a contiguous float64 array from `index` on."""

    def codegen(context: Any, builder: Any, _: Any, args: Any) -> Any:
        value = builder.load(_pointer(context, builder, *args))
        value.align = 8  # of one float: rows of a workspace do not start at multiples of 64 bytes
        return value

    return _lanes(_ARRAY, types.intp), codegen


@intrinsic
def store(_: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight numbers into a contiguous float64 array from `index` on."""

    def codegen(context: Any, builder: Any, _: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(context, builder, args[0], args[1])).align = 8
        return context.get_dummy_value()

    return types.void(_ARRAY, types.intp, _lanes), codegen


@intrinsic
def splat(_: Any, x: Any) -> Any:
    """One number in all eight lanes."""

    def codegen(_: Any, builder: Any, __: Any, args: Any) -> Any:
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, args[0], ir.Constant(_INT32, 0))
        everywhere = ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES)
        return builder.shuffle_vector(first, undefined, everywhere)

    return _lanes(types.float64), codegen


def _define(operation: Any, instruction: str) -> None:
    @intrinsic
    def apply(_: Any, a: Any, b: Any) -> Any:
        def codegen(_: Any, builder: Any, __: Any, args: Any) -> Any:
            # The same as FUSED in `compile`.
            return getattr(builder, instruction)(*args, flags=("contract",))

        return _lanes(_lanes, _lanes), codegen

    @overload(operation)
    def implement(a: Any, b: Any) -> Any:
        return (lambda a, b: apply(a, b)) if a is _lanes and b is _lanes else None


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define(_operation, _instruction)


@intrinsic
def _choose(_: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Lane by lane: c where a >= b, else d."""

    def codegen(_: Any, builder: Any, __: Any, args: Any) -> Any:
        a, b, c, d = args
        return builder.select(builder.fcmp_ordered(">=", a, b), c, d)

    return _lanes(_lanes, _lanes, _lanes, _lanes), codegen


def larger(a: Any, b: Any) -> Any:
    """The larger of two numbers, lane by lane."""
    return max(a, b)


@overload(larger)
def _larger(a: Any, b: Any) -> Any:
    return (lambda a, b: _choose(a, b, a, b)) if a is _lanes else (lambda a, b: max(a, b))


def if_at_least(x: Any, limit: float, instead: float) -> Any:
    """Lane by lane: the number, or `instead` where it is below `limit`."""
    return x if x >= limit else instead


@overload(if_at_least)
def _if_at_least(x: Any, limit: Any, instead: Any) -> Any:
    if x is _lanes:
        return lambda x, limit, instead: _choose(x, splat(limit), x, splat(instead))
    return lambda x, limit, instead: x if x >= limit else instead


@intrinsic
def shift_into_exponent(_: Any, x: Any) -> Any:
    """Lane by lane: 2ᵏ, where the lowest bits of the float x are the integer k."""

    def codegen(_: Any, builder: Any, __: Any, args: Any) -> Any:
        def constant(k: int) -> Any:
            return ir.Constant(_INTEGERS, [k] * LANES)

        # A float's exponent stands from bit 52 on, plus 1023. All higher bits of x are shifted out.
        bits = builder.add(builder.bitcast(args[0], _INTEGERS), constant(1023))
        return builder.bitcast(builder.shl(bits, constant(52)), _VECTOR)

    return _lanes(_lanes), codegen


def is_lanes(x: Any) -> bool:
    """Whether a numba type is the type of lanes."""
    return x is _lanes
