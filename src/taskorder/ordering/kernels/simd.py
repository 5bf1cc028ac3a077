"""Eight numbers as one, for kernels whose loops are too short for the compiler to see vector instructions in them.

Matrices of n open tasks have rows of `padded(n)` numbers, so that whole rows can be read in eights; what stands in the
padding never reaches an answer. Sums have a fixed order, and a product is added in one rounding where the processor can
do so. With NUMBA_DISABLE_JIT the eights are NumPy's, and no read may leave its array.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def, misc, no-untyped-call, attr-defined"

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from taskorder.ordering.kernels.jit import njit

WIDTH = 8
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


class EightFloats(types.Type):
    """The numba type of eight numbers."""

    def __init__(self) -> None:
        super().__init__(name="EightFloats")


EIGHT_FLOATS = EightFloats()


@register_model(EightFloats)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, _VECTOR)


@njit()
def padded(n):
    """Numbers in a row for n tasks and one more."""
    return (n + WIDTH) // WIDTH * WIDTH


@njit()
def blocks(n):
    """Eights in which n numbers stand."""
    return (n + WIDTH - 1) // WIDTH


def _address(context, builder, kind, array, start):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), _VECTOR.as_pointer())


@intrinsic
def load(typing, array, start):
    """Eight numbers of a contiguous array, from flat position `start` on."""

    def generate(context, builder, signature, args):
        return builder.load(_address(context, builder, signature.args[0], *args), align=8)

    return EIGHT_FLOATS(array, types.intp), generate


@intrinsic
def store(typing, array, start, value):
    """Overwrite eight numbers of a contiguous array, from flat position `start` on."""

    def generate(context, builder, signature, args):
        builder.store(args[2], _address(context, builder, signature.args[0], args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, EIGHT_FLOATS), generate


@intrinsic
def splat(typing, number):
    """The same number eight times."""

    def generate(context, builder, signature, args):
        single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), args[0], ir.Constant(ir.IntType(32), 0))
        picks = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), picks)

    return EIGHT_FLOATS(types.float64), generate


@intrinsic
def add_product(typing, total, left, right):
    """total + left * right, number by number."""

    def generate(context, builder, signature, args):
        kind = ir.FunctionType(_VECTOR, 3 * [_VECTOR])
        fused = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{WIDTH}f64")
        return builder.call(fused, [args[1], args[2], args[0]])

    return EIGHT_FLOATS(EIGHT_FLOATS, EIGHT_FLOATS, EIGHT_FLOATS), generate


@intrinsic
def total(typing, value):
    """The sum of the eight."""

    def generate(context, builder, signature, args):
        (value,), width = args, WIDTH
        while width > 1:
            width //= 2
            kind = ir.VectorType(ir.IntType(32), width)
            halves = (ir.Constant(kind, list(range(start, start + width))) for start in (0, width))
            value = builder.fadd(*(builder.shuffle_vector(value, value, half) for half in halves))
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return types.float64(EIGHT_FLOATS), generate


@intrinsic
def ratio(typing, left, right, least):
    """left / right, number by number; 0 where `right` is not above `least`."""

    def generate(context, builder, signature, args):
        quotient, zero = builder.fdiv(args[0], args[1]), ir.Constant(_VECTOR, [0.0] * WIDTH)
        return builder.select(builder.fcmp_ordered(">", args[1], args[2]), quotient, zero)

    return EIGHT_FLOATS(EIGHT_FLOATS, EIGHT_FLOATS, EIGHT_FLOATS), generate


if config.DISABLE_JIT:

    def _eight(array, start):
        if not 0 <= start <= array.size - WIDTH:
            raise IndexError(f"eight numbers from {start} on are not in an array of {array.size}")
        return array.reshape(-1)[start : start + WIDTH]

    def load(array, start):
        """As above."""
        return _eight(array, start).copy()

    def store(array, start, value):
        """As above."""
        _eight(array, start)[:] = value

    def splat(number):
        """As above."""
        return np.full(WIDTH, number)

    def add_product(total, left, right):
        """As above."""
        return total + left * right

    def total(value):
        """As above."""
        return float(value.sum())

    def ratio(left, right, least):
        """As above."""
        return np.divide(left, right, out=np.zeros(WIDTH), where=right > least)
