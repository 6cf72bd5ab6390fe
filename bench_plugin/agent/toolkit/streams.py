"""Streams: several inferences at the same time, each in a thread that calls without a pause (closed loop)."""

from __future__ import annotations

import threading
from typing import Any, Callable, List, Optional, Sequence, Tuple

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
        """There must be at least ``count`` inferences, whose outputs are arrays [batch, ...] or [...]."""
        self.count = count
        self.rates: List[float] = []  # calls per second of all threads together, of each block
        self._invokes = invokes
        self._reads = reads
        self._kept = kept
        self._clock = clock

    def block(self, seconds: float, least: int) -> List[int]:
        """Nanoseconds of each call, in all threads, while all of them are at work.

        Every thread calls for ``seconds``, and its share of ``least`` calls, and goes on until the last thread has done
        so too. Calls that end after that do not count, because fewer may be under way beside them. Raises what a call
        raises.
        """
        block = _Block(self, seconds, -(-least // self.count))
        threads = [threading.Thread(target=block.work, args=(index,)) for index in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if block.failure is not None:
            raise block.failure
        counted = [end - begin for begin, end in block.calls if end <= block.ended]
        self.rates.append(len(counted) * 1e9 / max(block.ended - block.began, 1))
        return counted


class _Block:
    """One block, whose threads begin together. It lasts from ``began`` to ``ended``, nanoseconds of the clock."""

    def __init__(self, streams: Streams, seconds: float, least: int) -> None:
        self.calls: List[Tuple[int, int]] = []  # begin and end of each
        self.began = self.ended = 0
        self.failure: Optional[BaseException] = None
        self._streams = streams
        self._nanoseconds = int(seconds * 1e9)
        self._least = least
        self._gate = threading.Barrier(streams.count, self._begin)
        self._lock = threading.Lock()
        self._left = streams.count  # threads that have not called long enough

    def work(self, index: int) -> None:
        """What thread ``index`` does."""
        mine: List[Tuple[int, int]] = []
        try:
            self._gate.wait()
            self._call(index, mine)
        except threading.BrokenBarrierError:
            pass  # another thread failed, and says how
        except BaseException as error:
            self.failure = self.failure or error
            self._gate.abort()
        with self._lock:
            self.calls += mine

    def _begin(self) -> None:
        self.began = self._streams._clock()

    def _call(self, index: int, mine: List[Tuple[int, int]]) -> None:
        streams = self._streams
        clock, kept, invokes = streams._clock, streams._kept, streams._invokes
        size, place, enough = len(invokes), index, False
        while self.failure is None and (self._left or not enough):
            begin = clock()
            result = invokes[place]()
            end = clock()
            mine.append((begin, end))
            if place < len(kept) and kept[place] is None:  # read at once: the next call may write over it
                kept[place] = streams._reads[place](result)
            place = place + streams.count if place + streams.count < size else index
            if not enough and len(mine) >= self._least and end - self.began >= self._nanoseconds:
                enough = True
                with self._lock:
                    self._left -= 1
                    self.ended = max(self.ended, end)
