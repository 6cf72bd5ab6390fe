"""Determinism of a compiled model: whether equal inputs give equal bits, over repeats.

Launches and numbers of threads are compared by the host, by the digest of the outputs (compare/times/determinism.py).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Callable, Dict, List

if TYPE_CHECKING:
    import numpy as np

Values = List[Any]  # arrays of any shape, and for some tools also lists (sequences) and None (empty optionals)
Run = Callable[[Values], Values]

MESSAGE_CHARACTERS = 200


class Repeats:
    """Compares the outputs of every sample with those of its first run, by their digests."""

    def __init__(self) -> None:
        self._first: Dict[int, str] = {}
        self._compared = 0
        self._differing: Dict[int, int] = {}

    def add(self, sample: int, outputs: Values) -> None:
        """Take the outputs [...] of one run of a sample."""
        found = digest(outputs)
        if sample not in self._first:
            self._first[sample] = found
            return
        self._compared += 1
        if found != self._first[sample]:
            self._differing[sample] = self._differing.get(sample, 0) + 1

    def figures(self) -> Dict[str, Any]:
        """``identical`` (absent without a repeat), ``compared``, how many ``differ``, of which ``samples``, ``digest``.

        ``digest`` is that of the first outputs of all samples in their order, for comparison with other launches.
        """
        whole = hashlib.sha256("".join(self._first[sample] for sample in sorted(self._first)).encode())
        found: Dict[str, Any] = {"compared": self._compared, "digest": whole.hexdigest()}
        if self._compared:
            found["identical"] = not self._differing
        if self._differing:
            found.update(differ=sum(self._differing.values()), samples=sorted(self._differing))
        return found


def digest(outputs: Values) -> str:
    """SHA-256 over types, shapes and bits of arrays [...], of lists of them, and of None."""
    found = hashlib.sha256()
    for value in outputs:
        found.update(_bits(value))
    return found.hexdigest()


def _bits(value: Any) -> bytes:
    import numpy as np

    if value is None:
        return b"None;"
    if isinstance(value, (list, tuple)):
        return b"list %d;" % len(value) + b"".join(map(_bits, value))
    array: np.ndarray[Any, Any] = np.asarray(value)
    return ("%s %s;" % (array.dtype.str, array.shape)).encode() + np.ascontiguousarray(array).tobytes()
