"""How much is measured: launches, blocks and their caps, by profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Effort:
    """Launches are taken until the interval's half-width is ``half_width`` of the centre, and ``cell_seconds`` at most.

    At least ``launches`` of them, at most ``most_launches``; fewer only where ``last_seconds`` are over. Each has a
    warm-up of at most ``warmup_seconds`` and ``blocks`` blocks of at least ``block_seconds`` and ``block_samples``
    samples, all blocks together of at most about ``seconds``. Inputs rotate through ``inputs`` samples.
    ``system_seconds`` bounds the requests that are timed on the host in each launch, and so do ``deployed_calls`` those
    to a deployed model, ``system_calls`` those that open the artefact, and ``handshakes``, which are 0 where not asked.
    ``power_seconds`` is the length of each window of power, in a launch of their own on a machine with a meter.
    """

    launches: int = 5
    most_launches: int = 20
    half_width: float = 0.02
    inputs: int = 64
    blocks: int = 10
    block_seconds: float = 0.1
    block_samples: int = 30
    seconds: float = 1.2
    warmup_seconds: float = 1.0
    cell_seconds: float = 10.0
    last_seconds: float = 40.0
    system_calls: int = 30
    deployed_calls: int = 200
    handshakes: int = 0
    system_seconds: float = 0.25
    quiet_seconds: float = 2.0
    power_seconds: float = 10.5

    def plan(self, sampled: int, meter: str = "") -> dict[str, Any]:
        """The fields of a TimeCall; ``sampled`` is of how many of the first inputs the outputs are compared.

        ``meter`` is the file of the board's own power meter.
        """
        return {
            "sampled": sampled, "blocks": self.blocks, "block_seconds": self.block_seconds,
            "block_samples": self.block_samples, "seconds": self.seconds, "warmup_seconds": self.warmup_seconds,
            "meter": meter,
        }  # fmt: skip


SMOKE = Effort(
    launches=2, most_launches=3, block_seconds=0.01, block_samples=5, seconds=0.2, warmup_seconds=0.2, cell_seconds=2.0,
    system_calls=5, deployed_calls=20, handshakes=5, system_seconds=0.1, quiet_seconds=0.2,
    power_seconds=0.0,
)  # fmt: skip
QUICK = Effort()
FULL = Effort(
    seconds=20.0, warmup_seconds=20.0, cell_seconds=240.0, last_seconds=600.0, system_calls=100, deployed_calls=1000,
    handshakes=200, system_seconds=5.0, quiet_seconds=10.0, power_seconds=30.0,
)  # fmt: skip


def effort(profile: str) -> Effort:
    """The effort of a profile.

    ``full`` measures until the interval is as narrow as it should be, ``smoke`` only whether times can be taken.
    """
    return {"full": FULL, "smoke": SMOKE}.get(profile, QUICK)
