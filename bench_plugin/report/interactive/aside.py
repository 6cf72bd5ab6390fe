"""A part of the page that is made in a process of its own, while this one makes the others."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import orjson

Texts = dict[str, str]


@contextmanager
def made_aside(make: Callable[[], Texts]) -> Iterator[Callable[[], Texts]]:
    """Starts ``make`` in a child process; the value is a function that waits for what it made.

    The child has all data of this process as they are now, and nothing but the texts comes back. ``make`` runs in this
    process instead on systems other than Linux, with one core, and beside other threads, whose locks a child would
    hold for ever; and where the child failed, so that its error is raised here. No child is left behind.
    """
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        yield make
        return
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _answer(make, reading, writing)
    os.close(writing)
    with open(reading, "rb") as answer:
        try:
            yield lambda: orjson.loads(answer.read() or b"null") or make()
        finally:
            answer.close()  # a child that is still at it ends when it writes
            os.waitpid(child, 0)


def _answer(make: Callable[[], Texts], reading: int, writing: int) -> None:
    """Write what is made, or nothing where it cannot be made, and end this process without its parent's clean-up."""
    try:
        os.close(reading)
        texts = orjson.dumps(make())
        with open(writing, "wb") as file:
            file.write(texts)
    finally:
        os._exit(0)
