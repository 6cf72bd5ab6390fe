"""The bits of floating-point types that numpy lacks: which codes are NaN, and which are zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class Codes(NamedTuple):
    """The codes of one type whose bits do not decide: every NaN is NaN, and -0 is 0 where a rule does not ask."""

    nan: tuple[int, ...] = ()
    minus_zero: int | None = None


# ONNX's pages "Float stored in 8 bits" and "Float stored in 4 bits". The types whose name ends in "uz" have no -0: its
# code is their NaN. float8_e8m0fnu has neither zero nor sign, float4_e2m1fn no NaN.
CODES: Mapping[str, Codes] = {
    "float8_e4m3fn": Codes((0x7F, 0xFF), 0x80),
    "float8_e4m3fnuz": Codes((0x80,)),
    "float8_e5m2": Codes((0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF), 0x80),
    "float8_e5m2fnuz": Codes((0x80,)),
    "float8_e8m0fnu": Codes((0xFF,)),
    "float4_e2m1fn": Codes((), 0x8),
}


def different(dtype: str, want: Array, have: Array, *, signed_zero: bool) -> Array:
    """Where two arrays of codes [...] of one shape and type hold different numbers, as booleans of the same shape.

    All NaN codes are equal to each other, and so are -0 and 0 unless ``signed_zero``. A type without an entry in CODES
    is compared code by code.
    """
    import numpy as np

    codes = CODES.get(dtype, Codes())
    found: Array = (want != have) & ~(np.isin(want, codes.nan) & np.isin(have, codes.nan))
    if codes.minus_zero is not None and not signed_zero:
        zeros = (0, codes.minus_zero)
        found &= ~(np.isin(want, zeros) & np.isin(have, zeros))
    return found
