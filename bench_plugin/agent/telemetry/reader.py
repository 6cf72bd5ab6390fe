"""What all readers have in common: their Protocol, the description of a series, and series that are files of numbers.

A reader finds its sensors once, below a root folder: ``/`` on a machine, a folder of plain files in a test. What is not
there has no series. What goes away later ends its series, and the reader keeps the reason.
"""

from __future__ import annotations

import errno
import os
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Protocol, Tuple

TRANSIENT = (errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.ETIMEDOUT)  # a sensor that answers the next time


class Channel(NamedTuple):
    """One series: its unit, where its values come from, and what is known of the sensor.

    unit: ``%``, ``B``, ``Hz``, ``degC`` or ``W``.
    source: the file, or the function of a library.
    place: what the sensor is at, such as the name of a rail; empty where the values are of the process tree.
    hz: how often the sensor itself has a new value; None where it does not say.
    accuracy: what is known of the error of one value, in words; empty where nothing is.
    """

    unit: str
    source: str
    place: str = ""
    hz: Optional[float] = None
    accuracy: str = ""


class Reader(Protocol):
    """One kind of sensors.

    channels: the series that it has, by name.
    period: seconds between two readings at least; 0 where every tick of the sampler may read.
    ended: the series that ended because their sensor is gone, by name, with the reason.
    """

    period: float

    @property
    def channels(self) -> Mapping[str, Channel]:
        """The series by name."""
        ...

    @property
    def ended(self) -> Mapping[str, str]:
        """The reasons of the series that ended."""
        ...

    def read(self, now: float) -> Dict[str, float]:
        """Values by the name of their series at ``now``, in seconds of the monotonic clock.

        A series without a new value is left out. What is a rate has its first value at the second reading.
        """
        ...


class Gauge(NamedTuple):
    """A series that is one file with a number: its description, the file, and the factor to the unit."""

    channel: Channel
    path: str
    factor: float


class Gauges:
    """A reader of files that hold a number each, as those of sysfs do."""

    def __init__(self, gauges: Mapping[str, Gauge], period: float) -> None:
        self.period = period
        self.ended: Dict[str, str] = {}
        self._gauges = {name: gauge for name, gauge in gauges.items() if answers(gauge.path)}

    @property
    def channels(self) -> Mapping[str, Channel]:
        """The series whose file had a number when the reader was made."""
        return {name: gauge.channel for name, gauge in self._gauges.items()}

    def read(self, now: float) -> Dict[str, float]:
        """The numbers of all files that are still there, in their units."""
        found: Dict[str, float] = {}
        for name, gauge in self._gauges.items():
            if name not in self.ended:
                value = taken(self.ended, [name], lambda path=gauge.path: number(path))  # type: ignore[misc]
                if value is not None:
                    found[name] = value * gauge.factor
        return found


def taken(ended: Dict[str, str], names: Iterable[str], read: Callable[[], float]) -> Optional[float]:
    """The value that ``read`` returns, or None, with the reason in ``ended`` for all ``names`` where it is gone."""
    try:
        return read()
    except OSError as error:
        if error.errno not in TRANSIENT:
            reason = "%s: %s" % (error.filename or "sensor", error.strerror or error)
            ended.update(dict.fromkeys(names, reason))
    except ValueError as error:
        ended.update(dict.fromkeys(names, str(error)))
    return None


def number(path: str) -> float:
    """The number in a file. Raises OSError, and ValueError for a text that is not a number."""
    value = text(path)
    try:
        return float(value)
    except ValueError:
        raise ValueError("%s: %r is not a number" % (path, value[:40])) from None


def text(path: str) -> str:
    """The text of a small file, without space around it. Raises OSError; its ``filename`` is the path."""
    with open(path, encoding="utf-8", errors="replace") as file:
        try:
            return file.read().strip()
        except OSError as error:  # the error of read(2) does not say of which file
            raise OSError(error.errno, error.strerror, path) from None


def said(path: str) -> str:
    """The text of a file; empty where it cannot be read."""
    try:
        return text(path)
    except OSError:
        return ""


def answers(path: str) -> bool:
    """Whether a file has a number now, or is only busy."""
    try:
        number(path)
    except OSError as error:
        return error.errno in TRANSIENT
    except ValueError:
        return False
    return True


def numbered(folder: str, prefix: str, suffix: str = "") -> List[Tuple[int, str]]:
    """The entries ``<prefix><number><suffix>`` of a folder with their numbers, in that order; none where it is missing.

    >>> numbered("/nowhere", "cpu")
    []
    """
    found = []
    try:
        entries = os.listdir(folder)
    except OSError:
        return []
    for entry in entries:
        middle = entry[len(prefix) : len(entry) - len(suffix)]
        if entry.startswith(prefix) and entry.endswith(suffix) and middle.isdigit():
            found.append((int(middle), os.path.join(folder, entry)))
    return sorted(found)
