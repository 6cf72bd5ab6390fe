"""Admission to the machine: many cells compute side by side, but a time is taken while nothing else computes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Admission:
    """A readers-writer gate. Cells share the machine; who takes times has it alone.

    A thread that wants the machine alone gives up its own share while it waits. The others end the stage that they are
    at, and wait before their next one (:meth:`pause`); so it waits for one stage of each, not for whole cells.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing: dict[int, int] = {}  # by thread: how often it entered
        self._waiting = 0
        self._alone: int | None = None

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Compute beside others; waits while somebody has the machine alone, or wants it."""
        me = threading.get_ident()
        with self._changed:
            if me not in self._sharing:
                self._changed.wait_for(self._open)
            self._sharing[me] = self._sharing.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing[me] -= 1
                if not self._sharing[me]:
                    del self._sharing[me]
                self._changed.notify_all()

    def pause(self) -> None:
        """Between two stages: let those go first who want the machine alone. A thread without a share goes on."""
        me = threading.get_ident()
        with self._changed:
            if me not in self._sharing or self._open():
                return
            held = self._sharing.pop(me)
            self._changed.notify_all()
            self._changed.wait_for(self._open)
            self._sharing[me] = held

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have the machine alone: no other cell computes meanwhile. It must not be entered twice by one thread."""
        me = threading.get_ident()
        with self._changed:
            held = self._sharing.pop(me, 0)
            self._waiting += 1
            self._changed.notify_all()
            try:
                self._changed.wait_for(lambda: self._alone is None and not self._sharing)
            finally:
                self._waiting -= 1
            self._alone = me
        try:
            yield
        finally:
            with self._changed:
                self._alone = None
                if held:
                    self._sharing[me] = held
                self._changed.notify_all()

    def _open(self) -> bool:
        """Whether nobody has the machine alone or waits for that. The caller holds the condition."""
        return self._alone is None and not self._waiting
