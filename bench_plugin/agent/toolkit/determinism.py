"""Determinism of a compiled model: whether equal inputs give equal bits, over repeats and over positions in a batch.

Launches and numbers of threads are compared by the host, by the digest of the outputs (compare/determinism.py).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Sequence

if TYPE_CHECKING:
    import numpy as np

Values = List[Any]  # arrays of any shape, and for some tools also lists (sequences) and None (empty optionals)
Run = Callable[[Values], Values]

POSITIONS = 4  # of a batch in which one sample is tried
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


def repeated(run: Run, samples: Sequence[Values], times: int) -> Dict[str, Any]:
    """The figures of :class:`Repeats` after running each of ``samples`` ``times`` times, in turn; [...] each.

    Raises what ``run`` raises.
    """
    repeats = Repeats()
    for _ in range(times):
        for index, inputs in enumerate(samples):
            repeats.add(index, run(list(inputs)))
    return repeats.figures()


def batch_position(run: Run, samples: Sequence[Values], positions: int = POSITIONS) -> Dict[str, Any]:
    """Whether a sample's outputs have the same bits at each of ``positions`` of a batch, and in a batch of its own.

    ``samples`` are [1, ...] each, two at least. ``identical`` compares positions, ``as_alone`` also the batch of one.
    Where the model takes no batch of that size, or its outputs have no such dimension, ``absent`` says why.
    """
    import numpy as np

    if len(samples) < 2:
        return {"absent": "%d sample; a batch needs another beside it" % len(samples)}
    others = [samples[1 + index % (len(samples) - 1)] for index in range(positions)]
    found = []
    for position in range(positions):
        rows = [samples[0] if index == position else others[index] for index in range(positions)]
        try:
            outputs = run([np.concatenate(values) for values in zip(*rows)])
        except Exception as error:  # whatever a tool raises for a batch that it was not compiled for
            return {"absent": "a batch of %d fails: %s" % (positions, _short(error))}
        if any(not hasattr(value, "shape") or not value.ndim or len(value) != positions for value in outputs):
            return {"absent": "an output has not the batch of %d as its first dimension" % positions}
        found.append(digest([value[position : position + 1] for value in outputs]))
    return {
        "positions": positions, "identical": len(set(found)) == 1,
        "as_alone": set(found) == {digest(run(list(samples[0])))},
    }  # fmt: skip


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


def _short(error: Exception) -> str:
    try:
        text = str(error).strip().partition("\n")[0]
    except Exception:  # its own __str__ may fail
        text = ""
    return (text or type(error).__name__)[:MESSAGE_CHARACTERS]
