"""Streams: several inferences at the same time, each in a thread that calls without a pause (closed loop)."""

from __future__ import annotations

import threading
from typing import Any, Callable, List, Optional, Sequence

Clock = Callable[[], int]
Values = List[Any]


class Streams:
    """Calls inferences from several threads at once. Thread k has the inferences k, k + streams ..., and no other.

    ``kept`` gets the outputs of its first inferences; its empty places are filled by the first call of each.
    """

    def __init__(
        self, count: int, invokes: Sequence[Callable[[], Any]], reads: Sequence[Callable[[Any], Values]],
        kept: List[Optional[Values]], clock: Clock,
    ) -> None:  # fmt: skip
        """There must be at least ``count`` inferences."""
        self.count = count
        self.rates: List[float] = []  # calls per second of all threads together, of each block
        self._invokes = invokes
        self._reads = reads
        self._kept = kept
        self._clock = clock

    def block(self, seconds: float, least: int) -> List[int]:
        """Nanoseconds of each call, in all threads, while all of them are at work.

        Every thread takes calls for ``seconds``, and its share of ``least`` calls; one that has them goes on calling
        until the last one has them too, so that no call that counts has fewer beside it. Raises what a call raises.
        """
        block = _Block(self, seconds, -(-least // self.count))
        threads = [threading.Thread(target=block.work, args=(index,)) for index in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if block.failure is not None:
            raise block.failure
        self.rates.append(sum(block.rates))
        return [value for one in block.found for value in one]


class _Block:
    """One block, whose threads begin together."""

    def __init__(self, streams: Streams, seconds: float, least: int) -> None:
        self.found: List[List[int]] = [[] for _ in range(streams.count)]
        self.rates = [0.0] * streams.count
        self.failure: Optional[BaseException] = None
        self._streams = streams
        self._nanoseconds = int(seconds * 1e9)
        self._least = least
        self._gate = threading.Barrier(streams.count)
        self._lock = threading.Lock()
        self._counting = streams.count

    def work(self, index: int) -> None:
        """What thread ``index`` does."""
        try:
            self._gate.wait()
            self._count(index)
        except threading.BrokenBarrierError:
            return  # another thread failed, and says how
        except BaseException as error:
            self.failure = self.failure or error
            self._gate.abort()
        finally:
            with self._lock:
                self._counting -= 1
        try:
            self._go_on(index)
        except BaseException as error:
            self.failure = self.failure or error

    def _count(self, index: int) -> None:
        streams, found = self._streams, self.found[index]
        clock, kept = streams._clock, streams._kept
        size, place = len(streams._invokes), index
        began = end = clock()
        until = began + self._nanoseconds
        while (len(found) < self._least or end < until) and self.failure is None:
            invoke = streams._invokes[place]
            begin = clock()
            result = invoke()
            end = clock()
            found.append(end - begin)
            if place < len(kept) and kept[place] is None:  # read at once: the next call may write over it
                kept[place] = streams._reads[place](result)
            place = place + streams.count if place + streams.count < size else index
        self.rates[index] = len(found) * 1e9 / max(end - began, 1)

    def _go_on(self, index: int) -> None:
        """Call while another thread still counts."""
        while self._counting and self.failure is None:
            self._streams._invokes[index]()
