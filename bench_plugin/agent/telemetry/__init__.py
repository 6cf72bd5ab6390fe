"""Telemetry: series over time of processor, memory, GPU, temperature, clock and power, and the state of the machine."""

from bench_plugin.agent.telemetry.machine import state
from bench_plugin.agent.telemetry.recording import Series, about, arrays, sampling

__all__ = ["Series", "about", "arrays", "sampling", "state"]
