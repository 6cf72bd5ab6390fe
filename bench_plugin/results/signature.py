"""The signature of a failure: what two cells, or two runs of one cell, that fail for the same cause have in common.

=============================================  ==========================================================
symptom                                        signature
=============================================  ==========================================================
exception, unsupported, invalid-model and      the first useful line of the cause, normalised
others that say something                      (domain/texts/messages.py)
crash                                          the signal and the top frame, or that no frame was found
mismatch that was measured                     ``needed``: how many tolerances it is off
mismatch of shape, type, exact values, NaN     the kind of the difference, without its figures
timeout, out-of-memory, nondeterministic       none: what these say differs from run to run
=============================================  ==========================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.domain.outcome import Outcome, Symptom
from bench_plugin.domain.texts.messages import matches, normalised

BAND = 3.0  # a mismatch is the recorded one while it is at most so many times as far off
NO_FRAME = "no frame was found"
WITHOUT = frozenset({Symptom.TIMEOUT, Symptom.OUT_OF_MEMORY, Symptom.NONDETERMINISTIC})

SIGNAL = re.compile(r"\bby (SIG[A-Z0-9]+|signal \d+)|\bwith (exit code -?\d+)")
ONLY_SIGNAL = re.compile(r"the agent (was killed|ended)\b[^:]*$")  # reach/processes/client.py: it says no more
PYTHON_FRAME = re.compile(r'^\s*File "([^"]+)", line \d+ in (\S+)')
NATIVE_FRAME = re.compile(r"^\s*#\d+\s+0x[0-9a-fA-F]+\s+(?:in\s+)?([A-Za-z_~][\w:~]*)")
HANDLERS = re.compile(r"(llvm::sys::|PrintStackTrace|SignalHandler|__restore_rt|raise\b|abort\b|__libc_|_start\b)")
INSTALLED = re.compile(r".*(?:site-packages|dist-packages|lib/python\d[\d.]*|\.pyz)/")
DIGEST = re.compile(r"^[0-9a-f]{64}-")  # agents keep adapters by content


@dataclass(frozen=True)
class Signature:
    """``text`` and ``needed`` (tolerances) as above, of which one is there at most; neither says nothing."""

    text: str = ""
    needed: float | None = None

    def __bool__(self) -> bool:
        return bool(self.text) or self.needed is not None

    def __str__(self) -> str:
        if self.needed is not None:
            return f"needed = {three_digits(self.needed)}"
        return repr(self.text) if self.text else "no signature"

    def covers(self, found: Signature) -> bool:
        """Whether ``found`` is this failure: the same text, or at most BAND times as many tolerances off.

        A signature that says nothing covers everything. ``...`` in the text stands for any text.
        """
        if not self:
            return True
        if self.needed is not None:
            return found.needed is not None and found.needed <= BAND * self.needed
        return matches(self.text, found.text)


def three_digits(value: float) -> str:
    """A number with three digits: 12.5, 0.004, 1500, 1.23e+06."""
    return f"{float(f'{value:.3g}'):g}"


def signature_of(outcome: Outcome, names: Collection[str] = ()) -> Signature:
    """The signature of a failed outcome; an empty one where the table above has none, and for all that did not fail.

    ``names`` are those of tensors and nodes that belong to one model alone.
    """
    if not outcome.failed or outcome.symptom in WITHOUT:
        return Signature()
    if outcome.symptom is Symptom.MISMATCH:
        needed = tolerances_off(outcome.numbers)
        return Signature(needed=needed) if needed is not None else Signature(difference(outcome.reason, names))
    if outcome.symptom is Symptom.CRASH:
        return Signature(crash(outcome.reason, outcome.detail))
    return Signature(normalised(outcome.reason, names))


def distinct(signatures: Iterable[Signature]) -> list[Signature]:
    """One signature for each of the different failures: texts, then mismatches in order of how far off they are.

    Two mismatches are different where one is more than BAND times as far off; the signature of some is their largest.
    """
    found = list(signatures)
    texts = {one.text: None for one in found if one.text}
    bands: list[tuple[float, float]] = []  # smallest and largest
    for needed in sorted(one.needed for one in found if one.needed is not None):
        smallest = bands[-1][0] if bands else None
        if smallest is not None and needed <= BAND * smallest:
            bands[-1] = (smallest, needed)
        else:
            bands.append((needed, needed))
    return [*map(Signature, texts), *(Signature(needed=largest) for _, largest in bands)]


def tolerances_off(numbers: Mapping[str, Any]) -> float | None:
    """How many tolerances the worst output is off, with three digits; None where nothing like that was measured.

    An output that has another shape or wrong exact values has no such number, and neither has the whole then.
    """
    outputs = [row for row in numbers.get("outputs") or () if row.get("status") == "mismatch"]
    found = [row.get("needed") for row in outputs] or [numbers.get("needed", numbers.get("ratio"))]
    if any(value is None or not math.isfinite(value) for value in found):
        return None
    return float(f"{max(found):.3g}")


def difference(reason: str, names: Collection[str] = ()) -> str:
    """The kind of a mismatch, from its reason: ``shape [#], expected [#]``, ``elements differ``, ``out of # ULP``."""
    first = reason.strip().partition("; ")[0]
    said = re.sub(r"^(output )?[^\s:]+: (?=\S)", "", first)
    said = re.sub(r"^.*\belements differ\b.*", "elements differ", said, flags=re.DOTALL)
    said = re.sub(r": \d+ of \d+ elements, at \[.*", "", said, flags=re.DOTALL)
    return normalised(said, names)


def crash(reason: str, detail: str) -> str:
    """``SIGSEGV in MNN/expr.py infer``; where no frame was found, that, or what a process of the tool said besides."""
    signal = SIGNAL.search(reason)
    ended = (signal[1] or signal[2]) if signal else ""
    frame = top_frame(detail)
    if ended and frame:
        return normalised(f"{ended} in {frame}")
    if not ended or not ONLY_SIGNAL.search(reason.strip()):
        return normalised(reason)
    return f"{ended}, {NO_FRAME}"


def top_frame(text: str) -> str:
    """The innermost frame of the thread that crashed: of native code where it is listed, else of Python; or empty."""
    lines = text.splitlines()
    for line in lines:
        native = NATIVE_FRAME.match(line)
        if native and not HANDLERS.match(native[1]):
            return native[1]
    start = next((number for number, line in enumerate(lines) if line.startswith("Current thread")), None)
    if start is None:
        return ""
    for line in lines[start + 1 :]:
        found = PYTHON_FRAME.match(line)
        if found is None:
            return ""  # the thread runs no Python
        return f"{_module(found[1])} {found[2]}"
    return ""


def _module(path: str) -> str:
    """The path of a source file from the folder on that packages are installed in, else its name alone."""
    inside = INSTALLED.match(path)
    return path[inside.end() :] if inside else DIGEST.sub("", path.rpartition("/")[2])
