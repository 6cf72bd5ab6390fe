"""What a results file says of the rows of known failures: which cells of each passed, and which failures it covered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.domain.outcome import Outcome
from bench_plugin.results.known_failures.expectations import Expectation, Expectations
from bench_plugin.results.known_failures.new_failures import NewFailure
from bench_plugin.results.rows import outcome_of
from bench_plugin.results.signature import Signature, distinct, signature_of


@dataclass
class Seen:
    """One row with the outcomes of its cells: how many passed, which failed, how many got neither far nor wrong."""

    row: Expectation
    passed: int = 0
    failed: list[Outcome] = field(default_factory=list)
    others: int = 0

    @property
    def gone(self) -> bool:
        """Whether all of its cells passed, so that the row is not needed any more; no run says so of what varies."""
        return bool(self.passed) and not self.failed and not self.others and not self.row.varies

    @property
    def mixed(self) -> bool:
        """Whether some of its cells passed and some did not, where all must fail."""
        return bool(self.passed) and not self.gone and not self.row.varies

    @property
    def signatures(self) -> list[Signature]:
        """The different failures that the row covers."""
        return distinct(signature_of(outcome) for outcome in self.failed if self.row.covers(outcome))

    @property
    def broad(self) -> bool:
        """Whether it covers failures of more than one signature; a text that a person wrote is one, even with ``...``.

        A row of generated graphs names its signature.
        """
        return (
            not self.row.signature.text
            and self.row.example is None
            and not self.row.varies
            and len(self.signatures) > 1
        )

    @property
    def missing(self) -> Signature:
        """The signature that the row lacks, as all that it covers have it; empty where there is none to write."""
        found = self.signatures
        return found[0] if self.row.unsigned and self.row.example is None and len(found) == 1 else Signature()

    @property
    def changed(self) -> Outcome | None:
        """The failure that all of its cells have now, where it is another one than the row's; None where they differ.

        Of mismatches it is the one that is furthest off.
        """
        if self.passed or self.others or not self.failed or any(map(self.row.covers, self.failed)):
            return None
        if len({(outcome.stage, outcome.symptom) for outcome in self.failed}) > 1:
            return None
        if len(distinct(map(signature_of, self.failed))) > 1:
            return None
        return max(self.failed, key=lambda outcome: signature_of(outcome).needed or 0.0)

    @property
    def otherwise(self) -> bool:
        """Whether cells of it fail otherwise than it says, and not all in one way."""
        return self.changed is None and not all(map(self.row.covers, self.failed))


@dataclass(frozen=True)
class Review:
    """The rows that the results speak of, in the order of the results, and the failures that no row selects."""

    rows: tuple[Seen, ...]
    new: tuple[NewFailure, ...]

    @property
    def too_broad(self) -> list[str]:
        """Sentences on rows that cover more than one failure."""
        return [
            f"{one.row.where}: too broad, it covers {len(one.signatures)} different failures: "
            f"{', '.join(map(str, one.signatures))}; split it"
            for one in self.rows if one.broad
        ]  # fmt: skip


def reviewed(expectations: Expectations, cells: Iterable[Mapping[str, Any]]) -> Review:
    """Compare the rows of computed cells with the rows of known failures. Raises UsageError as Expectations.match."""
    seen: dict[tuple[str, int], Seen] = {}
    new = []
    for cell in cells:
        outcome = outcome_of(cell)
        row = expectations.match(cell["cell"], outcome)
        if row is None:
            new += [NewFailure(cell["key"], cell["cell"], outcome)] if outcome.failed else []
            continue
        one = seen.setdefault((str(row.path), row.number), Seen(row))
        if outcome.failed:
            one.failed.append(outcome)
        elif outcome.passed:
            one.passed += 1
        else:
            one.others += 1
    return Review(tuple(seen.values()), tuple(new))
