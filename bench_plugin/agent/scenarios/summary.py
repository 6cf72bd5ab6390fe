"""The summary that LoadGen writes of a test: lines ``key : value`` of times in nanoseconds and rates per second."""

from __future__ import annotations

import re
from typing import Dict, Mapping, Optional

NANOSECONDS = 1e-9
PERCENTILE = re.compile(r"(\d+\.\d+) percentile latency \(ns\)")
FIGURES = {"mean": "Mean latency (ns)", "min": "Min latency (ns)", "max": "Max latency (ns)"}
# The rate is called differently in each scenario; that of completed samples comes first.
RATES = ("Completed samples per second", "Samples per second")


def fields_of(text: str) -> Dict[str, str]:
    """The values by their keys."""
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def figures_of(text: str) -> Dict[str, object]:
    """What the summary says: ``result`` (VALID or INVALID), latencies in seconds, ``per_second``; absent if not said.

    ``percentiles`` are those of queries, by names such as ``p99.9``. Raises ValueError for a text without a result.
    """
    said = fields_of(text)
    if said.get("Result is") not in ("VALID", "INVALID"):
        raise ValueError("LoadGen's summary has no result: %r" % text[:200])
    found: Dict[str, object] = {"result": said["Result is"]}
    for name, key in FIGURES.items():
        value = _number(said, key)
        if value is not None:
            found[name] = value * NANOSECONDS
    percentiles = {}
    for key in said:
        match = PERCENTILE.fullmatch(key)
        value = _number(said, key)
        if match and value is not None:
            percentiles["p" + match[1].rstrip("0").rstrip(".")] = value * NANOSECONDS
    if percentiles:
        found["percentiles"] = percentiles
    rate = next((value for key in RATES for value in [_number(said, key)] if value is not None), None)
    if rate is not None:
        found["per_second"] = rate
    if found["result"] == "INVALID":
        found["why"] = [key for key in said if key.endswith("satisfied") and said[key].upper().startswith("NO")]
    return found


def _number(said: Mapping[str, str], key: str) -> Optional[float]:
    try:
        return float(said[key])
    except (KeyError, ValueError):
        return None
