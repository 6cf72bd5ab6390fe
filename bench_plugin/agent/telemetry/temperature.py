"""Temperatures in degrees Celsius: thermal zones, and sensors of hwmon."""

from __future__ import annotations

import os
from typing import Dict

from bench_plugin.agent.telemetry.reader import Channel, Gauge, Gauges, numbered, said

PERIOD = 0.1  # seconds


def temperatures(root: str) -> Gauges:
    """``temperature.thermal_zone0`` ... and ``temperature.hwmon0.temp1`` ...; their place is the name of the sensor."""
    return Gauges({**_zones(root), **_hwmon(root)}, PERIOD)


def _zones(root: str) -> Dict[str, Gauge]:
    found = {}
    for number, zone in numbered(os.path.join(root, "sys/class/thermal"), "thermal_zone"):
        path = os.path.join(zone, "temp")
        channel = Channel("degC", path, said(os.path.join(zone, "type")))
        found["temperature.thermal_zone%d" % number] = Gauge(channel, path, 1e-3)
    return found


def _hwmon(root: str) -> Dict[str, Gauge]:
    found = {}
    for number, chip in numbered(os.path.join(root, "sys/class/hwmon"), "hwmon"):
        for index, path in numbered(chip, "temp", "_input"):
            label = said(os.path.join(chip, "temp%d_label" % index))
            place = " ".join(word for word in (said(os.path.join(chip, "name")), label) if word)
            found["temperature.hwmon%d.temp%d" % (number, index)] = Gauge(Channel("degC", path, place), path, 1e-3)
    return found
