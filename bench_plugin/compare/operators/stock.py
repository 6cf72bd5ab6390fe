"""The verdict of ONNX's own test runner, on the outputs that its test holds."""

from __future__ import annotations

from collections.abc import Sequence

from bench_plugin.compare.operators.codes import CODES, different
from bench_plugin.compare.operators.strict import Verdict
from bench_plugin.compare.operators.values import Tensor, Value, kind_of


def stock(expected: Sequence[Value], actual: Sequence[Value], *, rtol: float, atol: float) -> Verdict:
    """The verdict of ONNX's own runner: equal types and shapes [...], |actual - expected| <= atol + rtol |expected|.

    ``atol`` has the unit of the output, ``rtol`` is a share of 1. For bfloat16 ``rtol`` is at least 2^-6.
    """
    if len(actual) != len(expected):
        return Verdict(False, f"{len(actual)} outputs, expected {len(expected)}")
    for index, (want, have) in enumerate(zip(expected, actual, strict=True)):
        reason = _stock_value(want, have, rtol, atol)
        if reason:
            return Verdict(False, f"output {index}: {reason}")
    return Verdict(True)


def _stock_value(want: Value, have: Value, rtol: float, atol: float) -> str:
    import numpy as np

    if isinstance(want, list) and isinstance(have, list):
        if len(want) != len(have):
            return f"a sequence of {len(have)}, expected {len(want)}"
        return next(filter(None, (_stock_value(a, b, rtol, atol) for a, b in zip(want, have, strict=True))), "")
    if not isinstance(want, Tensor) or not isinstance(have, Tensor):
        return "" if want is None and have is None else f"{kind_of(have)}, expected {kind_of(want)}"
    if want.values.shape != have.values.shape:
        return f"shape {list(have.values.shape)}, expected {list(want.values.shape)}"
    if want.dtype != have.dtype:
        return f"type {have.dtype}, expected {want.dtype}"
    if want.dtype in CODES:
        return "elements differ" if different(want.dtype, want.values, have.values, signed_zero=False).any() else ""
    if want.values.dtype.kind not in "fc":
        return "" if np.array_equal(want.values, have.values) or _near(want, have, rtol, atol) else "elements differ"
    return "" if _near(want, have, max(rtol, 2**-6) if want.dtype == "bfloat16" else rtol, atol) else "out of tolerance"


def _near(want: Tensor, have: Tensor, rtol: float, atol: float) -> bool:
    import numpy as np

    if want.values.dtype.kind not in "fciub":
        return False
    with np.errstate(all="ignore"):
        return bool(np.isclose(have.values, want.values, rtol=rtol, atol=atol, equal_nan=True).all())
