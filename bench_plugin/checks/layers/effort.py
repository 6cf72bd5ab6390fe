"""How much is measured of every layer: many short launches of all of them, not a long one of each."""

from __future__ import annotations

from dataclasses import replace

from bench_plugin.checks.performance.effort import FULL, SMOKE, Effort

# A launch times every layer, stack and the model itself in turn, a few hundred milliseconds each. Inputs rotate through
# the few samples that the model feeds the layer: in a model, a layer's input was written just before it is read.
QUICK = Effort(
    launches=5, most_launches=5, inputs=4, block_seconds=0.02, seconds=0.2, warmup_seconds=0.15, cell_seconds=240.0,
    last_seconds=480.0, power_seconds=0.0,
)  # fmt: skip
MODEL = 4  # times the seconds of a layer that the whole model is timed


def effort(profile: str) -> Effort:
    """The effort of a profile."""
    if profile == "full":
        return replace(FULL, inputs=4, seconds=2.0, warmup_seconds=1.0, cell_seconds=1800.0, last_seconds=3600.0)
    if profile == "smoke":
        return replace(SMOKE, inputs=4, seconds=0.02, block_seconds=0.002, warmup_seconds=0.02, most_launches=2)
    return QUICK
