"""The verdict on detections, matched per image and class by overlap (docs/numbers.md, "Detections")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench_plugin.compare.table import DEFAULTS, DetectionRow, Table
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified

Array = np.ndarray[Any, Any]
Outputs = Mapping[str, Array]
ROWS = "#rows"  # suffix of the output that counts the rows of each of N images, integers [N]
NEARBY = 0.5  # overlap from which an unmatched detection is taken for an unstable one of the truth
TIE = 1e-3  # among equal overlaps the nearer scores win: a difference of 1 in score weighs as much as this overlap


@dataclass(frozen=True)
class Detections:
    """The R detections in one image: boxes [R, 4] (x1, y1, x2, y2), labels [R], scores [R], masks [R, H, W] or None.

    Boxes (in the model's own unit) and scores are float64; labels are integers; masks are probabilities from 0 to 1.
    """

    boxes: Array
    labels: Array
    scores: Array
    masks: Array | None

    def __len__(self) -> int:
        return len(self.scores)

    def only(self, which: Array) -> Detections:
        """The detections at these indices, integers [S], or where a boolean mask [R] is true."""
        return Detections(
            self.boxes[which], self.labels[which], self.scores[which], None if self.masks is None else self.masks[which]
        )


@dataclass(frozen=True)
class _Match:
    """Detection ``mine`` is detection ``theirs`` of the other run."""

    mine: int
    theirs: int
    overlap: float
    score: float
    mask: float


def images(outputs: Outputs, roles: Sequence[str]) -> list[Detections]:
    """The detections of each of the N images. Detections with a label below 0 are padding and are dropped.

    ``roles`` names the outputs by position: boxes, labels, scores, masks. An output is [N, R, ...], or [all rows, ...]
    with an output ``NAME#rows`` [N] beside it that counts the rows of each image.
    Raises ValueError for outputs that cannot be read as detections.
    """
    plain = [name for name in outputs if not name.endswith(ROWS)]
    if len(plain) < len(roles):
        raise ValueError(f"{len(plain)} outputs where {len(roles)} are needed")
    by_role = {role: list(_per_image(outputs, name)) for role, name in zip(roles, plain, strict=False)}
    counts = {role: len(values) for role, values in by_role.items()}
    if len(set(counts.values())) != 1:
        raise ValueError(f"outputs are of {counts} images")
    found = []
    for index in range(counts["boxes"]):
        masks = by_role["masks"][index] if "masks" in by_role else None
        boxes = np.asarray(by_role["boxes"][index], np.float64).reshape(-1, 4)
        if masks is not None:
            masks = masks.reshape(len(boxes), *masks.shape[-2:]) if len(boxes) else None
        labels = by_role["labels"][index].reshape(-1)
        scores = np.asarray(by_role["scores"][index], np.float64).reshape(-1)
        if not len(boxes) == len(labels) == len(scores):
            raise ValueError(f"image {index} has {len(boxes)} boxes, {len(labels)} labels and {len(scores)} scores")
        one = Detections(boxes, labels, scores, masks).only(labels >= 0)
        if not (np.isfinite(one.boxes).all() and np.isfinite(one.scores).all()):
            raise ValueError(f"image {index} has boxes or scores that are not finite")
        found.append(one)
    return found


def compare_detections(
    truth: Outputs, perturbed: Sequence[Outputs], actual: Outputs, roles: Sequence[str], *, precision: str = "fp32",
    table: Table = DEFAULTS,
) -> Comparison:  # fmt: skip
    """The verdict: every stable detection must be found, and every further one must overlap with an unstable one.

    ``perturbed`` are runs of the same function with the rounding of the precision, or with its inputs and weights moved
    by several roundings; a detection is stable when all of them find it. A mismatch names the missed and the extra
    detection with the highest score in the first image that has one. For the shapes of the outputs and for ``roles``
    see :func:`images`.
    """
    if not perturbed:
        return unverified(Unverified.NO_REFERENCE, "no perturbed runs: which detections are stable is not known")
    try:
        wanted, others = images(truth, roles), [images(run, roles) for run in perturbed]
    except ValueError as error:
        return unverified(Unverified.NO_REFERENCE, f"the truth: {error}")
    if any(len(run) != len(wanted) for run in others):
        reason = f"perturbed runs of {[len(run) for run in others]} images, expected {len(wanted)}"
        return unverified(Unverified.NO_REFERENCE, reason)
    try:
        found = images(actual, roles)
    except ValueError as error:
        return Comparison(MISMATCH, str(error))
    if len(found) != len(wanted):
        return Comparison(MISMATCH, f"{len(found)} images, expected {len(wanted)}")
    row = table.detections[precision]
    tally = _Tally()
    for index, image in enumerate(wanted):
        _judge_image(f"image {index}", image, [run[index] for run in others], found[index], row, tally)
    if tally.missed or tally.extra:
        return Comparison(MISMATCH, tally.reason(), tally.numbers())
    if tally.stable < table.stable_detections:
        reason = f"only {tally.stable} stable detections, {table.stable_detections} are needed"
        return unverified(Unverified.NOT_SENSITIVE, reason, tally.numbers())
    return Comparison(AGREE, "", tally.numbers())


@dataclass
class _Tally:
    """What was counted over all images. ``missed`` and ``extra`` describe every such detection in words."""

    detections: int = 0
    stable: int = 0
    missed: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    overlap: float = 1.0
    score: float = 0.0
    mask: float = 1.0

    def matched(self, match: _Match) -> None:
        """Take a matched pair into the worst figures."""
        self.overlap = min(self.overlap, match.overlap)
        self.score = max(self.score, match.score)
        self.mask = min(self.mask, match.mask)

    def numbers(self) -> dict[str, float]:
        """The counts and the worst figures, as the row of a cell has them."""
        return {
            "detections": self.detections, "stable": self.stable, "missed": len(self.missed), "extra": len(self.extra),
            "worst_overlap": self.overlap, "worst_score": self.score, "worst_mask": self.mask,
        }  # fmt: skip

    def reason(self) -> str:
        """How many are missed and extra, and of each the one with the highest score of the first image in words."""
        counts = f"{len(self.missed)} of {self.stable} stable detections missed, {len(self.extra)} extra"
        firsts = [f"{kind}: {texts[0]}" for kind, texts in (("missed", self.missed), ("extra", self.extra)) if texts]
        return "; ".join([counts, *firsts])


def _judge_image(
    place: str, image: Detections, others: Sequence[Detections], found: Detections, row: DetectionRow, tally: _Tally
) -> None:
    stable = np.ones(len(image), dtype=bool)
    same = [[match for match in _matches(image, other, row.score) if _close(match, row)] for other in others]
    for matches in same:
        stable &= np.isin(np.arange(len(image)), [match.mine for match in matches])
    kept = image.only(stable)
    tally.detections += len(image)
    tally.stable += len(kept)
    pairs = {match.mine: match for match in _matches(kept, found, row.score)}
    for match in pairs.values():
        tally.matched(match)
    good = {index: match for index, match in pairs.items() if _close(match, row)}
    for index in _by_score(kept):
        if index not in good:
            tally.missed.append(f"{_in_words(place, kept, index)}, {_difference(pairs.get(index))}")
    used = {match.theirs for match in good.values()}
    loose = [image.only(~stable)]
    for other, matches in zip(others, same, strict=True):
        taken = [match.theirs for match in matches if stable[match.mine]]
        loose.append(other.only(~np.isin(np.arange(len(other)), taken)))
    for index in _by_score(found):
        if index not in used and not any(_nearby(found, index, one) for one in loose):
            tally.extra.append(_in_words(place, found, index))


def _by_score(found: Detections) -> list[int]:
    """The indices of the detections, the highest score first."""
    return [int(index) for index in np.argsort(-found.scores, kind="stable")]


def _in_words(place: str, found: Detections, index: int) -> str:
    return f"{place}, class {int(found.labels[index])}, score {found.scores[index]:.3g}"


def _difference(match: _Match | None) -> str:
    """How the detection that was matched with a missed one differs from it."""
    if match is None or not match.overlap:
        return "nothing of its class there"
    masks = f", masks overlap by {match.mask:.3g}" if match.mask < 1 else ""
    return f"its match overlaps by {match.overlap:.3g}, scores {match.score:.1e} apart{masks}"


def _close(match: _Match, row: DetectionRow) -> bool:
    return match.overlap >= row.overlap and match.score <= row.score and match.mask >= row.mask


def _nearby(found: Detections, index: int, other: Detections) -> bool:
    same = other.labels == found.labels[index]
    return bool(same.any()) and float(overlaps(found.boxes[index : index + 1], other.boxes[same]).max()) >= NEARBY


def _matches(mine: Detections, theirs: Detections, undecided: float) -> Iterator[_Match]:
    """The assignment of largest total overlap, per class (Hungarian method)."""
    from scipy.optimize import linear_sum_assignment

    for label in np.unique(mine.labels):
        ours, others = np.flatnonzero(mine.labels == label), np.flatnonzero(theirs.labels == label)
        if not len(others):
            continue
        overlap = overlaps(mine.boxes[ours], theirs.boxes[others])
        apart = np.abs(mine.scores[ours][:, None] - theirs.scores[others][None, :])
        for i, j in zip(*linear_sum_assignment(overlap - TIE * apart, maximize=True), strict=True):
            a, b = int(ours[i]), int(others[j])
            yield _Match(a, b, float(overlap[i, j]), float(apart[i, j]), _mask_overlap(mine, a, theirs, b, undecided))


def overlaps(a: Array, b: Array) -> Array:
    """Intersection over union of the boxes [R, 4] and [S, 4] (x1, y1, x2, y2), as shares of 1, [R, S].

    Equal boxes overlap fully, also where they have no area.
    """
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=2)
    union = _areas(a)[:, None] + _areas(b)[None, :] - common
    same = (a[:, None, :] == b[None, :, :]).all(axis=2)
    ratio: Array = np.where(same, 1.0, common / np.where(union > 0, union, 1.0))
    return ratio


def _areas(boxes: Array) -> Array:
    areas: Array = np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(axis=1)
    return areas


def _mask_overlap(mine: Detections, a: int, theirs: Detections, b: int, undecided: float) -> float:
    """Intersection over union, over the pixels where ``mine`` is more than ``undecided`` away from 0.5."""
    if mine.masks is None and theirs.masks is None:
        return 1.0
    if mine.masks is None or theirs.masks is None or mine.masks.shape[1:] != theirs.masks.shape[1:]:
        return 0.0
    decided = np.abs(mine.masks[a] - 0.5) > undecided
    one, other = (mine.masks[a] > 0.5) & decided, (theirs.masks[b] > 0.5) & decided
    union = int((one | other).sum())
    return 1.0 if not union else int((one & other).sum()) / union


def _per_image(outputs: Outputs, name: str) -> Iterator[Array]:
    values = outputs[name]
    rows = outputs.get(name + ROWS)
    if rows is None:
        yield from values
        return
    start = 0
    for count in rows:
        yield values[start : start + int(count)]
        start += int(count)
