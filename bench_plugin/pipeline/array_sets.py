"""The arrays of calls: made on use, and identified in recipes by the SHA-256 of their bytes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]

Digests = Mapping[str, str]


class ArraySet:
    """A set of arrays [...] by name. Called, it makes them; ``digests`` gives the SHA-256 of each by name."""

    def __init__(self, make: Callable[[], Arrays], digests: Callable[[], Digests] | None = None) -> None:
        self._make = make
        self._digests = digests

    def __call__(self) -> Arrays:
        return self._make()

    def digests(self) -> Digests:
        """SHA-256 of each array's dtype, shape and bytes. Raises what making them raises."""
        return self._digests() if self._digests else digests_of(self._make())


def identified(identity: Hashable, make: Callable[[], Arrays]) -> ArraySet:
    """Arrays that are hashed only once in this process; whatever determines them must be in ``identity``."""
    return ArraySet(make, lambda: _KNOWN.digests(identity, make))


def renamed(arrays: ArraySet, names: Callable[[Mapping[str, Any]], dict[str, Any]]) -> ArraySet:
    """The same arrays under other names, which ``names`` gives a mapping by name."""
    return ArraySet(lambda: names(arrays()), lambda: names(arrays.digests()))


def joined(*sets: Callable[[], Arrays]) -> ArraySet:
    """The arrays of all sets together."""
    return ArraySet(
        lambda: {name: values for one in sets for name, values in one().items()},
        lambda: {name: digest for one in sets for name, digest in digests_in(one).items()},
    )


def digests_in(arrays: Callable[[], Arrays]) -> Digests:
    """SHA-256 of each array that ``arrays`` makes; a set may know them without making the arrays again."""
    return arrays.digests() if isinstance(arrays, ArraySet) else digests_of(arrays())


def digests_of(arrays: Arrays) -> Digests:
    """SHA-256 of each array's dtype, shape and bytes, in hexadecimal by name."""
    return {name: _digest(values) for name, values in arrays.items()}


class _Known:
    """The digests of sets by identity. Two threads that need the same ones compute them once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._found: dict[Hashable, Digests] = {}

    def digests(self, identity: Hashable, make: Callable[[], Arrays]) -> Digests:
        with self._lock:
            lock = self._locks.setdefault(identity, threading.Lock())
        with lock:
            if identity not in self._found:
                self._found[identity] = digests_of(make())
            return self._found[identity]


_KNOWN = _Known()


def _digest(values: np.ndarray[Any, Any]) -> str:
    import numpy as np

    found = hashlib.sha256(f"{values.dtype.str}{list(values.shape)}".encode())
    if values.size:
        found.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return found.hexdigest()
