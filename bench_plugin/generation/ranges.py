"""Which integers an operand may get, so that the operator defines the result of all of them."""

from __future__ import annotations

# These rules make room for one operation. In a graph of several nodes a value may pass through eight, so there such an
# operator gets these types only, whose plain values are far from the limits of int32 even then.
ROOM_FOR_ONE = ("terms", "difference", "factors", "summands")
ROOMY = ("float32", "int32", "int64")
HELD = {"float32": 24, "float64": 53}  # bits of a whole number that these types hold exactly


def integer_range(rule: str, dtype: str, place: int, elements: int) -> tuple[int, int]:
    """The smallest and the largest integer of operand number ``place`` (0 or 1), of so many elements, by a rule of
    ``integers`` in catalogue.py. 0 is among them for a divisor, though it divides nothing.
    """
    import numpy as np

    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    signed = low < 0
    if rule == "negatable" or (rule == "dividend" and place == 0):
        return -high if signed else 0, high
    if rule == "summands":
        return -(high // max(1, elements)) if signed else 0, high // max(1, elements)
    if rule in ("terms", "difference"):
        half = high // 2
        if rule == "difference" and not signed and place == 0:
            return half, high  # the first operand is the larger one
        return -half if signed else 0, half
    if rule == "factors":  # three quarters of the bits for one, a quarter for the other
        bits = high.bit_length()
        largest = 2 ** (bits // 4 if place else bits - bits // 4) - 1
        return -largest if signed else 0, largest
    if rule in HELD:
        most = 2 ** HELD[rule]
        return max(low, -most), min(high, most)
    return low, high
