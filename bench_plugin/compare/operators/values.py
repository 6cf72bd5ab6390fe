"""The values that the comparisons of operators take, and the floating-point formats that they are in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Union

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class Tensor(NamedTuple):
    """An array [...] of any shape with the name of its ONNX type, such as float32.

    ``values`` has that dtype. bfloat16 is widened to float32; other types that numpy lacks are their integer codes.
    """

    dtype: str
    values: Array


Value = Union[Tensor, "list[Value]", None]


class Format(NamedTuple):
    """A binary floating-point format: bits of its fraction, exponent of its smallest normal number, largest value."""

    fraction: int
    lowest: int
    largest: float

    @property
    def unit(self) -> float:
        """Half a unit in the last place of 1: the unit roundoff u."""
        return float(2.0 ** -(self.fraction + 1))


FORMATS: Mapping[str, Format] = {
    "float16": Format(10, -14, 65504.0),
    "bfloat16": Format(7, -126, 3.3895313892515355e38),
    "float32": Format(23, -126, 3.4028234663852886e38),
    "float64": Format(52, -1022, 1.7976931348623157e308),
}
NARROW = ("float16", "bfloat16")
SINGLE = FORMATS["float32"].unit


def ulp(values: Array, form: Format) -> Array:
    """One ULP at each of ``values`` [...]: the distance to the next number of the format, float64 of the same shape."""
    import numpy as np

    _, exponents = np.frexp(values)
    exponents = np.where(np.equal(values, 0), form.lowest, exponents)  # frexp has 0 beside 0.5
    found: Array = np.ldexp(1.0, np.maximum(exponents - 1, form.lowest) - form.fraction)
    return found


def whole(dtype: str) -> bool:
    """Whether a type holds whole numbers or booleans."""
    return dtype == "bool" or dtype.lstrip("u").startswith("int")


def kind_of(value: Value) -> str:
    """A value in a few words, for messages: an array [...] of any shape by its type, a sequence by its length."""
    if value is None:
        return "nothing"
    return f"a sequence of {len(value)}" if isinstance(value, list) else f"a tensor of {value.dtype}"
